"""Scores of a model in the two forms that machines read: `model-index`, and `.eval_results/*.yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from huggingface_hub import EvalResult
from huggingface_hub.repocard_data import eval_results_to_model_index


@dataclass(frozen=True)
class ModelScore:
    """One score.

    Attributes:
        name: Its key in the results, e.g. "magt_dodrans_f1".
        value: Mean over the runs, a fraction in [0, 1]; a numpy number will do.
        sd: Sample standard deviation over the runs; None for one run.
        n: Number of runs.
        signature: The line that says what the score means.
    """

    name: str
    value: float
    sd: float | None
    n: int
    signature: str

    @property
    def arguments(self) -> dict[str, Any]:
        """What a number needs beside it, as plain values."""
        spread = {} if self.sd is None else {"sd": float(self.sd)}
        return {"signature": self.signature, "n": int(self.n), **spread}


def model_index(
    *, model_name: str, task: str, dataset: Mapping[str, Any], scores: Sequence[ModelScore]
) -> list[dict[str, Any]]:
    """Return the value of `model-index` in a model card.

    Args:
        model_name: Name of the model.
        task: Name of the task, for people.
        dataset: `type` (id on the Hub, or a short name), `name`, and optionally `config`, `split`,
            `revision`, `args`.
        scores: In the order in which they are listed.

    >>> score = ModelScore("f1", 0.5, None, 1, "averages:micro")
    >>> index = model_index(model_name="m", task="T", dataset={"type": "d", "name": "D"}, scores=[score])
    >>> index[0]["results"][0]["metrics"][0]["value"]
    0.5
    """
    described = {f"dataset_{name}": value for name, value in dataset.items()}
    results = [
        EvalResult(
            task_type="text-classification",
            task_name=task,
            metric_type="f1",
            metric_name=score.name,
            metric_value=float(score.value),
            metric_args=score.arguments,
            **described,
        )
        for score in scores
    ]
    return eval_results_to_model_index(model_name, results)


def eval_results_yaml(
    *, dataset_id: str, config: str, scores: Sequence[ModelScore], revision: str | None = None
) -> str:
    """Return the text of a file in `.eval_results/`, from which leaderboards of a dataset read.

    Args:
        dataset_id: owner/name of the dataset on the Hub.
        config: What the task ids begin with, e.g. the track.
        scores: One entry each, with the task id `<config>_<name>`.
        revision: The commit of the dataset.

    Raises:
        ImportError: This huggingface_hub is older than the format.
    """
    try:
        from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    except ImportError as error:
        raise ImportError("`.eval_results` needs huggingface_hub 2.4 or newer.") from error
    entries = [
        EvalResultEntry(
            dataset_id=dataset_id,
            dataset_revision=revision,
            task_id=f"{config}_{score.name}",
            value=float(score.value),
            notes=", ".join(f"{name} {value}" for name, value in score.arguments.items()),
        )
        for score in scores
    ]
    return yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, width=1000)
