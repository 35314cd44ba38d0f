"""What holds on every transformers that is allowed, and what is said of the older ones."""

import ast
import inspect
from pathlib import Path
from types import SimpleNamespace

import pytest
from transformers import BertConfig, Trainer

from finetune.model.configuration import RelationClassifierConfig
from finetune.trainer_arguments import SEVERAL_PROCESSES_FROM, check_processes, has_transformers
from finetune.training.relation_trainer import RelationTrainer
from tests.folders import ROOT

MODEL = ROOT / "finetune" / "model"
# What of the Trainer is overridden, with the parameters that our methods count on.
OVERRIDDEN = {
    "get_train_dataloader": [],
    "get_eval_dataloader": ["eval_dataset"],
    "get_test_dataloader": ["test_dataset"],
    "get_batch_samples": ["epoch_iterator", "num_batches", "device"],
    "compute_loss": ["model", "inputs", "return_outputs", "num_items_in_batch"],
    "training_step": ["model", "inputs", "num_items_in_batch"],
    "evaluation_loop": [
        "dataloader", "description", "prediction_loss_only", "ignore_keys", "metric_key_prefix"
    ],
    "floating_point_ops": ["inputs"],
    "_save_checkpoint": ["model", "trial"],
}  # fmt: skip


def test_what_is_overridden_is_there() -> None:
    own = {name for name, value in vars(RelationTrainer).items() if inspect.isfunction(value)}
    assert {name for name in own if hasattr(Trainer, name)} - {"__init__"} == set(OVERRIDDEN)
    for name, parameters in OVERRIDDEN.items():
        assert list(inspect.signature(getattr(Trainer, name)).parameters)[1:] == parameters, name


def test_several_processes_need_a_newer_one() -> None:
    check_processes(SimpleNamespace(world_size=1, n_gpu=0))
    if has_transformers(SEVERAL_PROCESSES_FROM):
        check_processes(SimpleNamespace(world_size=2, n_gpu=0))
    else:
        with pytest.raises(ValueError, match=r"transformers 5\.20"):
            check_processes(SimpleNamespace(world_size=2, n_gpu=0))


def test_the_length_of_a_row_is_no_setting_of_generation() -> None:
    config = RelationClassifierConfig(encoder=BertConfig(), id2label={0: "NA", 1: "r"}, max_length=33)
    assert config.max_row_tokens == 33, "as configs of before call it"
    written = config.to_dict()
    assert written["max_row_tokens"] == 33
    assert written.get("max_length") != 33


def siblings(path: Path) -> set[str]:
    return {
        node.module
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
    }


@pytest.mark.parametrize("entry", ["modeling", "relation_pipeline"])
def test_what_a_saved_model_names_imports_all_that_it_needs(entry: str) -> None:
    """Older transformers takes along only what the file that the config names imports itself."""
    reached, new = set(), siblings(MODEL / f"{entry}.py")
    while new:
        reached |= new
        new = {other for name in new for other in siblings(MODEL / f"{name}.py")} - reached
    assert siblings(MODEL / f"{entry}.py") == reached - {entry}
