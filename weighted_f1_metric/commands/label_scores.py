"""`score --gold FILE --pred FILE`: labels against labels, the family and the classes."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable

from ..columns import repeated_ids
from ..family import f1_family
from ..label_statistics import undirected
from ..systems.label_breakdown import label_breakdown, label_breakdown_tables
from ..table import Table
from ..tables import classes_table, measures_table
from ..validation import did_you_mean, quoted
from .files import write_json
from .label_files import GOLD_NAMES, PREDICTED_NAMES, LabelColumn, read_label_column


def run_label_score(arguments: argparse.Namespace) -> int:
    """Print the scores of the labels that the parsed arguments name, and return the exit status 0.

    Raises:
        FileNotFoundError: As `read_label_column`.
        ValueError: As `read_label_column`, `aligned_labels` and `f1_family`; `--groups direction` for labels
            without direction.
    """
    gold = read_label_column(arguments.gold, key=arguments.gold_key, names=GOLD_NAMES)
    predicted = read_label_column(arguments.pred, key=arguments.pred_key, names=PREDICTED_NAMES)
    predictions = aligned_labels(gold, predicted)
    groups = None
    if arguments.groups == "direction":
        groups = direction_groups({*gold.labels, *predictions} - {arguments.negative})
    scores = f1_family(
        predictions=predictions,
        references=gold.labels,
        negative_label=arguments.negative,
        averages=arguments.averages,
        beta=arguments.beta,
        groups=groups,
        per_class=True,
        signature=True,
    )
    tables = [measures_table(scores)]
    if arguments.per_class:
        tables.append(classes_table(scores["per_class"], title="relation" if groups else "class"))
    if arguments.breakdown is not None:
        other = [name for name in arguments.breakdown if name != "support"]
        if other:
            raise ValueError(f"--breakdown {' '.join(other)} needs a track; labels have `support`.")
        scores["breakdown"] = label_breakdown(
            predictions=predictions, references=gold.labels, negative_label=arguments.negative
        )
        tables += label_breakdown_tables(scores["breakdown"])
    notes = [f"{len(predictions)} rows, {len(scores['per_class'])} classes are scored."]
    notes += _unseen_lines(predictions, gold.labels)
    if scores["undefined"]:
        notes.append(f"Undefined, printed as 0: {', '.join(scores['undefined'])}.")
    if not arguments.per_class:
        del scores["per_class"]
    print_scores(tables, [scores["signature"], *notes], scores, arguments)
    return 0


def is_prose(form: str) -> bool:
    """Return whether a format is for people: in others standard output holds nothing but the tables, to be
    piped.
    """
    return form in ("markdown", "table")


def print_scores(
    tables: Iterable[Table], notes: Iterable[str], scores: object, arguments: argparse.Namespace
) -> None:
    """Print tables and notes in the format that `--format` names, and write `--json`."""
    notes_to = sys.stdout if is_prose(arguments.format) else sys.stderr
    if arguments.format == "json":
        write_json("-", scores)
    else:
        print("\n\n".join(table.rendered(arguments.format) for table in tables))
    print("\n".join(["", *notes]), file=notes_to)
    if arguments.json:
        write_json(arguments.json, scores)
        print(f"Every number: {arguments.json}", file=notes_to)


def aligned_labels(gold: LabelColumn, predicted: LabelColumn) -> list[str]:
    """Return the predicted labels in the order of the gold rows: by id where both files name their rows.

    Raises:
        ValueError: Other ids in one file than in the other, an id twice, or other numbers of rows.
    """
    if gold.ids is None or predicted.ids is None:
        if len(gold.labels) != len(predicted.labels):
            raise ValueError(
                f"{gold.path} has {len(gold.labels)} rows, {predicted.path} {len(predicted.labels)}; every "
                "row needs one prediction, in the same order."
            )
        return predicted.labels
    for column in (gold, predicted):
        if repeated := repeated_ids(column.ids or []):
            raise ValueError(
                f"{column.path}: {len(repeated)} ids are there more than once: {quoted(repeated)}."
            )
    by_id = dict(zip(predicted.ids, predicted.labels, strict=True))
    missing = [row for row in gold.ids if row not in by_id]
    extra = by_id.keys() - set(gold.ids)
    if missing or extra:
        raise ValueError(
            f"{predicted.path} lacks {len(missing)} of the {len(gold.ids)} rows of {gold.path}"
            f"{f' (first: {quoted(missing)})' if missing else ''} and has {len(extra)} others"
            f"{f' ({quoted(sorted(extra))})' if extra else ''}; every row needs one prediction."
        )
    return [by_id[row] for row in gold.ids]


def direction_groups(labels: Iterable[str]) -> dict[str, str]:
    """Return label -> relation without its direction, for scores such as SemEval-2010 Task 8's official one.

    >>> direction_groups(["Cause-Effect(e2,e1)", "Cause-Effect(e1,e2)"])
    {'Cause-Effect(e1,e2)': 'Cause-Effect', 'Cause-Effect(e2,e1)': 'Cause-Effect'}

    Raises:
        ValueError: A label without direction.
    """
    groups = {label: undirected(label) for label in sorted(labels)}
    plain = [label for label, relation in groups.items() if label == relation]
    if plain:
        raise ValueError(
            f"`--groups direction` needs labels R(e1,e2) or R(e2,e1); {len(plain)} have no direction: "
            f"{quoted(plain)}. Name the negative class with --negative."
        )
    return groups


def _unseen_lines(predictions: list[str], references: list[str]) -> list[str]:
    """Return a line about the labels that occur in the predictions alone, which only cost precision."""
    known = set(references)
    unseen = Counter(label for label in predictions if label not in known)
    if not unseen:
        return []
    names = sorted(unseen)
    hint = next((hint for name in names if (hint := did_you_mean(str(name), map(str, known)))), "")
    return [
        f"warning: {len(unseen)} labels ({sum(unseen.values())} rows) are in the predictions only: "
        f"{quoted(names)}.{hint}"
    ]
