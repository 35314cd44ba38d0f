"""Output of any system, read, scored and broken down: seconds, memory, and the page that `--html` writes.

    python -m benchmarks.systems [--num_records 100000] [--num_labels 1000000] [--num_rows 10000]

Each job runs in a process of its own on random data, made before the clock starts; the times include reading
the files. The page is opened in Chromium where there is one.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from weighted_f1_metric.__main__ import main as weighted_f1

from .memory import peak_mebibytes

RELATIONS = [f"/relation/{number}" for number in range(21)]
PARTS = ("bag_size", "yes_share", "support", "seen", "sentence_length")


def write_track(folder: Path, num_rows: int) -> list[str]:
    """Write references and records with scores under other labels; return the flags that name them."""
    random.seed(0)
    rows, said = [], []
    for number in range(num_rows):
        relation = random.choices(RELATIONS, [1 / (place + 1) for place in range(len(RELATIONS))])[0]
        rows.append(
            {
                "instance_id": f"T#{number}",
                "bag_id": f"B#{number // 3}",
                "relation": relation,
                "bag_label": random.choice(["yes", "no"]),
                "sentence": f"Head {number // 3} "
                + "word " * random.randrange(10, 60)
                + f"Tail {number // 3}",
                "head": {"word": f"Head {number // 3}", "guid": f"h{number // 3}"},
                "tail": {"word": f"Tail {number // 3}", "guid": f"t{number // 3}"},
            }
        )
        said.append({"id": f"T#{number}", "scores": {f"label {name}": random.random() for name in RELATIONS}})
    contents = {"test": rows, "pred": said, "train": rows[: num_rows // 10]}
    for name, records in contents.items():
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "rel2id").write_text(json.dumps({"NA": 0, **{name: n for n, name in enumerate(RELATIONS, 1)}}))
    (folder / "map").write_text(json.dumps({f"label {name}": name for name in RELATIONS}))
    files = {"--rel2id": "rel2id", "--test": "test", "--pred": "pred", "--train": "train", "--map": "map"}
    flags = [part for flag, name in files.items() for part in (flag, str(folder / name))]
    return ["--track", "sent2sent", "--id_key", "id", *flags]


def write_labels(folder: Path, number: int) -> list[str]:
    """Write two files of labels; return the flags that name them."""
    random.seed(0)
    for name in ("gold", "pred"):
        labels = random.choices(["NA", *RELATIONS], k=number)
        (folder / name).write_text("\n".join(labels) + "\n")
    return ["--gold", str(folder / "gold"), "--pred", str(folder / "pred"), "--negative", "NA"]


def run(arguments: Sequence[str]) -> None:
    """Score in this process and print seconds and peak memory."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w") as sink, redirect_stdout(sink):
        status = weighted_f1(["score", *arguments])
    assert status == 0
    print(f"{time.perf_counter() - start:.2f} s, peak {peak_mebibytes():.0f} MiB")


def seconds_to_open(page: Path) -> float | None:
    """Return how long Chromium takes until the page is loaded; None without Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page()
        tab.goto("about:blank")
        start = time.perf_counter()
        tab.goto(page.as_uri())
        passed = time.perf_counter() - start
        browser.close()
    return passed


def main(argv: Sequence[str] | None = None) -> None:
    arguments_of = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments_of.add_argument("--num_records", type=int, default=100_000)
    arguments_of.add_argument("--num_labels", type=int, default=1_000_000)
    arguments_of.add_argument("--num_rows", type=int, default=10_000)
    arguments_of.add_argument("--run", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = arguments_of.parse_args(argv)
    if options.run:
        run(options.run)
        return

    def show(title: str, flags: Sequence[str]) -> None:
        command = [sys.executable, "-m", "benchmarks.systems", "--run", *flags]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        print(f"{title}: {done.stdout.strip()}", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        track = write_track(folder, options.num_records)
        train = track.index("--train")
        plain = track[:train] + track[train + 2 :]
        show(f"{options.num_records:,} records with scores, read and scored", plain)
        show("the same broken down", [*track, "--breakdown", *PARTS])
        show(f"{options.num_labels:,} labels", write_labels(folder, options.num_labels))
        track, page = write_track(folder, options.num_rows), folder / "page.html"
        show(
            f"page of {options.num_rows:,} rows",
            [*track, "--per_class", "--breakdown", *PARTS, "--html", str(page)],
        )
        opened = seconds_to_open(page)
        shown = "no Chromium here" if opened is None else f"opened in {opened:.2f} s"
        print(f"its size: {page.stat().st_size / 1e6:.2f} MB; {shown}")


if __name__ == "__main__":
    main()
