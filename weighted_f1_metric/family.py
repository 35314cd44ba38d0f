"""Labels or counts -> the weighted F1 family as one flat dict: the public face of counts and scores."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from .columns import Label
from .counts import ClassCounts, class_counts
from .fscore import averaged_scores, class_scores, measure_names
from .signature import signature as signature_line
from .validation import check_choice, check_flag
from .weighting import AVERAGES, Average, named_averages


def family_from_counts(
    counts: ClassCounts,
    *,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    macro_over: str = "supported",
    entropy_total: str = "all",
    per_class: bool = False,
) -> dict[str, Any]:
    """Return the weighted F1 family from counts; see `f1_family` for the arguments and the result.

    >>> counts = class_counts(predictions=["a", "b"], references=["a", "a"])
    >>> family_from_counts(counts, averages="micro")
    {'micro_precision': 0.5, 'micro_recall': 0.5, 'micro_f1': 0.5, 'undefined': []}

    Raises:
        TypeError: `counts` is no ClassCounts.
        ValueError: an argument out of its range.
    """
    if not isinstance(counts, ClassCounts):
        raise TypeError(f"`counts` must be ClassCounts, from class_counts(...); got {type(counts).__name__}.")
    check_choice("entropy_total", entropy_total, ("all", "positive"))
    arrays = {
        "true_positives": counts.true_positives,
        "predicted": counts.predicted,
        "support": counts.support,
    }
    scores = averaged_scores(
        **arrays,
        total=counts.total if entropy_total == "all" else counts.support.sum(),
        averages=averages,
        beta=beta,
        zero_division=zero_division,
        macro_over=macro_over,
    )
    result: dict[str, Any] = {name: float(value) for name, value in scores.values.items()}
    result["undefined"] = [name for name, absent in scores.undefined.items() if absent]
    if check_flag("per_class", per_class):
        columns = class_scores(**arrays, beta=beta, zero_division=zero_division)
        result["per_class"] = {
            label: {
                **{name: float(c[i]) for name, c in zip(measure_names(beta), columns, strict=True)},
                "support": counts.support[i].item(),
                "predicted": counts.predicted[i].item(),
            }
            for i, label in enumerate(counts.labels)
        }
    return result


def f1_family(
    *,
    predictions: Any,
    references: Any,
    labels: Any = None,
    negative_label: Label | None = None,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    macro_over: str = "supported",
    entropy_total: str = "all",
    groups: Mapping[Any, Label] | None = None,
    sample_weight: Any = None,
    outside: str = "error",
    per_class: bool = False,
    signature: bool = False,
) -> dict[str, Any]:
    """Return precision, recall and F of every average: `{average}_{precision|recall|f1}`, floats in [0, 1].

    The average of a measure is sum(w_i s_i) / sum(w_i) over the class scores, for each measure separately: an
    averaged F1 is never the harmonic mean of averaged precision and recall.

    Args:
        predictions, references, labels, negative_label, groups, sample_weight, outside: see `class_counts`.
        averages: names of [B] Table 2 ("micro", "weighted", "dodrans", "entropy", "macro"), exponents "n^a"
            with a in [0, 1], functions support -> weights, or a mapping result name -> one of these.
        beta: F-beta weighs recall beta times as much as precision; the keys end in `fbeta` when it is not 1.
        zero_division: the value of 0 / 0, in [0, 1].
        macro_over: "supported", the classes with n_i > 0 ([B]); or "labels", every class of `labels` ([A];
            scikit-learn with `labels=`). Without `labels` (or `groups`) those are all labels that occur, so
            that the score depends on which ones happen to be predicted: a warning says so.
        entropy_total: N of the entropy weights: "all" rows (the authors' code), or the rows of the "positive"
            classes that are scored.
        per_class: adds `per_class`: label -> {precision, recall, f1, support, predicted}.
        signature: adds `signature`, the line that says how the numbers were made.

    Returns:
        The scores, and `undefined`: the keys whose weights sum to 0 (no support, or entropy with one class
        that holds all rows; micro: 0 / 0) and whose value therefore is `zero_division`. No value is ever NaN.

    >>> scores = f1_family(
    ...     predictions=["a", "NA", "b", "b"], references=["a", "a", "b", "NA"], negative_label="NA"
    ... )
    >>> scores["micro_f1"], round(scores["macro_f1"], 4), scores["undefined"]  # tp 2 of 3 predicted, 3 gold
    (0.6666666666666666, 0.6667, [])

    Warns:
        UserWarning: as `class_counts`; macro_over="labels" without labels.

    Raises:
        TypeError: labels that are float, bool, None, nested or of mixed type; an option of the wrong type.
        ValueError: no rows, unequal lengths, a `negative_label` that no label has, a label outside `labels`,
            an unknown average or option.

    Reference:
        [B] Table 2. With `groups` over SemEval-2010 Task 8's nine relations macro_f1 is the official score.
    """
    named = named_averages(averages)
    remark = depends_on_predictions(macro_over, labels, groups)
    if remark:
        warnings.warn(remark, UserWarning, stacklevel=2)
    check_flag("signature", signature)
    counts = class_counts(
        predictions=predictions,
        references=references,
        labels=labels,
        negative_label=negative_label,
        groups=groups,
        sample_weight=sample_weight,
        outside=outside,
    )
    options: dict[str, Any] = {
        "averages": named,
        "beta": beta,
        "zero_division": zero_division,
        "macro_over": macro_over,
        "entropy_total": entropy_total,
    }
    result = family_from_counts(counts, per_class=per_class, **options)
    if signature:
        # Labels that only the system predicts are no choice of the scorer: two systems stay comparable.
        occurring = [label for label, n in zip(counts.labels, counts.support, strict=True) if n > 0]
        result["signature"] = signature_line(
            labels=occurring if labels is None and groups is None and not remark else counts.labels,
            data=references,
            negative_label=counts.negative_label,
            outside=outside,
            groups=groups,
            sample_weight=sample_weight,
            **options,
        )
    return result


def depends_on_predictions(macro_over: str, labels: Any, groups: Any) -> str | None:
    """Return why a macro average over all labels depends on what is predicted; None where it does not.

    Raises:
        ValueError: an unknown `macro_over`.
    """
    check_choice("macro_over", macro_over, ("supported", "labels"))
    if macro_over == "supported" or labels is not None or groups is not None:
        return None
    return (
        "macro_over='labels' averages over every class of `labels`; without `labels` these are all that "
        "occur, and a system changes its score by predicting more of them. Name the classes in `labels`."
    )
