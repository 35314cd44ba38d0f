"""What strangers can send: each is answered in words, without a traceback or a path of the server."""

import csv
import html
import json
import os
import tempfile
import tracemalloc

import pytest

from leaderboard import GoldData, scored_record
from weighted_f1_metric import space, write_predictions
from weighted_f1_metric.space.compare_page import compare_page
from weighted_f1_metric.space.score_page import LIMITS, labels_page, track_page
from weighted_f1_metric.space.uploads import UploadError, checked_upload

DEEP = "[" * 100_000
ONE_GIGABYTE = 1_000_000_000


@pytest.fixture
def place(tmp_path):
    """Writes a file as an upload; the name is part of what is sent."""

    def place(content, name="sent.jsonl"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return str(path)

    return place


def sparse(path):
    with open(path, "wb") as stream:
        stream.truncate(ONE_GIGABYTE)


def said(page):
    """The message of a refused request, which names no place of the server."""
    assert 'role="alert"' in page.html, page.html[:300]
    assert "<table" not in page.html
    text = page.html.split('role="alert">')[1]
    for secret in ("Traceback", 'File "', tempfile.gettempdir() + os.sep, os.getcwd()):
        assert secret not in text
    return html.unescape(text).removesuffix("</div></div>")


def line(**changed):
    return json.dumps({"bag_id": "EXAMPLE-BAG#0", "pred": "NA"} | changed)


PREDICTIONS = {
    "empty": ("", "sent.jsonl is empty."),
    "blank": (" \n \n", "sent.jsonl holds no records."),
    "binary": (b"\x89PNG\r\n\x1a\n\x00\x00", "sent.jsonl is no UTF-8 text (near line 1)."),
    "zeros": (b"\x00" * 5, "sent.jsonl is no text file: it holds control characters (near line 1)."),
    "two-byte text": ("a\n".encode("utf-16"), "sent.jsonl, line 1: not valid JSON"),
    "deep JSON": (DEEP, "sent.jsonl, line 1: JSON that nests too deeply"),
    "deep in a record": ('{"bag_id": ' + DEEP, "sent.jsonl, line 1: JSON that nests too deeply"),
    "broken": ('{"bag_id": "x"', "sent.jsonl, line 1: not valid JSON (Expecting ',' delimiter, column 15)."),
    "huge integer": (
        f'{{"bag_id": {"9" * 5000}, "pred": "NA"}}',
        "sent.jsonl, line 1: a number has too many digits to be read.",
    ),
    "huge integer as an id": (line(bag_id=10**30), "1 bag_ids are not in the references"),
    "NaN": ('{"bag_id": "x", "pred": "NA", "scores": {"a": NaN}}', "sent.jsonl, line 1: NaN is not JSON"),
    "a list of numbers": ("[1, 2]", "sent.jsonl, entry 1: expected a JSON object; got 1."),
    "unknown relation": (line(pred="/no/such"), None),
    "wrong track": (
        json.dumps({"instance_id": "EXAMPLE#0", "pred": "NA"}),
        "Track 'bag2bag' takes predictions by 'bag_id', these have 'instance_id'; score them with a sentence",
    ),
    "both ids": (line(instance_id="i"), "this one has both 'instance_id' and 'bag_id'"),
    "id that is a list": (line(bag_id=[1]), "`bag_id` in `predictions` must be a string (or an int)"),
    "prediction that is a number": (line(pred=3), "`pred` must be a relation name or a list of them; got 3"),
    "HTML": (line(bag_id="<script>alert(1)</script>"), "'<script>alert(1)</script>'"),
    "path as an id": (line(bag_id="../../etc/passwd"), "'../../etc/passwd'"),
    "a path that is there": (line(bag_id="/etc/passwd"), "'/etc/passwd'"),
    "HTML page": ("<html></html>", "sent.jsonl, line 1: not valid JSON"),
}


def all_units(first):
    """Predictions of every unit, of which the first is as given."""
    rest = space.example_predictions()[1:]
    return "\n".join([first, *(json.dumps({"bag_id": row["bag_id"], "pred": row["pred"]}) for row in rest)])


@pytest.mark.parametrize("kind", PREDICTIONS)
@pytest.mark.parametrize("where", ["metric", "leaderboard"])
def test_prediction_file(kind, where, place, example):
    content, expected = PREDICTIONS[kind]
    if isinstance(content, str) and content.startswith('{"bag_id": "EXAMPLE-BAG#0"'):
        content = all_units(content)
    if kind == "unknown relation":
        expected = (
            "`predictions` hold relations that `relations` (rel2id.json) lacks: '/no/such'; the first is at "
            "'EXAMPLE-BAG#0'. The negative relation is 'NA'."
        )
    sent = place(content)
    if where == "metric":
        page = space.in_page(track_page)(
            track="bag2bag", predictions_file=sent, test_file=example.track[1], rel2id_file=example.track[2]
        )
    else:
        page = submitted(predictions_file=sent)
    assert expected in said(page)


def submitted(**changed):
    """The answer to a submission."""
    gold = GoldData(**space.example_track(), is_example=True)

    def answer(**arguments):
        return space.Page(str(scored_record(**arguments, gold=gold)))

    arguments = {"name": "x", "link": "", "track": "bag2bag", "predictions_file": None} | changed
    return space.in_page(answer)(**arguments)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<b>.jsonl", "<b>.jsonl"),
        ("**a** [b](c).jsonl", "**a** [b](c).jsonl"),
        ("'; rm -rf.jsonl", "'; rm -rf.jsonl"),
    ],
)
def test_name_of_a_file_is_text(name, shown, place):
    page = submitted(predictions_file=place("", name))
    assert said(page) == f"{shown} is empty."
    assert "<b>" not in page.html


def test_too_large_files_are_not_read(tmp_path, example):
    sparse(tmp_path / "huge.jsonl")
    huge = str(tmp_path / "huge.jsonl")
    page = space.in_page(labels_page)(predictions_file=huge, references="a")
    assert said(page) == "huge.jsonl has 1,000,000,000 bytes; at most 64,000,000 are read here."
    assert "at most 64,000,000 are read here." in said(submitted(predictions_file=huge))
    page = space.in_page(compare_page)(files_a=[huge], files_b=[huge])
    assert "at most 20,000,000 are read here." in said(page)


@pytest.mark.parametrize("value", ["{}", "[]", "1", '"a"', "null"])
def test_too_many_values_on_one_line_are_not_read(value, tmp_path):
    """The file is small; parsed, its values would take gigabytes."""
    file = tmp_path / "a.json"
    file.write_text("[" + ",".join([value] * (LIMITS.num_values + 1)) + "]")
    tracemalloc.start()
    with pytest.raises(UploadError, match=f"{LIMITS.num_values:,}"):
        checked_upload(file, "file", LIMITS)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_too_many_lines_are_not_read(place):
    sent = place("{}\n" * 200_001)
    assert (
        said(submitted(predictions_file=sent))
        == "sent.jsonl has 200,001 lines; at most 200,000 are read here."
    )


LABELS = {
    "nothing": ("", "There are no predictions; paste them, one label a line, or upload a file."),
    "too many labels": ("\n".join(map(str, range(2000))), "There are 2,001 different labels, at most 2,000."),
    "a long label": ("x" * 201, "A label has 201 characters, at most 200"),
    "another length": ("a\nb", "equally long"),
    "an object": ('{"a": 1}', "pasted predictions, line 1: the record has no 'label'"),
    "deep JSON": (DEEP, "pasted predictions, line 1: JSON that nests too deeply to be read."),
    "a number": ("[1]", "pasted predictions, entry 1: a label must be a text; got 1."),
    "zeros": ("a\x00b", "pasted predictions is no text file: it holds control characters (near line 1)."),
}


@pytest.mark.parametrize("kind", LABELS)
def test_pasted_labels(kind):
    content, expected = LABELS[kind]
    assert expected in said(space.in_page(labels_page)(predictions=content, references="a"))


CSVS = {
    "no column of labels": ("id,text\n1,a\n", "sent.csv: none of its columns 'id', 'text'"),
    "two columns of labels": ("label,relation\na,b\n", "'label', 'relation' could all be the labels"),
    "a short line": ("id,label\n1,a\n2\n", "sent.csv, line 3: 1 cells, where the first line has 2."),
    "a header alone": ("label\n", "sent.csv holds a header and no label."),
    "a huge cell": (
        "id,label\n1," + "x" * 200_000,
        "sent.csv, line 2: not valid CSV (field larger than field limit",
    ),
}


@pytest.mark.parametrize("kind", CSVS)
def test_csv_file(kind, place):
    content, expected = CSVS[kind]
    page = space.in_page(labels_page)(predictions_file=place(content, "sent.csv"), references="a")
    assert expected in said(page)


def test_a_formula_is_text_and_exported_as_text(tmp_path):
    with (tmp_path / "formulas.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["label"], ["=cmd|' /C calc'!A0"], ["+1"]])
    path = str(tmp_path / "formulas.csv")
    page = space.in_page(labels_page)(predictions_file=path, references_file=path)
    assert "=cmd|&#x27; /C calc&#x27;!A0" in page.html


def test_both_pasted_and_uploaded(place):
    page = space.in_page(labels_page)(predictions="a", predictions_file=place("a", "p.txt"), references="a")
    assert said(page) == "The predictions are given twice: clear the pasted text, or remove p.txt."


REL2IDS = {
    "a list": ("[]", "sent.json: expected one JSON object relation -> id (int)."),
    "ids that are texts": ('{"NA": "0"}', "sent.json: expected one JSON object relation -> id (int)."),
    "no negative relation": ('{"a": 0}', "sent.json has no relation 'NA', the negative one"),
    "deep JSON": (DEEP, "sent.json, line 1: JSON that nests too deeply to be read."),
}


@pytest.mark.parametrize("kind", REL2IDS)
def test_rel2id_file(kind, place, example):
    content, expected = REL2IDS[kind]
    page = space.in_page(track_page)(
        track="bag2bag", predictions_file=example.track[0], test_file=example.track[1],
        rel2id_file=place(content, "sent.json"),
    )  # fmt: skip
    assert expected in said(page)


def test_missing_files_and_unknown_choices(example):
    files = dict(zip(("predictions_file", "test_file", "rel2id_file"), example.track, strict=True))
    page = space.in_page(track_page)
    assert said(page(track="bag2bag", **files | {"test_file": None})) == (
        "There is no test file (test.json); upload one."
    )
    assert "`track` must be one of" in said(page(track="<b>", **files))
    assert "`by` must be one of" in said(page(track="sent2sent", by="x", **files))


RESULTS = {
    "no JSON": ("x", "sent.json, line 1: not valid JSON"),
    "deep JSON": ('{"a": ' + DEEP, "sent.json, line 1: JSON that nests too deeply"),
    "a list": ("[]", "sent.json must hold a JSON object measure -> number; it holds a list."),
    "NaN": ('{"magt_micro_f1": NaN}', "sent.json, line 1: NaN is not JSON"),
    "huge integer": (
        f'{{"magt_micro_f1": {"9" * 400}}}',
        f"'magt_micro_f1' is {'9' * 40}; a run holds finite",
    ),
    "a signature that is a number": (
        '{"magt_micro_f1": 0.5, "signature": 3}',
        "`signature` of a run must be",
    ),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_results_file(kind, place):
    content, expected = RESULTS[kind]
    page = space.in_page(compare_page)(
        files_a=[place(content, "sent.json")], files_b=[place(content, "b.json")]
    )
    assert expected in said(page)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"files_a": None}, "There are no results of A; upload a results file for each run."),
        ({"name_a": "x", "name_b": " x "}, "Both systems are called 'x'; give them different names."),
        ({"name_a": "x" * 61}, "A name has 61 characters, at most 60."),
        ({"files_a": ["f"] * 101}, "There are 101 files of A, at most 100."),
    ],
)
def test_what_is_compared(changed, expected, example):
    files = {"files_a": example.systems["careful"], "files_b": example.systems["frequent"]}
    assert said(space.in_page(compare_page)(**files | changed)) == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"name": " "}, "The model has no name; give one."),
        ({"name": "x" * 61}, "The name has 61 characters, at most 60."),
        ({"name": "a\u202eb"}, "The name holds characters that cannot be printed"),
        ({"link": "javascript:alert(1)"}, "The link must be an address that starts with https://"),
        ({"link": 'https://a.b/"onclick=alert(1)'}, "The link must be an address that starts with https://"),
        ({"link": "https://" + "a" * 200}, "of at most 200 characters"),
        ({"track": "../sent2sent"}, "There is no prediction file; upload one."),
    ],
)
def test_what_is_submitted(changed, expected):
    assert expected in said(submitted(**changed))


def test_a_submission_to_no_track(tmp_path):
    write_predictions(tmp_path / "p.jsonl", space.example_predictions())
    page = submitted(track="../x", predictions_file=str(tmp_path / "p.jsonl"))
    assert said(page) == "`track` must be one of sent2sent, bag2sent, bag2bag; got '../x'."


def test_an_unexpected_error_is_logged_and_shown_as_a_neutral_line(caplog):
    @space.in_page
    def page():
        raise KeyError("/secret/place.py")

    assert said(page()) == space.NEUTRAL_MESSAGE
    assert "KeyError: '/secret/place.py'" in caplog.text


def test_a_message_that_names_a_server_path_is_not_shown(caplog):
    @space.in_page
    def page():
        raise ValueError(f"cannot read {os.getcwd()}/config.json")

    assert said(page()) == space.NEUTRAL_MESSAGE
    assert "config.json" in caplog.text
