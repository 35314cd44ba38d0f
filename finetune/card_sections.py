"""The sections of a run's card: Markdown from what results.json holds; text from data is escaped (pure)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from hub_cards import as_code, as_text, markdown_table

from .results import score_table, selection_sentence

DATA_NAMES = {
    "nyt_h": "NYT-H",
    "semeval2010": "SemEval-2010 Task 8",
    "tacred": "TACRED",
    "opennre": "data in the format of OpenNRE",
    "hub": "a dataset of the Hub",
}
_COUNTS = {
    "num_rows": "rows",
    "num_windowed": "cut to a window",
    "num_not_found": "entity not found",
    "num_cannot_be_kept": "entities do not fit",
}
TRUTHS = {
    "dsgt": "DSGT: distant labels",
    "magt": "MAGT: human labels",
    "magt_ds_scope": "MAGT, DS scope: human labels, distant relations only",
}
# Arguments whose values are places on one machine.
_PLACES = ("data_dir", "output_dir", "model_name_or_path", "dataset_name")


def hub_name(name: str) -> str | None:
    """The name of a repository on the Hub, or None for the path of a folder.

    >>> hub_name("bert-base-uncased"), hub_name("user/model"), hub_name("/models/a"), hub_name("runs/b/c")
    ('bert-base-uncased', 'user/model', None, None)
    """
    return name if re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", name) else None


def without_places(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with the last part only of what is a path on one machine.

    >>> without_places({"data_dir": "/home/me/nyt-h", "seeds": [9]})
    {'data_dir': 'nyt-h', 'seeds': [9]}
    """
    return {
        name: PurePath(value).name if _is_place(name, value) else value for name, value in arguments.items()
    }


def _is_place(name: str, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    return PurePath(value).is_absolute() or (name in _PLACES and hub_name(value) is None)


def description_text(results: Mapping[str, Any], encoder: str, data: str, seed: str | None) -> str:
    """What the model does and is, in two sentences."""
    arguments = results["arguments"]
    num_relations = len(results["data"]["label_names"]) - 1
    held = f" The weights are those of seed {seed}." if seed is not None else ""
    if arguments.get("classifier_head") == "type_restriction":
        held = (
            " It says only relations that the training rows have for the types of the two entities (RECENT, "
            f"Lyu and Chen 2021).{held}"
        )
    return (
        f"Relation classification: which of {num_relations} relations a sentence expresses between two "
        f"entities in it; {_code(results['data']['negative_relation'])} means none of them. "
        f"{as_text(encoder)}, fine-tuned on {as_text(data)} with the input "
        f"{_code(arguments['input'])} and the representation "
        f"{_code(arguments['representation'])}.{held}"
    )


def usage_text(results: Mapping[str, Any], where: str) -> str:
    """Code that predicts a sentence, or a bag; `where` is a folder or the name of a repository."""
    arguments = results["arguments"]
    restricted = arguments.get("classifier_head") == "type_restriction"
    typed = arguments["input"].startswith("typed") or arguments["input"] == "entity_mask" or restricted
    spans = (
        '{"start": 0, "end": 7, "type": "person"}, "tail": {"start": 13, "end": 17, "type": "location"}}'
        if typed
        else '[0, 7], "tail": [13, 17]}'
    )
    parts = [
        "Give the sentence and where its two entities are, as half-open character spans:",
        "```python\n"
        "from transformers import pipeline\n\n"
        f'classify = pipeline("relation-classification", model="{where}", trust_remote_code=True)\n'
        'record = {"sentence": "Ann Lee left Bonn on Monday.",\n'
        f'          "head": {spans}\n'
        "prediction = classify(record)\n"
        'print(prediction["pred"], prediction["status"])\n'
        "```",
    ]
    if restricted:
        parts.append(
            "The types are named as in the training data, several of an entity divided by commas. Types that "
            f"have no relation there make {_code(results['data']['negative_relation'])} certain."
        )
    if arguments.get("bag_pooling"):
        parts += [
            "It was trained on bags: sentences about one pair of entities, from which it makes one decision.",
            '```python\nbag = classify({"instances": [record, record]})\n'
            'print(bag["pred"], bag["status"])\n```',
        ]
    parts.append(
        "A list of records gives a list. `trust_remote_code` runs the Python files of the model's folder; "
        "read them first. `AutoModelForSequenceClassification`, `AutoConfig` and `AutoTokenizer` load the "
        "parts."
    )
    return "\n\n".join(parts)


def results_text(results: Mapping[str, Any], seed: str | None) -> str:
    """The table of the averages, and what its numbers mean."""
    n, seeds = results["n"], ", ".join(results["seeds"])
    what = f"mean and standard deviation of {n} seeds ({seeds})" if n > 1 else f"one seed ({seeds})"
    parts = [f"On the test split, in percent, {what}. {selection_sentence(results)}", score_table(results)]
    if results["echo"]:
        parts.append(
            "DSGT scores against the distant labels, MAGT against people; DS scope counts a prediction only "
            "on units that have the relation as distant label. The echo copies each unit's own distant "
            "labels: what they alone explain. `macro` is over the relations that have support under a truth, "
            "`macro, all relations` over all."
        )
    parts.append(
        "What the numbers mean, a line for each truth; two numbers are comparable when their lines agree in "
        "everything but `v`:"
    )
    parts.append("\n".join(f"- {name}: {_code(line)}" for name, line in results["signature"].items()))
    if results["undefined"]:
        parts.append(
            f"Without support, and so 0 by definition: {', '.join(map(_code, results['undefined']))}."
        )
    return "\n\n".join(parts)


def classes_text(results: Mapping[str, Any]) -> str:
    """The scores of each relation beside its support, a table for each truth."""
    tables = []
    for prefix, classes in results["per_class"].items():
        rows = [
            [
                as_code(label),
                f"{values['support']:,}",
                *(f"{100 * values[name]:.2f}" for name in ("precision", "recall", "f1")),
                *([f"{100 * values['sd']:.2f}"] if results["n"] > 1 else []),
            ]
            for label, values in sorted(classes.items(), key=lambda item: (-item[1]["support"], item[0]))
        ]
        header = ["relation", "support", "precision", "recall", "F1", *(["sd"] if results["n"] > 1 else [])]
        title = {**TRUTHS, "official": "By group, without direction"}.get(prefix)
        tables.append((f"{title}.\n\n" if title else "") + markdown_table(header, rows))
    return "In percent, the most frequent first.\n\n" + "\n\n".join(tables)


def pictures_text(figures: Sequence[str]) -> str:
    """The pictures under their names."""
    return "\n\n".join(f"![{PurePath(path).stem.replace('_', ' ')}]({path})" for path in figures)


def data_text(results: Mapping[str, Any], dataset: str | None) -> str:
    """Which data, and what encoding did to their rows."""
    data, revision = results["data"], results["arguments"].get("dataset_revision")
    where = f"{_code(dataset)} on the Hub" if dataset else as_text(DATA_NAMES.get(data["name"], data["name"]))
    at = f", revision {_code(revision)}" if revision else ""
    rows = [
        [
            as_code(split),
            *(f"{counts[key]:,}" for key in _COUNTS),
        ]
        for split, counts in data["splits"].items()
    ]
    header = ["split", *_COUNTS.values()]
    fate = "are left out of training and scored as"
    if results["track"] == "bag2bag":
        fate = "are left out of training and have no say in their bags; a bag without others is scored as"
    notes = "".join(f" {note[0].upper()}{note[1:]}." for note in data["notes"])
    return (
        f"{where}{at}, fingerprint {_code(data['fingerprint'])}.\n\n{markdown_table(header, rows)}\n\n"
        f"Rows without both entities {fate} {_code(data['negative_relation'])}.{notes.replace('<', '&lt;')}"
    )


def training_text(results: Mapping[str, Any]) -> str:
    """Every argument that was given, and the versions."""
    arguments = without_places(results["arguments"])
    shown = {
        name: value for name, value in arguments.items() if value not in (None, False) and name != "overwrite"
    }
    table = markdown_table(
        ["argument", "value"],
        [[as_code(f"--{name}"), as_code(value)] for name, value in shown.items()],
        left=2,
    )
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return f"{table}\n\nAt most {results['max_length']} tokens a sentence. Versions: {as_text(versions)}."


def limits_text(results: Mapping[str, Any]) -> str:
    """What the model cannot do."""
    lines = [
        "The model knows the relations of its training data only, and says "
        f"{_code(results['data']['negative_relation'])} for every other one.",
        "It is told where the two entities are; finding them is another task.",
    ]
    if results["echo"]:
        lines += [
            "It was trained on distant labels, which are often wrong: a sentence of a pair need not express "
            "the relation of the pair.",
            'A "no" of the annotators says that the distant relation is not expressed. Other relations were '
            "not judged and count as wrong under MAGT.",
        ]
    lines.append("It was trained on English text; names and facts are those of its sources and their time.")
    return "\n".join(f"- {line}" for line in lines)


def _code(value: object) -> str:
    """A code span in running text."""
    return as_code(value, in_table=False)
