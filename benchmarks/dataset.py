"""How fast NYT-H is built, as ratios in one run, beside a plain builder and beside pyarrow.json alone.

    python -m benchmarks.dataset [--rows N | --data_dir DIR] [--repeats K] [--growth]

The plain peer is a GeneratorBasedBuilder that does nothing but ``json.loads`` (no check, no mentions).
Without DIR the data is the synthetic sample, its rows repeated under new ids until train_nonna.json has N.
Every measurement runs in a process of its own (hence a peak of memory of its own), the systems in turns; the
fastest of K counts. Imports are not measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import datasets
import pyarrow.json as pj

from nyt_h_dataset import NytH, load_nyt_h, write_sample
from nyt_h_dataset.records import read_blocks, shards
from nyt_h_dataset.schema import RECORD_FILES, TRAIN, split_files

from .memory import peak_mebibytes

RATIOS = (
    ("plain builder", "sentence build"),
    ("bag build", "sentence build"),
    ("parse and check", "pyarrow.json alone"),
)
GROWTH = (10_000, 100_000, 1_000_000)


class PlainBuilder(datasets.GeneratorBasedBuilder):
    """The peer: a line, a row."""

    VERSION = datasets.Version("1.0.0")

    def _info(self) -> datasets.DatasetInfo:
        string = datasets.Value("string")
        entity = {"guid": string, "word": string, "type": string}
        texts = dict.fromkeys(("instance_id", "bag_id", "relation", "bag_label", "sentence"), string)
        return datasets.DatasetInfo(
            features=datasets.Features({**texts, "head": entity, "tail": dict(entity)})
        )

    def _split_generators(self, dl_manager: object) -> list[datasets.SplitGenerator]:
        folder = Path(self.config.data_dir)
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"paths": [str(folder / name) for name in names]})
            for split, names in split_files("sampled").items()
        ]

    def _generate_examples(self, paths: list[str]) -> Iterator[tuple[int, dict]]:
        key = 0
        for path in paths:
            with open(path, encoding="utf-8") as file:
                for line in file:
                    yield key, json.loads(line)
                    key += 1


def _build(builder: type[datasets.DatasetBuilder], folder: str, **options: str) -> None:
    with tempfile.TemporaryDirectory() as cache:
        builder(data_dir=folder, cache_dir=cache, **options).download_and_prepare()


def _parse_with_arrow(folder: str) -> None:
    for name in RECORD_FILES:
        pj.read_json(Path(folder) / name)


def _parse(folder: str) -> None:
    for number, name in enumerate(RECORD_FILES):
        for shard in shards(str(Path(folder) / name), number):
            for _ in read_blocks(shard):
                pass


def _first_row(folder: str, config: str) -> None:
    next(iter(load_nyt_h(folder, config, split="train", streaming=True)))


SYSTEMS = {
    "plain builder": lambda folder: _build(PlainBuilder, folder),
    "sentence build": lambda folder: _build(NytH, folder, config_name="sentence"),
    "bag build": lambda folder: _build(NytH, folder, config_name="bag"),
    "pyarrow.json alone": _parse_with_arrow,
    "parse and check": _parse,
    "first row, sentence stream": lambda folder: _first_row(folder, "sentence"),
    "first row, bag stream": lambda folder: _first_row(folder, "bag"),
}


def _measure_here(system: str, folder: str) -> None:
    """The child: warm up on a small folder, then measure; prints seconds and peak MB."""
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as small:
        SYSTEMS[system](str(write_sample(Path(small) / "data", size="tiny").path))
    start = time.perf_counter()
    SYSTEMS[system](folder)
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, peak_mebibytes()]))


def measure(system: str, folder: Path) -> tuple[float, float]:
    """Return the seconds and the peak memory in MB of one run in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.dataset", "--child", system, "--data_dir", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{system}: {run.stderr[-2000:]}")
    seconds, megabytes = json.loads(run.stdout.splitlines()[-1])
    return seconds, megabytes


def write_repeated_sample(folder: Path, num_rows: int) -> Path:
    """Write the sample with its training rows repeated, under new ids, until there are `num_rows`."""
    path = write_sample(folder / "data", size="small").path
    records = [json.loads(line) for line in (path / TRAIN).read_text(encoding="utf-8").splitlines()]
    with open(path / TRAIN, "w", encoding="utf-8", newline="\n") as file:
        for number in range(num_rows):
            turn, index = divmod(number, len(records))
            record = records[index]
            ids = {key: f"{record[key]}.{turn}" for key in ("instance_id", "bag_id")}
            file.write(json.dumps(record | ids, ensure_ascii=False) + "\n")
    return path


def compare(folder: Path, repeats: int) -> dict[str, tuple[float, float]]:
    """Return the fastest seconds and the highest peak per system, the systems in turns."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in SYSTEMS}
    for _ in range(repeats):
        for name, runs in found.items():
            runs.append(measure(name, folder))
    return {name: (min(s for s, _ in runs), max(m for _, m in runs)) for name, runs in found.items()}


def print_comparison(found: dict[str, tuple[float, float]]) -> None:
    """Print seconds and memory of each system, then the ratios."""
    print(f"{'':28} {'seconds':>8} {'peak MB':>8}")
    for name, (seconds, megabytes) in found.items():
        print(f"{name:28} {seconds:8.2f} {megabytes:8.0f}")
    for name, peer in RATIOS:
        print(f"{name + ' / ' + peer:40} {found[name][0] / found[peer][0]:6.2f}")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.dataset", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000, help="training rows (default: %(default)s)")
    parser.add_argument("--data_dir", help="a folder in NYT-H's format instead")
    parser.add_argument("--repeats", type=int, default=3, help="runs per system (default: %(default)s)")
    parser.add_argument("--growth", action="store_true", help="10^4 to 10^6 training rows too")
    parser.add_argument("--child", choices=SYSTEMS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        _measure_here(arguments.child, arguments.data_dir)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.data_dir or write_repeated_sample(Path(temporary) / "rows", arguments.rows)
        size = sum((Path(folder) / name).stat().st_size for name in RECORD_FILES) / 1e6
        print(f"{folder if arguments.data_dir else f'{arguments.rows:,} training rows'}, {size:.0f} MB")
        print_comparison(compare(Path(folder), arguments.repeats))
        if arguments.growth:
            print(f"\n{'rows':>10} {'sentence s':>11} {'MB':>6} {'bag s':>8} {'MB':>6}")
            for rows in GROWTH:
                path = write_repeated_sample(Path(temporary) / str(rows), rows)
                values = [*measure("sentence build", path), *measure("bag build", path)]
                print("{:>10,} {:11.2f} {:6.0f} {:8.2f} {:6.0f}".format(rows, *values))
    return 0


if __name__ == "__main__":
    sys.exit(main())
