"""Every form in which rows come gives the same numbers: splits of `load_nyt_h`, records, columns, tables.

Both configs, cached, streamed, written and loaded again; with class ids and with names; on `nyt_h_shaped`
and on the embedded sample.
"""

import json

import pytest

pytest.importorskip("datasets", reason="the extra `dataset` is not installed")
import datasets
import numpy as np
import pandas as pd
import pyarrow as pa

from nyt_h_dataset import load_nyt_h, write_sample
from nyt_h_dataset.card.export import export_nyt_h
from tests.folders import SHARED
from weighted_f1_metric import (
    bootstrap_interval,
    data_fingerprint,
    label_statistics,
    make_compute_metrics,
    randomization_test,
    score_track,
    track_statistics,
    unit_id_key,
)
from weighted_f1_metric.row_sources import read_columns


@pytest.fixture(scope="module")
def example():
    """Predictions and references with twins, two relations in a bag and a bag of three rows."""
    relations = ["NA", "a", "b", "c"]
    rows = [
        {
            "instance_id": f"i{n}",
            "bag_id": f"b{n // 3}",
            "relation": relations[1 + n % 3],
            "bag_label": ("yes", "no")[n % 4 == 3],
            "sentence": f"Sentence {n // 2} .",
        }
        for n in range(18)
    ]
    scores = [{name: ((7 * n + 3 * k) % 11) / 11 for k, name in enumerate(relations)} for n in range(18)]
    by_row = [
        {"instance_id": f"i{n}", "pred": max(own, key=own.get), "scores": own} for n, own in enumerate(scores)
    ]
    return relations, rows, by_row


def class_label_split(relations, rows):
    """What `load_nyt_h` returns: class ids, with their names in the features."""
    features = datasets.Features(
        {key: datasets.Value("string") for key in ("instance_id", "bag_id", "sentence")}
        | {
            "relation": datasets.ClassLabel(names=relations),
            "bag_label": datasets.ClassLabel(names=["no", "yes", "unk"]),
        }
    )
    return datasets.Dataset.from_list(rows, features=features)


def forms_of_rows(rows):
    return {
        "columns": {key: [row[key] for row in rows] for key in rows[0]},
        "arrays": {key: np.array([row[key] for row in rows]) for key in rows[0]},
        "DataFrame": pd.DataFrame(rows),
        "Arrow": pa.Table.from_pylist(rows),
        "batch": pa.RecordBatch.from_pylist(rows),
        "generator": (row for row in rows),
        "Dataset": datasets.Dataset.from_list(rows),
    }


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """The corpora: the shaped one where it is there, and the embedded sample."""
    made = tmp_path_factory.mktemp("sample")
    write_sample(made / "data", size="tiny")
    return {"sample": made / "data", "shaped": SHARED / "nyt_h_shaped"}


def own_records(folder):
    (test,) = folder.rglob("test.json")
    lines = test.read_text(encoding="utf-8").splitlines()
    (ids,) = folder.rglob("rel2id.json")
    return [json.loads(line) for line in lines], json.loads(ids.read_text(encoding="utf-8"))


def splits_of(folder, cache):
    """Every way to hold the test split: name -> (references, whether `relations` may be left out)."""
    found = {}
    for config in ("sentence", "bag"):
        cached = load_nyt_h(folder, config, cache_dir=cache)["test"]
        found[config] = (cached, True)
        found[f"{config}, shuffled"] = (cached.shuffle(seed=3), True)
        found[f"{config}, formatted"] = (cached.with_format("numpy"), True)
        found[f"{config}, streamed"] = (load_nyt_h(folder, config, streaming=True)["test"], True)
        found[f"{config}, DataFrame of ids"] = (cached.to_pandas(), False)
        found[f"{config}, Arrow"] = (cached.with_format("arrow")[:], False)
        found[f"{config}, records of ids"] = (list(cached), False)
        cached.to_parquet(cache / f"{config}.parquet")
        features = cached.features
        again = datasets.load_dataset(
            "parquet", data_files=str(cache / f"{config}.parquet"), features=features, cache_dir=str(cache)
        )
        found[f"{config}, written and loaded"] = (again["train"], True)
    export = export_nyt_h(folder, cache / "exported", cache_dir=cache, figures=False).path
    for config in ("sentence", "bag"):
        exported = datasets.load_dataset(str(export), config, split="test", cache_dir=str(cache))
        found[f"{config}, exported and loaded"] = (exported, True)
    return found


def equal(one, other):
    """Every number to 1e-12, and the signatures."""
    assert one.keys() == other.keys()
    for key, value in one.items():
        if isinstance(value, float):
            assert value == pytest.approx(other[key], abs=1e-12), key
        elif key != "echo":
            assert value == other[key], key


@pytest.mark.parametrize("corpus", ["sample", "shaped"])
def test_every_split_scores_alike(corpus, folders, tmp_path):
    folder = folders[corpus]
    if not folder.is_dir():
        pytest.skip("the shared data folder nyt_h_shaped is not beside the repository")
    records, rel2id = own_records(folder)
    names = [name for name in rel2id if name != "NA"]
    splits = splits_of(folder, tmp_path)
    for track, by in (("sent2sent", "rows"), ("sent2sent", "sentences"), ("bag2bag", "rows")):
        key = unit_id_key(track)
        ids = list(dict.fromkeys(row[key] for row in records))
        predictions = [
            {
                key: unit,
                "pred": names[n % 3],
                "scores": {name: (n * k) % 7 / 7 for k, name in enumerate(names)},
            }
            for n, unit in enumerate(ids)
        ]
        options = {"track": track, "by": by, "predictions": predictions}
        expected = score_track(references=records, relations=rel2id, **options)
        for references, has_names in splits.values():
            given = {} if has_names else {"relations": rel2id}
            equal(score_track(references=references, **given, **options), expected)
    statistics = label_statistics(labels=[row["relation"] for row in records])
    for what, (references, has_names) in splits.items():
        if has_names:
            assert label_statistics(labels=references) == pytest.approx(statistics), what
            assert data_fingerprint(references) == data_fingerprint(records), what


def test_every_table_scores_alike(example):
    relations, rows, by_row = example
    options = {"track": "sent2sent", "relations": relations[1:]}
    expected = score_track(references=rows, predictions=by_row, **options)
    for what, references in forms_of_rows(rows).items():
        equal(score_track(references=references, predictions=by_row, **options), expected)
        if what != "generator":
            assert data_fingerprint(references) == data_fingerprint(rows), what
    for predictions in forms_of_rows(by_row).values():
        if not (isinstance(predictions, dict) and isinstance(predictions["pred"], np.ndarray)):
            equal(score_track(references=rows, predictions=predictions, **options), expected)


def test_every_function_takes_a_split_without_relations(example):
    relations, rows, by_row = example
    split = class_label_split(relations, rows)
    named = {"references": rows, "relations": relations[1:], "track": "sent2sent"}
    split_alone = {"references": split, "track": "sent2sent"}
    resampled = {"predictions": by_row, "seed": 0, "n_resamples": 20}
    assert bootstrap_interval(**split_alone, **resampled) == bootstrap_interval(**named, **resampled)
    echo = [{"instance_id": row["instance_id"], "pred": row["relation"]} for row in rows]
    two = {"predictions_a": by_row, "predictions_b": echo, "seed": 0, "n_resamples": 20}
    assert randomization_test(**split_alone, **two) == randomization_test(**named, **two)
    counts = [
        track_statistics(predictions=by_row, **given).class_counts("magt") for given in (named, split_alone)
    ]
    assert counts[0] == counts[1]
    logits = np.array([list(own["scores"].values()) for own in by_row])
    label_ids = np.array([[relations.index(row["relation"]), n] for n, row in enumerate(rows)])
    hooks = [
        make_compute_metrics(id2label=relations, track="sent2sent", references=references)
        for references in (rows, split, {"test": split}, {"test": pd.DataFrame(rows)})
    ]
    results = [hook((logits, label_ids)) for hook in hooks]
    assert all(result == results[0] for result in results)


def test_relations_are_ordered_by_id_and_must_keep_an_order(example):
    _, rows, by_row = example
    matrix = np.array([list(own["scores"].values())[1:] for own in by_row])
    columns = {"instance_id": [own["instance_id"] for own in by_row], "pred": ["NA"] * 18, "scores": matrix}
    given = {"track": "sent2sent", "references": rows, "predictions": columns}
    expected = score_track(relations=["a", "b", "c"], **given)["dsgt_auc"]
    assert score_track(relations={"c": 3, "NA": 0, "b": 2, "a": 1}, **given)["dsgt_auc"] == expected
    assert score_track(relations=["c", "b", "a"], **given)["dsgt_auc"] != expected
    for unordered in ({"a", "b", "c"}, frozenset("abc"), iter(["a", "b", "c"])):
        with pytest.raises(TypeError, match="order"):
            score_track(relations=unordered, **given)
    with pytest.raises(ValueError, match="1"):
        score_track(relations={"a": 1, "b": 1, "c": 2}, **given)
    with pytest.raises(TypeError, match="relations"):
        score_track(**given)


def test_one_split_is_wanted_not_all_of_them(example):
    relations, rows, by_row = example
    both = datasets.DatasetDict({"train": class_label_split(relations, rows)})
    with pytest.raises(ValueError, match="'train'"):
        score_track(track="sent2sent", references=both, predictions=by_row)


def test_rows_of_bags_and_missing_values():
    rows = pd.DataFrame({"x": [1.5, None], "y": ["a", None], "z": [None, None]})
    assert read_columns(rows, required=["x"], optional=["y", "z"], name="rows") == {
        "x": [1.5, None],
        "y": ["a", None],
    }
    lists = [{"bag_id": "b", "instances": {"instance_id": ["i", "j"], "n": [1, 2]}}]
    assert read_columns(lists, required=["instance_id", "bag_id", "n"], name="rows") == {
        "instance_id": ["i", "j"],
        "bag_id": ["b", "b"],
        "n": [1, 2],
    }


@pytest.mark.parametrize("blank", [None, "", " \n", float("nan")])
def test_a_blank_sentence_joins_nothing(example, blank):
    """Joined by sentences it is an error that names the row; by rows it is no twin."""
    relations, rows, by_row = example
    changed = [{**row, "sentence": blank if n in (0, 1, 2) else f"own {n}"} for n, row in enumerate(rows)]
    options = {"track": "sent2sent", "relations": relations[1:], "predictions": by_row}
    for references in (changed, pd.DataFrame(changed), {k: [r[k] for r in changed] for k in rows[0]}):
        with pytest.raises(ValueError, match=r"3 of 18.*'i0', 'i1', 'i2'"):
            score_track(references=references, by="sentences", **options)
        assert score_track(references=references, **options)["num_twins"] == 0
    lacking = [{k: v for k, v in row.items() if k != "sentence" or n > 2} for n, row in enumerate(changed)]
    with pytest.raises(ValueError, match=r"3 of 18.*'i0', 'i1', 'i2'"):
        score_track(references=lacking, by="sentences", **options)
