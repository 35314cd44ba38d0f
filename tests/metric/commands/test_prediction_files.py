"""The authors' file formats, in and out."""

import json

import pytest

from weighted_f1_metric import read_predictions, read_references, read_relations, write_predictions

LINE = '{"instance_id": "i0", "pred": "born_in"}'


def test_references_as_lines_and_as_an_array(tmp_path, rows):
    lines, array = tmp_path / "test.json", tmp_path / "array.json"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    array.write_text("\n " + json.dumps(rows, indent=1))
    assert read_references(lines) == read_references(array) == rows


def test_mark_line_ends_and_blank_lines_are_accepted(tmp_path):
    path = tmp_path / "p.jsonl"
    second = '{"instance_id": "i1", "pred": "a\\u2028b \u2028 é"}'
    path.write_bytes(b"\xef\xbb\xbf" + f"{LINE}\r\n\r\n{second}\r\n".encode())
    assert read_predictions(path) == [json.loads(LINE), json.loads(second)]


def test_written_predictions_are_read_back(tmp_path):
    records = [
        {"bag_id": "b0", "pred": ["a", "b"], "scores": {"a": 0.1, "b": 1 / 3}},
        {"bag_id": "b1", "pred": "NA", "scores": {"a": 0.0, "b": 0.0}},
    ]
    path = tmp_path / "new" / "predictions.jsonl"
    write_predictions(path, records)
    assert read_predictions(path) == records
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_predictions(path, [{"bag_id": "b0", "pred": "a", "scores": {"a": float("nan")}}])
    assert read_predictions(path) == records
    assert [file.name for file in path.parent.iterdir()] == ["predictions.jsonl"]


def test_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "predictions.jsonl"
    write_predictions(path, [json.loads(LINE)])
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_predictions(path, [])
    assert path.read_text() == LINE + "\n"
    assert [file.name for file in tmp_path.iterdir()] == ["predictions.jsonl"]


def test_relations_in_id_order(tmp_path):
    path = tmp_path / "rel2id.json"
    path.write_text('{"b": 2, "NA": 0, "a": 7}')
    assert read_relations(path) == ["b", "a"]
    path.write_text('{"b": 2, "no_relation": 1}')
    assert read_relations(path, negative_relation="no_relation") == ["b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f'{LINE}\n{{"instance_id": "i1", "pred"\n', r"p.jsonl, line 2: not valid JSON"),
        (f"{LINE} {LINE}\n", r"p.jsonl, line 1: not valid JSON \(Extra data"),
        (f"{LINE}\n\n[1, 2]\n", r"p.jsonl, line 3: expected a JSON object; got \[1, 2\]"),
        ('{"instance_id": "i0", "pred": "a", "scores": {"a": NaN}}', "line 1: NaN is not JSON"),
        ("\n \n", "holds no records"),
        ("[]", "holds no records"),
        ('[{"bag_id": "b0", "pred": "a"}, 3]', "p.jsonl, entry 2: expected a JSON object; got 3"),
        (f'{LINE}\n{{"instance_id": "i0"}}', "line 2: the prediction lacks 'pred'"),
        ('{"pred": "a"}', "line 1: .*neither 'instance_id' nor 'bag_id'"),
        ('{"instance_id": "i0", "bag_id": "b0", "pred": "a"}', "line 1: .*both 'instance_id' and 'bag_id'"),
        (f'{LINE}\n{{"bag_id": "b0", "pred": "a"}}', "line 2: this prediction has 'bag_id', those before it"),
    ],
)
def test_bad_prediction_files(tmp_path, content, message):
    path = tmp_path / "p.jsonl"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_predictions(path)


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_bytes(LINE.encode() + b'\n{"instance_id": "\xff"}\n')
    with pytest.raises(ValueError, match=r"p\.jsonl, line 2: not UTF-8"):
        read_predictions(path)


def test_missing_files_and_keys(tmp_path, rows):
    for read in (read_predictions, read_references, read_relations):
        with pytest.raises(FileNotFoundError, match=r"There is no file.*absent.json.*Spico197/NYT-H"):
            read(tmp_path / "absent.json")
    path = tmp_path / "test.json"
    path.write_text(json.dumps(rows[0]) + "\n" + json.dumps({"instance_id": "i1", "bag_id": "b"}))
    with pytest.raises(ValueError, match=r"test\.json, line 2: the record lacks 'relation', 'bag_label'"):
        read_references(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('["NA"]', "one JSON object relation -> id"),
        ('{"NA": "0"}', "one JSON object relation -> id"),
        ('{"NA": 0, "a": 1, "b": 1}', "relations share an id: 'a', 'b'"),
        ('{"a": 1}', "has no relation 'NA', the negative one; it has 'a'"),
        ('{"NA": 0', "line 1: not valid JSON"),
    ],
)
def test_bad_relation_files(tmp_path, content, message):
    path = tmp_path / "rel2id.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_relations(path)
