"""The card of a run and its `.eval_results`, from what training returned. Values in, text out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from hub_cards import ModelScore, as_code, as_text, eval_results_yaml, markdown_table, model_card, model_index
from nyt_h_dataset import BENCHMARK_TASKS, licence_metadata
from nyt_h_dataset import CITATION as NYT_H_CITATION
from weighted_f1_metric import BOUNDS_NOTE, open_note, percent

from .report_tables import report_sections
from .results import FIGURES, score_table, selection_sentence

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


def data_name(data: Mapping[str, Any]) -> str:
    """Return what the data of a run are called; a corpus of one's own by the name that it gives itself.

    >>> data_name({"name": "nyt_h"}), data_name({"name": "nyt_h", "about": {"name": "Reef"}})
    ('NYT-H', 'Reef')
    """
    if about := data.get("about"):
        return about["name"] or "a corpus of its owner"
    return DATA_NAMES.get(data["name"], data["name"])


def data_licence(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the licence of NYT-H, or of a corpus in its format, as metadata of a card; empty if unnamed."""
    about = data.get("about")
    if data.get("synthetic") or not about:
        return licence_metadata(synthetic=data.get("synthetic", False))
    named = about["licence"]
    if not named or re.fullmatch(r"[a-z][a-z0-9.-]*", named):
        return {"license": named} if named else {}
    return {"license": "other", "license_name": slug(named)}


def slug(text: str) -> str:
    """Return a text in small letters, with hyphens.

    >>> slug("My Corpus (2)")
    'my-corpus-2'
    """
    return "-".join(re.findall(r"\w+", text.lower()))


def hub_name(name: str) -> str | None:
    """Return the name of a repository on the Hub, or None for the path of a folder.

    >>> hub_name("bert-base-uncased"), hub_name("user/model"), hub_name("/models/a"), hub_name("runs/b/c")
    ('bert-base-uncased', 'user/model', None, None)
    """
    return name if re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", name) else None


def without_places(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments, with the last part only of what is a path on one machine.

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
    """Return what the model does and is, in two sentences."""
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
    """Return code that predicts a sentence, or a bag; `where` is a folder or the name of a repository."""
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
    """Return the table of the averages, and what its numbers mean."""
    n, seeds = results["n"], ", ".join(results["seeds"])
    what = f"mean and standard deviation of {n} seeds ({seeds})" if n > 1 else f"one seed ({seeds})"
    parts = [f"On the test split, in percent, {what}. {selection_sentence(results)}", score_table(results)]
    if own := seed_scores(results, seed):
        parts += [
            f"Seed {seed} alone, whose weights are in this repository:",
            score_table({**results, "mean": own, "sd": dict.fromkeys(own), "n": 1, "magt_bounds": None}),
        ]
    if results["echo"]:
        parts.append(
            "DSGT scores against the distant labels, MAGT against people; DS scope counts a prediction only "
            "on units that have the relation as distant label. The echo copies each unit's own distant "
            "labels: what they alone explain. `macro` is over the relations that have support under a truth, "
            "`macro, all relations` over all."
        )
    if bounds := results.get("magt_bounds"):
        parts.append(f"{BOUNDS_NOTE} {open_note(bounds)}")
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


def seed_scores(results: Mapping[str, Any], seed: str | None) -> dict[str, Any]:
    """Return the test scores of one of several seeds; nothing where there is one, or where they are not
    known.
    """
    if seed is None or results["n"] < 2:
        return {}
    test = results["seeds"].get(seed, {}).get("test", {})
    return {name: test.get(name) for name in results["mean"]} if test else {}


def classes_text(results: Mapping[str, Any]) -> str:
    """Return the scores of each relation beside its support, a table for each truth."""
    tables = []
    for prefix, classes in results["per_class"].items():
        rows = [
            [
                as_code(label),
                f"{values['support']:,}",
                *(percent(values[name]) for name in ("precision", "recall", "f1")),
                *([percent(values["sd"])] if results["n"] > 1 else []),
            ]
            for label, values in sorted(classes.items(), key=lambda item: (-item[1]["support"], item[0]))
        ]
        header = ["relation", "support", "precision", "recall", "F1", *(["sd"] if results["n"] > 1 else [])]
        title = {**TRUTHS, "official": "By group, without direction"}.get(prefix)
        tables.append((f"{title}.\n\n" if title else "") + markdown_table(header, rows))
    return "In percent, the most frequent first.\n\n" + "\n\n".join(tables)


def pictures_text(figures: Sequence[str]) -> str:
    """Return the pictures under their names."""
    return "\n\n".join(f"![{PurePath(path).stem.replace('_', ' ')}]({path})" for path in figures)


def data_text(results: Mapping[str, Any], dataset: str | None) -> str:
    """Return which data, and what encoding did to their rows."""
    data, revision = results["data"], results["arguments"].get("dataset_revision")
    where = f"{_code(dataset)} on the Hub" if dataset else as_text(data_name(data))
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
    if about := data.get("about"):
        notes += f" Test judged by: {about['judged'] or 'not stated'}."
        notes += "".join(f" {step[0].upper()}{step[1:]}." for step in about["steps"])
    return (
        f"{where}{at}, fingerprint {_code(data['fingerprint'])}.\n\n{markdown_table(header, rows)}\n\n"
        f"Rows without both entities {fate} {_code(data['negative_relation'])}.{notes.replace('<', '&lt;')}"
    )


# The oldest transformers on which saved models were loaded (`make test-old-transformers`).
LOADS_FROM = "4.57"


def training_text(results: Mapping[str, Any]) -> str:
    """Return every argument that was given, and the versions."""
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
    return (
        f"{table}\n\nAt most {results['max_length']} tokens a sentence. Versions: {as_text(versions)}.\n"
        f"The model loads with transformers {LOADS_FROM} and newer."
    )


def limits_text(results: Mapping[str, Any]) -> str:
    """Return what the model cannot do."""
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
    if results["data"].get("about"):
        # What language the corpus is in, nobody said.
        lines.append("Names and facts are those of its sources and their time.")
    else:
        lines.append(
            "It was trained on English text; names and facts are those of its sources and their time."
        )
    return "\n".join(f"- {line}" for line in lines)


def _code(value: object) -> str:
    """Return a code span in running text."""
    return as_code(value, in_table=False)


@dataclass(frozen=True)
class Licence:
    """The licence of a model.

    Attributes:
        metadata: `license`, and where the Hub needs them its name and link; empty when nobody named one.
        text: What there is to say of it.
    """

    metadata: Mapping[str, str] = field(default_factory=dict)
    text: str = ""


def combined_licence(named: Mapping[str, Mapping[str, str]]) -> Licence:
    """Return the licence of what was made from several things; each stands under its name with its own
    licence.

    >>> combined_licence({"the data D": {"license": "mit"}, "the encoder E": {"license": "mit"}}).metadata
    {'license': 'mit'}
    >>> combined_licence({"the data D": {"license": "mit"}, "the encoder E": {"license": "gpl-3.0"}}).metadata
    {'license': 'other', 'license_name': 'of-data-and-encoder'}
    """
    if not named:
        return Licence(
            text="No licence is named: not by the data, nor by the encoder. Give one with --license."
        )
    listed = ", ".join(
        f"{what} under {one.get('license_name', one['license'])}" for what, one in named.items()
    )
    distinct = {tuple(sorted(one.items())): one for one in named.values()}
    if len(distinct) == 1:
        return Licence(dict(next(iter(distinct.values()))), f"Inherited: {listed}.")
    both = {"license": "other", "license_name": "of-data-and-encoder"}
    return Licence(both, f"Made from {listed}: what each of them asks holds.")


PLACEHOLDER = "PATH_OR_REPO_ID"
SYNTHETIC = (
    "> **Synthetic data.** A program made the sentences, names and human answers of this run. The numbers "
    "say whether code works, never how good a system is.\n\n"
)
_TASK = "Relation classification"
_CITATION = """\
@inproceedings{baldini-soares-etal-2019-matching,
    title = "Matching the Blanks: Distributional Similarity for Relation Learning",
    author = "Baldini Soares, Livio and FitzGerald, Nicholas and Ling, Jeffrey and Kwiatkowski, Tom",
    booktitle = "Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics",
    year = "2019",
}
@inproceedings{harbecke-etal-2022-micro,
    title = "Why only Micro-F1? Class Weighting of Measures for Relation Classification",
    author = "Harbecke, David and Chen, Yuxuan and Hennig, Leonhard and Alt, Christoph",
    booktitle = "Proceedings of NLP Power! The First Workshop on Efficient Benchmarking in NLP",
    year = "2022",
}
"""


def run_card(
    results: Mapping[str, Any],
    *,
    repo_id: str = PLACEHOLDER,
    seed: str | None = None,
    dataset_id: str | None = None,
    licence: Licence | None = None,
) -> str:
    """Return the README of a run, or with `repo_id` and `seed` that of a model repository.

    Args:
        results: The content of results.json.
        repo_id: owner/name of the repository.
        seed: Whose weights the repository holds; None: those of every seed are in `seed-<n>/`.
        dataset_id: owner/name of the data on the Hub; default: the `dataset_name` of the run.
        licence: Under which the repository stands.
    """
    encoder = encoder_name(results)
    synthetic = bool(results["data"].get("synthetic"))
    about = results["data"].get("about")
    data = data_name(results["data"])
    data = f"{data} (synthetic sample)" if synthetic else data
    title = f"{encoder} on {data}, {results['track']}" if results["echo"] else f"{encoder} on {data}"
    dataset = dataset_id or hub_dataset(results)
    figures = figure_paths(results)
    sections = [
        ("Results", results_text(results, seed)),
        *report_sections(results),
        ("Relations", classes_text(results)),
        *([("Pictures", pictures_text(figures))] if figures else []),
        ("Data", data_text(results, dataset)),
        ("Training", training_text(results)),
        ("Limits", limits_text(results)),
        *([("Licence", as_text(licence.text))] if licence and licence.text else []),
    ]
    base = hub_name(results["arguments"]["model_name_or_path"] or "")
    metadata = {
        **({} if about and not synthetic else {"language": ["en"]}),
        **(licence.metadata if licence else {}),
        "library_name": "transformers",
        # Not text-classification: its pipeline and widget take a text alone, and this model needs two spans.
        "pipeline_tag": "other",
        "tags": ["relation-classification", "relation-extraction"] + ["synthetic"] * synthetic,
        **({"base_model": base} if base else {}),
        **({"datasets": [dataset]} if dataset else {}),
        "metrics": ["f1"],
        "model-index": model_index(
            model_name=repo_id.split("/")[-1] if repo_id != PLACEHOLDER else encoder,
            task=_TASK,
            dataset={
                "type": dataset or (slug(data_name(results["data"])) if about else results["data"]["name"]),
                "name": data,
                "config": data_config(results),
                "split": "test",
                "revision": results["arguments"].get("dataset_revision"),
                "args": {"track": results["track"], "fingerprint": results["data"]["fingerprint"]},
            },
            scores=[*model_scores(results), *model_scores(results, seed)],
        ),
    }
    cited = "" if about or synthetic or not results["echo"] else NYT_H_CITATION
    if about and about["citation"]:
        cited = about["citation"].strip() + "\n"
    return model_card(
        metadata=metadata,
        values={
            "title": title,
            "description": (SYNTHETIC if synthetic else "") + description_text(results, encoder, data, seed),
            "usage": usage_text(results, repo_id),
            "sections": [{"title": title, "body": body} for title, body in sections],
            "citation": (cited + _CITATION).strip(),
        },
    )


def figure_paths(results: Mapping[str, Any]) -> list[str]:
    """Return the pictures of a run, as its card names them, in the order in which they are shown."""
    return [f"{FIGURES}/{name}" for name in results.get("figures", ())]


def data_config(results: Mapping[str, Any]) -> str | None:
    """Return the config of the dataset that the test rows come from.

    >>> data_config({"data": {"name": "nyt_h"}, "track": "bag2sent", "arguments": {}})
    'sentence'
    """
    if results["data"]["name"] == "nyt_h":
        return "bag" if results["track"] == "bag2bag" else "sentence"
    return results["arguments"].get("dataset_config")


def task_scores(results: Mapping[str, Any]) -> dict[str, ModelScore]:
    """Return task id of the benchmark -> the score that the run has for it; nothing without manual labels."""
    named = {f"{results['track']}_{score.name}": score for score in model_scores(results)}
    return {task: named[task] for task in BENCHMARK_TASKS if task in named}


def run_eval_results(
    results: Mapping[str, Any],
    *,
    dataset_id: str,
    repo_id: str = PLACEHOLDER,
    seed: str | None = None,
    date: str | None = None,
) -> str:
    """Return the text for `.eval_results/`: the tasks of the benchmark that the run has scores for.

    Args:
        results: The content of results.json.
        dataset_id: owner/name of the data on the Hub.
        repo_id: owner/name of the model repository, which holds results.json.
        seed: Whose weights it holds.
        date: When the run was finished, ISO 8601.
    """
    tasks, own = task_scores(results), seed_scores(results, seed)
    notes = {}
    for task, score in tasks.items():
        if score.n > 1:
            spread = "" if score.sd is None else f", sd {score.sd:.4f}"
            notes[task] = f"mean of {score.n} seeds{spread}"
            if own:
                notes[task] += f"; seed {seed}, whose weights are here: {own[score.name]:.4f}"
    address = f"https://huggingface.co/{repo_id}/blob/main/results.json"
    return eval_results_yaml(
        dataset_id=dataset_id,
        tasks=tasks,
        notes=notes,
        revision=results["arguments"].get("dataset_revision"),
        date=date,
        source=None if repo_id == PLACEHOLDER else address,
    )


def model_scores(results: Mapping[str, Any], seed: str | None = None) -> list[ModelScore]:
    """Return every F1 with the signature of its prefix, in the order of the results; with `seed` that run's
    own.
    """
    mean, signatures = results["mean"], results["signature"]
    own = mean if seed is None else seed_scores(results, seed)
    prefixes = sorted(signatures, key=len, reverse=True)  # magt_ds_scope before magt
    scores = []
    for name in (name for name in own if name.endswith("_f1") and not name.endswith("_max_f1")):
        prefix = next((prefix for prefix in prefixes if name.startswith(f"{prefix}_")), None)
        scores.append(
            ModelScore(
                name=name,
                value=own[name],
                sd=results["sd"][name] if seed is None else None,
                n=results["n"] if seed is None else 1,
                signature=signatures[prefix or "f1_family"],
                seed=seed,
            )
        )
    return scores


def encoder_name(results: Mapping[str, Any]) -> str:
    """Return the encoder's name; of a folder its last part; of one that was not pretrained its kind.

    >>> encoder_name({"arguments": {"model_name_or_path": "/models/minilm"}})
    'minilm'
    """
    name = str(results["arguments"]["model_name_or_path"] or results["arguments"]["encoder"])
    return hub_name(name) or PurePath(name).name


def hub_dataset(results: Mapping[str, Any]) -> str | None:
    """Return the dataset of the Hub that the run read, if it read one."""
    name = results["arguments"].get("dataset_name")
    return hub_name(name) if name and results["data"]["name"] == "hub" else None
