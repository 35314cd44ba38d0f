"""`--data` -> its reader and the flags it takes; a validation split by entity pair; a sample of NA rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..arguments import DataArguments
from .hub_rows import read_hub
from .nyt_h_rows import read_nyt_h
from .opennre import read_opennre
from .relation_rows import RelationData, RelationRows
from .semeval import read_semeval2010
from .tacred import read_tacred

DEFAULT_FRACTION = 0.1


def with_validation(data: RelationData, *, fraction: float | None, seed: int) -> RelationData:
    """Return the data with a validation split: its own, or one taken from train by entity pair, said in
    `notes`.

    Args:
        data: The data.
        fraction: Share of the training rows to take where there is no validation split, in [0, 1); None means
            DEFAULT_FRACTION and 0 none: then nothing can be selected.
        seed: Which pairs are taken follows from it.

    Raises:
        ValueError: A fraction for data that have a validation split, one out of range, or too few pairs.
    """
    if "validation" in data.splits:
        if fraction is not None:
            raise ValueError(
                f"{data.name} has a validation split of its own; leave `--validation_fraction` out."
            )
        return data
    share = DEFAULT_FRACTION if fraction is None else fraction
    if not 0 <= share < 1:
        raise ValueError(f"`--validation_fraction` must be from 0 to less than 1; got {share}.")
    if share == 0:
        note = "there is no validation split and none was made: nothing is selected"
        return replace(data, notes=(*data.notes, note))
    train = data.splits["train"]
    taken = validation_rows(train, fraction=share, seed=seed)
    if not taken.any():
        raise ValueError(
            f"{data.name} has no validation split, and {share:.0%} of its {len(train)} training rows are too "
            "few to make one by entity pair; give a larger `--validation_fraction`, or 0 to select nothing."
        )
    parts = {"train": train.select(np.flatnonzero(~taken)), "validation": train.select(np.flatnonzero(taken))}
    pairs = len(set(parts["validation"].entity_pairs))
    note = (
        f"validation is {int(taken.sum()):,} of the {len(train):,} training rows, those of {pairs:,} entity "
        f"pairs drawn with `--validation_seed {seed}`; no pair is on both sides"
    )
    splits = {
        "train": parts["train"],
        "validation": parts["validation"],
        **{k: v for k, v in data.splits.items() if k != "train"},
    }
    return replace(data, splits=splits, notes=(*data.notes, note))


def validation_rows(rows: RelationRows, *, fraction: float, seed: int) -> np.ndarray:
    """Return which rows to take, bool, shape (num_rows,): pairs in seeded order while they fit into the
    share.

    The order of head and tail does not matter: a pair and its reverse are on one side. At least one pair
    stays. The choice does not depend on the order of the rows.
    """
    keys = ["\t".join(sorted(pair.split("\t"))) for pair in rows.entity_pairs]
    names, index, sizes = np.unique(np.array(keys), return_inverse=True, return_counts=True)
    wanted = round(fraction * len(rows))
    chosen = np.zeros(len(names), dtype=bool)
    taken = 0
    for pair in np.random.default_rng(seed).permutation(len(names)):
        if taken + sizes[pair] <= min(wanted, len(rows) - 1):
            chosen[pair] = True
            taken += int(sizes[pair])
    return chosen[index]


READERS: dict[str, Callable[..., RelationData]] = {
    "nyt_h": read_nyt_h,
    "semeval2010": read_semeval2010,
    "tacred": read_tacred,
    "opennre": read_opennre,
    "hub": read_hub,
}
# The flags that not all readers take, with the readers that do.
_FILES = ("nyt_h", "semeval2010", "tacred", "opennre")
_FLAGS = {
    "data_dir": _FILES,
    "dataset_name": ("hub",),
    "dataset_config": ("hub",),
    "dataset_revision": ("hub",),
    "columns": ("hub",),
    "negative_relation": ("tacred", "opennre", "hub"),
    "equal_spans": ("tacred", "opennre", "hub"),
}
_PLACES = ("data_dir", "dataset_name")


def check_data_flags(arguments: DataArguments) -> None:
    """Raise ValueError when a flag is missing, or is given to a reader that does not take it."""
    for name, readers in _FLAGS.items():
        given = getattr(arguments, name) is not None
        if given and arguments.data not in readers:
            raise ValueError(
                f"`--{name}` is a flag of `--data {'` or `--data '.join(readers)}`; leave it out."
            )
        if not given and name in _PLACES and arguments.data in readers:
            raise ValueError(f"`--{name}` is needed; see `python -m finetune --help`.")
    if arguments.evaluate_na < 0:
        raise ValueError(f"`--evaluate_na` must be 0 or more rows; got {arguments.evaluate_na}.")
    if arguments.evaluate_na and arguments.data not in ("nyt_h", "hub"):
        raise ValueError(f"`--evaluate_na` needs an `na` split, and {arguments.data} has none; leave it out.")


def read_data(arguments: DataArguments) -> RelationData:
    """Return the data that the flags name: train, validation unless refused, test, and "na" where asked for.

    Raises:
        FileNotFoundError: A folder, file or dataset is not there.
        ValueError: A flag that is missing or does not fit, records that cannot be used (the first and the
            total), an empty split, a validation split that cannot be made.
    """
    check_data_flags(arguments)
    options = {
        name: getattr(arguments, name) for name, readers in _FLAGS.items() if arguments.data in readers
    }
    place = next(options.pop(name) for name in _PLACES if name in options)
    given = {name: value for name, value in options.items() if value is not None}
    if arguments.evaluate_na:
        given["with_na"] = True
    data = READERS[arguments.data](place, **given)
    if arguments.evaluate_na:
        data = with_na_sample(data, num_rows=arguments.evaluate_na, whole_bags=arguments.track == "bag2bag")
    return with_validation(data, fraction=arguments.validation_fraction, seed=arguments.validation_seed)


def with_na_sample(data: RelationData, *, num_rows: int, whole_bags: bool) -> RelationData:
    """Return the data with its "na" split cut to a sample that training has not seen.

    Rows whose entity pair and sentence are in train are left out first: NYT-H's `na` split holds the NA rows
    of train. Bags are drawn in an order that is always the same, and their rows taken until there are
    `num_rows`; the last bag is cut, or kept whole where bags are the units.

    Raises:
        ValueError: There is no "na" split, or it has fewer such rows.
    """
    if "na" not in data.splits:
        raise ValueError(f"`--evaluate_na` needs an `na` split, and {data.name} has none; leave it out.")
    rows = data.splits["na"]
    positions = unseen_rows(rows, data.splits["train"])
    if len(positions) < num_rows:
        raise ValueError(
            f"`--evaluate_na` asks for {num_rows} rows; the `na` split has {len(positions)} that are not in "
            f"train ({len(rows)} in all)."
        )
    bags: dict[str, list[int]] = {}
    for position in positions:
        bags.setdefault(rows.pair_names[position], []).append(position)
    names = list(bags)
    chosen: list[int] = []
    for bag in np.random.default_rng(0).permutation(len(names)).tolist():
        if len(chosen) >= num_rows:
            break
        chosen += bags[names[bag]] if whole_bags else bags[names[bag]][: num_rows - len(chosen)]
    note = f"na: {len(chosen):,} of {len(positions):,} NA rows that train has not, a fixed sample of bags"
    splits = {**data.splits, "na": rows.select(sorted(chosen))}
    return replace(data, splits=splits, notes=(*data.notes, note))


def unseen_rows(rows: RelationRows, train: RelationRows) -> list[int]:
    """Return positions of the rows whose entity pair and sentence are not together in train."""
    seen = set(zip(train.entity_pairs, train.sentences, strict=True))
    pairs = zip(rows.entity_pairs, rows.sentences, strict=True)
    return [position for position, pair in enumerate(pairs) if pair not in seen]
