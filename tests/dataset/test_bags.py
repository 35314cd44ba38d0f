"""The `bag` config: its columns, keys, order and what it refuses, against a plain grouping of the rows."""

import random

import datasets
import pyarrow as pa
import pytest

from nyt_h_dataset import NytH, load_nyt_h
from nyt_h_dataset.bags import bag_table
from nyt_h_dataset.schema import bag_features, sentence_features

NO, YES, UNK = range(3)
NAMES = ["NA", "/zeta/last", "/alpha/first"]


def pair_of(row):
    return tuple(row[entity]["guid"] or row[entity]["word"] for entity in ("head", "tail"))


def group(rows, names, bag_key="pair"):
    """Bags by the book: one row after the other into a dict; the first id of a pair is that of its bag."""
    first_id, bags, grouped = {}, {}, {}
    for row in rows:
        first_id.setdefault(pair_of(row), row["bag_id"])
        relation = names[row["relation"]] if bag_key == "triple" else ""
        key = row["bag_id"] if bag_key == "id" else (pair_of(row), relation)
        grouped.setdefault(key, []).append(row)
    for key, members in grouped.items():
        name = key if bag_key == "id" else first_id[key[0]] + ("|" + key[1] if key[1] else "")
        bags[name] = members
    assert len(bags) == len(grouped)
    found = []
    for name, members in bags.items():
        relations = list(dict.fromkeys(row["relation"] for row in members))
        yes = {row["relation"] for row in members if row["bag_label"] == YES}
        entities = {e: {k: members[0][e][k] for k in ("guid", "word", "type")} for e in ("head", "tail")}
        instances = [
            {k: row[k] for k in ("instance_id", "relation", "bag_label", "sentence")}
            | {f"{e}_{end}": row[e][end] for e in ("head", "tail") for end in ("start", "end")}
            for row in members
        ]
        found.append(
            {
                "bag_id": name,
                **entities,
                "relations": relations,
                "manual_relations": [r for r in relations if r in yes],
                "annotated": all(row["bag_label"] != UNK for row in members),
                "instances": instances,
            }
        )
    return found


@pytest.mark.parametrize("bag_key", ["pair", "id", "triple"])
@pytest.mark.parametrize("na", ["sampled", "all", "none"])
def test_bags_are_the_rows_grouped(sample, cache, bag_key, na):
    sentences = load_nyt_h(sample, cache_dir=cache, na=na)
    bags = load_nyt_h(sample, "bag", cache_dir=cache, bag_key=bag_key, na=na)
    assert sorted(bags) == ["na", "test", "train", "validation"]
    names = sentences["test"].features["relation"].names
    for name in bags:
        assert list(bags[name]) == group(sentences[name], names, bag_key), name
        assert len(bags[name]) < len(sentences[name])
    test = list(bags["test"])
    assert any(len(bag["relations"]) > 1 for bag in test) == (bag_key != "triple")
    assert {len(bag["manual_relations"]) for bag in test} >= {0, 1}
    assert all(bag["annotated"] for bag in test)
    assert not any(bag["annotated"] or bag["manual_relations"] for bag in bags["train"])


def test_streaming_gives_the_same_bags(sample, cache):
    for bag_key in ("pair", "triple"):
        whole = load_nyt_h(sample, "bag", cache_dir=cache, bag_key=bag_key)
        stream = load_nyt_h(sample, "bag", streaming=True, bag_key=bag_key)
        for name in whole:
            by_id = {bag["bag_id"]: bag for bag in stream[name]}
            assert by_id == {bag["bag_id"]: bag for bag in whole[name]}, "train is mixed in a stream"
            assert stream[name].features == whole[name].features


def test_two_processes_build_whole_bags(sample, tmp_path):
    one = load_nyt_h(sample, "bag", cache_dir=tmp_path / "one")
    two = load_nyt_h(sample, "bag", cache_dir=tmp_path / "two", num_proc=2)
    for name in one:
        assert list(one[name]) == list(two[name])


def test_columns_and_types_are_those_of_the_specification(folder, cache):
    features = load_nyt_h(folder.path, "bag", cache_dir=cache, split="test").features
    assert list(features) == [
        "bag_id",
        "head",
        "tail",
        "relations",
        "manual_relations",
        "annotated",
        "instances",
    ]
    assert list(features["head"]) == list(features["tail"]) == ["guid", "word", "type"]
    assert features["annotated"].dtype == "bool"
    types = features.arrow_schema.field("instances").type.value_type
    assert [(f.name, str(f.type)) for f in types] == [
        ("instance_id", "string"),
        ("relation", "int64"),
        ("bag_label", "int64"),
        ("sentence", "string"),
        ("head_start", "int32"),
        ("head_end", "int32"),
        ("tail_start", "int32"),
        ("tail_end", "int32"),
    ]
    # From datasets 4 on a list of one feature turns into a List.
    relations = datasets.Features({"x": [datasets.ClassLabel(names=NAMES)]})["x"]
    assert features["relations"] == features["manual_relations"] == relations


def mixed_bag(folder):
    """One pair with three relations, NA among them, its rows apart and answered differently."""
    first, other = folder.records["test.json"]
    bag = {"bag_id": "BAG#A"}
    folder.records["test.json"] = [
        first | bag | {"instance_id": "T0", "relation": "/alpha/first", "bag_label": "no"},
        other
        | {"instance_id": "T1", "relation": "NA", "bag_label": "unk"}
        | {"tail": {"guid": "/guid/3", "word": "Monday", "type": ""}},
        first | bag | {"instance_id": "T2", "relation": "NA", "bag_label": "no"},
        first | bag | {"instance_id": "T3", "relation": "/zeta/last", "bag_label": "yes"},
        first | bag | {"instance_id": "T4", "relation": "/alpha/first", "bag_label": "yes"},
        first | bag | {"instance_id": "T5", "relation": "/alpha/first", "bag_label": "no"},
    ]
    return folder.write()


def test_no_relation_of_a_pair_is_dropped(folder, cache):
    """USER_REPORTS 2: a bag with two relations took one sample's relation for the whole bag."""
    bags = load_nyt_h(mixed_bag(folder).path, "bag", cache_dir=cache, split="test")
    assert bags["bag_id"][:] == ["BAG#A", "BAG#TEST#1"]
    assert bags["relations"][:] == [[2, 0, 1], [0]]
    assert bags["manual_relations"][:] == [[2, 1], []]
    assert bags["annotated"][:] == [True, False]
    assert [i["instance_id"] for i in bags[0]["instances"]] == ["T0", "T2", "T3", "T4", "T5"]


def test_a_triple_is_a_pair_with_one_relation(folder, cache):
    bags = load_nyt_h(mixed_bag(folder).path, "bag", bag_key="triple", cache_dir=cache, split="test")
    assert bags["bag_id"][:] == ["BAG#A|/alpha/first", "BAG#TEST#1|NA", "BAG#A|NA", "BAG#A|/zeta/last"]
    assert bags["relations"][:] == [[2], [0], [0], [1]]
    assert bags["manual_relations"][:] == [[2], [], [], [1]]
    assert [[i["instance_id"] for i in bag["instances"]] for bag in bags] == [
        ["T0", "T4", "T5"],
        ["T1"],
        ["T2"],
        ["T3"],
    ]


def test_the_entities_are_those_of_the_first_instance(folder, cache):
    """Within real bags the guids agree; words and types need not."""
    mixed_bag(folder).records["test.json"][4]["head"] = {"guid": "/guid/1", "word": "Lee", "type": "other"}
    folder.write()
    bag = load_nyt_h(folder.path, "bag", cache_dir=cache, split="test")[0]
    assert bag["head"] == {"guid": "/guid/1", "word": "Ann Lee", "type": "/people/person"}


def test_a_pair_is_one_bag_whatever_its_ids_and_an_id_is_one_as_published(folder, cache):
    """The authors number bags file by file: a pair of train_nonna.json has another id in na_train.json."""
    bags = {key: load_nyt_h(folder.path, "bag", bag_key=key, cache_dir=cache) for key in ("pair", "id")}
    assert bags["pair"]["train"]["bag_id"][:] == ["BAG#TRAIN#0"]
    assert bags["pair"]["train"]["relations"][:] == [[2, 1, 0]]
    assert bags["id"]["train"]["bag_id"][:] == ["BAG#TRAIN#0", "BAG#TRAIN#1", "BAG#NATRAIN#0"]
    assert bags["id"]["train"]["relations"][:] == [[2], [1], [0]]


def test_real_bags_of_pairs_over_files_and_of_ids(real_data, cache):
    sizes = {
        key: len(load_nyt_h(real_data, "bag", bag_key=key, cache_dir=cache, split="train"))
        for key in ("pair", "id")
    }
    assert sizes == {"pair": 507, "id": 512}


@pytest.mark.parametrize("streaming", [False, True])
def test_a_bag_id_with_two_pairs_loads_and_is_reported(folder, cache, streaming, caplog):
    mixed_bag(folder).records["test.json"][3]["tail"] = {"guid": "/guid/9", "word": "Rome", "type": "t"}
    folder.write()

    def loaded(bag_key):
        found = load_nyt_h(
            folder.path, "bag", bag_key=bag_key, split="test", streaming=streaming, cache_dir=cache
        )
        return {bag["bag_id"]: [i["instance_id"] for i in bag["instances"]] for bag in found}

    assert loaded("pair") == {"BAG#A": ["T0", "T2", "T4", "T5"], "BAG#TEST#1": ["T1"], "BAG#A|2": ["T3"]}
    assert "BAG#A" in caplog.text
    assert loaded("id") == {"BAG#A": ["T0", "T2", "T3", "T4", "T5"], "BAG#TEST#1": ["T1"]}
    assert list(loaded("triple")) == [
        "BAG#A|/alpha/first",
        "BAG#TEST#1|NA",
        "BAG#A|NA",
        "BAG#A|2|/zeta/last",
    ]


def test_without_guids_the_words_make_the_pair(folder, cache):
    for record in mixed_bag(folder).records["test.json"]:
        record["head"] = record["head"] | {"guid": ""}
    folder.write()
    assert len(load_nyt_h(folder.path, "bag", cache_dir=cache, split="test")) == 2
    folder.records["test.json"][5]["head"] = {"guid": "", "word": "Bob", "type": ""}
    folder.write()
    assert len(load_nyt_h(folder.path, "bag", cache_dir=cache, split="test")) == 3


def test_majors_of_datasets_do_not_share_a_cache(sample, cache, monkeypatch):
    """The older one does not know the feature type `List` in the notes of the later one."""
    paths = set()
    for version in ("3.6.0", "5.2.0", "5.3.1"):
        monkeypatch.setattr(datasets, "__version__", version)
        paths.add(NytH(config_name="bag", data_dir=str(sample), cache_dir=str(cache)).cache_dir)
    assert len(paths) == 2


def test_the_key_of_a_bag_is_part_of_the_cache_key(folder, cache):
    mixed_bag(folder)
    sizes = [
        len(load_nyt_h(folder.path, "bag", bag_key=key, cache_dir=cache)["test"])
        for key in ("pair", "triple", "pair")
    ]
    assert sizes == [2, 4, 2]


def test_dropped_rows_are_in_no_bag(folder, cache):
    mixed_bag(folder).records["test.json"][4]["relation"] = "/no/such"
    folder.write()
    bags = load_nyt_h(folder.path, "bag", unknown_relation="drop", cache_dir=cache, split="test")
    assert [i["instance_id"] for i in bags[0]["instances"]] == ["T0", "T2", "T3", "T5"]
    assert bags[0]["manual_relations"] == [1]


@pytest.mark.parametrize("seed", range(20))
def test_any_order_and_any_chunks_group_alike(seed):
    rng = random.Random(seed)
    rows = []
    for number in range(rng.randint(1, 60)):
        bag = rng.randrange(12)
        rows.append(
            {
                "instance_id": f"I{number}",
                "bag_id": f"B{bag}",
                "relation": rng.randrange(3),
                "bag_label": rng.randrange(3),
                "manual_relation": -1,
                "sentence": "é" * rng.randrange(4),
                "head": {"guid": f"h{bag % 5}", "word": f"w{number}", "type": "", "start": number, "end": -1},
                "tail": {"guid": f"t{bag // 2}", "word": "", "type": "x", "start": 1, "end": 2},
                "mention_status": 0,
            }
        )
    schema = sentence_features(NAMES).arrow_schema
    cuts = sorted(rng.choices(range(len(rows) + 1), k=3))
    pieces = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
    table = pa.concat_tables([pa.Table.from_pylist(piece, schema=schema) for piece in pieces])
    for bag_key in ("pair", "id", "triple"):
        bags = bag_table(table, NAMES, bag_key=bag_key, schema=bag_features(NAMES).arrow_schema)
        bags.validate(full=True)
        assert bags.to_pylist() == group(rows, NAMES, bag_key)
