"""The evaluate module through its real loader: a fresh process, temporary caches, no network."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weighted_f1_metric
from weighted_f1_metric import f1_family, make_compute_metrics, score_track
from weighted_f1_metric.track_statistics import unit_records

FOLDER = Path(weighted_f1_metric.__file__).parent
ENTRY = FOLDER / "weighted_f1_metric.py"
# What belongs to the shell around the pure functions; none of it may be copied with the module.
SHELL = {
    "__init__", "__main__", "average_plots", "plots", "track_figures", "score_command", "compare_command",
    "stats_command",
    "comparison", "resampling", "trainer_hook", "prediction_files", "output_files", "tables",
}  # fmt: skip


# Run in a fresh process away from the repository; loading evaluate is slow, so all of it runs in one.
SCRIPT = """
import json, os, shutil, sys
import evaluate

inputs = json.load(open(sys.argv[1]))
folder = inputs["folder"]
heavy = {"scipy", "matplotlib", "sklearn", "torch"} - set(sys.modules)
result = {"family": evaluate.load(folder).compute(**inputs["family"])}
result["loads"] = sorted(heavy & set(sys.modules))
shutil.copytree(folder, "copies/weighted_f1_metric", ignore=shutil.ignore_patterns("__init__.py"))
copy = evaluate.load("copies/weighted_f1_metric", keep_in_memory=True)
result["copied"] = copy.compute(**inputs["family"])
def message(call):
    try:
        call()
    except (TypeError, ValueError) as error:
        return type(error).__name__ + ": " + str(error)

metric = evaluate.load(folder, keep_in_memory=True)
result["str"] = metric.compute(predictions=["3", "4"], references=["3", "3"])
result["int"] = metric.compute(predictions=[3, 4], references=[3, 3])
metric.add_batch(predictions=["3"], references=["3"])
metric.add(prediction="4", reference="3")
result["batches"] = metric.compute()

chosen = evaluate.load(folder, negative_label=0, keep_in_memory=True)
other = evaluate.load(folder, averages=["n^0.5"], keep_in_memory=True)
both = evaluate.combine([chosen, other])
result["combined"] = both.compute(predictions=[1, 2, 0, 1], references=[1, 1, 0, 2])
for p, r in ((1, 1), (2, 1), (0, 0), (1, 2)):
    both.add(p, r)
result["combined_by_add"] = both.compute()

result["messages"] = [
    message(lambda: metric.compute(predictions=[1.5], references=[1])),
    message(lambda: metric.compute(predictions=[], references=[])),
    message(lambda: metric.compute()),
    message(lambda: metric.add(prediction=1.0, reference=1)),
    message(lambda: metric.compute(predictions=[1, 2], references=[1])),
    message(lambda: metric.compute(predictions=["a"], references=[1])),
    message(lambda: metric.compute(predictions=["a", None], references=["a", "b"])),
    message(lambda: metric.compute(predictions=[1], references=[1], average="macro")),
    message(lambda: evaluate.load(folder, "bag2Bag")),
    message(lambda: evaluate.load(folder, negative="NA")),
]
mixed = evaluate.load(folder, keep_in_memory=True)
mixed.add_batch(predictions=[1], references=[1])
result["mixed"] = message(lambda: mixed.add_batch(predictions=["2"], references=["3"]))
result["docs"] = [metric.description, metric.inputs_description, metric.citation]
result["docs"].append(metric.add_batch.__doc__)

def compute(config, predictions, **options):
    metric = evaluate.load(folder, config, relations=inputs["relations"], keep_in_memory=True)
    return metric.compute(predictions=predictions, references=inputs["rows"], **options)

sentence = {"predictions": inputs["by_row"], "ks": [1, 2]}
result |= {config: compute(config, **sentence) for config in ("sent2sent", "bag2sent")}
result["bag2bag"] = compute("bag2bag", inputs["by_bag"])
result["joined"] = compute("sent2sent", inputs["by_row"], by="sentences", ks=[1])
number = lambda records: [{**record, "instance_id": int(record["instance_id"][1:])} for record in records]
by_number = evaluate.load(folder, "sent2sent", relations=inputs["relations"], keep_in_memory=True)
result["int_ids"] = by_number.compute(
    predictions=number(inputs["by_row"]), references=number(inputs["rows"]), ks=[1, 2]
)
inputs["rows"][-1] = {key: value for key, value in inputs["rows"][-1].items() if key != "sentence"}
result["half_of_the_sentences"] = message(lambda: compute("sent2sent", inputs["by_row"], by="sentences"))

metric = evaluate.load(folder, "bag2bag", relations=inputs["relations"])
for record in inputs["by_bag"]:
    bag = [row for row in inputs["rows"] if row["bag_id"] == record["bag_id"]]
    metric.add(prediction=record, reference=bag)
result["added"] = metric.compute()

# Two processes of one experiment; importing evaluate once and forking saves seconds.
columns = inputs["family"]
rank = 1 if os.fork() == 0 else 0
metric = evaluate.load(folder, num_process=2, process_id=rank, experiment_id="shared", cache_dir="cache")
shared = metric.compute(
    predictions=columns["predictions"][rank::2], references=columns["references"][rank::2], negative_label=0
)
if rank == 1:
    os._exit(0 if shared is None else 1)
result["other_process"] = os.waitstatus_to_exitcode(os.wait()[1])
result["two_processes"] = shared

json.dump(result, open(sys.argv[2], "w"))
"""
FAMILY = {"labels": [0, 1, 2, 3], "negative_label": 0}
RELATIONS = ["born_in", "lives_in"]
BY_ROW = [
    {"instance_id": f"i{n}", "pred": pred, "scores": {"born_in": 0.25 * n, "lives_in": 0.5}}
    for n, pred in enumerate(["born_in", "lives_in", "NA", ["born_in", "lives_in"]])
]
BY_BAG = [{"bag_id": "b1", "pred": "NA"}, {"bag_id": "b0", "pred": ["born_in", "lives_in"]}]


@pytest.fixture(scope="module")
def columns():
    """Logits (50, 4) and references."""
    rng = np.random.default_rng(0)
    return rng.random((50, 4)), rng.integers(0, 4, 50)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory, two_bags, columns):
    """What SCRIPT finds, with caches of its own and without network."""
    folder = tmp_path_factory.mktemp("evaluate")
    logits, references = columns
    inputs = {
        "folder": str(FOLDER),
        "family": {"predictions": logits.argmax(1).tolist(), "references": references.tolist(), **FAMILY},
        "rows": json.loads(two_bags),
        "relations": RELATIONS,
        "by_row": BY_ROW,
        "by_bag": BY_BAG,
    }
    source, target = folder / "inputs.json", folder / "result.json"
    source.write_text(json.dumps(inputs))
    variables = {
        "HF_HOME": str(folder / "home"),
        "HF_MODULES_CACHE": str(folder / "modules"),
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(source), str(target)],
        env={**os.environ, **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(target.read_text())


def text(name):
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8")


def siblings(path):
    """The siblings a file imports, with the line of each."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.module: node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1
    }


def test_entry_imports_exactly_what_the_computation_reaches():
    imported = siblings(ENTRY)
    needed, waiting = set(), {"family", "tracks", "track_statistics", "columns", "validation", "units"}
    while waiting:
        name = waiting.pop()
        needed.add(name)
        waiting |= set(siblings(FOLDER / f"{name}.py")) - needed
    assert set(imported) == needed
    lazily = [
        name for name in needed if re.search(r"import (scipy|matplotlib)|from (scipy|matplotlib)", text(name))
    ]
    assert not lazily
    assert not needed & SHELL


def test_entry_keeps_to_the_rules_of_the_loader():
    lines = ENTRY.read_text(encoding="utf-8").splitlines()
    for node in siblings(ENTRY).values():
        assert node.col_offset == 0
        assert "." not in node.module
        assert not any("#" in line for line in lines[node.lineno - 1 : node.end_lineno])
    whole = "\n".join(lines)
    assert "import evaluate\n" in whole
    assert "from evaluate" not in whole
    assert "from . import" not in whole
    assert whole.count("(evaluate.Metric)") == 1


def test_three_roads_agree_on_the_family(loaded, columns):
    logits, references = columns
    pure = f1_family(predictions=logits.argmax(1), references=references, signature=True, **FAMILY)
    assert loaded["family"] == pure
    assert loaded["copied"] == pure
    hook = make_compute_metrics(id2label=["NA", "a", "b", "c"], negative_label="NA")
    assert hook((logits, references)) == {k: v for k, v in pure.items() if isinstance(v, float)}


def test_two_processes_share_their_rows(loaded, columns):
    logits, references = columns
    pure = f1_family(predictions=logits.argmax(1), references=references, negative_label=0, signature=True)
    assert loaded["two_processes"] == pure
    assert loaded["other_process"] == 0


def test_the_module_loads_nothing_heavy(loaded):
    assert loaded["loads"] == []


def test_three_roads_agree_on_the_tracks(loaded, rows):
    given = {"references": rows, "relations": RELATIONS}
    for config in ("sent2sent", "bag2sent"):
        assert loaded[config] == score_track(track=config, predictions=BY_ROW, ks=(1, 2), **given)
    assert loaded["bag2bag"] == score_track(track="bag2bag", predictions=BY_BAG, **given)
    assert loaded["added"] == loaded["bag2bag"]
    assert loaded["joined"] == score_track(
        track="sent2sent", predictions=BY_ROW, by="sentences", ks=(1,), **given
    )
    compute = make_compute_metrics(
        id2label=["NA", *RELATIONS], negative_label="NA", references=rows, track="sent2sent", scores="none"
    )
    one_each = [
        {"instance_id": f"i{n}", "pred": pred} for n, pred in enumerate(["born_in", "NA", "NA", "lives_in"])
    ]
    expected = score_track(track="sent2sent", predictions=one_each, **given)
    hook = compute((np.array([1, 0, 0, 2]), (np.array([1, 2, 1, 2]), np.arange(4))))
    assert hook == {key: value for key, value in expected.items() if isinstance(value, (int, float))}


def test_ids_may_be_ints_and_a_missing_sentence_is_named(loaded):
    measures = {key: value for key, value in loaded["sent2sent"].items() if isinstance(value, (int, float))}
    assert {key: loaded["int_ids"][key] for key in measures} == measures
    assert loaded["half_of_the_sentences"].startswith("ValueError: ")
    assert "'i3'" in loaded["half_of_the_sentences"]


def test_batches_of_two_kinds_of_labels_are_refused(loaded):
    assert loaded["mixed"].startswith("TypeError: ")


def test_int_and_str_labels_batches_combine_and_errors(loaded):
    expected = f1_family(predictions=["3", "4"], references=["3", "3"], signature=True)
    assert loaded["str"] == expected
    assert loaded["int"] == f1_family(predictions=[3, 4], references=[3, 3], signature=True)
    assert {**loaded["batches"], "signature": ""} == {**expected, "signature": ""}
    labels = {"predictions": [1, 2, 0, 1], "references": [1, 1, 0, 2]}
    combined = loaded["combined"]
    assert combined["macro_f1"] == f1_family(**labels, negative_label=0)["macro_f1"]
    assert combined["n^0.5_f1"] == f1_family(**labels, averages="n^0.5")["n^0.5_f1"]
    assert loaded["combined_by_add"] == combined
    starts = [
        "TypeError: `predictions` holds float labels",
        "ValueError: `predictions` is empty",
        "ValueError: There is nothing to score",
        "TypeError: `predictions` holds float labels",
        "ValueError: `predictions` and `references` must be equally long; got 2 predictions and 1 references",
        "TypeError: Labels must be all str or all int; `predictions` are str, `references` are int",
        "TypeError: `predictions` must hold str or int labels; predictions[1] is None",
        "TypeError: Unknown options 'average'; config 'default' takes 'averages', 'beta'",
        "ValueError: `config_name` must be one of 'default', 'sent2sent', 'bag2sent', 'bag2bag'; got "
        "'bag2Bag'",
        "TypeError: Unknown options 'negative'; config 'default' takes",
    ]
    for said, start in zip(loaded["messages"], starts, strict=True):
        assert said is not None, start
        assert said.startswith(start)
    description, inputs, citation, batch = loaded["docs"]
    assert description.startswith("Precision, recall and F1 of relation classification")
    assert inputs == inspect.getdoc(f1_family)
    assert "harbecke2022why" in citation
    assert "zhu2020towards" in citation
    assert batch.startswith("Add a batch.")


@pytest.mark.parametrize(
    ("predictions", "error", "message"),
    [
        (
            [{"bag_id": "b0", "pred": "NA"}],
            ValueError,
            "0 bag_ids have no reference in it .*1 no prediction .'b1'",
        ),
        (
            [{"bag_id": b, "pred": "NA"} for b in ("b0", "b1", "b2")],
            ValueError,
            "1 bag_ids have no reference in it .'b2'",
        ),
        (
            [{"bag_id": b, "pred": "NA"} for b in ("b0", "b0")],
            ValueError,
            "holds bag_ids more than once: 'b0'",
        ),
        (
            [{"bag_id": b, "pred": 3} for b in ("b0", "b1")],
            TypeError,
            "`pred` must be a relation name.*got 3",
        ),
        (
            [{"bag_id": b, "pred": "NA"} for b in (0.5, 1.5)],
            TypeError,
            r"`bag_id` in `predictions` must be a string \(or an int\); predictions\[0\] has 0.5",
        ),
        ([{"instance_id": "i0", "pred": "NA"}], ValueError, "lack the key 'bag_id'"),
        (
            [{"bag_id": b, "pred": "NA", "scores": {"born_in": "0.5"}} for b in ("b0", "b1")],
            TypeError,
            "`scores` must be numbers .float or int.; got '0.5' for 'b0'",
        ),
        (
            [{"bag_id": b, "pred": "NA", "scores": [True]} for b in ("b0", "b1")],
            TypeError,
            "got True for 'b0'",
        ),
    ],
)
def test_bad_track_batches(rows, predictions, error, message):
    with pytest.raises(error, match=message):
        unit_records("bag2bag", predictions, rows)


def test_repeated_rows_in_a_track_batch(rows):
    predictions = [{"instance_id": f"i{n}", "pred": "NA"} for n in range(4)]
    with pytest.raises(ValueError, match="`references` holds instance_ids more than once: 'i0'"):
        unit_records("sent2sent", predictions, [*rows, rows[0]])
