"""Sheets about any (sentence, relation) pairs, a pool or a sample, and their answers as a judgments file.

A judgments file has a JSON line {"instance_id", "relation", "answer"} per pair; the metric reads it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..folder import read_relations
from ..records import json_records
from ..schema import NEGATIVE_RELATION, TEST
from .annotation import (
    ANSWER_COLUMN,
    ANSWERS,
    ID_COLUMN,
    Agreement,
    Place,
    cohen_kappa,
    file_records,
    newer_folder,
    sheet_path,
    sheet_rows,
    write_questions,
)
from .pool import Pool, choose_pairs
from .release_folder import write_text
from .sampling import drawn_sample

Pair = tuple[str, str]
RELATION_COLUMN = "relation"
UNITS = {"sentence": "instance_id", "bag": "bag_id"}


def write_pool_sheet(
    data_dir: Place,
    sheet: Place,
    *,
    predictions: Sequence[Place],
    budget: int,
    judgments: Place | None = None,
) -> Pool:
    """Write the (sentence, relation) pairs most worth judging as a sheet; return what they can settle.

    Args:
        data_dir: A folder in the newer release's layout.
        sheet: The file to write, .csv or .tsv; an existing one is not overwritten.
        predictions: Prediction files of one system each, all by instance or all by bag.
        budget: How many pairs can be judged.
        judgments: A judgments file with the answers so far.

    Raises:
        FileNotFoundError: `data_dir` or a file is not there.
        ValueError: As `choose_pairs`; a fault in a file, a prediction for an unknown unit or relation.
    """
    path = _free_sheet(sheet)
    folder = newer_folder(data_dir)
    records = list(file_records(folder, TEST))
    relations = [name for name in read_relations(folder) if name != NEGATIVE_RELATION]
    keys, systems = set(), {}
    for place in predictions:
        key, said = _read_system(Path(place), records, relations)
        name = Path(place).stem
        systems[str(place) if name in systems else name] = said
        keys.add(key)
    if len(keys) > 1:
        raise ValueError("the prediction files must all be by instance_id or all by bag_id; these are mixed.")
    pool = choose_pairs(
        records=records,
        systems=systems,
        relations=relations,
        budget=budget,
        by_bag=keys == {"bag_id"},
        judgments=[] if judgments is None else read_judgments(judgments),
    )
    by_id = {record[ID_COLUMN]: record for record in records}
    write_questions(path, ({**by_id[number], "relation": name} for number, name in pool.pairs))
    return pool


def write_sample_sheet(
    data_dir: Place,
    sheet: Place,
    *,
    num_drawn: int,
    unit: str = "sentence",
    stratify: str = "relation",
    allocation: str = "proportional",
    seed: int = 0,
) -> tuple[dict[str, Any], int]:
    """Draw (unit, DS relation) pairs of test; write their rows as a sheet, and the design beside it.

    The design goes to the name of the sheet with the suffix `.design.json`. Of a bag's pair all rows with
    that relation are asked. Rows that have a yes or no already are not asked again.

    Returns:
        The design, and the number of rows in the sheet.

    Raises:
        FileNotFoundError: `data_dir` is not there.
        ValueError: As `drawn_sample`; another unit, a file that exists, nothing to ask.
    """
    path = _free_sheet(sheet)
    if unit not in UNITS:
        raise ValueError(f"`unit` must be one of {', '.join(map(repr, UNITS))}; got {unit!r}.")
    design_file = path.with_suffix(".design.json")
    if design_file.exists():
        raise ValueError(f"{design_file} exists already: a sheet belongs to it; give another name.")
    rows = [r for r in file_records(newer_folder(data_dir), TEST) if r["relation"] != NEGATIVE_RELATION]
    pair_of = [(row[UNITS[unit]], row["relation"]) for row in rows]
    design = {
        "unit": unit,
        **drawn_sample(
            list(dict.fromkeys(pair_of)),
            num_drawn=num_drawn,
            stratify=stratify,
            allocation=allocation,
            seed=seed,
        ),
    }
    drawn = {tuple(pair) for pair in design["drawn"]}
    asked = [
        row for row, pair in zip(rows, pair_of, strict=True) if pair in drawn and row["bag_label"] == "unk"
    ]
    if not asked:
        raise ValueError("there is nothing to ask: every row that was drawn has its yes or no.")
    write_questions(path, asked)
    write_text(design_file, json.dumps(design, indent=1, ensure_ascii=False) + "\n")
    return design, len(asked)


@dataclass(frozen=True)
class MergedJudgments:
    """What `merge_judgments` wrote: the file, the counts of its answers, pairs left open, agreement."""

    path: Path
    num_yes: int
    num_no: int
    num_unanswered: int
    agreement: Agreement | None


def merge_judgments(
    data_dir: Place,
    out: Place,
    *,
    annotators: Sequence[Place],
    adjudicator: Place | None = None,
    earlier: Place | None = None,
) -> MergedJudgments:
    """Write the answers of filled sheets about any pairs as a judgments file.

    Args:
        data_dir: The data set that the sheets were written from.
        out: The file to write; an existing one is not overwritten.
        annotators: One or two filled sheets. Rows without an answer stay open.
        adjudicator: A filled sheet with answers for the pairs on which two annotators differ.
        earlier: A judgments file whose answers come first in the new one.

    Raises:
        FileNotFoundError: A file is not there.
        ValueError: A fault in a sheet; an unknown id or relation; a pair twice, or in `earlier` already;
            annotators who differ and no answer of the adjudicator.
    """
    path = Path(os.path.abspath(os.path.expanduser(out)))
    if path.exists():
        raise ValueError(f"{path} exists already; give another file.")
    if not 1 <= len(annotators) <= 2:
        raise ValueError(f"one or two annotators' sheets are merged; got {len(annotators)}.")
    folder = newer_folder(data_dir)
    known = (
        {r[ID_COLUMN] for r in file_records(folder, TEST)},
        set(read_relations(folder)) - {NEGATIVE_RELATION},
    )
    sheets = [read_pair_answers(sheet, known) for sheet in annotators]
    if sheets[0].keys() != sheets[-1].keys():
        strange = sorted(sheets[0].keys() ^ sheets[-1].keys())
        raise ValueError(f"{len(strange)} pairs are in one annotator's sheet alone: {_shown(strange)}.")
    both = [pair for pair in sheets[0] if all(sheet[pair] for sheet in sheets)]
    final = {pair: sheets[0][pair] for pair in both}
    differ = [pair for pair in both if sheets[0][pair] != sheets[-1][pair]]
    if differ:
        third = {} if adjudicator is None else read_pair_answers(adjudicator, known)
        missing = [pair for pair in differ if not third.get(pair)]
        if missing:
            raise ValueError(
                f"the annotators differ on {len(differ)} of {len(both)} pairs, and there is no adjudicator's "
                f"answer to {len(missing)}: {_shown(missing)}."
            )
        final |= {pair: third[pair] for pair in differ}
    before = (
        {}
        if earlier is None
        else {(j[ID_COLUMN], j["relation"]): j["answer"] for j in read_judgments(earlier)}
    )
    again = [pair for pair in final if pair in before]
    if again:
        raise ValueError(f"{len(again)} pairs are answered in {earlier} already: {_shown(again)}.")
    lines = [
        json.dumps({ID_COLUMN: number, "relation": name, "answer": answer}, ensure_ascii=False)
        for (number, name), answer in (before | final).items()
    ]
    if not lines:
        raise ValueError("the sheets hold no answer yet; fill in yes or no.")
    write_text(path, "".join(f"{line}\n" for line in lines))
    agreement = None
    if len(sheets) == 2 and both:
        agreement = cohen_kappa(
            answers_a=[sheets[0][p] for p in both], answers_b=[sheets[1][p] for p in both]
        )
    num_yes = sum(answer == "yes" for answer in final.values())
    return MergedJudgments(path, num_yes, len(final) - num_yes, len(sheets[0]) - len(both), agreement)


def read_pair_answers(sheet: Place, known: tuple[set[str], set[str]]) -> dict[Pair, str]:
    """Return (instance id, relation) -> "yes", "no", or "" from a filled sheet about any pairs.

    Raises:
        FileNotFoundError: The sheet is not there.
        ValueError: A missing column, an unknown id or relation, a pair twice, another answer.
    """
    found: dict[Pair, str] = {}
    for where, row in sheet_rows(sheet_path(sheet)):
        cells = [row.get(name) or "" for name in (ID_COLUMN, RELATION_COLUMN)]
        values = [
            cell if cell in names else cell.removeprefix("'")
            for cell, names in zip(cells, known, strict=True)
        ]
        for value, names, what in zip(values, known, ("row of test", "positive relation"), strict=True):
            if value not in names:
                raise ValueError(f"{where}: {value!r} is no {what} of the data set.")
        pair = (values[0], values[1])
        answer = (row[ANSWER_COLUMN] or "").strip().casefold()
        if pair in found:
            raise ValueError(f"{where}: the pair {pair!r} is there twice; leave one of them.")
        if answer and answer not in ANSWERS:
            raise ValueError(f"{where}: the answer must be yes or no; got {row[ANSWER_COLUMN]!r}.")
        found[pair] = answer
    return found


def read_judgments(path: Place) -> list[dict[str, Any]]:
    """Return the records of a judgments file.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: A line that is no object with texts under `instance_id`, `relation` and `answer`.
    """
    records = []
    for where, record in json_records(path):
        if not all(isinstance(record.get(key), str) for key in (ID_COLUMN, "relation", "answer")):
            raise ValueError(
                f"{where}: a judgment has instance_id, relation and answer; got {record!r:.100}."
            )
        if record["answer"] not in ANSWERS:
            raise ValueError(f"{where}: the answer must be yes or no; got {record['answer']!r}.")
        records.append(record)
    return records


def _read_system(
    path: Path, records: Sequence[Mapping[str, Any]], relations: Sequence[str]
) -> tuple[str, dict[str, list[str]]]:
    """The id key of a prediction file, and id -> its positive relations; each unit of test once."""
    said: dict[str, list[str]] = {}
    key = ""
    allowed = {*relations, NEGATIVE_RELATION}
    for where, record in json_records(path):
        key = key or ("bag_id" if "bag_id" in record else ID_COLUMN)
        if key not in record or "pred" not in record:
            raise ValueError(
                f"{where}: a prediction has {key!r} and 'pred'; got {', '.join(map(repr, record))}."
            )
        pred = record["pred"]
        names = [pred] if isinstance(pred, str) else pred
        if not isinstance(names, list) or not set(map(str, names)) <= allowed:
            raise ValueError(f"{where}: {pred!r:.100} is no relation of rel2id.json, nor a list of such.")
        if record[key] in said:
            raise ValueError(f"{where}: {record[key]!r} is there twice; each unit has one prediction.")
        said[record[key]] = [name for name in names if name != NEGATIVE_RELATION]
    needed = {record[key] for record in records} if key else set()
    if said.keys() != needed:
        strange = sorted(map(str, said.keys() ^ needed))
        raise ValueError(
            f"{path} does not fit the test set: {len(strange)} ids are in one alone: {_shown(strange)}."
        )
    return key, said


def _free_sheet(sheet: Place) -> Path:
    path = sheet_path(sheet)
    if path.exists():
        raise ValueError(f"{path} exists already, perhaps with answers in it; give another file.")
    return path


def _shown(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
