"""`load_nyt_h` and the builder: columns, splits, options, cache, streaming, processes."""

import json
import logging
import pickle
import shutil

import datasets
import pytest

from nyt_h_dataset import NytH, load_nyt_h, mention_counts
from nyt_h_dataset.card.export import export_nyt_h

from .conftest import make_record
from .test_sources import write_older_release

COLUMNS = [
    "instance_id",
    "bag_id",
    "relation",
    "bag_label",
    "manual_relation",
    "sentence",
    "head",
    "tail",
    "mention_status",
]


def rows(dataset):
    return list(dataset)


def ids(dataset):
    return [row["instance_id"] for row in dataset]


def test_columns_and_types_are_those_of_the_specification(folder, cache):
    data = load_nyt_h(folder.path, cache_dir=cache)
    assert sorted(data) == ["na", "test", "train", "validation"]
    features = data["test"].features
    assert list(features) == COLUMNS
    assert features["bag_label"].names == ["no", "yes", "unk"]
    assert features["mention_status"].names == ["unique", "ambiguous", "overlapping", "missing"]
    assert list(features["head"]) == ["guid", "word", "type", "start", "end"]
    assert features["head"]["start"].dtype == "int32"
    row = data["test"][0]
    assert row["head"] == {
        "guid": "/guid/1",
        "word": "Ann Lee",
        "type": "/people/person",
        "start": 0,
        "end": 7,
    }
    assert row["sentence"][row["tail"]["start"] : row["tail"]["end"]] == "Bonn"


def test_relations_are_in_the_order_of_rel2id_and_the_same_for_all_splits(folder, cache):
    """USER_REPORTS 36: ids built per split differ between splits."""
    data = load_nyt_h(folder.path, cache_dir=cache)
    for split in data.values():
        assert split.features["relation"].names == ["NA", "/zeta/last", "/alpha/first"]
        assert split.features["manual_relation"].names == ["NA", "/zeta/last", "/alpha/first"]
    assert data["train"]["relation"][:] == [2, 1, 0]


def test_the_order_follows_the_ids_not_the_file(folder, cache):
    folder.relations = {"/zeta/last": 2, "NA": 1, "/alpha/first": 0}
    folder.write()
    names = load_nyt_h(folder.path, cache_dir=cache)["train"].features["relation"].names
    assert names == ["/alpha/first", "NA", "/zeta/last"]


def test_manual_relation_is_the_relation_if_yes_na_if_no_and_minus_one_if_nobody_judged(folder, cache):
    """USER_REPORTS 38: -1 is no class; it is there exactly where `bag_label` is unk."""
    data = load_nyt_h(folder.path, cache_dir=cache)
    assert data["test"]["manual_relation"][:] == [2, 0]
    assert data["test"]["bag_label"][:] == [1, 0]
    assert set(data["train"]["manual_relation"][:]) == {-1}
    assert "-1" in load_nyt_h.__doc__


@pytest.mark.parametrize(
    ("na", "expected"),
    [
        ("sampled", ["TRAIN#0", "TRAIN#1", "NATRAIN#0"]),
        ("all", ["TRAIN#0", "TRAIN#1", "NATRAIN#0", "NAREST#0", "NAREST#1"]),
        ("none", ["TRAIN#0", "TRAIN#1"]),
    ],
)
def test_na_names_the_na_rows_of_train_and_leaves_the_na_split_whole(folder, cache, na, expected):
    data = load_nyt_h(folder.path, na=na, cache_dir=cache)
    assert ids(data["train"]) == expected
    assert ids(data["na"]) == ["NATRAIN#0", "NAREST#0", "NAREST#1"]
    assert ids(data["validation"]) == ["DEV#0"]


def test_the_parent_folder_and_a_relative_path_are_accepted(folder, cache, monkeypatch):
    monkeypatch.chdir(folder.root)
    assert ids(load_nyt_h(folder.root, cache_dir=cache, split="test")) == ["TEST#0", "TEST#1"]
    assert ids(load_nyt_h("data", cache_dir=cache, split="test")) == ["TEST#0", "TEST#1"]


def test_split_and_slice(folder, cache):
    assert ids(load_nyt_h(folder.path, split="train[1:]", cache_dir=cache)) == ["TRAIN#1", "NATRAIN#0"]
    with pytest.raises(ValueError, match="Unknown split"):
        load_nyt_h(folder.path, split="dev", cache_dir=cache)


def test_streaming_gives_the_same_rows(sample, cache):
    whole = load_nyt_h(sample, cache_dir=cache)
    stream = load_nyt_h(sample, streaming=True)
    for name in whole:
        found, expected = rows(stream[name]), rows(whole[name])
        if name in ("train", "na"):  # their files are mixed in a stream
            found, expected = (sorted(r, key=lambda row: row["instance_id"]) for r in (found, expected))
        assert found == expected, name
    assert rows(stream["test"]) == rows(whole["test"]), "a second pass over a stream"
    assert rows(load_nyt_h(sample, split="test", streaming=True)) == rows(whole["test"])
    assert stream["test"].features == whole["test"].features


def test_two_processes_give_the_same_rows(sample, tmp_path):
    one = load_nyt_h(sample, cache_dir=tmp_path / "one")
    two = load_nyt_h(sample, cache_dir=tmp_path / "two", num_proc=2)
    for name in one:
        assert rows(two[name]) == rows(one[name])


def test_an_edited_file_is_never_answered_from_the_cache(folder, cache):
    """Not even when its size stays the same."""
    assert load_nyt_h(folder.path, cache_dir=cache)["test"]["bag_label"][:] == [1, 0]
    text = (folder.path / "test.json").read_text()
    (folder.path / "test.json").write_text(text.replace('"yes"', '"unk"'))
    assert load_nyt_h(folder.path, cache_dir=cache)["test"]["bag_label"][:] == [2, 0]
    (folder.path / "test.json").write_text(text)
    assert load_nyt_h(folder.path, cache_dir=cache)["test"]["bag_label"][:] == [1, 0]


def test_the_cache_key_is_content_and_options_not_the_path(folder, cache, tmp_path):
    def key(path, **options):
        return NytH(config_name="sentence", data_dir=str(path), cache_dir=str(cache), **options).config_id

    shutil.copytree(folder.path, tmp_path / "copy")
    assert key(folder.path) == key(tmp_path / "copy")
    options = [{"na": "all"}, {"na": "none"}, {"mention_policy": "closest"}, {"unknown_relation": "drop"}]
    keys = {key(folder.path), *(key(folder.path, **option) for option in options)}
    assert len(keys) == 1 + len(options)


def test_the_class_works_without_load_nyt_h(folder, cache):
    """USER_REPORTS 37: scripts are refused from datasets 4 on; the class itself is not."""
    builder = NytH(config_name="sentence", data_dir=str(folder.path), cache_dir=str(cache))
    builder.download_and_prepare()
    assert ids(builder.as_dataset(split="test")) == ["TEST#0", "TEST#1"]
    assert isinstance(builder.info, datasets.DatasetInfo)
    assert "zhu-etal-2020" in builder.info.citation


@pytest.mark.parametrize("unknown_relation", ["na", "drop"])
def test_unknown_relations_become_na_or_are_dropped_and_counted(folder, cache, caplog, unknown_relation):
    """USER_REPORTS 10: relations that rel2id lacks silently became NA."""
    folder.records["test.json"][0]["relation"] = "/no/such"
    folder.records["na_train.json"][0]["relation"] = "/no/such"
    folder.write()
    with caplog.at_level(logging.WARNING):
        data = load_nyt_h(folder.path, unknown_relation=unknown_relation, cache_dir=cache)
    if unknown_relation == "na":
        assert data["test"]["relation"][:] == [0, 2]
        assert data["test"]["manual_relation"][:] == [0, 0]
    else:
        assert ids(data["test"]) == ["TEST#1"]
    assert caplog.text.count("1 rows with a relation that rel2id.json lacks") == 2
    assert "/no/such (1)" in caplog.text
    builder = NytH(
        config_name="sentence",
        data_dir=str(folder.path),
        cache_dir=str(cache / "b"),
        unknown_relation=unknown_relation,
    )
    builder.download_and_prepare()
    assert builder.unknown_relations == {"/no/such": 2}


def repeated(folder):
    """The id of test's first row four times over two files, and two types that are null."""
    test, train = folder.records["test.json"], folder.records["na_train.json"]
    test += [make_record("TEST#0", bag_label="no"), make_record("TEST#0", bag_label="yes")]
    train += [make_record("TEST#0", "NA"), make_record("NATRAIN#9", "NA")]
    train[1]["head"]["type"] = test[3]["tail"]["type"] = None
    folder.write()


REPEATED = {
    "train": ["TRAIN#0", "TRAIN#1", "NATRAIN#0", "TEST#0", "NATRAIN#9"],
    "test": ["TEST#0|2", "TEST#1", "TEST#0|3", "TEST#0|4"],
}


@pytest.mark.parametrize("options", [{}, {"streaming": True}, {"num_proc": 2}], ids=str)
def test_repeated_ids_and_null_types_are_repaired_when_asked_for(folder, cache, caplog, options):
    repeated(folder)
    with pytest.raises(ValueError, match=r"'TEST#0'.*3 records in all|`head.type` .* got null"):
        load_nyt_h(folder.path, cache_dir=cache)
    if "streaming" not in options:
        options["cache_dir"] = cache
    data = load_nyt_h(folder.path, irregular="repair", **options)
    for split, expected in REPEATED.items():
        found = list(data[split])
        assert [row["instance_id"] for row in found] == expected
        assert sum(not row[entity]["type"] for row in found for entity in ("head", "tail")) == 1
    assert [row["instance_id"] for row in data["na"]] == [*REPEATED["train"][2:], "NAREST#0", "NAREST#1"]
    if "num_proc" not in options:
        assert "test.json: 3 instance ids" in caplog.text
        assert "na_train.json: 0 instance ids that were there before got a number (X|2), and 1" in caplog.text


def test_repairs_are_counted_once(folder, cache):
    """Though na_train.json has a part in train and in na."""
    repeated(folder)
    builder = NytH(data_dir=str(folder.path), cache_dir=str(cache), irregular="repair")
    builder.download_and_prepare()
    assert builder.repairs == {"repeated ids": 3, "null types": 2}


def test_extra_keys_are_kept_out_and_reported_once(folder, cache, caplog):
    for records in folder.records.values():
        for record in records:
            record["pos"] = [1, 2.5]
            record["head"] = record["head"] | {"kind": "x"}
    folder.write()
    with caplog.at_level(logging.WARNING):
        data = load_nyt_h(folder.path, cache_dir=cache)
    assert list(data["test"].features) == COLUMNS
    assert caplog.text.count("kept out: pos, head.kind.") == 1
    assert caplog.text.count("kept out") == 1


def test_rows_without_their_entity_stay_and_are_reported(folder, cache, caplog):
    folder.records["test.json"][0]["sentence"] = "Nobody here left Bonn ."
    folder.write()
    with caplog.at_level(logging.INFO):
        data = load_nyt_h(folder.path, cache_dir=cache)
    row = data["test"][0]
    assert (row["head"]["start"], row["head"]["end"], row["mention_status"]) == (-1, -1, 3)
    assert row["sentence"][row["tail"]["start"] : row["tail"]["end"]] == "Bonn"
    assert mention_counts(data["test"]) == {"unique": 1, "ambiguous": 0, "overlapping": 0, "missing": 1}
    assert "mentions in test: 1 unique, 0 ambiguous, 0 overlapping, 1 missing (of 2 rows)." in caplog.text


def test_the_policy_decides_between_several_mentions(folder, cache):
    folder.records["test.json"][0]["sentence"] = "Bonn again : Ann Lee left early , and Ann Lee saw Bonn ."
    folder.write()
    starts = {}
    for policy in ("first", "closest"):
        row = load_nyt_h(folder.path, mention_policy=policy, cache_dir=cache)["test"][0]
        starts[policy] = (row["head"]["start"], row["tail"]["start"])
        assert row["mention_status"] == 1
    assert starts == {"first": (13, 0), "closest": (38, 50)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": "bags"}, "`config` must be one of 'sentence', 'bag'; got 'bags'"),
        ({"config": "bag", "bag_key": "pairs"}, "`bag_key` must be one of .*; got 'pairs'"),
        ({"na": "some"}, "`na` must be one of 'sampled', 'all', 'none'; got 'some'"),
        ({"mention_policy": "last"}, "`mention_policy` must be one of 'first', 'closest'; got 'last'"),
        ({"unknown_relation": "keep"}, "`unknown_relation` must be one of 'error', 'na', 'drop'; got 'keep'"),
        ({"streaming": True, "num_proc": 2}, "`num_proc` builds a cache and streaming builds none"),
    ],
)
def test_unknown_options_are_named(folder, cache, options, message):
    with pytest.raises(ValueError, match=message):
        load_nyt_h(folder.path, cache_dir=cache, **options)


def pickled(dataset):
    return pickle.loads(pickle.dumps(dataset))  # noqa: S301 - what was pickled here


@pytest.mark.parametrize("config", ["sentence", "bag"])
@pytest.mark.parametrize("layout", ["newer", "older"])
def test_a_stream_can_be_sent_to_another_process(folder, config, layout):
    """Workers that are spawned, the default on macOS, Windows and Python 3.14, get the dataset pickled."""
    path = folder.path if layout == "newer" else write_older_release(folder, folder.root / "older")
    stream = load_nyt_h(path, config, streaming=True)
    for name, split in stream.items():
        assert rows(pickled(split)) == rows(split), name


def write_many(folder, num_rows=6_000):
    record = folder.records["train_nonna.json"][0] | {"sentence": "Ann Lee left Bonn . " + "x " * 100}
    for name, relation in (("train_nonna.json", "/alpha/first"), ("na_train.json", "NA")):
        folder.records[name] = [
            record
            | {"instance_id": f"{name}#{n}", "bag_id": f"{name}#{n}", "relation": relation}
            | {"head": record["head"] | {"guid": f"/guid/{name}{n}"}}
            for n in range(num_rows if relation == "NA" else 2 * num_rows)
        ]
    return folder.write()


def test_the_beginning_of_a_streamed_train_split_is_like_the_whole(folder, cache, tmp_path):
    write_many(folder)
    exported = export_nyt_h(folder.path, tmp_path / "out", cache_dir=cache, figures=False).path
    for config in ("sentence", "bag"):
        for train in (
            load_nyt_h(folder.path, config, streaming=True, split="train"),
            datasets.load_dataset(str(exported), config, streaming=True, split="train"),
        ):
            found = [row.get("relations") or [row["relation"]] for row in train.take(5_000)]
            assert abs(found.count([0]) / 5_000 - 1 / 3) < 0.1
        assert sum(1 for _ in train) == 18_000


def test_a_streamed_train_split_has_several_shards(folder):
    assert load_nyt_h(write_many(folder).path, streaming=True, split="train").n_shards > 10


@pytest.mark.parametrize("config", ["sentence", "bag"])
@pytest.mark.parametrize("streaming", [False, True])
def test_several_splits_come_as_a_list(folder, cache, config, streaming):
    options = {"streaming": streaming, "cache_dir": cache}
    for split in (["train", "test"], ("test",)):
        found = load_nyt_h(folder.path, config, split=split, **options)
        assert [rows(part) for part in found] == [
            rows(load_nyt_h(folder.path, config, split=name, **options)) for name in split
        ]
    for split in ([], ["train", None], 3):
        with pytest.raises((ValueError, TypeError), match="split"):
            load_nyt_h(folder.path, config, split=split, **options)


@pytest.mark.parametrize("option", ["na", "bag_key", "mention_policy", "unknown_relation", "irregular"])
def test_none_is_no_value_of_an_option(folder, cache, option):
    for call in (load_nyt_h, lambda path, **kwargs: NytH(data_dir=str(path), **kwargs)):
        with pytest.raises(ValueError, match=option):
            call(folder.path, cache_dir=str(cache), **{option: None})


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(
    "values", [(None, {"by": "a"}), (1, "a"), ([], [[1]]), ({"a": None}, {"a": {"b": 1}})]
)
def test_a_key_that_nobody_needs_may_hold_anything(folder, cache, values, inside):
    """USER_REPORTS 52: null in the first block of a file and an object later."""
    record = folder.records["train_nonna.json"][0]
    lines = []
    for number in range(8_000):
        extra = {"note": values[number >= 7_000]}
        row = record | {"instance_id": f"X{number}"}
        lines.append(json.dumps(row | ({"head": row["head"] | extra} if inside else extra)))
    folder.write_lines("train_nonna.json", *lines)
    assert len(load_nyt_h(folder.path, split="train", cache_dir=cache)) == 8_001


@pytest.mark.parametrize("dump", [json.dumps, lambda records: "\n".join(map(json.dumps, records))])
def test_the_folder_that_the_authors_code_reads_loads(folder, cache, tmp_path, dump):
    """`--data_dir data/train`: train.json holds its NA rows; arrays in October 2020, lines since."""
    records = folder.records
    train = tmp_path / "x" / "data" / "train"
    train.mkdir(parents=True)
    for name, found in {
        "train": records["train_nonna.json"] + records["na_train.json"],
        "dev": records["dev.json"],
        "test": records["test.json"],
    }.items():
        (train / f"{name}.json").write_text(dump(found))
    for name in ("rel2id.json", "bag_label2id.json"):
        shutil.copy(folder.path / name, train.parent / name)
    for given in (train, train.parent, train.parent.parent):
        data = load_nyt_h(given, cache_dir=cache)
        assert ids(data["train"]) == ["TRAIN#0", "TRAIN#1", "NATRAIN#0"]
        assert ids(data["na"]) == ["NATRAIN#0"]
        assert ids(data["validation"]) + ids(data["test"]) == ["DEV#0", "TEST#0", "TEST#1"]
        stream = load_nyt_h(given, streaming=True, na="none")
        assert ids(stream["train"]) == ["TRAIN#0", "TRAIN#1"]
    # Beside the release that it was made of, the release counts.
    shutil.copytree(train, folder.path / "train")
    assert ids(load_nyt_h(folder.path, cache_dir=cache)["na"]) == ["NATRAIN#0", "NAREST#0", "NAREST#1"]


def test_the_older_release_shares_ids_by_design_and_nothing_is_repaired(folder, cache):
    path = write_older_release(folder, folder.root / "older")
    builder = NytH(data_dir=str(path), na="all", cache_dir=str(cache), irregular="repair")
    builder.download_and_prepare()
    assert builder.repairs == {}
    plain = load_nyt_h(path, na="all", cache_dir=cache)
    for split, rows in builder.as_dataset().items():
        assert rows[:] == plain[split][:]
