"""Counts from several processes give the result of one pass: torchrun's, an engine's."""

import inspect
import json
import subprocess
from functools import reduce
from operator import add

import numpy as np
import pytest

from weighted_f1_metric import ClassCounts, class_counts, f1_family, family_from_counts


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(3)
    references = rng.integers(0, 5, 400)
    predictions = np.where(rng.random(400) < 0.6, references, rng.integers(0, 5, 400))
    return {"predictions": predictions.tolist(), "references": references.tolist()}


def script(code, folder):
    path = folder / "worker.py"
    path.write_text(inspect.cleandoc(code) + "\n")
    return str(path)


def test_two_processes_of_torchrun(tmp_path, columns, forked_python):
    pytest.importorskip("torch")
    (tmp_path / "columns.json").write_text(json.dumps(columns))
    worker = script(
        """
        import json, os, sys
        import torch.distributed as dist
        from weighted_f1_metric import ClassCounts, class_counts, family_from_counts

        dist.init_process_group("gloo")
        rank, size = dist.get_rank(), dist.get_world_size()
        columns = json.load(open("columns.json"))
        part = {name: values[rank::size] for name, values in columns.items()}
        counts = class_counts(**part, labels=[0, 1, 2, 3, 4], negative_label=0)
        gathered = [None] * size
        dist.all_gather_object(gathered, counts.to_json())
        whole = sum(map(ClassCounts.from_json, gathered[1:]), ClassCounts.from_json(gathered[0]))
        json.dump([size, family_from_counts(whole)], open(f"result-{rank}.json", "w"))
        dist.destroy_process_group()
        sys.stdout.flush()
        os._exit(0)
        """,
        tmp_path,
    )
    launch = [forked_python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    launch += ["--no-python", forked_python, worker]
    done = subprocess.run(launch, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        size, scores = json.loads((tmp_path / f"result-{rank}.json").read_text())
        assert size == 2
        assert scores == f1_family(**columns, labels=[0, 1, 2, 3, 4], negative_label=0)


def test_partitions_of_dask(columns):
    dask = pytest.importorskip("dask", reason="dask is not installed; the example in counts.py needs it")
    parts = [
        dask.delayed(class_counts)(
            predictions=columns["predictions"][start::7],
            references=columns["references"][start::7],
            labels=[0, 1, 2, 3, 4],
            negative_label=0,
        )
        for start in range(7)
    ]
    counts = dask.delayed(reduce)(add, parts).compute(scheduler="synchronous")
    assert family_from_counts(counts) == f1_family(**columns, negative_label=0)


def test_parts_that_know_different_classes():
    first = class_counts(predictions=["b"], references=["b"])
    second = class_counts(predictions=["c", "a"], references=["a", "a"])
    assert (first + second).labels == ("a", "b", "c")
    assert first + second == second + first
    assert first + second == class_counts(predictions=["b", "c", "a"], references=["b", "a", "a"])


def test_json_is_plain(columns):
    counts = class_counts(**columns, negative_label=0, sample_weight=np.full(400, 0.5))
    stored = json.loads(json.dumps(counts.to_json()))
    assert ClassCounts.from_json(stored) == counts
    assert family_from_counts(ClassCounts.from_json(stored)) == family_from_counts(counts)
    assert stored["total"] == 200
    assert stored["negative_support"] == 0.5 * columns["references"].count(0)
    assert counts != class_counts(**columns, negative_label=0)
    assert counts != "counts"


GOOD = {
    "labels": ["a", "b"],
    "true_positives": [1, 0],
    "predicted": [1, 2],
    "support": [2, 1],
    "total": 4,
    "negative_support": 1,
    "negative_label": "NA",
}


@pytest.mark.parametrize(
    ("changed", "error", "named"),
    [
        ({"true_positives": [2, 0]}, ValueError, "'a' .*predicted 1"),
        ({"true_positives": [1, 2]}, ValueError, "'b' .*support 1"),
        ({"true_positives": [float("nan"), 0]}, ValueError, "true_positives"),
        ({"total": float("nan")}, ValueError, "total"),
        ({"total": float("inf")}, ValueError, "total"),
        ({"total": 1}, ValueError, "total"),
        ({"total": "4"}, TypeError, "total"),
        ({"total": True}, TypeError, "total"),
        ({"negative_support": -1}, ValueError, "negative_support"),
        ({"negative_support": float("nan")}, ValueError, "negative_support"),
        ({"labels": ["a", "a"]}, ValueError, "'a'"),
        ({"labels": ["a", 1]}, TypeError, "labels"),
        ({"labels": [True, False]}, TypeError, "labels"),
        ({"labels": "ab"}, TypeError, "labels"),
    ],
)
def test_counts_from_a_file_must_make_sense(changed, error, named):
    assert ClassCounts.from_json(GOOD).to_json() == GOOD
    with pytest.raises(error, match=named):
        ClassCounts.from_json(GOOD | changed)


def test_counts_in_json_are_an_object():
    with pytest.raises(TypeError, match="list"):
        ClassCounts.from_json([1])
