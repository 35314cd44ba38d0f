"""Real data beside the repository (skipped when it is not there), and small inputs made by hand."""

import csv
import gzip
import json

import pytest

from tests.folders import SHARED


def _folder(name):
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"the shared data folder {name} is not beside the repository")
    return folder


def _json_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


class NythShaped:
    """The folder `nyt_h_shaped`: test records, relations, predictions, expected values."""

    def __init__(self, folder):
        self.folder = folder
        self.references = _json_lines(folder / "test.json")
        ids = json.loads((folder / "rel2id.json").read_text())
        self.relations = [name for name in sorted(ids, key=ids.get) if name != "NA"]
        self.expected = json.loads((folder / "expected_scores.json").read_text())
        self.expected_ranking = json.loads((folder / "expected_ranking.json").read_text())

    def predictions(self, name):
        return _json_lines(self.folder / "predictions" / f"{name}.jsonl")

    def predictions_of(self, key):
        track, system = key.split("/")
        prefix = "bag_" if track == "bag2bag" else "sent_"
        return track, self.predictions(prefix + system)


@pytest.fixture(scope="session")
def nyt_h_shaped():
    return NythShaped(_folder("nyt_h_shaped"))


@pytest.fixture(scope="session")
def tacrev():
    """(columns by name, expected scores)."""
    folder = _folder("tacrev")
    with gzip.open(folder / "dev_predictions.tsv.gz", "rt", encoding="utf-8") as stream:
        header, *rows = list(csv.reader(stream, delimiter="\t"))
    columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
    return columns, json.loads((folder / "expected_scores.json").read_text())


@pytest.fixture(scope="session")
def semeval():
    """(references, system -> predictions, expected scores)."""
    folder = _folder("semeval2010")

    def read(path):
        pairs = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
        return dict(pairs)

    key = read(folder / "TEST_KEY_DIRECTED.txt")
    systems = {path.stem: read(path) for path in sorted((folder / "predictions").glob("*.txt"))}
    predictions = {name: [answers[number] for number in key] for name, answers in systems.items()}
    return list(key.values()), predictions, json.loads((folder / "expected_scores.json").read_text())


@pytest.fixture(scope="session")
def two_bags():
    """Two bags: b0 with three rows (one with a yes, twins under two relations), b1 with one row; as JSON."""

    def row(number, bag, relation, answer, sentence):
        return {
            "instance_id": f"i{number}",
            "bag_id": bag,
            "relation": relation,
            "bag_label": answer,
            "sentence": sentence,
        }

    records = [
        row(0, "b0", "born_in", "yes", "Ada was born in London ."),
        row(1, "b0", "lives_in", "no", "Ada was born in London . "),
        row(2, "b0", "born_in", "no", "Ada left London ."),
        row(3, "b1", "lives_in", "yes", "Bob lives in Rome ."),
    ]
    return json.dumps(records)


@pytest.fixture
def rows(two_bags):
    """The records of `two_bags`, fresh for each test."""
    return json.loads(two_bags)
