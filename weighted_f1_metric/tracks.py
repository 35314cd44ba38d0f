"""Tracks: a system scored against distant and human labels, under every ground truth of SPEC part 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .family import family_from_counts
from .fscore import ratio
from .ranking import DEFAULT_KS, RankedCandidates, checked_ks, rank_candidates
from .signature import data_fingerprint, signature
from .track_statistics import TrackStatistics, resolve_truths, statistics_of_units, truth_pairs
from .unit_predictions import UnitPredictions, read_unit_predictions
from .units import Units, read_units
from .validation import check_choice, check_flag, check_real
from .weighting import AVERAGES, Average, named_averages


@dataclass(frozen=True)
class ScoredTrack:
    """A system scored on a track, read once: tables, figures, curves, JSON and pages are made from it.

    Attributes:
        statistics: the per-unit statistics, which hold the units and the predictions.
        scores: the result of `score_track`.
    """

    statistics: TrackStatistics
    scores: dict[str, Any]

    @property
    def units(self) -> Units:
        """The units of the track."""
        return self.statistics.units

    @property
    def predictions(self) -> UnitPredictions:
        """What the system says of each unit."""
        return self.statistics.predictions

    @property
    def signatures(self) -> dict[str, str]:
        """Prefix of each truth -> signature line."""
        signatures: dict[str, str] = self.scores["signatures"]
        return signatures


def score_track(
    *,
    track: str,
    references: Any,
    predictions: Any,
    relations: Any = None,
    negative_relation: str = "NA",
    truths: str | Sequence[str] = "auto",
    unk: str = "error",
    by: str = "rows",
    judgments: Any = None,
    ks: Sequence[int] = DEFAULT_KS,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    entropy_total: str = "all",
    per_class: bool = False,
) -> dict[str, Any]:
    """Return all measures of a system on a track, under each ground truth.

    | prefix | gold (unit, relation) pairs | which predictions of r count |
    | --- | --- | --- |
    | dsgt | r is a DS relation of the unit | all |
    | magt | and one of its rows with r is labelled yes | all ([A] Eq. 1: an unjudged pair is wrong) |
    | magt_ds_scope | as magt | those on units with DS relation r ([A]'s released evaluator) |

    Args:
        track: "sent2sent" and "bag2sent" score rows (instances), "bag2bag" scores bags.
        references: a split of `load_nyt_h` (either config), records, a dict of columns, a DataFrame or an
            Arrow table, with `instance_id`, `bag_id`, `relation` (a name), `bag_label` ("yes", "no", "unk":
            does this sentence express `relation`?), and `sentence` for by="sentences". Class ids are read as
            names through the features of a split, or through rel2id as `relations`.
        predictions: in any of these forms, with the unit's id (`instance_id`, or `bag_id` on bag2bag), `pred`
            (a relation name, or a list of them; [] says none) and optionally `scores`: a mapping relation ->
            number, or as a column an array (num_predictions, num_relations) in the order of `relations`.
            Exactly one prediction a unit.
        relations: the positive relations in id order, or a mapping name -> id (rel2id), which is ordered by
            its ids; may be left out with a split of `load_nyt_h`, whose features name them.
        truths: "auto", a prefix or several. "auto": all three when every row with a positive relation was
            judged, "dsgt" alone when none was; a mixture is an error unless unk="exclude".
        unk: "error", or "exclude": a pair without a yes and with an unk leaves the MAGT counts (its
            predictions count neither way; N stays as it is).
        by: "rows", or "sentences": rows of one bag with the same sentence (twins) become one unit with the
            union of their predictions (and per relation their highest score). Sentence tracks only.
        judgments: answers about further (sentence, relation) pairs: records or columns with `instance_id`,
            `relation` and `answer` ("yes" or "no"). An answer holds for the row and its twins; a bag has a
            yes when one of its sentences has it, a no when all of them have one. A yes is gold under `magt`
            for every system; an answer about a DS relation labelled unk stands for its bag_label.
        ks: the K of precision_at_K and of the coverage.
        averages, beta, zero_division, entropy_total, per_class: as in `f1_family`.

    Returns:
        A dict with, under each prefix, the family over the supported classes (`magt_dodrans_f1`, ...), over
        all relations `{prefix}_macro_all_{precision|recall|f1}` ([A]'s macro), `{prefix}_num_supported`,
        `{prefix}_max_single_recall` (the best micro recall that one relation a unit allows), and with scores
        the ranking measures (`{prefix}_auc`, ...; None where K exceeds the candidates), with
        `{prefix}_auc_over_units`, [A]'s AUC: its recall counts the units with a gold pair, not the pairs, and
        passes 1 where a unit has several. Beside them:

        - num_units; num_pairs, the (unit, DS relation) pairs;
        - num_judged_no: predicted relations that a human refused (no yes, no unk);
        - num_unjudged: predicted relations that nobody judged for their unit;
        - num_twins: rows that share bag and sentence with another row (sentence tracks; None without
          sentences);
        - echo: the same scores for copying each unit's own DS relations, what the labels alone explain;
        - undefined: the keys whose weights sum to 0 and whose value is `zero_division`;
        - signatures: prefix -> signature line.

    >>> rows = [
    ...     {"instance_id": "i0", "bag_id": "b0", "relation": "born_in", "bag_label": "yes"},
    ...     {"instance_id": "i1", "bag_id": "b1", "relation": "born_in", "bag_label": "no"},
    ... ]
    >>> scores = score_track(
    ...     track="bag2bag", references=rows, relations=["born_in", "lives_in"],
    ...     predictions=[{"bag_id": "b0", "pred": "born_in"}, {"bag_id": "b1", "pred": "NA"}],
    ... )
    >>> scores["dsgt_micro_recall"], scores["magt_micro_recall"], scores["echo"]["magt_micro_precision"]
    (0.5, 1.0, 0.5)

    Raises:
        TypeError: records that are none, names that are no strings.
        ValueError: an unknown track, truth or option; a missing key; ids missing, unknown or there twice; a
            relation that `relations` lacks; a mixture of judged and unjudged rows; scores that lack a
            relation, have the wrong shape or are not finite; K <= 0; judgments of unknown ids or relations,
            two for one pair, or against a bag_label.

    Reference:
        [A] Zhu et al. 2020, section 4 and Eq. 1. With `magt_ds_scope` and every unit unambiguous, macro_all
        equals [A]'s released evaluator, which otherwise looks at the first row of a bag only.
    """
    return scored_track(
        track=track,
        references=references,
        predictions=predictions,
        relations=relations,
        negative_relation=negative_relation,
        by=by,
        judgments=judgments,
        truths=truths,
        unk=unk,
        ks=ks,
        averages=averages,
        beta=beta,
        zero_division=zero_division,
        entropy_total=entropy_total,
        per_class=per_class,
    ).scores


def scored_track(
    *,
    track: str,
    references: Any,
    predictions: Any,
    relations: Any = None,
    negative_relation: str = "NA",
    by: str = "rows",
    judgments: Any = None,
    **options: Any,
) -> ScoredTrack:
    """Return a system scored on a track; arguments and errors as `score_track`, whose result is its `scores`.

    >>> rows = [{"instance_id": "i0", "bag_id": "b0", "relation": "born_in", "bag_label": "yes"}]
    >>> scored = scored_track(
    ...     track="bag2bag", references=rows, relations=["born_in"],
    ...     predictions=[{"bag_id": "b0", "pred": "born_in"}],
    ... )
    >>> scored.scores["magt_micro_f1"], scored.units.num_units, scored.predictions.predicted.tolist()
    (1.0, 1, [[True]])
    """
    units = read_units(
        track=track,
        references=references,
        relations=relations,
        negative_relation=negative_relation,
        by=by,
        judgments=judgments,
    )
    return score_units(units, read_unit_predictions(predictions, units), **options)


def score_units(
    units: Units,
    system: UnitPredictions,
    *,
    truths: str | Sequence[str] = "auto",
    unk: str = "error",
    **options: Any,
) -> ScoredTrack:
    """Return a system scored on units that are read already, as several systems or epochs share them.

    Args:
        units: from `read_units`.
        system: from `read_unit_predictions` or `predictions_of_ids`.
        truths, unk: as in `score_track`.
        options: `ks`, `averages`, `beta`, `zero_division`, `entropy_total`, `per_class` of `score_track`.

    Raises:
        TypeError, ValueError: as `resolve_truths` and `checked_options`.
    """
    family, cutoffs, per_class = checked_options(**options)
    prefixes = resolve_truths(truths, unk, units)
    statistics = statistics_of_units(units, system, prefixes)
    result = scores_of_statistics(statistics, **family, per_class=per_class)
    if system.scores is not None:
        result.update(_ranking_of_truths(units, system.scores, prefixes, cutoffs))
    result.update(unit_numbers(units, system.predicted))
    echo = statistics_of_units(units, UnitPredictions(units.distant, None), prefixes)
    result["echo"] = scores_of_statistics(echo, **family)
    result["undefined"] = result.pop("undefined")
    result["signatures"] = track_signatures(units, prefixes, unk=unk, **family)
    return ScoredTrack(statistics, result)


def checked_options(
    *,
    ks: Sequence[int] = DEFAULT_KS,
    averages: Average | Sequence[Average] | Mapping[str, Average] = AVERAGES,
    beta: float = 1.0,
    zero_division: float = 0.0,
    entropy_total: str = "all",
    per_class: bool = False,
) -> tuple[dict[str, Any], tuple[int, ...], bool]:
    """Return the options of the family, the cut-offs K, and whether scores of classes are wanted, checked.

    Raises:
        TypeError, ValueError: as `score_track`.
    """
    family: dict[str, Any] = {
        "averages": named_averages(averages),
        "beta": check_real("beta", beta, low=0.0, high=np.inf),
        "zero_division": check_real("zero_division", zero_division, low=0.0, high=1.0),
        "entropy_total": check_choice("entropy_total", entropy_total, ("all", "positive")),
    }
    return family, checked_ks(ks), check_flag("per_class", per_class)


def _ranking_of_truths(
    units: Units, scores: np.ndarray, prefixes: Sequence[str], ks: tuple[int, ...]
) -> dict[str, float | None]:
    """The ranking measures under every prefix; truths that rank every pair share one sort."""
    everything: RankedCandidates | None = None
    result: dict[str, float | None] = {}
    for prefix in prefixes:
        gold, candidates = truth_pairs(prefix, units)
        if candidates.all():
            ranked = everything = everything or rank_candidates(scores=scores)
        else:
            ranked = rank_candidates(scores=scores, candidates=candidates)
        measures = ranked.measures(gold=gold, ks=ks)
        measures["auc_over_units"] = None
        if measures["auc"] is not None:  # [A]'s recall counts units with a gold pair, as if each had one
            pairs_per_unit = np.count_nonzero(gold) / np.count_nonzero(gold.any(axis=1))
            measures["auc_over_units"] = measures["auc"] * pairs_per_unit
        result |= {f"{prefix}_{name}": value for name, value in measures.items()}
    return result


def scores_of_statistics(
    statistics: TrackStatistics, *, per_class: bool = False, **family: Any
) -> dict[str, Any]:
    """Return the family under every prefix, from per-unit statistics; options as in `family_from_counts`."""
    result: dict[str, Any] = {}
    undefined: list[str] = []
    zero_division = family.get("zero_division", 0.0)
    for prefix in statistics.truths:
        counts = statistics.class_counts(prefix)
        scores = family_from_counts(counts, per_class=per_class, **family)
        over_all = family_from_counts(
            counts, **{**family, "averages": {"macro_all": "macro"}, "macro_over": "labels"}
        )
        undefined += [f"{prefix}_{name}" for name in scores.pop("undefined") + over_all.pop("undefined")]
        result.update({f"{prefix}_{name}": value for name, value in {**scores, **over_all}.items()})
        result[f"{prefix}_num_supported"] = int(np.count_nonzero(counts.support))
        gold = statistics.truths[prefix].gold
        reachable = np.array(len(np.unique(gold.unit)))
        best = ratio(reachable, np.array(len(gold.unit)), zero_division)
        result[f"{prefix}_max_single_recall"] = float(best)
        if not len(gold.unit):
            undefined.append(f"{prefix}_max_single_recall")
    result["undefined"] = undefined
    return result


def unit_numbers(units: Units, predicted: np.ndarray) -> dict[str, int | None]:
    """Return the numbers of units and pairs, and of predictions that a human refused or nobody judged."""
    answered = (units.distant | units.judged) & ~units.unjudged
    refused = predicted & answered & ~units.confirmed
    unjudged = predicted & ~answered & ~units.confirmed
    numbers: dict[str, int | None] = {
        "num_units": units.num_units,
        "num_pairs": int(np.count_nonzero(units.distant)),
        "num_judged_no": int(np.count_nonzero(refused)),
        "num_unjudged": int(np.count_nonzero(unjudged)),
    }
    if units.track != "bag2bag":
        numbers["num_twins"] = units.num_twins
    return numbers


def track_signatures(units: Units, prefixes: Sequence[str], *, unk: str, **family: Any) -> dict[str, str]:
    """Return prefix -> signature line."""
    data = data_fingerprint(units.rows)
    return {
        prefix: signature(
            labels=units.relations,
            data=data,
            negative_label=units.negative_relation,
            track=units.track,
            truth=prefix,
            by=units.by,
            unk=unk,
            judgments=None if prefix == "dsgt" else units.judgments,
            **family,
        )
        for prefix in prefixes
    }
