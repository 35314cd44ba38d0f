"""Rank sets, groups and bounds on the board: from kept counts, as Python makes them from the predictions."""

import html
import json
import re
import threading

import numpy as np
import pytest

from leaderboard import GoldData, LocalResults
from leaderboard.hub_results import HubResults
from leaderboard.kept_counts import count_matrices, parse_counts
from leaderboard.ranks import BoardRanks
from leaderboard.submission import parse_record, record_text, scored_submission
from weighted_f1_metric import magt_bounds, rank_intervals, space, write_predictions

SYSTEMS = ("frequent", "strong", "plain")


def made_board(gold, store):
    """The board; gradio takes seconds, so only the worker that runs these tests imports it."""
    pytest.importorskip("gradio", reason="the board's page needs gradio")
    from leaderboard.app import Board

    return Board(gold, store)


@pytest.fixture(scope="module")
def gold():
    """The example eight times over, so that systems can be told apart."""
    data = space.example_track()
    rows = [
        {**row, "instance_id": f"{row['instance_id']}.{n}", "bag_id": f"{row['bag_id']}.{n}"}
        for n in range(8)
        for row in data["references"]
    ]
    return GoldData(references=rows, relations=data["relations"])


@pytest.fixture(scope="module")
def predictions():
    """System -> predictions of two runs."""
    return {
        system: [
            [
                {**row, "bag_id": f"{row['bag_id']}.{n}"}
                for n in range(8)
                for row in space.example_predictions(system, run=8 * run + n)
            ]
            for run in range(2)
        ]
        for system in SYSTEMS
    }


@pytest.fixture(scope="module")
def submissions(predictions, gold, tmp_path_factory):
    """System -> its record and counts, of both runs."""
    folder, made = tmp_path_factory.mktemp("runs"), {}
    for system, runs in predictions.items():
        files = [str(folder / f"{system}-{number}.jsonl") for number in range(len(runs))]
        for file, rows in zip(files, runs, strict=True):
            write_predictions(file, rows)
        made[system] = scored_submission(
            name=system, link="", track="bag2bag", predictions_file=files, gold=gold
        )
    return made


def shown(page):
    """Model -> head -> cell."""
    lines = re.findall(r"<tr[^>]*>(.*?)</tr>", page)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in lines]
    header, *rows = [[html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in line] for line in cells]
    return {row[0].split(" ")[0]: dict(zip(header, row, strict=True)) for row in rows}


@pytest.mark.parametrize("place", ["folder", "hub"])
def test_the_board_has_the_rank_sets_of_the_predictions(
    request, place, tmp_path, gold, predictions, submissions
):
    if place == "hub":
        store = HubResults("tester/results", api=request.getfixturevalue("hub").api())
    else:
        store = LocalResults(tmp_path)
    for record, counts in submissions.values():
        store.append(record, counts)
    board = made_board(gold, store)
    board.ranks.patience = 60
    page = board.view("bag2bag", "magt", "weighted_f1").html
    expected = rank_intervals(
        systems=predictions, track="bag2bag", references=gold.references, relations=gold.relations,
        truths=("magt",), seed=0, question="seeds", measures=["magt_weighted_f1"],
    )  # fmt: skip
    systems = expected.rankings["magt_weighted_f1"].systems
    assert {s.group for s in systems} > {"a"}  # some can be told apart
    for system in systems:
        low, high = system.rank_low, system.rank_high
        row = shown(page)[system.name]
        assert row["rank set"] == (str(low) if low == high else f"{low}–{high}")
        assert row["group"] == system.group
    assert "other seeds" in page
    assert "rank set" in shown(board.view("bag2bag", "dsgt", "micro_f1").html)["plain"]
    assert "rank set" not in shown(board.view("bag2bag", "magt", "auc").html)["plain"]


def test_a_model_without_counts_is_on_the_board_and_not_ranked(tmp_path, gold, submissions):
    store = LocalResults(tmp_path)
    for system, (record, counts) in submissions.items():
        store.append(record, None if system == "plain" else counts)
    page = made_board(gold, store).view("bag2bag", "magt", "micro_f1").html
    assert shown(page)["plain"]["rank set"] == "–"
    assert shown(page)["strong"]["rank set"] != "–"
    assert "Not ranked: 1 of 3 models" in page


def test_visitors_do_not_wait_for_ranks(gold, submissions):
    free = threading.Event()
    counts = {record["id"]: own for record, own in submissions.values()}
    ranks = BoardRanks(gold, lambda record_id: free.wait(60) and counts[record_id], patience=0.05)
    given = ("bag2bag", "magt", [record for record, _ in submissions.values()])
    assert ranks.latest(*given)[0] is None
    free.set()
    ranks.patience = 60
    found, note = ranks.latest(*given)
    assert len(found.rankings["magt_micro_f1"].systems) == 3
    assert note == ""
    assert ranks.latest(*given)[0] is found
    assert ranks.latest(*given[:2], given[2][:1]) == (None, "")


def changed(counts, **parts):
    run = {"magt": {**counts["runs"][0]["magt"], **parts}}
    return {**counts, "runs": [run]}


@pytest.mark.parametrize(
    "broken",
    [
        lambda counts: changed(counts, cells=[[0, 0, 2, 1, 1]]),
        lambda counts: changed(counts, cells=[[0, 0, -1, 1, 1]]),
        lambda counts: changed(counts, cells=[[10**6, 0, 0, 1, 1]]),
        lambda counts: changed(counts, cells=[[0, 99, 0, 1, 1]]),
        lambda counts: changed(counts, cells=[[0, 0, 0.5, 1, 1]]),
        lambda counts: changed(counts, cells=[[0, 0, 10**30, 10**30, 10**30]]),
        lambda counts: changed(counts, cells=[[0, 0], [1]]),
        lambda counts: changed(counts, cells="no"),
        lambda counts: changed(counts, total=[1]),
        lambda counts: {**counts, "bags": counts["bags"][:-1]},
        lambda counts: {**counts, "bags": ["other", *counts["bags"][1:]]},
        lambda counts: {**counts, "relations": [[1]] * 6},
        lambda counts: {**counts, "runs": []},
        lambda counts: {**counts, "runs": [{}]},
        lambda counts: [],
    ],
)
def test_counts_that_somebody_else_wrote_are_checked(broken, gold, submissions):
    _, counts = submissions["plain"]
    names = [gold.unit_ids("bag2bag"), gold.relations]
    assert len(count_matrices(parse_counts(json.dumps(counts).encode()), "magt", *names)) == 2
    with pytest.raises(ValueError, match="counts"):
        count_matrices(broken(counts), "magt", *names)


def test_the_order_of_bags_and_relations_in_a_file_is_its_own(gold, submissions):
    _, counts = submissions["plain"]
    names = [gold.unit_ids("bag2bag"), gold.relations]
    here = count_matrices(counts, "magt", *names)
    there = count_matrices(counts, "magt", names[0][::-1], names[1][::-1])
    num = len(names[1])
    columns = np.concatenate([np.arange(3 * num).reshape(3, num)[:, ::-1].ravel(), [3 * num]])
    assert (there[0].toarray()[::-1][:, columns] == here[0].toarray()).all()


def test_a_record_has_the_bounds_of_python_and_the_board_shows_them(tmp_path, gold, predictions, submissions):
    record, _ = submissions["plain"]
    ends = np.mean(
        [
            magt_bounds(
                track="bag2bag", predictions=rows, references=gold.references, relations=gold.relations
            )["macro_f1"]
            for rows in predictions["plain"]
        ],
        axis=0,
    )
    assert record["bounds"]["macro_f1"] == pytest.approx(tuple(ends))
    kept = parse_record(record_text(record))
    assert kept["bounds"]["macro_f1"] == list(record["bounds"]["macro_f1"])
    store = LocalResults(tmp_path)
    store.append(*submissions["plain"])
    interval = f"({100 * ends[0]:.1f} to {100 * ends[1]:.1f})"
    board = made_board(gold, store)
    assert interval in shown(board.view("bag2bag", "magt", "micro_f1").html)["plain"]["macro"]
    assert "(" not in shown(board.view("bag2bag", "dsgt", "micro_f1").html)["plain"]["macro"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("bounds", {"micro_f1": [0.1]}),
        ("bounds", {"micro_f1": [0.1, None]}),
        ("bounds", {"micro_f1": "ab"}),
        ("bounds", {"micro_f1": [0.1, 1.5]}),
        ("id", "../secret"),
        ("id", ""),
    ],
)
def test_bounds_and_ids_that_somebody_else_wrote_are_checked(key, value, submissions):
    text = json.dumps({**submissions["plain"][0], key: value})
    with pytest.raises(ValueError, match=key):
        parse_record(text)
