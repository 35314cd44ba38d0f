"""The human side: sheets for annotators, their answers back, Cohen's kappa."""

import csv
import json
import re
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from nyt_h_dataset import load_nyt_h
from nyt_h_dataset.__main__ import main
from nyt_h_dataset.about import read_about
from nyt_h_dataset.corpus_tools.annotation import (
    cohen_kappa,
    marked_sentence,
    merge_answers,
    read_answers,
    write_sheet,
)

IDS = ["TEST#0", "TEST#1", "=1+1", "TEST#3"]


@pytest.fixture
def asked(folder):
    """Four test rows to ask about, one of the negative relation between them."""
    rows = [folder.records["test.json"][0] | {"instance_id": number, "bag_label": "yes"} for number in IDS]
    rows[1] |= {"sentence": '=HYPERLINK(0) Ann Lee , "Bonn" ;\ttail', "extra": "key"}
    negative = rows[0] | {"instance_id": "NEG#0", "relation": "NA", "bag_label": "unk"}
    folder.records["test.json"] = [*rows[:2], negative, *rows[2:]]
    return folder.write().path


def cells(path):
    delimiter = "\t" if path.suffix == ".tsv" else ","
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def fill(sheet, answers, to):
    """Answer the rows of `sheet` in order, as an annotator does, into the file `to`."""
    rows = cells(sheet)
    with open(to, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter="\t" if to.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(row | {"answer": answer} for row, answer in zip(rows, answers, strict=True))
    return to


@pytest.fixture
def filled(asked, tmp_path):
    """Make a sheet and return a function that fills it."""
    write_sheet(asked, tmp_path / "sheet.csv")
    return lambda name, answers: fill(tmp_path / "sheet.csv", answers, tmp_path / name)


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.tsv"])
def test_a_sheet_asks_about_every_test_row_with_a_relation_and_shows_no_answer(asked, tmp_path, name):
    path = tmp_path / "new" / name
    assert write_sheet(asked, path) == 4
    rows = cells(path)
    assert list(rows[0]) == ["instance_id", "head", "relation", "tail", "sentence", "answer"]
    assert [row["instance_id"] for row in rows] == ["TEST#0", "TEST#1", "'=1+1", "TEST#3"]
    assert rows[0] | {"instance_id": ""} == {
        "instance_id": "",
        "head": "Ann Lee",
        "relation": "/alpha/first",
        "tail": "Bonn",
        "sentence": "[H: Ann Lee] left [T: Bonn] on Monday .",
        "answer": "",
    }
    assert rows[1]["sentence"] == '\'=HYPERLINK(0) [H: Ann Lee] , "[T: Bonn]" ;\ttail'
    raw = path.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    assert not re.search(rb"yes|unk|bag_label", raw)
    assert [entry.name for entry in path.parent.iterdir()] == [name]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_of_a_sheet_is_a_formula(folder, tmp_path, start):
    evil = start + "cmd|' /C calc'!A0"
    entity = {"guid": "g", "word": evil, "type": ""}
    folder.relations |= {evil: 3}
    folder.records["test.json"][0] |= {
        "instance_id": evil,
        "relation": evil,
        "sentence": evil,
        "head": entity,
    }
    write_sheet(folder.write().path, tmp_path / "sheet.csv")
    row = cells(tmp_path / "sheet.csv")[0]
    assert [row[name][:2] for name in ("instance_id", "head", "relation")] == ["'" + start] * 3
    assert all(not value.startswith(start) for value in row.values())
    filled = fill(tmp_path / "sheet.csv", ["yes", "no"], tmp_path / "a.csv")
    assert read_answers(filled, instance_ids=[evil, "TEST#1"]) == {evil: "yes", "TEST#1": "no"}


def test_marks_where_there_is_little_to_mark():
    assert marked_sentence("Bonn calls Ann .", "Ann", "Bonn") == "[T: Bonn] calls [H: Ann] ."
    assert marked_sentence("Nobody calls Ann .", "Ann", "Bonn") == "Nobody calls [H: Ann] ."
    assert marked_sentence("Bonn Opera .", "Bonn", "Bonn Opera") == "[T: Bonn Opera] ."


def test_answers_go_back_into_the_data(asked, filled, tmp_path, cache):
    a = filled("a.csv", ["yes", "YES ", "no", "no"])
    b = filled("b.tsv", ["yes", "no", "no", "yes"])
    assert write_sheet(asked, tmp_path / "c.csv", differing=(a, b)) == 2
    assert [row["instance_id"] for row in cells(tmp_path / "c.csv")] == ["TEST#1", "TEST#3"]
    assert [row["answer"] for row in cells(tmp_path / "c.csv")] == ["", ""]
    c = fill(tmp_path / "c.csv", ["no", "yes"], tmp_path / "c_filled.csv")
    judged = merge_answers(asked, tmp_path / "out", annotators=(a, b), adjudicator=c)
    assert (judged.num_yes, judged.num_no) == (2, 2)
    assert judged.agreement == cohen_kappa(
        answers_a=["yes", "yes", "no", "no"], answers_b=["yes", "no", "no", "yes"]
    )
    before, after = (load_nyt_h(path, cache_dir=cache) for path in (asked, tmp_path / "out"))
    assert dict(zip(after["test"]["instance_id"][:], after["test"]["bag_label"][:], strict=True)) == {
        "TEST#0": 1,
        "TEST#1": 0,
        "NEG#0": 2,
        "=1+1": 0,
        "TEST#3": 1,
    }
    for split in ("train", "validation", "na"):
        assert after[split].to_list() == before[split].to_list()
    columns = ["instance_id", "bag_id", "relation", "sentence", "head", "tail"]
    assert after["test"].select_columns(columns).to_list() == before["test"].select_columns(columns).to_list()


def test_annotators_who_agree_need_no_adjudicator(asked, filled, tmp_path):
    sheets = [filled(name, ["yes", "no", "no", "no"]) for name in ("a.csv", "b.csv")]
    judged = merge_answers(asked, tmp_path / "out", annotators=tuple(sheets))
    assert judged.agreement.kappa == 1
    assert judged.num_yes == 1
    with pytest.raises(ValueError, match=r"there is nothing to ask: the annotators agree on every row"):
        write_sheet(asked, tmp_path / "c.csv", differing=tuple(sheets))


def test_annotators_who_differ_need_one(asked, filled, tmp_path):
    sheets = filled("a.csv", ["yes", "no", "no", "no"]), filled("b.csv", ["no", "no", "yes", "no"])
    with pytest.raises(
        ValueError,
        match=r"the annotators differ on 2 of 4 rows \('TEST#0', '=1\+1'\) and there is no `adjudicator`",
    ):
        merge_answers(asked, tmp_path / "out", annotators=sheets)
    assert not (tmp_path / "out").exists()
    write_sheet(asked, tmp_path / "c.csv", differing=sheets)
    with pytest.raises(
        ValueError, match=r"c\.csv: 2 of 2 rows have no answer: 'TEST#0', '=1\+1'\. Each needs"
    ):
        merge_answers(asked, tmp_path / "out", annotators=sheets, adjudicator=tmp_path / "c.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "id,answer\n",
            r"a\.csv:1: the column 'instance_id' is missing; the sheet has 'id', 'answer'\. Was it",
        ),
        ("", r"a\.csv:1: the column 'instance_id' is missing; the sheet has 'nothing'"),
        ("instance_id|answer\nx|yes\n", r":1: the column 'instance_id' is missing; .* another delimiter\?"),
        (
            "instance_id,answer\nx,yes\nz,no\n",
            r"a\.csv:3: 'z' is no row that was asked about: the annotators agree",
        ),
        ("instance_id,answer\nx,yes\nx,no\n", r"a\.csv:3: the row 'x' is there twice; leave one of them"),
        ("instance_id,answer\nx,maybe\n", r"a\.csv:2: the answer must be yes or no; got 'maybe'"),
        ("instance_id,answer\nx,unk\n", r"a\.csv:2: the answer must be yes or no; got 'unk'"),
        (
            "instance_id,answer\nx,yes\ny\n",
            r"a\.csv: 1 of 2 rows have no answer: 'y'\. Each needs a yes or no",
        ),
        ("instance_id,answer\nx,yes\n", r"a\.csv: 1 of 2 rows are missing: 'y'\. Each needs a yes or no"),
        ('instance_id,answer\nx,"yes\n', r"a\.csv is not a readable sheet \(.*end of data.*\)"),
    ],
)
def test_a_fault_in_a_sheet_is_named(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_answers(tmp_path / "a.csv", instance_ids=["x", "y"])


def test_places_of_sheets(asked, folder, tmp_path):
    with pytest.raises(ValueError, match=r"a sheet must be named \.csv or \.tsv; got 'a\.xlsx'"):
        write_sheet(asked, tmp_path / "a.xlsx")
    (tmp_path / "a.csv").write_bytes(b"instance_id,answer\nx,n\xf3\n")
    with pytest.raises(ValueError, match=r"a\.csv exists already, perhaps with answers in it; give another"):
        write_sheet(asked, tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"a\.csv is neither UTF-8 nor UTF-16"):
        read_answers(tmp_path / "a.csv", instance_ids=["x"])
    with pytest.raises(FileNotFoundError, match=r"b\.csv"):
        read_answers(tmp_path / "b.csv", instance_ids=["x"])
    twice = [*folder.records["test.json"], folder.records["test.json"][0]]
    (asked / "test.json").write_text("".join(json.dumps(record) + "\n" for record in twice))
    with pytest.raises(ValueError, match=r"duplicate `instance_id` 'TEST#0'"):
        write_sheet(asked, tmp_path / "b.csv")
    (asked / "bag_label2id.json").write_text('{"yes": 0, "no": 1, "unk": 2}')
    with pytest.raises(ValueError, match=r"bag_label2id\.json must hold"):
        write_sheet(asked, tmp_path / "b.csv")
    for record in folder.records["test.json"]:
        record["relation"] = "NA"
    with pytest.raises(ValueError, match=r"there is nothing to ask: test has no row with a relation"):
        write_sheet(folder.write().path, tmp_path / "b.csv")


def test_the_older_release_is_not_merged_into(folder, tmp_path):
    older = tmp_path / "older"
    for name in ("train/train.json", "train/dev.json", "train/test.json", "release/na.json"):
        (older / name).parent.mkdir(parents=True, exist_ok=True)
        (older / name).write_text(json.dumps(folder.records["test.json"]))
    for name in ("rel2id.json", "bag_label2id.json"):
        (older / name).write_bytes((folder.path / name).read_bytes())
    with pytest.raises(ValueError, match="older"):
        write_sheet(older, tmp_path / "a.csv")


@given(st.lists(st.tuples(st.sampled_from("yn"), st.sampled_from("yn")), min_size=1, max_size=30))
def test_kappa_is_that_of_scikit_learn(pairs):
    a, b = zip(*pairs, strict=True)
    found = cohen_kappa(answers_a=a, answers_b=b)
    if len({*a, *b}) == 1:
        assert found.kappa is None
    else:
        assert found.kappa == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)
        assert found.kappa == cohen_kappa(answers_a=b, answers_b=a).kappa
    assert found.num_disagreements == round((1 - found.observed) * len(pairs))


def test_answers_that_cannot_be_compared():
    with pytest.raises(ValueError, match=r"must be about the same items; got 1 and 2 answers"):
        cohen_kappa(answers_a=["yes"], answers_b=["yes", "no"])
    with pytest.raises(ValueError, match=r"there are no answers to compare"):
        cohen_kappa(answers_a=[], answers_b=[])


def test_the_commands(asked, filled, tmp_path, capsys):
    sheet = tmp_path / "by_command.tsv"
    data = ["--data_dir", str(asked)]
    assert main(["sheet", *data, "--out", str(sheet)]) == 0
    a = str(fill(sheet, ["yes", "yes", "no", "no"], tmp_path / "a.tsv"))
    b = str(fill(sheet, ["yes", "yes", "yes", "no"], tmp_path / "b.tsv"))
    open_rows = tmp_path / "open.csv"
    assert main(["sheet", *data, "--out", str(open_rows), "--differing", a, b]) == 0
    assert "1 rows to answer with yes or no" in capsys.readouterr().out
    merge = ["merge", *data, "--annotators", a, b, "--out", str(tmp_path / "out")]
    assert main(merge) == 2
    assert "there is no `adjudicator`" in capsys.readouterr().err
    c = str(fill(open_rows, ["yes"], tmp_path / "c.csv"))
    assert main([*merge, "--adjudicator", c]) == 0
    shown = capsys.readouterr().out
    assert "agree on 75.00% of 4 rows, Cohen's kappa 0.5000" in shown
    assert "test: 3 yes, 1 no" in shown
    other = str(fill(sheet, ["yes", "yes", "yes", "no"], tmp_path / "d.tsv"))
    same = ["merge", *data, "--annotators", b, other, "--out", str(tmp_path / "same")]
    assert main(same) == 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_sheet_is_read_as_a_spreadsheet_saves_it(folder, tmp_path, encoding, delimiter):
    """European Excel: semicolons, UTF-16, headers in capitals with blanks, empty rows at the end."""
    lines = [" INSTANCE_ID ;Head;Answer ", "TEST#0;Ann Lée;YES", 'TEST#1;"a;b"; no', ";;", "", "; ;"]
    text = "\r\n".join(line if '"' in line else line.replace(";", delimiter) for line in lines)
    text = text.replace('TEST#1;"a;b"; no', delimiter.join(["TEST#1", '"a;b"', " no"]))
    (tmp_path / "a.csv").write_text(text, encoding=encoding, newline="")
    found = read_answers(tmp_path / "a.csv", instance_ids=["TEST#0", "TEST#1"])
    assert found == {"TEST#0": "yes", "TEST#1": "no"}


def test_two_columns_of_answers_and_one_sheet_for_two_people_are_refused(folder, tmp_path):
    (tmp_path / "a.csv").write_text("instance_id,answer,Answer\nTEST#0,yes,no\n")
    with pytest.raises(ValueError, match="'answer' is there 2 times"):
        read_answers(tmp_path / "a.csv", instance_ids=["TEST#0"])
    (tmp_path / "a.csv").write_text("instance_id,answer\nTEST#0,yes\nTEST#1,yes\n")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    sheets = tmp_path / "a.csv", tmp_path / "b.csv"
    with pytest.raises(ValueError, match=r"a\.csv was given for both"):
        merge_answers(folder.path, tmp_path / "out", annotators=sheets)
    with pytest.raises(ValueError, match=r"a\.csv was given for both"):
        write_sheet(folder.path, tmp_path / "c.csv", differing=sheets)


def test_sheet_and_merge_take_the_archive_and_keep_kappa(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    archive = tmp_path / "nyt-h.tar.bz2"
    with tarfile.open(archive, "w:bz2") as tar:
        tar.add(folder.path, "data")
    assert write_sheet(archive, tmp_path / "q.csv") == 2
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("instance_id,answer\nTEST#0,yes\nTEST#1,no\n")
    sheets = tmp_path / "a.csv", tmp_path / "b.csv"
    judged = merge_answers(archive, tmp_path / "out", annotators=sheets)
    assert judged.agreement.kappa == 1.0
    assert "kappa 1.0000" in read_about(judged.path).judged
