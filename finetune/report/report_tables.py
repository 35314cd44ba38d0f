"""Tables of the page beyond the main one: reference lines, seen pairs, false alarms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub_cards import as_code, markdown_table
from weighted_f1_metric import TRUTHS, percent, truth_name

LINE_TITLES = {
    "majority": "majority relation",
    "type_pair": "entity-type pair",
    "entities_masked": "entities masked",
    "entities_only": "entities only",
}


Section = tuple[str, str]


def report_sections(results: Mapping[str, Any]) -> list[Section]:
    """Return title and Markdown of each section for what the results hold, in the order of the page."""
    found = [_reference_lines(results), _seen_pairs(results), _false_alarms(results)]
    return [section for section in found if section is not None]


def counted(number: int, noun: str) -> str:
    """Return a number and its noun.

    >>> counted(1, "system"), counted(1200, "system")
    ('1 system', '1,200 systems')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def compared_table(columns: Mapping[str, Mapping[str, Any]]) -> str:
    """Return F1 averages in percent, a row each, a column for each of several results with `mean` and `sd`.

    Rows are those of the first column; a score that a column lacks is a dash.

    >>> print(compared_table({"a": {"mean": {"magt_micro_f1": 0.5}, "sd": {}}, "b": {"mean": {}, "sd": {}}}))
    | F1 in percent | a | b |
    | --- | ---: | ---: |
    | MAGT, micro | 50.00 | - |
    """
    first = next(iter(columns.values()))
    rows = [
        [
            _title(key),
            *(percent(column["mean"].get(key), column["sd"].get(key)) for column in columns.values()),
        ]
        for key in first["mean"]
        if key.endswith("_f1") and not key.endswith("max_f1")
    ]
    return markdown_table(["F1 in percent", *columns], rows)


def _title(key: str) -> str:
    name = key.removesuffix("_f1")
    for truth in sorted(TRUTHS, key=len, reverse=True):  # "magt" also begins "magt_ds_scope"
        if name.startswith(f"{truth}_"):
            average = name.removeprefix(f"{truth}_").replace("macro_all", "macro, all relations")
            return f"{truth_name(truth)}, {average}"
    return name.replace("_", " ")


def _reference_lines(results: Mapping[str, Any]) -> Section | None:
    lines = results.get("reference_lines")
    if lines is None:
        return None
    columns = {"this model": results} | {
        title: lines[name] for name, title in LINE_TITLES.items() if lines.get(name) is not None
    }
    text = (
        "Majority relation: every unit gets the most frequent positive relation of train. Entities masked "
        "and entities only: the same training on sentences whose entities are blanks, and on the two "
        "entities without a sentence."
    )
    if lines.get("type_pair") is None:
        text += " These data have no entity types."
    else:
        text += " Entity-type pair: the most frequent relation of train for the two types."
    return "Reference lines", f"{text}\n\n{compared_table(columns)}"


def _seen_pairs(results: Mapping[str, Any]) -> Section | None:
    parts = results.get("seen_pairs")
    if parts is None:
        return None
    columns = {f"{part} ({own['num_units']:,})": own for part, own in parts.items() if own["mean"]}
    counts = ", ".join(f"{own['num_units']:,} {part}" for part, own in parts.items())
    text = f"Test units whose entity pair training has seen, and the others: {counts}."
    return "Entity pairs seen and unseen in training", f"{text}\n\n{compared_table(columns)}"


def _false_alarms(results: Mapping[str, Any]) -> Section | None:
    alarms = results.get("false_alarms")
    if alarms is None:
        return None
    share = percent(alarms["share"], alarms["sd"])
    rows = [[as_code(name), percent(value)] for name, value in alarms["relations"].items()]
    text = (
        f"Of {alarms['num_units']:,} units of the negative relation that training has not, {share} percent "
        "are given a relation."
    )
    table = f"\n\n{markdown_table(['relation', 'share in percent'], rows)}" if rows else ""
    return "False alarms", text + table
