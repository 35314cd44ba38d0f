"""The options of a configuration and the cache key that follows from them and from the files."""

from __future__ import annotations

from dataclasses import dataclass

import datasets

from .bags import check_bag_key
from .folder import content_fingerprint, find_data_folder
from .mentions import check_policy
from .schema import IRREGULAR_CHOICES, NA_CHOICES, UNKNOWN_RELATION_CHOICES

# Part of the cache key: raised whenever the same files give other rows.
ROWS_VERSION = "1.1.0"


@dataclass
class NytHConfig(datasets.BuilderConfig):
    """Options of a configuration.

    Attributes:
        na: NA rows in train: "sampled" (na_train), "all" (na_train and na_rest) or "none".
        mention_policy: which pair of mentions to take where there are several, "first" or "closest".
        unknown_relation: a relation that rel2id.json lacks is an "error", becomes "na", or its rows "drop".
        irregular: repeated instance ids and entity types that are null are an "error", or (with "repair")
            become unique (X|2) and "".
        bag_key: what a row of the config `bag` stands for, a "pair", an "id" (of the authors) or a "triple"
            (a pair with its relation).
    """

    na: str = "sampled"
    mention_policy: str = "first"
    unknown_relation: str = "error"
    bag_key: str = "pair"
    irregular: str = "error"

    def check(self) -> None:
        """Raise ValueError for an option with an unknown value."""
        check_policy(self.mention_policy)
        check_bag_key(self.bag_key)
        for option, choices in (
            ("na", tuple(NA_CHOICES)),
            ("unknown_relation", UNKNOWN_RELATION_CHOICES),
            ("irregular", IRREGULAR_CHOICES),
        ):
            value = getattr(self, option)
            if value not in choices:
                raise ValueError(f"`{option}` must be one of {', '.join(map(repr, choices))}; got {value!r}.")

    def key(self) -> str:
        """Return what tells caches of this configuration apart: the content of the files and the options."""
        options = [ROWS_VERSION, self.na, self.mention_policy, self.unknown_relation]
        if self.irregular != "error":
            options.append(self.irregular)
        if self.name == "bag":
            options.append(self.bag_key)
        return content_fingerprint(find_data_folder(self.data_dir), options)

    def create_config_id(
        self, config_kwargs: dict[str, object], custom_features: datasets.Features | None = None
    ) -> str:
        """Return the cache key: the content of the files and the options, not the path of the folder.

        The major of `datasets` is part of it: one before 4 cannot read what a later one notes of lists.
        """
        self.check()
        if custom_features is not None:
            raise ValueError("`features` are those of the configuration; cast the loaded dataset instead.")
        return f"{self.name}-datasets{datasets.__version__.split('.')[0]}-{self.key()}"
