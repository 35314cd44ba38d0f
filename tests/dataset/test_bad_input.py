"""Each fault of a data folder has a message with file and line; nothing is half built."""

import json
import re

import pytest

from nyt_h_dataset import load_nyt_h
from nyt_h_dataset.nyt_h_dataset import DataError


def record_line(folder, name="test.json", index=0, drop=None, **changes):
    record = folder.records[name][index] | changes
    if drop:
        del record[drop]
    return json.dumps(record)


def fails(folder, cache, message, error=ValueError, **options):
    """All three roads fail with the message, and no cache is left that a later load could take."""
    for road in ({"cache_dir": cache}, {"cache_dir": cache, "num_proc": 2}):
        with pytest.raises(error, match=message):
            load_nyt_h(folder.path, **road, **options)
    assert not list(cache.rglob("*.arrow"))
    with pytest.raises(error, match=message):
        {name: list(split) for name, split in load_nyt_h(folder.path, streaming=True, **options).items()}


BROKEN_LINES = {
    "cut off": ('{"instance_id": "X', r"not valid JSON \(Unterminated string.*Is the line cut off"),
    "trailing comma": ('{"instance_id": "X",}', "not valid JSON"),
    "two objects": ('{"a": 1}{"b": 2}', "something follows the first JSON value"),
    "array": ("[1, 2]", r"must hold one JSON object; got list \[1, 2\]. JSON arrays"),
    "null": ("null", "must hold one JSON object; got null"),
    "number": ("5", "must hold one JSON object; got int 5"),
    "nan": ('{"instance_id": NaN}', "NaN is not JSON"),
    "key twice": ('{"bag_id": "a", "bag_id": "b"}', "the key 'bag_id' is there twice"),
    "not utf-8": (b'{"instance_id": "\xe9"}', r"byte 18 of the line \(0xe9\) is not UTF-8"),
}


@pytest.mark.parametrize("line", [1, 3])
@pytest.mark.parametrize("name", BROKEN_LINES)
def test_a_broken_line_is_named(folder, cache, name, line):
    raw, message = BROKEN_LINES[name]
    lines = [record_line(folder, index=0), record_line(folder, index=1)]
    lines.insert(line - 1, raw)
    folder.write_lines("test.json", *lines)
    fails(folder, cache, rf"test\.json:{line}: .*{message}")


@pytest.mark.parametrize(
    ("drop", "changes", "message"),
    [
        ("sentence", {}, "the key `sentence` is missing; the record has bag_id, bag_label, head"),
        ("head", {}, "the key `head` is missing"),
        (
            None,
            {"tail": {"guid": "g", "word": "w"}},
            "the key `tail.type` is missing; the record has guid, word",
        ),
        (None, {"instance_id": 7}, "`instance_id` must be a string; got int 7"),
        (None, {"sentence": None}, "`sentence` must be a string; got null"),
        (None, {"bag_label": ["yes"]}, r"`bag_label` must be a string; got list \[\"yes\"\]"),
        (None, {"head": "Ann"}, '`head` must be an object; got str "Ann"'),
        (None, {"head": None}, "`head` must be an object; got null"),
        (None, {"tail": {"guid": 1, "word": "w", "type": "t"}}, "`tail.guid` must be a string; got int 1"),
        (None, {"bag_id": ""}, "`bag_id` is empty"),
        (None, {"bag_label": "maybe"}, "`bag_label` must be one of 'no', 'yes', 'unk'; got 'maybe'"),
        (None, {"sentence": "a \ud800 b"}, "`sentence` holds half of a surrogate pair"),
    ],
)
def test_a_wrong_record_is_named(folder, cache, drop, changes, message):
    folder.write_lines("test.json", record_line(folder), record_line(folder, index=1, drop=drop, **changes))
    fails(folder, cache, rf"test\.json:2: {message}")


def test_a_relation_that_rel2id_lacks_is_named(folder, cache):
    """USER_REPORTS 9: a KeyError, since rel2id lacked a relation of the data."""
    lines = [record_line(folder, index=1), record_line(folder, relation="/no/such")]
    more = record_line(folder, instance_id="TEST#9", relation="/nor/this")
    folder.write_lines("test.json", *lines, more)
    fails(
        folder,
        cache,
        r"test\.json:2: the relation '/no/such' is not in rel2id.json \(2 rows with 2 unknown relations",
    )


def test_a_duplicate_id_is_named_with_both_places(folder, cache):
    folder.write_lines("test.json", record_line(folder), record_line(folder, index=1), record_line(folder))
    fails(
        folder,
        cache,
        r"duplicate `instance_id` 'TEST#0': \S+test\.json:3, first at \S+test\.json:1 \(1 records in all",
    )


@pytest.mark.parametrize(
    ("name", "instance_id", "first"),
    [
        ("dev.json", "NAREST#1", r"na_rest\.json:2"),
        ("dev.json", "TRAIN#0", r"train_nonna\.json:1"),
        ("test.json", "TRAIN#1", r"train_nonna\.json:2"),
        ("na_train.json", "TRAIN#0", r"train_nonna\.json:1"),
    ],
)
def test_a_duplicate_id_is_seen_across_files_and_splits(folder, cache, name, instance_id, first):
    """By one process and by several, whatever the places of the two in their files."""
    folder.write_lines(name, record_line(folder, name, instance_id=instance_id))
    places = {rf"\S+{name}:1".replace(".", r"\."), rf"\S+{first}"}
    either = "|".join(rf"{a}, first at {b}" for a in places for b in places - {a})
    fails(folder, cache, rf"duplicate `instance_id` '{instance_id}': ({either}) \(1 records in all")


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["dev.json", "na_rest.json"])
def test_an_empty_split_is_an_error(folder, cache, name, content):
    (folder.path / name).write_bytes(content)
    fails(folder, cache, rf"{re.escape(name)} holds no records; a split may not be empty")


@pytest.mark.parametrize("name", ["rel2id.json", "bag_label2id.json", "na_rest.json", "test.json"])
def test_a_missing_file_is_named_with_what_is_there(folder, name):
    (folder.path / name).unlink()
    message = (
        rf"lacks {re.escape(name)} \(1 of 7 files missing\); it holds: .*train_nonna\.json.*Google Drive"
    )
    with pytest.raises(FileNotFoundError, match=message):
        load_nyt_h(folder.root)


def test_a_folder_that_is_not_there_says_where_the_data_is(tmp_path):
    message = r"does not exist\. The authors publish .* 1my4W7O-ioCYWRiP6VCbgGfXTzgdrDep0; .*Spico197/NYT-H"
    with pytest.raises(FileNotFoundError, match=message):
        load_nyt_h(tmp_path / "nowhere")


def test_an_empty_folder_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"7 of 7 files missing\); it holds: nothing"):
        load_nyt_h(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rel2id.json", '{"/a/b": 0}', "lacks the negative relation 'NA'"),
        ("rel2id.json", '{"NA": 0, "/a/b": 2}', r"the ids must be 0 to 1, each once; got \[0, 2\]"),
        ("rel2id.json", '{"NA": 0, "/a/b": 0}', r"the ids must be 0 to 1, each once; got \[0, 0\]"),
        ("rel2id.json", '{"NA": 0, "/a/b": 1, "/a/b": 2}', "'/a/b' is there twice"),
        ("rel2id.json", '{"NA": 0, "/a/b": "1"}', "the id of '/a/b' must be an integer; got '1'"),
        ("rel2id.json", '{"NA": 0, "/a/b": true}', "the id of '/a/b' must be an integer; got True"),
        ("rel2id.json", '{"NA": 0, "": 1}', "a label is empty"),
        ("rel2id.json", '["NA"]', "must hold one JSON object of label -> id; got list"),
        ("rel2id.json", '{"NA": 0,\n', r"rel2id\.json:2: not valid JSON"),
        ("rel2id.json", b'{"N\xff": 0}', "byte 3 is not UTF-8"),
        ("bag_label2id.json", '{"yes": 0, "no": 1, "unk": 2}', r'must hold \{"no": 0, "yes": 1, "unk": 2\}'),
    ],
)
def test_a_malformed_label_file_is_named(folder, cache, name, text, message):
    (folder.path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message):
        load_nyt_h(folder.path, cache_dir=cache)


def test_the_error_is_a_value_error_that_datasets_does_not_wrap(folder, cache):
    folder.write_lines("test.json", "{")
    with pytest.raises(DataError) as caught:
        load_nyt_h(folder.path, cache_dir=cache)
    assert isinstance(caught.value, ValueError)
    assert "test.json:1" in str(caught.value)
