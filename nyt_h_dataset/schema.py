"""Names, files and features of NYT-H (pure: the facts in one place)."""

from __future__ import annotations

import datasets

from .mentions import STATUSES

HOMEPAGE = "https://github.com/Spico197/NYT-H"
WHERE_TO_GET_IT = (
    "The authors publish the data as nyt-h.tar.bz2 on Google Drive, file id "
    "1my4W7O-ioCYWRiP6VCbgGfXTzgdrDep0; the page that says so is github.com/Spico197/NYT-H. Pass "
    "that file, or the data/ folder that comes out of it, as `data_dir`. A synthetic sample in the same "
    "format: python -m nyt_h_dataset sample --out DIR."
)
CITATION = """\
@inproceedings{zhu-etal-2020-towards-accurate,
    title = "Towards Accurate and Consistent Evaluation: A Dataset for Distantly-Supervised Relation
      Extraction",
    author = "Zhu, Tong and Wang, Haitao and Yu, Junjie and Zhou, Xiabing and Chen, Wenliang and Zhang, Wei
      and Zhang, Min",
    booktitle = "Proceedings of the 28th International Conference on Computational Linguistics",
    year = "2020",
}
"""
DESCRIPTION = (
    "NYT-H: distantly supervised relation extraction on New York Times sentences, its test set judged by "
    "humans. `relation` is the distant-supervision label, `bag_label` the human answer to whether this "
    "sentence expresses it (unk where nobody was asked)."
)

NEGATIVE_RELATION = "NA"
BAG_LABELS = ("no", "yes", "unk")
NO, YES, UNK = range(3)
UNJUDGED = -1

RELATION_FILE = "rel2id.json"
BAG_LABEL_FILE = "bag_label2id.json"
TRAIN, NA_TRAIN, NA_REST, DEV, TEST = (
    "train_nonna.json",
    "na_train.json",
    "na_rest.json",
    "dev.json",
    "test.json",
)
RECORD_FILES = (TRAIN, NA_TRAIN, NA_REST, DEV, TEST)
DATA_FILES = (RELATION_FILE, BAG_LABEL_FILE, *RECORD_FILES)
# The release of October 2020: JSON arrays. Its train holds its NA sample; release/na.json is the NA set.
OLDER_TRAIN, OLDER_DEV, OLDER_TEST, OLDER_NA = (
    "train/train.json",
    "train/dev.json",
    "train/test.json",
    "release/na.json",
)
OLDER_RECORD_FILES = (OLDER_TRAIN, OLDER_DEV, OLDER_TEST, OLDER_NA)
OLDER_DATA_FILES = (RELATION_FILE, BAG_LABEL_FILE, *OLDER_RECORD_FILES)
# What the authors' training code reads (its `--data_dir`): arrays or lines, the NA rows of train in train.
PREPARED_TRAIN, PREPARED_DEV, PREPARED_TEST = "train.json", "dev.json", "test.json"
PREPARED_RECORD_FILES = (PREPARED_TRAIN, PREPARED_DEV, PREPARED_TEST)
PREPARED_DATA_FILES = (RELATION_FILE, BAG_LABEL_FILE, *PREPARED_RECORD_FILES)
ARCHIVE_NAME = "nyt-h.tar.bz2"

CONFIGS = ("sentence", "bag")
# What `na` adds to train_nonna.json in the train split.
NA_CHOICES = {"sampled": (NA_TRAIN,), "all": (NA_TRAIN, NA_REST), "none": ()}
UNKNOWN_RELATION_CHOICES = ("error", "na", "drop")
# What is done with repeated instance ids and with types that are null.
IRREGULAR_CHOICES = ("error", "repair")


# Which rows of a file a split takes.
ALL_ROWS, POSITIVE_ROWS, NEGATIVE_ROWS = "all", "positive", "negative"


def split_files(na: str) -> dict[str, tuple[str, ...]]:
    """Return the files of each split, in order, when train takes the NA rows that `na` names.

    >>> split_files("sampled")["train"]
    ('train_nonna.json', 'na_train.json')
    """
    return {
        "train": (TRAIN, *NA_CHOICES[na]),
        "validation": (DEV,),
        "test": (TEST,),
        "na": (NA_TRAIN, NA_REST),
    }


def older_split_files(na: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the files of each split of the older release, each with which of its rows the split takes.

    "sampled" takes train/train.json as it is and "none" its rows that are not NA. "all" takes those rows
    and then the whole NA set, so that no row comes twice although the sample was drawn from that set.

    >>> older_split_files("none")["train"], older_split_files("all")["train"]
    ((('train/train.json', 'positive'),), (('train/train.json', 'positive'), ('release/na.json', 'all')))
    """
    train = {
        "sampled": ((OLDER_TRAIN, ALL_ROWS),),
        "all": ((OLDER_TRAIN, POSITIVE_ROWS), (OLDER_NA, ALL_ROWS)),
        "none": ((OLDER_TRAIN, POSITIVE_ROWS),),
    }
    return {
        "train": train[na],
        "validation": ((OLDER_DEV, ALL_ROWS),),
        "test": ((OLDER_TEST, ALL_ROWS),),
        "na": ((OLDER_NA, ALL_ROWS),),
    }


def prepared_split_files(na: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the same of the folder that the authors' training code reads: its NA rows are those of train.

    >>> prepared_split_files("none")["train"], prepared_split_files("all")["na"]
    ((('train.json', 'positive'),), (('train.json', 'negative'),))
    """
    return {
        "train": ((PREPARED_TRAIN, POSITIVE_ROWS if na == "none" else ALL_ROWS),),
        "validation": ((PREPARED_DEV, ALL_ROWS),),
        "test": ((PREPARED_TEST, ALL_ROWS),),
        "na": ((PREPARED_TRAIN, NEGATIVE_ROWS),),
    }


def sentence_features(relations: list[str]) -> datasets.Features:
    """Return the features of the `sentence` config; `relations` are all names in id order, NA included."""
    string, offset = datasets.Value("string"), datasets.Value("int32")
    entity = {"guid": string, "word": string, "type": string, "start": offset, "end": offset}
    return datasets.Features(
        {
            "instance_id": string,
            "bag_id": string,
            "relation": datasets.ClassLabel(names=relations),
            "bag_label": datasets.ClassLabel(names=list(BAG_LABELS)),
            "manual_relation": datasets.ClassLabel(names=relations),
            "sentence": string,
            "head": dict(entity),
            "tail": dict(entity),
            "mention_status": datasets.ClassLabel(names=list(STATUSES)),
        }
    )


def bag_features(relations: list[str]) -> datasets.Features:
    """Return the features of the `bag` config; `relations` are all names in id order, NA included."""
    string, offset = datasets.Value("string"), datasets.Value("int32")
    relation = datasets.ClassLabel(names=relations)
    entity = {"guid": string, "word": string, "type": string}
    instance = {
        "instance_id": string,
        "relation": relation,
        "bag_label": datasets.ClassLabel(names=list(BAG_LABELS)),
        "sentence": string,
        "head_start": offset,
        "head_end": offset,
        "tail_start": offset,
        "tail_end": offset,
    }
    return datasets.Features(
        {
            "bag_id": string,
            "head": dict(entity),
            "tail": dict(entity),
            # A list of structs is spelt [{...}]: that means the same on every version of datasets.
            "relations": [relation],
            "manual_relations": [relation],
            "annotated": datasets.Value("bool"),
            "instances": [instance],
        }
    )
