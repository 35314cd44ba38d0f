"""A data folder of a handful of lines, and one synthetic sample for the whole run."""

import copy
import json
from pathlib import Path

import datasets
import pytest

from nyt_h_dataset import write_sample
from tests.folders import SHARED

RELATIONS = {"NA": 0, "/zeta/last": 1, "/alpha/first": 2}


def make_record(instance_id, relation="/alpha/first", bag_label="unk", **changes):
    record = {
        "instance_id": instance_id,
        "bag_id": "BAG#" + instance_id,
        "relation": relation,
        "bag_label": bag_label,
        "sentence": "Ann Lee left Bonn on Monday .",
        "head": {"guid": "/guid/1", "word": "Ann Lee", "type": "/people/person"},
        "tail": {"guid": "/guid/2", "word": "Bonn", "type": "/location/citytown"},
    }
    return copy.deepcopy(record) | changes


class DataFolder:
    """Files in the authors' format; change `records`, `relations` or the files themselves."""

    def __init__(self, root: Path):
        self.root = root
        self.path = root / "data"
        self.relations = dict(RELATIONS)
        self.bag_labels = {"no": 0, "yes": 1, "unk": 2}
        self.records = {
            "train_nonna.json": [make_record("TRAIN#0"), make_record("TRAIN#1", "/zeta/last")],
            "na_train.json": [make_record("NATRAIN#0", "NA")],
            "na_rest.json": [make_record("NAREST#0", "NA"), make_record("NAREST#1", "NA")],
            "dev.json": [make_record("DEV#0")],
            "test.json": [make_record("TEST#0", bag_label="yes"), make_record("TEST#1", bag_label="no")],
        }

    def write(self):
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / "rel2id.json").write_text(json.dumps(self.relations))
        (self.path / "bag_label2id.json").write_text(json.dumps(self.bag_labels))
        for name, records in self.records.items():
            (self.path / name).write_text("".join(json.dumps(record) + "\n" for record in records))
        return self

    def write_lines(self, name, *lines):
        """Replace one file by raw lines, each bytes or str."""
        raw = [line.encode() if isinstance(line, str) else line for line in lines]
        (self.path / name).write_bytes(b"".join(line + b"\n" for line in raw))


@pytest.fixture
def folder(tmp_path):
    return DataFolder(tmp_path).write()


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def sample(made_once):
    return made_once("small-sample", write_sample)


@pytest.fixture(scope="session")
def real_data():
    path = SHARED / "nyt_h_shaped"
    if not (path / "gold_positions.jsonl").is_file():
        pytest.skip(f"the real sentences are not here ({path.name} beside the repository's folder)")
    return path


@pytest.fixture(autouse=True, scope="session")
def _quiet():
    datasets.disable_progress_bars()
