"""Inputs of the metric's benchmark, and what people use instead: a loop over candidates, scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import auc, precision_recall_fscore_support

from weighted_f1_metric.ranking import DEFAULT_KS

NUM_CLASSES = 42
NUM_RELATIONS = 21


def labels(num_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """References with a long tail over 42 classes, and predictions of which about 70% are right."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, NUM_CLASSES + 1) ** 1.2
    shares /= shares.sum()
    references = rng.choice(NUM_CLASSES, num_rows, p=shares)
    guesses = rng.choice(NUM_CLASSES, num_rows, p=shares)
    return references, np.where(rng.random(num_rows) < 0.7, references, guesses)


def candidates(
    num_units: int, decimals: int | None = None, dtype: Any = np.float64
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of units x relations, rounded where ties are wanted, and about 2.5% gold pairs."""
    rng = np.random.default_rng(0)
    scores = rng.random((num_units, NUM_RELATIONS))
    gold = rng.random(scores.shape) < 0.1 * scores**3
    return (scores if decimals is None else scores.round(decimals)).astype(dtype), gold


def loop_over_candidates(scores: np.ndarray, gold: np.ndarray) -> dict[Any, Any]:
    """The usual evaluator: a dict per candidate, sorted by score, one pass in Python."""
    facts = [
        {"unit": unit, "relation": relation, "score": score, "hit": hit}
        for unit, (line, hits) in enumerate(zip(scores.tolist(), gold.tolist(), strict=True))
        for relation, (score, hit) in enumerate(zip(line, hits, strict=True))
    ]
    facts.sort(key=lambda fact: fact["score"], reverse=True)
    total, correct, average_precision, best = int(gold.sum()), 0, 0.0, 0.0
    precision: list[float] = []
    recall: list[float] = []
    result: dict[Any, Any] = {}
    covered: set[int] = set()
    for k, fact in enumerate(facts, start=1):
        covered.add(fact["relation"])
        correct += fact["hit"]
        precision.append(correct / k)
        recall.append(correct / total)
        if fact["hit"]:
            average_precision += precision[-1] / total
            best = max(best, 2 * correct / (k + total))
        if k in DEFAULT_KS:
            result[k] = precision[-1], len(covered)
    return result | {"auc": auc(recall, precision), "average_precision": average_precision, "max_f1": best}


def scikit_resamples(
    y: np.ndarray, p: np.ndarray, num_resamples: int, averages: tuple[str | None, ...]
) -> None:
    """Resampling rows and calling scikit-learn; dodrans and entropy follow from the per-class scores."""
    rng = np.random.default_rng(0)
    for _ in range(num_resamples):
        drawn = rng.integers(0, len(y), len(y))
        for average in averages:
            found = precision_recall_fscore_support(y[drawn], p[drawn], average=average, zero_division=0)
            if average is None:
                support = found[3]
                for weights in (support**0.75, -support * np.log(support / len(y) + (support == 0))):
                    for scores in found[:3]:
                        np.average(scores, weights=weights)


def track_records(num_rows: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Predictions with scores and references of a sentence track, three rows a bag; and the options."""
    rng = np.random.default_rng(0)
    names = [f"/relation/{number}" for number in range(NUM_RELATIONS)]
    gold, said = (rng.integers(0, NUM_RELATIONS, num_rows).tolist() for _ in range(2))
    scores = rng.random((num_rows, NUM_RELATIONS)).tolist()
    references = [
        {
            "instance_id": f"i{n}",
            "bag_id": f"b{n // 3}",
            "relation": names[code],
            "bag_label": ("yes", "no")[n % 2],
        }
        for n, code in enumerate(gold)
    ]
    predictions = [
        {"instance_id": f"i{n}", "pred": names[code], "scores": dict(zip(names, line, strict=True))}
        for n, (code, line) in enumerate(zip(said, scores, strict=True))
    ]
    return {"predictions": predictions, "references": references}, {"relations": names}


def silent_module(metric: Any, inputs: Any) -> Any:
    """A module of `evaluate` that stores rows as `metric` does, and computes nothing of them."""
    import evaluate

    features = metric.info.features
    if isinstance(features, list):  # strings first, then integers
        features = features[not isinstance(inputs["predictions"][0], str)]

    class Silent(evaluate.Metric):
        def _info(self) -> evaluate.MetricInfo:
            return evaluate.MetricInfo(description="", citation="", features=features)

        def _compute(self, *, predictions: Any, references: Any) -> dict[str, Any]:
            return {}

    return Silent(keep_in_memory=True)
