"""NYT-H as rows: what `load_nyt_h` gives, with its human labels."""

from __future__ import annotations

from dataclasses import asdict, replace

from .hub_rows import column_paths, split_records
from .relation_rows import RelationData, relation_data


def read_nyt_h(data_dir: str, *, with_na: bool = False) -> RelationData:
    """Return NYT-H: train with its sampled NA rows, validation and test; "na", all NA rows, when asked for.

    Raises:
        FileNotFoundError: The folder or a file is not there.
        ValueError: A file is broken, or a split is empty.
    """
    from nyt_h_dataset import NEGATIVE_RELATION, load_nyt_h, read_about

    loaded = load_nyt_h(data_dir, "sentence")
    wanted = ("train", "validation", "test", *(("na",) if with_na else ()))
    paths = column_paths()
    data = relation_data(
        name="nyt_h",
        splits={
            split: split_records(loaded[split], paths, where=f"{data_dir}, {split}", split=split)
            for split in wanted
            if split in loaded
        },
        label_names=tuple(loaded["test"].features["relation"].names),
        negative_relation=NEGATIVE_RELATION,
    )
    about = read_about(data_dir)
    # NYT-H itself, and the sample, come without a list of what was done to them.
    own = asdict(about) if about.steps else None
    return replace(data, is_synthetic=about.is_synthetic, about=own)
