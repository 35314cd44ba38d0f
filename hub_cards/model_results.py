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
        seed: The run whose own value this is; None for a mean over several, or where there is one run only.
    """

    name: str
    value: float
    sd: float | None
    n: int
    signature: str
    seed: str | None = None

    @property
    def title(self) -> str:
        """The name, and what the value is where that is not plain: a mean, or one of several runs."""
        if self.seed is not None:
            return f"{self.name}, seed {self.seed}"
        return f"{self.name}, mean of {self.n} seeds" if self.n > 1 else self.name

    @property
    def arguments(self) -> dict[str, Any]:
        """What a number needs beside it, as plain values."""
        spread = {} if self.sd is None else {"sd": float(self.sd)}
        seed = {} if self.seed is None else {"seed": self.seed}
        return {"signature": self.signature, "n": int(self.n), **spread, **seed}


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
            metric_name=score.title,
            metric_value=float(score.value),
            metric_args=score.arguments,
            **described,
        )
        for score in scores
    ]
    return eval_results_to_model_index(model_name, results)


def eval_results_yaml(
    *,
    dataset_id: str,
    tasks: Mapping[str, ModelScore],
    notes: Mapping[str, str] | None = None,
    revision: str | None = None,
    date: str | None = None,
    source: str | None = None,
) -> str:
    """Return the text of a file in `.eval_results/`, from which the Hub fills a benchmark's leaderboard.

    Args:
        dataset_id: owner/name of the benchmark on the Hub.
        tasks: Task id, as the benchmark's `eval.yaml` has it -> the score.
        notes: Task id -> what stands beside the signature of its score.
        revision: The commit of the dataset.
        date: When the evaluation was run, ISO 8601.
        source: Address of what the values were read from.

    Raises:
        ImportError: This huggingface_hub is older than the format.

    Reference:
        huggingface/hub-docs, docs/hub/eval-results.md, "Adding Evaluation Results".
    """
    try:
        from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    except ImportError as error:
        raise ImportError("`.eval_results` needs huggingface_hub 1.33 or newer.") from error
    entries = [
        EvalResultEntry(
            dataset_id=dataset_id,
            dataset_revision=revision,
            task_id=task,
            value=float(score.value),
            date=date,
            source_url=source,
            source_name=None if source is None else "results.json",
            notes="; ".join(
                [*([notes[task]] if notes and task in notes else []), f"signature {score.signature}"]
            ),
        )
        for task, score in tasks.items()
    ]
    return yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, width=1000)
