"""The flags of what is read, with their help texts; importing this does not import torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .argument_values import check_values


@dataclass
class DataArguments:
    """What is read."""

    data: Literal["nyt_h", "semeval2010", "tacred", "opennre", "hub"] = field(
        default="nyt_h",
        metadata={
            "help": "Which reader: nyt_h (the authors' release), semeval2010 (TRAIN_FILE.TXT, "
            "TEST_FILE_FULL.TXT), tacred (train.json, dev.json, test.json), opennre (*_train.txt, *_val.txt, "
            "*_test.txt, *_rel2id.json), or hub (whatever load_dataset takes, see --dataset_name)."
        },
    )
    data_dir: str | None = field(
        default=None, metadata={"help": "The folder with the data files (for hub see --dataset_name)."}
    )
    dataset_name: str | None = field(
        default=None,
        metadata={
            "help": "With --data hub: the name of a dataset on the Hugging Face Hub, or a local folder such "
            "as one written by `nyt_h_dataset export`."
        },
    )
    dataset_config: str | None = field(
        default=None, metadata={"help": "With --data hub: which configuration of the dataset."}
    )
    dataset_revision: str | None = field(
        default=None, metadata={"help": "With --data hub: the branch, tag or commit."}
    )
    columns: list[str] | None = field(
        default=None,
        metadata={
            "help": "With --data hub, where the columns have other names: ours=theirs, for example head=subj "
            "tail=obj sentence=text, or head_start=subj_start. A sentence may be a list of tokens; ends are "
            "exclusive."
        },
    )
    negative_relation: str | None = field(
        default=None,
        metadata={
            "help": "The name of the negative relation, needed with --data hub; `none` if the data have no "
            "such class. Default: no_relation for tacred, for opennre NA, no_relation or Other, whichever "
            "there is."
        },
    )
    equal_spans: Literal["error", "keep"] | None = field(
        default=None,
        metadata={
            "help": "Rows of tacred, opennre or hub whose head and tail are the same characters: error (the "
            "default), or keep."
        },
    )
    validation_fraction: float | None = field(
        default=None,
        metadata={
            "help": "Where the data have no validation split: the share of train that becomes one, by entity "
            "pair. Default 0.1; 0 makes none, so that nothing is selected and all rows are trained on."
        },
    )
    validation_seed: int = field(
        default=0, metadata={"help": "Which entity pairs go to such a validation split follows from it."}
    )
    evaluate_na: int = field(
        default=0,
        metadata={
            "help": "Also predict this many rows of the `na` split (nyt_h, hub) that training has not, and "
            "report the share of false alarms by relation; test and dev of NYT-H hold no NA rows."
        },
    )
    track: Literal["sent2sent", "bag2sent", "bag2bag"] = field(
        default="sent2sent",
        metadata={
            "help": "What is trained on and scored: sent2sent trains on sentences and scores sentences; "
            "bag2sent trains and selects on bags (all sentences of an entity pair) and scores each test "
            "sentence as a bag of one; bag2bag trains on bags and scores bags."
        },
    )

    def __post_init__(self) -> None:
        """Raise ValueError for a value of the wrong kind."""
        check_values(self)
