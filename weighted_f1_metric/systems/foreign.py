"""Records of any system -> prediction records of a track, with everything that was lost as a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from ..columns import check_ids
from ..row_sources import REFERENCE_KEYS, read_columns
from ..units import TRACKS, check_relations, unit_id_key
from ..validation import check_choice, check_real, did_you_mean, quoted
from .triples import Triple, place_of, read_triples

# Where a statement of a system can end; the parts of a report, in its order.
PARTS = {
    "num_mapped": "say a relation of the data, or the negative one",
    "num_empty": "records say nothing, which is the negative relation",
    "num_unknown": "say a label that is no relation here",
    "num_reversed": "are triples with head and tail swapped",
    "num_other_pair": "are triples about another pair of entities",
    "num_below_threshold": "have a score below the threshold",
    "num_extra": "are about units that the test set does not have",
    "num_broken": "are lines that cannot be read",
}
TRIPLES = "triples"


@dataclass(frozen=True)
class ForeignRules:
    """How the records of a system are read.

    Attributes:
        label_map: Its label -> a relation of the data, or the negative one; others stand for themselves.
        unknown: "error", or "negative": a label that is no relation here counts as the negative one.
        missing: "error", or "negative": a unit without record counts as the negative relation.
        extra: "error", or "ignore": records about units that the test set does not have.
        id_key, pred_key, scores_key: What the system calls the id of a unit, its relation or list of
            relations, and its scores; None: `instance_id` or `bag_id`, `pred`, `scores`.
        threshold: Statements below this score are taken back.
    """

    label_map: Mapping[str, str] = field(default_factory=dict)
    unknown: str = "error"
    missing: str = "error"
    extra: str = "error"
    id_key: str | None = None
    pred_key: str | None = None
    scores_key: str | None = None
    threshold: float | None = None


@dataclass(frozen=True)
class ForeignPredictions:
    """What a system says of the units of a track.

    Attributes:
        records: One for each unit, as `score_track` takes them.
        report: `num_records` (those read), `num_statements` (relations and triples in them; a record that
            says nothing is one), the parts of `PARTS`, which sum to `num_statements`, `num_missing` (units
            without record), `num_without_scores` (units that lack scores where others have some: then no
            ranking is scored), `unknown_labels` (label -> times, the most frequent first), `broken_lines`
            (the first three).
    """

    records: list[dict[str, Any]]
    report: dict[str, Any]


Statement = tuple[str | Triple, float | None]


def fit_predictions(
    records: Iterable[Mapping[str, Any]],
    *,
    track: str,
    references: Any,
    relations: Any,
    negative_relation: str = "NA",
    rules: ForeignRules | None = None,
    places: Sequence[str] | None = None,
    broken: Sequence[str] = (),
) -> ForeignPredictions:
    """Return the predictions of any system as records of a track, and what was lost.

    A record says of one unit a label, a list of labels, `[label, score]`, scores of labels, or `triples` (see
    `read_triples`), which count when they are about the unit's pair of entities. On bag2bag records may name
    sentences: their bag gets all that is said of one of them.

    Args:
        records: One or several mappings.
        track, references, relations, negative_relation: As in `score_track`; triples need `head` and `tail`
            with their `word` in the references.
        rules: None for the names of this project and errors for all that does not fit.
        places: How messages call the records; default: records[0], ...
        broken: Lines that should have been records, for the report.

    >>> rows = [{"instance_id": "i0", "bag_id": "b", "relation": "born_in", "bag_label": "yes",
    ...          "head": {"word": "Ann"}, "tail": {"word": "Bonn"}}]
    >>> said = [{"instance_id": "i0", "triples": [{"head": "Bonn", "relation": "born", "tail": "Ann"},
    ...                                           {"head": "ANN", "relation": "born", "tail": "Bonn"}]}]
    >>> fitted = fit_predictions(said, track="sent2sent", references=rows, relations=["born_in"],
    ...                          rules=ForeignRules(label_map={"born": "born_in"}))
    >>> fitted.records, fitted.report["num_mapped"], fitted.report["num_reversed"]
    ([{'instance_id': 'i0', 'pred': ['born_in']}], 1, 1)

    Raises:
        TypeError: A record, label, score or triple of another type.
        ValueError: Rules that do not fit each other or the relations; a record without id or prediction; and,
            unless the rules say otherwise, unknown labels, units without record and records without unit.
    """
    rules = rules or ForeignRules()
    check_choice("track", track, TRACKS)
    names = check_relations(relations, negative_relation)
    label_map = _checked_rules(rules, names, negative_relation)
    units = _Units(track, references)
    read = _Reader(rules, units.id_keys)
    parts: Counter[str] = Counter(dict.fromkeys(PARTS, 0))
    unknown_labels: Counter[str] = Counter()
    said: dict[Any, dict[str, float | None]] = {}
    scores: dict[Any, dict[str, float]] = {}
    seen: dict[Any, str] = {}
    extra: list[Any] = []
    number = 0
    for number, record in enumerate(records, start=1):
        where = places[number - 1] if places else f"records[{number - 1}]"
        key, value = read.unit(record, where)
        statements, given_scores = read.statements(record, where)
        unit = units.unit_of(key, value)
        if unit is None:
            extra.append(value)
            parts["num_extra"] += max(1, len(statements))
            continue
        if value in seen:
            raise ValueError(f"{where}: {key} {value!r} is there twice, first at {seen[value]}.")
        seen[value] = where
        kept = said.setdefault(unit, {})
        parts["num_empty"] += not statements
        for statement, score in statements:
            part, relation = _part_of(statement, score, rules, label_map, units.pairs(unit))
            parts[part] += 1
            if part == "num_unknown":
                unknown_labels[relation] += 1
            elif part == "num_mapped" and relation != negative_relation:
                kept[relation] = score
        _take_highest(scores.setdefault(unit, {}), given_scores, label_map)
    parts["num_broken"] = len(broken)
    if not number:
        raise ValueError("There are no records; a system without a single prediction cannot be scored.")
    missing = [unit for unit in units.ids if unit not in said]
    _refuse(rules, extra, unknown_labels, missing, label_map, units)
    complete = [unit for unit in units.ids if set(names) <= scores.get(unit, {}).keys()]
    with_scores = len(complete) == len(units.ids)
    fitted = [
        {units.key: unit, "pred": list(said.get(unit, ()))}
        | ({"scores": {name: scores[unit][name] for name in names}} if with_scores else {})
        for unit in units.ids
    ]
    report = {
        "num_records": number + len(broken),
        "num_statements": sum(parts.values()),
        **parts,
        "num_missing": len(missing),
        "num_without_scores": len(units.ids) - len(complete) if any(scores.values()) else 0,
        "unknown_labels": dict(unknown_labels.most_common()),
        "broken_lines": list(broken[:3]),
    }
    return ForeignPredictions(fitted, report)


class _Units:
    """The units of a track by the ids that records may name, and their pairs of entities."""

    def __init__(self, track: str, references: Any) -> None:
        columns = read_columns(
            references, required=REFERENCE_KEYS, optional=["head", "tail"], name="references"
        )
        for key in ("instance_id", "bag_id"):
            check_ids(columns[key], key, "references")
        self.key = unit_id_key(track)
        self.ids = list(dict.fromkeys(columns[self.key]))
        self.id_keys = (self.key,) if self.key == "instance_id" else (self.key, "instance_id")
        self._units = {key: dict(zip(columns[key], columns[self.key], strict=True)) for key in self.id_keys}
        self._pairs: dict[Any, list[tuple[str, str]]] | None = None
        if "head" in columns and "tail" in columns:
            self._pairs = {}
            for unit, head, tail in zip(columns[self.key], columns["head"], columns["tail"], strict=True):
                self._pairs.setdefault(unit, []).append((_word(head), _word(tail)))

    def unit_of(self, key: str, value: Any) -> Any:
        return self._units[key].get(value)

    def pairs(self, unit: Any) -> Sequence[tuple[str, str]] | None:
        return None if self._pairs is None else self._pairs[unit]


def _word(entity: Any) -> str:
    word = entity.get("word") if isinstance(entity, Mapping) else entity
    return word if isinstance(word, str) else ""


class _Reader:
    """The id and the statements of a record."""

    def __init__(self, rules: ForeignRules, id_keys: Sequence[str]) -> None:
        self.id_keys = id_keys
        self.names = {rules.id_key: id_keys[0]} if rules.id_key else {key: key for key in id_keys}
        self.pred = rules.pred_key or "pred"
        self.scores = rules.scores_key or "scores"
        self.has_threshold = rules.threshold is not None

    def unit(self, record: Any, where: str) -> tuple[str, Any]:
        if not isinstance(record, Mapping):
            raise TypeError(f"{where}: expected a record (a JSON object); got {record!r:.60}.")
        found = [name for name in self.names if name in record]
        if not found:
            raise ValueError(
                f"{where}: the record has no {' or '.join(map(repr, self.names))}; it has {quoted(record)}. "
                "Name its key with --id_key (`id_key`)."
            )
        return self.names[found[0]], record[found[0]]

    def statements(
        self, record: Mapping[str, Any], where: str
    ) -> tuple[list[Statement], Mapping[str, float]]:
        scores = self._checked_scores(record.get(self.scores), where)
        if record.get(TRIPLES) is not None and self.pred not in record:
            found: list[Statement] = [(one, one.score) for one in read_triples(record[TRIPLES], where)]
        elif self.pred in record:
            found = _labels(record[self.pred], record.get("score"), scores, where)
        elif scores:
            best = max(scores, key=scores.__getitem__)
            found = list(scores.items()) if self.has_threshold else [(best, scores[best])]
        else:
            raise ValueError(
                f"{where}: the record has neither {self.pred!r} nor {TRIPLES!r} nor {self.scores!r}; it has "
                f"{quoted(record)}. Name the key of the label with --pred_key (`pred_key`)."
            )
        without = next((one for one, score in found if score is None), None)
        if self.has_threshold and without is not None:
            raise ValueError(f"{where}: a threshold needs scores; {without!r:.80} has none.")
        return found, scores

    def _checked_scores(self, scores: Any, where: str) -> dict[str, float]:
        if scores is None:
            return {}
        if not isinstance(scores, Mapping):
            raise TypeError(
                f"{where}: {self.scores!r} must be an object label -> number; got {scores!r:.60}."
            )
        if all(type(score) is float and -inf < score < inf for score in scores.values()):  # hundreds a record
            return dict(scores)
        return {
            label: check_real(f"{where}: score of {label!r}", score, low=-inf, high=inf)
            for label, score in scores.items()
            if score is not None
        }


def _labels(value: Any, score: Any, scores: Mapping[str, float], where: str) -> list[Statement]:
    """A label, a list of labels, or [label, score] as OpenNRE answers."""
    if value is None:
        return []
    if (
        isinstance(value, (list, tuple))
        and len(value) == 2
        and isinstance(value[0], str)
        and not isinstance(value[1], str)
    ):
        value, score = value
    if score is not None:
        score = check_real(f"{where}: score", score, low=-inf, high=inf)
    labels = [value] if isinstance(value, str) else value
    if not isinstance(labels, (list, tuple)) or not all(isinstance(label, str) for label in labels):
        raise TypeError(f"{where}: a prediction must be a label or a list of labels; got {value!r:.60}.")
    return [
        (label, scores.get(label, score))
        for label in dict.fromkeys(label.strip() for label in labels)
        if label
    ]


def _part_of(
    statement: str | Triple,
    score: float | None,
    rules: ForeignRules,
    label_map: Mapping[str, str],
    pairs: Sequence[tuple[str, str]] | None,
) -> tuple[str, str]:
    """The part of the report that a statement belongs to, and its relation or unknown label."""
    label = statement.relation if isinstance(statement, Triple) else statement
    if rules.threshold is not None and score is not None and score < rules.threshold:
        return "num_below_threshold", label
    if isinstance(statement, Triple):
        if pairs is None:
            raise ValueError(
                "Triples are matched to the entities of a unit; the references have no `head` and `tail`."
            )
        place = place_of(statement, pairs)
        if place != "same":
            return ("num_reversed" if place == "reversed" else "num_other_pair"), label
    relation = label_map.get(label)
    return ("num_unknown", label) if relation is None else ("num_mapped", relation)


def _take_highest(
    highest: dict[str, float], scores: Mapping[str, float], label_map: Mapping[str, str]
) -> None:
    for label, score in scores.items():
        relation = label_map.get(label)
        if relation is not None and score > highest.get(relation, -inf):
            highest[relation] = score


def _checked_rules(rules: ForeignRules, names: Sequence[str], negative_relation: str) -> dict[str, str]:
    """Label -> relation, with the data's own names."""
    check_choice("unknown", rules.unknown, ("error", "negative"))
    check_choice("missing", rules.missing, ("error", "negative"))
    check_choice("extra", rules.extra, ("error", "ignore"))
    if rules.threshold is not None:
        check_real("threshold", rules.threshold, low=-inf, high=inf)
    known = {name: name for name in (*names, negative_relation)}
    wrong = [target for target in rules.label_map.values() if target not in known]
    if wrong:
        raise ValueError(
            f"The map of labels names relations that do not exist: {quoted(dict.fromkeys(wrong))}."
            f"{did_you_mean(wrong[0], known)}"
        )
    return {**known, **rules.label_map}


def _refuse(
    rules: ForeignRules,
    extra: Sequence[Any],
    unknown: Counter[str],
    missing: Sequence[Any],
    known: Mapping[str, str],
    units: _Units,
) -> None:
    """Raise for what the rules do not allow."""
    if extra and rules.extra == "error":
        raise ValueError(
            f"{len(extra)} records are about units that the references do not have: {quoted(extra)}. "
            "To leave them out: --extra ignore."
        )
    if unknown and rules.unknown == "error":
        hint = did_you_mean(next(iter(unknown)), known)
        raise ValueError(
            f"{len(unknown)} labels ({sum(unknown.values())} predictions) are no relations of the data: "
            f"{quoted(unknown)}.{hint} Give a map (--map FILE), or count them as negative: "
            "--unknown negative."
        )
    if missing and rules.missing == "error":
        raise ValueError(
            f"{len(missing)} of {len(units.ids)} units have no prediction: {quoted(missing)}. "
            "To count them as negative: --missing negative."
        )
