"""The embedded sample: a synthetic corpus in the authors' file format, with the true place of every entity.

It has what makes NYT-H hard: distant labels that the sentence does not express, bags of several sentences with
mixed answers, pairs with two relations (each sentence a row per relation, judged on its own), a long tail of
relations, and entities that are not trivially found. No sentence, name or fact in it is real.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .sample_language import ENTAILED, NEUTRAL, RELATIONS
from .sample_names import Entity, NameMaker
from .sample_sentences import Sentence, write_overlapping, write_sentence
from .schema import (
    BAG_LABEL_FILE,
    BAG_LABELS,
    DATA_FILES,
    DEV,
    NA_REST,
    NA_TRAIN,
    NEGATIVE_RELATION,
    RELATION_FILE,
    TEST,
    TRAIN,
)

SPANS_FILE = "true_spans.jsonl"
MARKER_FILE = "SYNTHETIC.md"
_MARKER = """\
# Synthetic data

This folder was written by `python -m nyt_h_dataset sample` (size {size}, seed {seed}). It has the file format of
NYT-H and nothing of its content: every sentence, name and "human" answer was made by a program. Scores on it say
whether code works, never how good a system is. `true_spans.jsonl` holds the true character spans of the entities.
"""
_OUR_FILES = {*DATA_FILES, SPANS_FILE, MARKER_FILE}

# Rows per file. The published sizes of test bags with 1, 2, 3, 4 and more sentences weigh the bag sizes.
SIZES = {
    "tiny": {TRAIN: 160, NA_TRAIN: 60, NA_REST: 40, DEV: 40, TEST: 90},
    "small": {TRAIN: 2000, NA_TRAIN: 700, NA_REST: 400, DEV: 250, TEST: 450},
}
_BAG_SIZE_WEIGHTS = (2116, 607, 269, 142, 414)
_ID_PREFIXES = {TRAIN: "NONNATRAIN", NA_TRAIN: "NATRAIN", NA_REST: "NAREST", DEV: "NONNADEV", TEST: "TEST"}
_EXPRESSED = 0.55
_SECOND_RELATION = 0.25


@dataclass(frozen=True)
class SampleInfo:
    """What `write_sample` wrote: the folder, the seed and size, and the number of rows per file."""

    path: Path
    seed: int
    size: str
    num_rows: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Row:
    """A row before it has ids; `judged` is the answer a human gives."""

    pair: tuple[Entity, Entity]
    relation: str
    judged: str
    sentence: Sentence


class _Writer:
    """Draws pairs, bags and sentences from one random generator."""

    def __init__(self, rng: random.Random, num_rows: int) -> None:
        self.rng = rng
        self.names = NameMaker(rng)
        shares = {"person": 4, "city": 10, "company": 14, "neighborhood": 30, "region": 30, "team": 40}
        self.pools = {
            kind: [self.names.entity(kind) for _ in range(max(12, num_rows // shares.get(kind, 60)))]
            for kind in (
                "person",
                "country",
                "region",
                "city",
                "neighborhood",
                "company",
                "team",
                "religion",
                "ethnicity",
            )
        }
        self.taken: set[tuple[str, str]] = set()
        self.by_kinds: dict[tuple[str, str], list[str]] = {}
        for name, relation in RELATIONS.items():
            self.by_kinds.setdefault((relation.head, relation.tail), []).append(name)

    def _pick(self, kind: str) -> Entity:
        """An entity of the kind, the first ones of the pool more often."""
        pool = self.pools[kind]
        return pool[int(len(pool) * self.rng.random() ** 1.5)]

    def pair(self, head_kind: str, tail_kind: str) -> tuple[Entity, Entity]:
        """A pair that was not drawn before; now and then one name begins with the other."""
        rng = self.rng
        for _ in range(200):
            head, tail = self._pick(head_kind), self._pick(tail_kind)
            if rng.random() < 0.2:
                if {head_kind, tail_kind} in ({"team", "city"}, {"company", "person"}):
                    longer = "team" if "team" in (head_kind, tail_kind) else "company"
                    if head_kind == longer and "(" not in tail.word:
                        head = self.names.entity(longer, inside=tail.word)
                    elif tail_kind == longer and "(" not in head.word:
                        tail = self.names.entity(longer, inside=head.word)
                elif (head_kind, tail_kind) == ("country", "city"):
                    tail = self.names.entity("city", inside=head.word)
            if head.word != tail.word and (head.guid, tail.guid) not in self.taken:
                break
        else:
            head, tail = self.names.entity(head_kind), self.names.entity(tail_kind)
            self.pools[head_kind].append(head)
            self.pools[tail_kind].append(tail)
        self.taken.add((head.guid, tail.guid))
        return head, tail

    def bag_size(self) -> int:
        """A number of sentences, distributed like the bags of the published test set."""
        size = self.rng.choices(range(1, 6), _BAG_SIZE_WEIGHTS)[0]
        return size if size < 5 else self.rng.randint(5, 8)

    def sentence(self, pair: tuple[Entity, Entity], relations: list[str]) -> tuple[Sentence, str]:
        """A sentence with the pair, and the relation that it expresses ("" for none)."""
        rng, (head, tail) = self.rng, pair
        if (head.part == tail.word or tail.part == head.word) and rng.random() < 0.15:
            if head.part:
                return write_overlapping(rng, head, tail, longer_is_head=True), ""
            return write_overlapping(rng, tail, head, longer_is_head=False), ""
        expressed = ""
        if relations and rng.random() < _EXPRESSED:
            expressed = rng.choice(relations)
        elif rng.random() < (0.5 if relations else 0.1):
            others = [r for r in self.by_kinds.get((head.kind, tail.kind), []) if r not in relations]
            expressed = rng.choice(others) if others else ""
        template = rng.choice(RELATIONS[expressed].templates if expressed else NEUTRAL)
        return write_sentence(rng, head, tail, template), expressed

    def positive_bags(self, num_rows: int) -> list[list[_Row]]:
        """Bags of exactly `num_rows` rows, the relations in a long tail, each with at least a few rows."""
        left = _quotas(num_rows)
        bags = []
        for relation in reversed(RELATIONS):
            while left[relation]:
                pair = self.pair(RELATIONS[relation].head, RELATIONS[relation].tail)
                relations = [relation]
                rivals = [r for r in self.by_kinds[pair[0].kind, pair[1].kind] if r != relation and left[r]]
                share = 0.6 if relation in ENTAILED else _SECOND_RELATION
                if rivals and self.rng.random() < share:
                    relations.append(self.rng.choice(rivals))
                bag = []
                for _ in range(min(self.bag_size(), *(left[r] for r in relations), left[relation])):
                    sentence, expressed = self.sentence(pair, relations)
                    true = (expressed, *ENTAILED.get(expressed, ()))
                    bag += [_Row(pair, r, "yes" if r in true else "no", sentence) for r in relations]
                    for r in relations:
                        left[r] -= 1
                bags.append(bag)
        self.rng.shuffle(bags)
        return bags

    def negative_bags(self, num_rows: int) -> list[list[_Row]]:
        """Bags of exactly `num_rows` rows of pairs that the knowledge base does not relate."""
        bags: list[list[_Row]] = []
        while num_rows:
            pair = self.pair(*self.rng.choice(list(self.by_kinds)))
            size = min(self.bag_size(), num_rows)
            sentences = [self.sentence(pair, [])[0] for _ in range(size)]
            bags.append([_Row(pair, NEGATIVE_RELATION, "unk", sentence) for sentence in sentences])
            num_rows -= size
        return bags


def _quotas(num_rows: int) -> dict[str, int]:
    """Rows per relation, falling like 1 / rank, at least two (one in a very small corpus)."""
    weights = [1 / (rank + 1) for rank in range(len(RELATIONS))]
    floor = 2 if num_rows >= 3 * len(RELATIONS) else 1
    spare = num_rows - floor * len(RELATIONS)
    quotas = [floor + int(spare * weight / sum(weights)) for weight in weights]
    quotas[0] += num_rows - sum(quotas)
    return dict(zip(RELATIONS, quotas, strict=True))


def _draw(rng: random.Random, num_rows: dict[str, int]) -> dict[str, list[_Row]]:
    """The rows of every file. Dev is split off train by row, as the authors did, so pairs sit on both sides."""
    writer = _Writer(rng, sum(num_rows.values()))
    rows = {TEST: [row for bag in writer.positive_bags(num_rows[TEST]) for row in bag]}
    pool = [row for bag in writer.positive_bags(num_rows[TRAIN] + num_rows[DEV]) for row in bag]
    chosen = set(rng.sample(range(len(pool)), num_rows[DEV]))
    rows[TRAIN] = [row for index, row in enumerate(pool) if index not in chosen]
    rows[DEV] = [row for index, row in enumerate(pool) if index in chosen]
    for name in (NA_TRAIN, NA_REST):
        rows[name] = [row for bag in writer.negative_bags(num_rows[name]) for row in bag]
    return rows


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write_files(folder: Path, rows: dict[str, list[_Row]]) -> None:
    names = [NEGATIVE_RELATION, *sorted(RELATIONS)]
    label_files = {RELATION_FILE: names, BAG_LABEL_FILE: list(BAG_LABELS)}
    for file_name, labels in label_files.items():
        text = json.dumps({label: index for index, label in enumerate(labels)}, indent=2)
        (folder / file_name).write_text(text + "\n", encoding="utf-8")
    with open(folder / SPANS_FILE, "w", encoding="utf-8", newline="\n") as spans:
        for name, prefix in _ID_PREFIXES.items():
            bag_ids: dict[tuple[str, str], str] = {}
            with open(folder / name, "w", encoding="utf-8", newline="\n") as file:
                for number, row in enumerate(rows[name]):
                    head, tail = row.pair
                    record = {
                        "instance_id": f"{prefix}#{number}",
                        "bag_id": bag_ids.setdefault((head.guid, tail.guid), f"{prefix}#{len(bag_ids)}"),
                        "relation": row.relation,
                        "bag_label": row.judged if name == TEST else "unk",
                        "sentence": row.sentence.text,
                        "head": head.record(),
                        "tail": tail.record(),
                    }
                    file.write(_dump(record) + "\n")
                    place = {"head": row.sentence.head, "tail": row.sentence.tail}
                    spans.write(_dump({"instance_id": record["instance_id"], **place}) + "\n")


def _check_out_dir(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise ValueError(f"`out_dir` {out} is a file; give a folder that is new or empty.")
    there = {entry.name for entry in out.iterdir()} if out.is_dir() else set()
    if there and (MARKER_FILE not in there or there - _OUR_FILES):
        foreign = sorted(there - _OUR_FILES) or sorted(there)
        raise ValueError(
            f"`out_dir` {out} is not empty and not a sample written before (it holds {', '.join(foreign[:5])}). "
            "Only an empty folder, or one with nothing but a sample in it, is written to; give another folder."
        )


def write_sample(out_dir: str | os.PathLike[str], *, seed: int = 0, size: str = "small") -> SampleInfo:
    """Write a synthetic corpus to `out_dir` in the authors' file format and return what was written.

    The same seed and size give the same bytes. Besides the authors' files there are true_spans.jsonl (a line per
    row: instance_id, and half-open character spans `head` and `tail`) and SYNTHETIC.md, which says what it is.
    An existing folder must be empty or hold nothing but a sample, which is then replaced as a whole.

    Raises:
        ValueError: an unknown `size`, or a folder that holds anything else.
        TypeError: `seed` is not an int.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_sample(folder, size="tiny").num_rows["test.json"]
    90
    """
    if size not in SIZES:
        raise ValueError(f"`size` must be one of {', '.join(map(repr, SIZES))}; got {size!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"`seed` must be an int; got {seed!r}.")
    out = Path(os.path.abspath(out_dir))
    _check_out_dir(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        fresh, old = beside / "new", beside / "old"
        fresh.mkdir()
        _write_files(fresh, _draw(random.Random(seed), SIZES[size]))
        (fresh / MARKER_FILE).write_text(_MARKER.format(size=size, seed=seed), encoding="utf-8")
        if out.exists():
            os.replace(out, old)
        os.replace(fresh, out)
    finally:
        shutil.rmtree(beside)
    return SampleInfo(out, seed, size, dict(SIZES[size]))
