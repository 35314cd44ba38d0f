"""The Spaces under load: time from upload to table, memory over many submissions, many requests at once.

    python -m benchmarks.space                 # everything, many minutes; nothing else should be running
    python -m benchmarks.space --only a c      # some sections
    python -m benchmarks.space --scale 0.01    # small inputs, to see that it runs

Both Spaces run from their staged folders, each in a process of its own; all requests go to loopback, as the
page itself makes them. Every answer is compared with the number that Python gives. Sections: (a) upload to
table, (b) memory and disk of the metric's Space over submissions and views, (c) concurrent scoring, (d)
memory and disk of the leaderboard over submissions and views, (e) concurrent submissions, (f) the peak of
four large uploads at once.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from hub_cards import stage_metric
from leaderboard.staging import stage_leaderboard
from tests.space.space_server import START_SECONDS, call, read, running
from weighted_f1_metric import f1_family, score_track, space, write_predictions

METRIC = Path(__file__).parents[1] / "weighted_f1_metric"
ROWS = (10_000, 500_000)
NUM_SUBMISSIONS, NUM_VIEWS, NUM_AT_ONCE = 500, 5_000, 100
NUM_LARGE, LARGE_BYTES = 4, 60_000_000  # at once; the limit is 64 MB
READINGS = 8
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


def sizes(process: Any, folders: Sequence[Path]) -> list[float]:
    """The resident memory, then what the folders hold, in MB."""
    files = [[path for path in folder.rglob("*") if path.is_file()] for folder in folders]
    on_disk = [sum(path.stat().st_size for path in own) for own in files]
    return [value / 1e6 for value in (psutil.Process(process.pid).memory_info().rss, *on_disk)]


def over_time(
    process: Any, one: Callable[[int], bool], number: int, what: str, folders: Mapping[str, Path]
) -> None:
    """Sections (b) and (d): memory and disk while one request follows the other."""
    wrong, start = 0, time.perf_counter()
    readings = [sizes(process, [*folders.values()])]
    step = max(1, number // READINGS)
    for count in range(1, number + 1):
        wrong += not one(count)
        if count % step == 0:
            readings.append(sizes(process, [*folders.values()]))
    seconds = time.perf_counter() - start
    print(
        f"{number} {what} in {seconds:.0f} s, wrong answers: {wrong}; MB at the start and after each {step}:"
    )
    for name, column in zip(("memory", *folders), zip(*readings, strict=True), strict=True):
        values = " ".join(f"{value:.1f}" for value in column)
        print(f"  {name}: {values}; second half {column[-1] - column[len(column) // 2]:+.1f}", flush=True)


def viewed(url: str, name: str, data: Sequence[Any], expected: str) -> Callable[[int], bool]:
    """A visit: the page, and what it asks for when it has loaded."""

    def view(_: int) -> bool:
        return "<html" in read(url) and expected in call(url, name, list(data))

    return view


def large_at_once(url: str, process: Any) -> None:
    """Section (f): labels of the shape that takes most memory, as many visitors at once as are served."""
    number = LARGE_BYTES // 60
    body = json.dumps([f"{place:056d}" for place in range(number)]).encode()
    peak, is_done = [0.0], threading.Event()

    def watch() -> None:
        while not is_done.wait(0.02):
            peak[0] = max(peak[0], *sizes(process, []))

    before = sizes(process, [])[0]
    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(NUM_LARGE) as pool:
        files = [upload(url, f"{place}.json", body) for place in range(NUM_LARGE)]
        answers = [
            pool.submit(call, url, "score_labels", ["", file, "a", None, "NA", "supported", False])
            for file in files
        ]
        told = [answer.result() for answer in answers]
    is_done.set()
    watcher.join()
    print(
        f"{NUM_LARGE} uploads of {len(body) / 1e6:.0f} MB ({number:,} distinct labels) at once: memory "
        f"{before:.0f} MB before, {peak[0]:.0f} MB at the peak, {sizes(process, [])[0]:.0f} MB after; "
        f"answered in words: {sum('message error' in text for text in told)}"
    )


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
        events = call(url, "submit", [f"{first} {number}", "", "bag2bag", [file]])
        return (
            shown(events, "dodrans F1", expected["magt_dodrans_f1"]) and "is on the bag2bag board" in events
        )

    return submit


@contextmanager
def metric_space(work: Path) -> Iterator[tuple[str, Any, dict[str, Path]]]:
    """The address of the metric's Space, its process, and the folders that it writes to."""
    folder, own = work / "metric", work / "metric-work"
    for place in (folder, own / "temporary"):
        place.mkdir(parents=True)
    stage_metric(METRIC, folder, repo_id="user/weighted_f1_metric")
    with running(folder, own, TMPDIR=str(own / "temporary")) as (url, process, _):
        yield url, process, {"uploads": own / "uploads", "temporary files": own / "temporary"}


@contextmanager
def leaderboard_space(work: Path) -> Iterator[tuple[str, Any, dict[str, Path]]]:
    """The address of the leaderboard, its process, and the folders that it writes to."""
    folder, test, results, own = work / "board", work / "test", work / "results", work / "board-work"
    for place in (folder, test, results, own / "temporary"):
        place.mkdir(parents=True)
    stage_leaderboard(folder)
    data = space.example_track()
    write_predictions(test / "test.json", data["references"])
    ids = {name: number for number, name in enumerate(["NA", *data["relations"]])}
    (test / "rel2id.json").write_text(json.dumps(ids))
    environment = {
        "LEADERBOARD_TEST_DIR": str(test),
        "LEADERBOARD_TEST_IS_PUBLIC": "1",
        "LEADERBOARD_RESULTS_DIR": str(results),
        "TMPDIR": str(own / "temporary"),
    }
    folders = {"uploads": own / "uploads", "temporary files": own / "temporary", "results": results}
    with running(folder, own, **environment) as (url, process, _):
        yield url, process, folders


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", choices="abcdef", default=list("abcdef"), help="sections to run")
    parser.add_argument("--scale", type=float, default=1.0, help="factor for the sizes (default: 1)")
    parser.add_argument(
        "--views", type=int, default=NUM_VIEWS, help=f"of (b) and (d) (default: {NUM_VIEWS:,})"
    )
    arguments = parser.parse_args()
    submissions, views, number = (
        max(8, int(size * arguments.scale)) for size in (NUM_SUBMISSIONS, arguments.views, NUM_AT_ONCE)
    )
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if set(arguments.only) & set("abcf"):
            with metric_space(work) as (url, process, folders):
                if "a" in arguments.only:
                    for num_rows in ROWS:
                        upload_to_table(url, max(100, int(num_rows * arguments.scale)))
                submit = scored_rightly(url, 1_000)
                if "b" in arguments.only:
                    over_time(process, submit, submissions, "scorings", folders)
                    columns = {name: "\n".join(labels) for name, labels in label_columns(100, seed=0).items()}
                    data = [
                        columns["predictions"],
                        None,
                        columns["references"],
                        None,
                        "NA",
                        "supported",
                        False,
                    ]
                    over_time(process, viewed(url, "score_labels", data, "dodrans"), views, "views", folders)
                if "c" in arguments.only:
                    at_once(submit, number)
                if "f" in arguments.only:
                    large_at_once(url, process)
        if set(arguments.only) & set("de"):
            with leaderboard_space(work) as (url, process, folders):
                if "d" in arguments.only:
                    over_time(
                        process, submitted_rightly(url, "one by one"), submissions, "submissions", folders
                    )
                    data = ["bag2bag", "magt", "micro_f1"]
                    seen = viewed(url, "board", data, "copy of the distant labels")
                    over_time(process, seen, views, "views", folders)
                if "e" in arguments.only:
                    before = len(list(folders["results"].rglob("*.json")))
                    at_once(submitted_rightly(url, "at once"), number)
                    print(f"files that arrived: {len(list(folders['results'].rglob('*.json'))) - before}")


if __name__ == "__main__":
    main()
