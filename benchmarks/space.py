"""The Spaces under load: time from upload to table, memory over many submissions, many requests at once.

    python -m benchmarks.space                 # everything, some minutes; nothing else should be running
    python -m benchmarks.space --only a c      # some sections
    python -m benchmarks.space --scale 0.01    # small inputs, to see that it runs

Both Spaces run from their staged folders, each in a process of its own; all requests go to loopback, as the
page itself makes them. Every answer is compared with the number that Python gives. Sections: (a) upload to
table, (b) memory of the metric's Space, (c) concurrent scoring, (d) memory of the leaderboard, (e) concurrent
submissions.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from hub_cards import stage_metric
from leaderboard.staging import stage_leaderboard
from tests.space.space_server import START_SECONDS, call, running
from weighted_f1_metric import f1_family, score_track, space, write_predictions

METRIC = Path(__file__).parents[1] / "weighted_f1_metric"
ROWS = (10_000, 1_000_000)
NUM_SUBMISSIONS, NUM_AT_ONCE = 200, 100
NUM_RELATIONS = 21
BOUNDARY = "------------------------benchmark"


def upload(url: str, name: str, content: bytes) -> dict[str, Any]:
    """Send a file as the page does; the value that a call takes for it."""
    head = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n'
        "Content-Type: text/plain\r\n\r\n"
    )
    body = head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()
    request = urllib.request.Request(
        f"{url}/gradio_api/upload", body, {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=START_SECONDS) as answer:
        path = json.loads(answer.read())[0]
    return {"path": path, "orig_name": name, "meta": {"_type": "gradio.FileData"}}


def shown(events: str, title: str, expected: float) -> bool:
    """Whether the last event shows this number in the row of that title."""
    return title in events and f"<td>{100 * expected:.2f}" in events


def lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(record)}\n" for record in records).encode()


def label_columns(num_rows: int, seed: int) -> dict[str, list[str]]:
    generator = random.Random(seed)
    names = [f"/made/up/relation_{number}" for number in range(NUM_RELATIONS)] + ["NA"]
    references = [names[int(generator.random() ** 2 * len(names))] for _ in range(num_rows)]
    predictions = [name if generator.random() < 0.7 else generator.choice(names) for name in references]
    return {"predictions": predictions, "references": references}


def score_labels(url: str, columns: dict[str, list[str]]) -> str:
    files = [upload(url, f"{name}.txt", "\n".join(labels).encode()) for name, labels in columns.items()]
    return call(url, "score_labels", ["", files[0], "", files[1], "NA", "supported", False])


def upload_to_table(url: str, num_rows: int) -> None:
    """Section (a): labels, and a track whose rows are units."""
    columns = label_columns(num_rows, seed=num_rows)
    expected = f1_family(**columns, negative_label="NA")["dodrans_f1"]
    start = time.perf_counter()
    events = score_labels(url, columns)
    seconds = time.perf_counter() - start
    print(f"labels, {num_rows:,} rows: {seconds:.2f} s, right: {shown(events, 'dodrans', expected)}")
    relations = sorted(set(columns["references"]) - {"NA"})
    references = [
        {"instance_id": f"i{n}", "bag_id": f"b{n // 3}", "relation": relation, "bag_label": "yes"}
        for n, relation in enumerate(columns["references"])
    ]
    predictions = [{"instance_id": f"i{n}", "pred": pred} for n, pred in enumerate(columns["predictions"])]
    track = {"references": references, "predictions": predictions, "relations": relations}
    expected = score_track(track="sent2sent", **track)["magt_dodrans_f1"]
    rel2id = {name: number for number, name in enumerate(["NA", *relations])}
    bodies = {"p.jsonl": lines(predictions), "test.json": lines(references), "rel2id.json": lines([rel2id])}
    start = time.perf_counter()
    files = [upload(url, name, body) for name, body in bodies.items()]
    options = ["NA", "rows", "error", False, "", "", "", None, False]
    events = call(url, "score_track", ["sent2sent", *files, *options])
    seconds = time.perf_counter() - start
    megabytes = sum(map(len, bodies.values())) / 1e6
    right = shown(events, "dodrans", expected)
    print(f"track, {num_rows:,} rows ({megabytes:.0f} MB): {seconds:.2f} s, right: {right}")


def memory(process: Any, submit: Callable[[int], bool], number: int) -> None:
    """Sections (b) and (d): the resident memory while one submission follows the other."""
    own = psutil.Process(process.pid)
    wrong = 0
    readings = [own.memory_info().rss / 1e6]
    step = max(1, number // 8)
    for count in range(1, number + 1):
        wrong += not submit(count)
        if count % step == 0:
            readings.append(own.memory_info().rss / 1e6)
    shown_readings = " ".join(f"{megabytes:.0f}" for megabytes in readings)
    print(f"memory in MB at the start and after each {step} of {number}: {shown_readings}")
    print(f"second half: {readings[-1] - readings[len(readings) // 2]:+.1f} MB; wrong answers: {wrong}")


def at_once(submit: Callable[[int], bool], number: int) -> None:
    """Sections (c) and (e): as many requests at the same moment."""
    start = time.perf_counter()
    with ThreadPoolExecutor(number) as pool:
        answers = list(pool.map(submit, range(number)))
    seconds = time.perf_counter() - start
    print(f"{number} at once: {len(answers)} answered, {answers.count(False)} wrong, {seconds:.1f} s in all")


def scored_rightly(url: str, num_rows: int) -> Callable[[int], bool]:
    """A submission of labels of its own, for each number; whether the answer is right."""

    def submit(number: int) -> bool:
        columns = label_columns(num_rows, seed=number)
        expected = f1_family(**columns, negative_label="NA")
        events = score_labels(url, columns)
        return all(shown(events, name, expected[f"{name}_f1"]) for name in ("micro", "dodrans", "macro"))

    return submit


def submitted_rightly(url: str, first: str) -> Callable[[int], bool]:
    """A submission to the leaderboard under a name of its own; whether its scores are those of Python."""

    def submit(number: int) -> bool:
        predictions = space.example_predictions("level", run=number)
        predictions[0]["note"] = f"{first} {number}"  # a file of its own even where the answers agree
        expected = score_track(track="bag2bag", predictions=predictions, **space.example_track())
        file = upload(url, "p.jsonl", lines(predictions))
        events = call(url, "submit", [f"{first} {number}", "", "bag2bag", file])
        return (
            shown(events, "dodrans F1", expected["magt_dodrans_f1"]) and "is on the bag2bag board" in events
        )

    return submit


@contextmanager
def metric_space(work: Path) -> Iterator[tuple[str, Any]]:
    folder = work / "metric"
    folder.mkdir()
    stage_metric(METRIC, folder, repo_id="user/weighted_f1_metric")
    (work / "metric-work").mkdir()
    with running(folder, work / "metric-work") as (url, process, _):
        yield url, process


@contextmanager
def leaderboard_space(work: Path) -> Iterator[tuple[str, Any, Path]]:
    folder, test, results = work / "board", work / "test", work / "results"
    for place in (folder, test, results, work / "board-work"):
        place.mkdir()
    stage_leaderboard(folder)
    data = space.example_track()
    write_predictions(test / "test.json", data["references"])
    ids = {name: number for number, name in enumerate(["NA", *data["relations"]])}
    (test / "rel2id.json").write_text(json.dumps(ids))
    environment = {"LEADERBOARD_TEST_DIR": str(test), "LEADERBOARD_RESULTS_DIR": str(results)}
    with running(folder, work / "board-work", **environment) as (url, process, _):
        yield url, process, results


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", choices="abcde", default=list("abcde"), help="sections to run")
    parser.add_argument("--scale", type=float, default=1.0, help="factor for the sizes (default: 1)")
    arguments = parser.parse_args()
    submissions = max(8, int(NUM_SUBMISSIONS * arguments.scale))
    number = max(8, int(NUM_AT_ONCE * arguments.scale))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if set(arguments.only) & set("abc"):
            with metric_space(work) as (url, process):
                if "a" in arguments.only:
                    for num_rows in ROWS:
                        upload_to_table(url, max(100, int(num_rows * arguments.scale)))
                submit = scored_rightly(url, 1_000)
                if "b" in arguments.only:
                    memory(process, submit, submissions)
                if "c" in arguments.only:
                    at_once(submit, number)
        if set(arguments.only) & set("de"):
            with leaderboard_space(work) as (url, process, results):
                if "d" in arguments.only:
                    memory(process, submitted_rightly(url, "one by one"), submissions)
                if "e" in arguments.only:
                    before = len(list(results.rglob("*.json")))
                    at_once(submitted_rightly(url, "at once"), number)
                    print(f"results that arrived: {len(list(results.rglob('*.json'))) - before}")


if __name__ == "__main__":
    main()
