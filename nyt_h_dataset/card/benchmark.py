"""`eval.yaml`: what makes a dataset of the Hub a benchmark, with the tasks that models report (pure)."""

from __future__ import annotations

from typing import Any

import yaml

EVAL_YAML = "eval.yaml"
FRAMEWORK = "nyt-h"
# Task id -> (config, split). Few numbers say most: under human labels, what counts frequent relations, what
# lies between, and what counts every relation alike.
BENCHMARK_TASKS = {
    f"{track}_magt_{average}_f1": ("bag" if track == "bag2bag" else "sentence", "test")
    for track in ("sent2sent", "bag2sent", "bag2bag")
    for average in ("micro", "dodrans", "macro_all")
}
# What only a person can do, for those who push.
BY_HAND = (
    "For results to appear: ask for the dataset to be taken into the Hub's list of benchmarks "
    "(discussion 2 of the Space OpenEvals/README),",
    f'have the evaluation framework "{FRAMEWORK}" added to the Hub\'s list (EVALUATION_FRAMEWORKS in '
    "packages/tasks/src/eval.ts of huggingface.js, by a pull request),",
    "and make the dataset public, if its licence allows that.",
)


def eval_yaml(*, name: str) -> str:
    """Return the text of `eval.yaml` for the root of the dataset's repository; `name` is the benchmark's.

    Reference:
        huggingface/hub-docs, docs/hub/eval-results.md, "Registering a Benchmark".

    >>> print(eval_yaml(name="NYT-H").splitlines()[0], list(yaml.safe_load(eval_yaml(name="NYT-H"))))
    name: NYT-H ['name', 'description', 'evaluation_framework', 'tasks']
    """
    described: dict[str, Any] = {
        "name": name,
        "description": (
            "Relation classification under distant supervision, scored against manual labels (MAGT): F1 of "
            "sentences and of entity pairs under three averages, which favour frequent relations (micro), "
            "rare ones (macro over all relations) or neither (dodrans)."
        ),
        "evaluation_framework": FRAMEWORK,
        "tasks": [
            {"id": task, "config": config, "split": split}
            for task, (config, split) in BENCHMARK_TASKS.items()
        ],
    }
    return yaml.safe_dump(described, sort_keys=False, allow_unicode=True, width=100)
