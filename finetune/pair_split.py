"""A validation split taken from train so that no entity pair is on both sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .relation_rows import RelationData, RelationRows

DEFAULT_FRACTION = 0.1


def with_validation(data: RelationData, *, fraction: float | None, seed: int) -> RelationData:
    """The data with a validation split: its own, or one taken from train by entity pair, said in `notes`.

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
    """Which rows to take, bool, shape (num_rows,): pairs in seeded order while they fit into the share.

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
