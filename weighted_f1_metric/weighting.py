"""Class weighting schemes: each maps the support of the classes to unnormalised class weights.

With n_i the support of class i and N all rows, [B] Table 2 defines (0 where n_i = 0):

    weighted n_i      dodrans n_i^(3/4)      entropy -n_i log(n_i / N)      macro 1

`"n^a"` with a in [0, 1] is the line these lie near (a = 1 weighted, 3/4 dodrans, 0 macro), and any function
support -> weights can serve. Micro is no weighting of class scores: it sums counts over the classes.

Reference: [B] Harbecke et al. 2022, "Why only Micro-F1? Class Weighting of Measures for Relation
Classification", section 3 and Table 2; https://aclanthology.org/2022.nlppower-1.4/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .validation import check_real

AVERAGES = ("micro", "weighted", "dodrans", "entropy", "macro")

Scheme = Callable[[np.ndarray], Any]
Average = str | Scheme


def support_weights(support: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return n_i: the scheme "weighted"."""
    return support


def dodrans_weights(support: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return n_i^(3/4): the scheme "dodrans" (Latin for three quarters)."""
    return support**0.75


def entropy_weights(support: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return -n_i log(n_i / N) = n_i log(N / n_i): the scheme "entropy"; 0 for a class with all rows."""
    supported = support > 0
    odds = np.divide(total, support, out=np.ones_like(support), where=supported)
    return support * np.log(odds)


def macro_weights(support: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return 1 for each class with support: the scheme "macro"."""
    return (support > 0).astype(np.float64)


NAMED_SCHEMES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "weighted": support_weights,
    "dodrans": dodrans_weights,
    "entropy": entropy_weights,
    "macro": macro_weights,
}


def named_averages(averages: Average | Sequence[Average] | Mapping[str, Average]) -> dict[str, Average]:
    """Return result name -> average, from one average, several, or a mapping that names them.

    A function is named after itself; a lambda has no name of its own and needs the mapping.

    >>> list(named_averages(["micro", "n^0.5"]))
    ['micro', 'n^0.5']

    Raises:
        TypeError: an entry is neither a name nor a function.
        ValueError: an unknown name, an exponent outside [0, 1], a name used twice, a lambda without a name,
            or no average at all.
    """
    if isinstance(averages, str) or callable(averages):
        averages = (averages,)
    if not isinstance(averages, Iterable):
        raise TypeError(
            f"`averages` must be names, functions or a mapping of these; got {averages!r}. "
            f"The default is {AVERAGES}."
        )
    if isinstance(averages, Mapping):
        pairs = [(str(name), average) for name, average in averages.items()]
    else:
        pairs = [(_own_name(average), average) for average in averages]
    if not pairs:
        raise ValueError(f"`averages` is empty; name at least one of {', '.join(map(repr, AVERAGES))}.")
    named: dict[str, Average] = {}
    for name, average in pairs:
        if name in named:
            raise ValueError(f"`averages` holds {name!r} twice; every result key needs its own name.")
        if not callable(average):
            _check_name(average)
        named[name] = average
    return named


def _own_name(average: Any) -> str:
    """The name under which `average` appears in results."""
    if not callable(average):
        return _check_name(average)
    name = getattr(average, "__name__", type(average).__name__)
    if name == "<lambda>":
        raise ValueError(
            "A lambda in `averages` has no name for its result keys; pass averages={'my_name': function}."
        )
    return name


def _check_name(average: Any) -> str:
    if not isinstance(average, str):
        raise TypeError(
            f"An average is a name or a function support -> weights; got {average!r} of type "
            f"{type(average).__name__}."
        )
    if average not in AVERAGES:
        exponent(average)
    return average


def exponent(average: str) -> float:
    """Return the a of a scheme written "n^a".

    >>> exponent("n^0.25")
    0.25

    Raises:
        ValueError: not of this form, or a outside [0, 1].
    """
    base, caret, text = average.partition("^")
    try:
        value = float(text) if base == "n" and caret else None
    except ValueError:
        value = None
    if value is None:
        hint = f" Did you mean {average.strip().lower()!r}?" if average.strip().lower() in AVERAGES else ""
        raise ValueError(
            f"`average` must be one of {', '.join(map(repr, AVERAGES))}, 'n^a' with a in [0, 1], or a "
            f"function; got {average!r}.{hint}"
        )
    return check_real(f"a in {average}", value, low=0.0, high=1.0)


def class_weights(support: Any, average: Average, *, total: Any = None) -> np.ndarray:
    """Return the unnormalised weights of the classes, float64, in the shape of `support` (..., num_classes).

    Args:
        support: n_i per class on the last axis, >= 0; leading axes hold e.g. resamples.
        average: "weighted", "dodrans", "entropy", "macro", "n^a", or a function. The function gets one
            float64 vector (num_classes,) of supports at a time and returns as many finite weights >= 0; what
            it returns for a class without support is not used.
        total: N of the entropy scheme, all rows including the negative class; in the shape of the leading
            axes. Default: the sum of `support`.

    >>> class_weights([16, 1, 0], "dodrans").tolist()
    [8.0, 1.0, 0.0]
    >>> class_weights([16, 1, 0], "n^0.5").tolist()
    [4.0, 1.0, 0.0]
    >>> class_weights([2, 2, 0], "entropy", total=4).round(3).tolist()  # 2 log 2 = 1.386
    [1.386, 1.386, 0.0]

    Raises:
        TypeError: `average` is neither a name nor a function.
        ValueError: an unknown name; "micro"; negative or non-finite support; `total` below the largest
            support; a function that returns another shape, a negative or a non-finite weight.

    Reference:
        [B] Table 2. As in the authors' code the entropy's N includes the negative class.
    """
    n = np.asarray(support, dtype=np.float64)
    if n.ndim == 0 or not np.all(np.isfinite(n)) or np.any(n < 0):
        raise ValueError(
            "`support` must be an array of finite numbers >= 0 with the classes on its last axis."
        )
    if callable(average):
        return np.where(n > 0, _called_weights(average, n), 0.0)
    if _check_name(average) == "micro":
        raise ValueError(
            "'micro' sums counts over classes and weights no class scores; use f1_family for it."
        )
    rows = n.sum(axis=-1, keepdims=True) if total is None else np.asarray(total, dtype=np.float64)[..., None]
    largest = n.max(axis=-1, keepdims=True, initial=0.0)
    if np.any(rows < largest * (1 - 1e-9)):
        raise ValueError(
            "`total` is smaller than the support of a class; it counts all rows, the negative too."
        )
    rows = np.maximum(rows, largest)  # sums of float row weights can differ in their last bits
    if average in NAMED_SCHEMES:
        return NAMED_SCHEMES[average](n, rows)
    return np.where(n > 0, n ** exponent(average), 0.0)


def _called_weights(scheme: Scheme, support: np.ndarray) -> np.ndarray:
    """`scheme` applied to each vector on the last axis, checked."""
    name = getattr(scheme, "__name__", repr(scheme))
    vectors = support.reshape(-1, support.shape[-1])
    weights = np.empty_like(vectors)
    for position, vector in enumerate(vectors):
        result = np.asarray(scheme(vector.copy()), dtype=np.float64)
        if result.shape != vector.shape:
            raise ValueError(
                f"The weighting function {name} returned shape {result.shape} for {vector.shape[0]} classes; "
                "it must return one weight per class."
            )
        used = result[vector > 0]
        if not np.all(np.isfinite(used)) or np.any(used < 0):
            raise ValueError(f"The weighting function {name} returned a negative or non-finite weight.")
        weights[position] = result
    return weights.reshape(support.shape)


def check_desiderata(weights: Any, support: Any) -> dict[str, bool]:
    """Return which of [B]'s desiderata the normalised weights meet: {"D0": bool, "D1": bool, "D2": bool}.

    With w the weights divided by their sum, over the classes with support:

    - D0: w is a set of weights: every w_i >= 0, they sum to 1, and no class without support has any;
    - D1: a larger class never weighs less: n_i <= n_j implies w_i <= w_j;
    - D2: a row of a larger class never weighs more: n_i <= n_j implies w_i / n_i >= w_j / n_j.

    Both orders are weak, so the ends of the range pass: "macro" meets D1 with equality, "weighted" meets D2
    with equality. Equal supports must have equal weights. "entropy" can miss D1: -p log p falls beyond
    p = 1/e, so a class with more than 37% of all rows can weigh less than a smaller one.

    Args:
        weights: unnormalised or normalised weights, (num_classes,).
        support: n_i, (num_classes,).

    >>> check_desiderata([8, 1], [16, 1])
    {'D0': True, 'D1': True, 'D2': True}
    >>> check_desiderata([1, 8], [16, 1])  # the rare class weighs more
    {'D0': True, 'D1': False, 'D2': True}

    Raises:
        ValueError: shapes differ, or support is negative or not finite.

    Reference:
        [B] section 3, in the weak form in which its existing schemes are the extremes.
    """
    w = np.asarray(weights, dtype=np.float64)
    n = np.asarray(support, dtype=np.float64)
    if w.ndim != 1 or w.shape != n.shape:
        raise ValueError(
            f"`weights` and `support` must be vectors of one length; got {w.shape} and {n.shape}."
        )
    if not np.all(np.isfinite(n)) or np.any(n < 0):
        raise ValueError("`support` must hold finite numbers >= 0.")
    total = w.sum()
    if not np.all(np.isfinite(w)) or total <= 0:
        return {"D0": False, "D1": False, "D2": False}
    w = w / total
    supported = n > 0
    d0 = bool(np.all(w >= 0) and np.all(w[~supported] == 0))
    order = np.argsort(n[supported], kind="stable")
    n, w = n[supported][order], w[supported][order]
    slack = 1e-12  # rounding of the normalisation, far below any difference that support can make
    per_row = w / n
    tied = np.diff(n) == 0
    equal = np.abs(np.diff(w)) <= slack * w[1:]
    ties_agree = bool(np.all(equal[tied]))
    d1 = ties_agree and bool(np.all(np.diff(w) >= -slack * w[1:]))
    d2 = ties_agree and bool(np.all(np.diff(per_row) <= slack * per_row[1:]))
    return {"D0": d0, "D1": d1, "D2": d2}
