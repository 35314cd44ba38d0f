"""The loss that is trained on is the weighted and smoothed one, computed here row by row with numpy."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from finetune.__main__ import main
from finetune.command_line import parse_arguments
from finetune.model.modeling import RelationClassifier
from finetune.training.preparation import prepare
from finetune.training.train import label_weights

Words = Callable[..., list[str]]
SMOOTHING = 0.1
FLAGS = ["--loss_weighting", "dodrans", "--label_smoothing_factor", str(SMOOTHING), "--bf16", "false"]


def losses_by_row(words: list[str], model_folder: Path) -> np.ndarray:
    prepared = prepare(parse_arguments(words))
    rows, names = prepared.batches["train"], prepared.data.label_names
    model = RelationClassifier.from_pretrained(model_folder).eval()
    batch = rows.__getitems__(list(range(len(rows))))
    labels = batch.pop("labels").numpy()
    del batch["row_ids"]
    with torch.no_grad():
        logits = model(**batch).logits.numpy().astype(np.float64)
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    plain = -log_p[np.arange(len(labels)), labels]
    weights = label_weights(
        labels=labels, num_labels=len(names), negative_id=names.index("NA"), scheme="dodrans"
    )
    return weights[labels] * ((1 - SMOOTHING) * plain + SMOOTHING * -log_p.mean(axis=1))


@pytest.mark.parametrize("parts", [1, 3])
def test_one_step_over_all_rows(
    parts: int, sample: Path, still_encoder: Path, tmp_path: Path, words_for: Words, results_of: Callable
) -> None:
    more = [f"--model_name_or_path={still_encoder}", "--max_steps=1", "--learning_rate=0", *FLAGS]
    more += [f"--per_device_train_batch_size={219 // parts}", f"--gradient_accumulation_steps={parts}"]
    words = words_for(sample, tmp_path / "run", *more)
    assert main(words) == 0
    losses = losses_by_row(words, tmp_path / "run" / "seed-42")
    assert len(losses) == 219
    trained = results_of(tmp_path / "run")["seeds"]["42"]["training"]
    assert trained["mean_loss"] == pytest.approx(losses.mean(), rel=1e-5)
