"""How often the spans are exactly the true ones: this project's mentions beside str.find and a regex.

    python -m benchmarks.mentions [DATA_DIR]

DATA_DIR is a folder in NYT-H's format with gold_positions.jsonl (token positions, inclusive, on the sentence
split at blanks). The second table is on the synthetic sample, which has the hard cases.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from nyt_h_dataset import load_nyt_h, write_sample
from nyt_h_dataset.mentions import STATUSES, locate, written_mentions

DEFAULT_DATA_DIR = Path(__file__).resolve().parents[2] / "shared" / "data" / "nyt_h_shaped"
POSITIONS_FILE = "gold_positions.jsonl"

Span = tuple[int, int]
Finder = Callable[[str, str, str], tuple[Span, Span]]


class Case(NamedTuple):
    """A row with its true spans."""

    sentence: str
    head: str
    tail: str
    true: tuple[Span, Span]


def find_plainly(sentence: str, head: str, tail: str) -> tuple[Span, Span]:
    """The first place of each word anywhere, as str.find gives it."""
    starts = sentence.find(head), sentence.find(tail)
    return (starts[0], starts[0] + len(head)), (starts[1], starts[1] + len(tail))


def find_by_regex(sentence: str, head: str, tail: str) -> tuple[Span, Span]:
    r"""The first place of each word between \b, as a regex gives it."""
    matches = (re.search(rf"\b{re.escape(word)}\b", sentence) for word in (head, tail))
    spans = [match.span() if match else (-1, -1) for match in matches]
    return spans[0], spans[1]


def _policy(name: str) -> Finder:
    def find(sentence: str, head: str, tail: str) -> tuple[Span, Span]:
        found = locate(sentence, head, tail, policy=name)
        return found.head, found.tail

    return find


FINDERS: dict[str, Finder] = {
    "policy first": _policy("first"),
    "policy closest": _policy("closest"),
    "str.find": find_plainly,
    "regex \\b": find_by_regex,
}


def _rows(data_dir: Path) -> Iterator[dict]:
    """Every row of a data folder once."""
    splits = load_nyt_h(data_dir, na="all", streaming=True)
    for name in ("train", "validation", "test"):
        yield from splits[name]


def _token_span(sentence: str, first: int, last: int) -> Span:
    tokens = sentence.split(" ")
    start = sum(len(token) + 1 for token in tokens[:first])
    return start, start + len(" ".join(tokens[first : last + 1]))


def read_cases(data_dir: Path, spans_file: Path, *, in_tokens: bool) -> list[Case]:
    with open(spans_file, encoding="utf-8") as file:
        spans = {record["instance_id"]: record for record in map(json.loads, file)}
    cases = []
    for row in _rows(data_dir):
        head, tail = (tuple(spans[row["instance_id"]][entity]) for entity in ("head", "tail"))
        if in_tokens:
            head, tail = (_token_span(row["sentence"], *span) for span in (head, tail))
        cases.append(Case(row["sentence"], row["head"]["word"], row["tail"]["word"], (head, tail)))
    return cases


def _share(exact: int, total: int) -> str:
    return f"{exact:>6,} of {total:>6,}  {100 * exact / total if total else 0:7.2f} %"


def measure(cases: list[Case]) -> dict[str, tuple[int, int]]:
    """Return (exact, total) per finder, per mention status and for rows with one written mention of each."""
    results = {}
    for name, find in FINDERS.items():
        results[name] = (sum(find(*case[:3]) == case.true for case in cases), len(cases))
    for index, status in enumerate(STATUSES):
        found = [(locate(*case[:3]), case.true) for case in cases]
        chosen = [(place.head, place.tail) == true for place, true in found if place.status == index]
        results[f"status {status}"] = (sum(chosen), len(chosen))
    single = [case for case in cases if all(len(written_mentions(case[0], word)) == 1 for word in case[1:3])]
    exact = sum(FINDERS["policy first"](*case[:3]) == case.true for case in single)
    results["one mention of each"] = (exact, len(single))
    return results


def report(title: str, results: dict[str, tuple[int, int]]) -> None:
    """Print one table."""
    print(f"\n{title}\n{'':22}rows with both spans exact")
    for name, (exact, total) in results.items():
        print(f"{name:22}{_share(exact, total)}")


def main() -> None:
    """Print both tables; the first only where the real data is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mentions", description=__doc__.split("\n")[0])
    parser.add_argument("data_dir", nargs="?", type=Path, default=DEFAULT_DATA_DIR, metavar="DATA_DIR")
    data_dir = parser.parse_args().data_dir
    if (data_dir / POSITIONS_FILE).is_file():
        cases = read_cases(data_dir, data_dir / POSITIONS_FILE, in_tokens=True)
        report(f"Real sentences ({data_dir.name})", measure(cases))
        inexact = [case.true for case in cases if FINDERS["policy first"](*case[:3]) != case.true]
        overlap = sum(head[0] < tail[1] and tail[0] < head[1] for head, tail in inexact)
        print(
            f"In {overlap} of the {len(inexact)} rows that are not exact, the true spans overlap each other."
        )
    else:
        print(f"Real sentences: skipped, {data_dir / POSITIONS_FILE} is not there.")
    with tempfile.TemporaryDirectory() as folder:
        out = write_sample(Path(folder) / "sample").path
        cases = read_cases(out, out / "true_spans.jsonl", in_tokens=False)
        report("Synthetic sample (seed 0, size small)", measure(cases))


if __name__ == "__main__":
    main()
