"""From a plain corpus to a judged data set by the commands alone: convert, sheet, merge, build, load."""

import csv
import json

import pytest

from nyt_h_dataset import build_corpus, load_nyt_h
from nyt_h_dataset.__main__ import main


def records(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def plain_corpus(data, folder):
    """NYT-H's records as somebody else would have them: four columns, no ids, no answers."""
    sources = {"train": ("train_nonna", "na_train", "na_rest", "dev"), "test": ("test",)}
    for split, names in sources.items():
        rows = [record for name in names for record in records(data / f"{name}.json")]
        with open(folder / f"{split}.jsonl", "w", encoding="utf-8") as file:
            for record in rows:
                record["relation"] = {"NA": "none"}.get(record["relation"], record["relation"])
                file.write(
                    json.dumps({k: record[k] for k in ("sentence", "head", "tail", "relation")}) + "\n"
                )
    return folder / "train.jsonl", folder / "test.jsonl"


def answer(sheet, to, answers):
    """Fill a sheet from instance id -> yes or no."""
    with open(sheet, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(to, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(row | {"answer": answers[row["instance_id"]]} for row in rows)
    return str(to)


@pytest.mark.parametrize("source", ["sample", "real_data"])
def test_a_plain_corpus_becomes_a_judged_data_set(request, source, tmp_path, cache, capsys):
    data = request.getfixturevalue(source)
    train, test = plain_corpus(data, tmp_path)
    converted, judged, built = (str(tmp_path / name) for name in ("converted", "judged", "built"))
    convert = ["convert", "--train", str(train), "--test", str(test), "--out", converted]
    assert main([*convert, "--negative_relation", "none"]) == 0

    unjudged = ["build", "--data_dir", converted, "--out", str(tmp_path / "unjudged"), "--min_train", "10"]
    unjudged += ["--cache_dir", str(cache)]
    assert main(unjudged) == 2
    assert "is judged yes or no" in capsys.readouterr().err
    assert main([*unjudged, "--without_yes"]) == 0

    truth = {f"TEST#{i}": r["bag_label"] for i, r in enumerate(records(data / "test.json"))}
    sheet = tmp_path / "sheet.csv"
    assert main(["sheet", "--data_dir", converted, "--out", str(sheet)]) == 0
    other = {"yes": "no", "no": "yes"}
    a = answer(sheet, tmp_path / "a.csv", truth)
    wrong = {number: other[label] if int(number[5:]) % 9 == 0 else label for number, label in truth.items()}
    b = answer(sheet, tmp_path / "b.csv", wrong)
    rest = tmp_path / "rest.csv"
    assert main(["sheet", "--data_dir", converted, "--out", str(rest), "--differing", a, b]) == 0
    c = answer(rest, tmp_path / "c.csv", truth)
    merge = ["merge", "--data_dir", converted, "--annotators", a, b, "--adjudicator", c, "--out", judged]
    assert main(merge) == 0
    found = load_nyt_h(judged, cache_dir=cache)["test"]
    names = found.features["bag_label"].names
    assert {row["instance_id"]: names[row["bag_label"]] for row in found} == truth

    build = ["build", "--data_dir", judged, "--out", built, "--min_train", "10", "--cache_dir", str(cache)]
    build += ["--na_ratio", "0.1", "--dev_fraction", "0.2", "--seed", "3"]
    capsys.readouterr()
    assert main(build) == 0
    sentences, bags = (load_nyt_h(built, config, cache_dir=cache) for config in ("sentence", "bag"))
    for split in ("train", "validation", "test", "na"):
        assert sum(len(row["instances"]) for row in bags[split]) == sentences[split].num_rows
        assert set(bags[split]["bag_id"][:]) == set(sentences[split]["bag_id"][:])
    counts = {name: len(records(tmp_path / "built" / name)) for name in ("train_nonna.json", "na_train.json")}
    assert counts["na_train.json"] == round(0.1 * counts["train_nonna.json"])
    # What is left of test is as it was judged, and every relation there can be learned and has a yes.
    assert all(truth[row["instance_id"]] == names[row["bag_label"]] for row in sentences["test"])
    relations = range(1, sentences["test"].features["relation"].num_classes)
    assert {row["relation"] for row in sentences["test"] if row["bag_label"] == 1} == {*relations}
    assert {*sentences["train"]["relation"][:]} == {0, *relations}
    assert not {*sentences["train"]["bag_id"][:]} & {*sentences["validation"]["bag_id"][:]}


def test_where_there_are_no_guids_the_words_tell_pairs_apart(folder, tmp_path, cache):
    folder.records["train_nonna.json"] *= 10
    for name, rows in folder.records.items():
        for number, record in enumerate(rows):
            rows[number] = record | {
                "relation": record["relation"].replace("/zeta/last", "/alpha/first"),
                "instance_id": f"{record['instance_id']}/{number}",
                "bag_id": f"{record['bag_id']}/{number}",
                "sentence": " ".join(f"Ann{i}" for i in range(20))
                + " left Bonn"
                + " ." * (1 + name.startswith("na")),
                "head": {"guid": "", "word": f"Ann{number}", "type": ""},
                "tail": {"guid": "", "word": "Bonn", "type": ""},
            }
    built = build_corpus(folder.write().path, tmp_path / "out", min_train=2, cache_dir=cache)
    # Two of the pairs of train are those of test.
    assert (built.duplicates_in_train, built.duplicates_of_test, built.na_repeats) == (1, 3, 0)
    bags = load_nyt_h(tmp_path / "out", "bag", cache_dir=cache)
    assert bags["train"].num_rows + bags["validation"].num_rows == 18 + built.rows_out["na_train.json"]
