"""The same rows on every major version of `datasets`, from every road into it.

Each road's rows are compared, by SHA-256 over their canonical JSON, with rows that a plain reader makes of
the raw files. `make test` runs this on the newest datasets, `make test-old-datasets` on 3.6: what equals the
same digest there and here is equal.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import datasets
import pytest

import nyt_h_dataset
from nyt_h_dataset import load_nyt_h, write_sample
from nyt_h_dataset.mentions import locate

PACKAGE = Path(nyt_h_dataset.__file__).parent
MAJOR = int(datasets.__version__.split(".")[0])
FILES = {
    "train": ("train_nonna.json", "na_train.json"),
    "validation": ("dev.json",),
    "test": ("test.json",),
    "na": ("na_train.json", "na_rest.json"),
}
ENTITY_KEYS = ("guid", "word", "type")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_sample(tmp_path_factory.mktemp("source") / "data", size="tiny", seed=7).path


def digest(rows):
    """Whatever the order of the rows: a stream and an export mix those of train."""
    lines = (json.dumps(row, sort_keys=True, ensure_ascii=True, separators=(",", ":")) for row in rows)
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def plain_instance(record, relations, bag_labels):
    relation, answer = relations[record["relation"]], record["bag_label"]
    found = locate(record["sentence"], record["head"]["word"], record["tail"]["word"])
    row = {key: record[key] for key in ("instance_id", "bag_id", "sentence")}
    row |= {"relation": relation, "bag_label": bag_labels[answer], "mention_status": found.status}
    row["manual_relation"] = {"yes": relation, "no": relations["NA"], "unk": -1}[answer]
    for name in ("head", "tail"):
        start, end = getattr(found, name)
        row[name] = {key: record[name][key] for key in ENTITY_KEYS} | {"start": start, "end": end}
    return row


def plain_bags(rows, names, bag_key):
    bags = {}
    first_id = {}
    for row in rows:
        pair = (row["head"]["guid"], row["tail"]["guid"])
        name = row["bag_id"] if bag_key == "id" else first_id.setdefault(pair, row["bag_id"])
        name += f"|{names[row['relation']]}" if bag_key == "triple" else ""
        bag = bags.setdefault(
            name,
            {
                "bag_id": name,
                "relations": [],
                "manual_relations": [],
                "annotated": True,
                "instances": [],
                **{name: {key: row[name][key] for key in ENTITY_KEYS} for name in ("head", "tail")},
            },
        )
        if row["relation"] not in bag["relations"]:
            bag["relations"].append(row["relation"])
        bag["annotated"] &= row["bag_label"] != 2
        instance = {key: row[key] for key in ("instance_id", "relation", "bag_label", "sentence")}
        for name in ("head", "tail"):
            instance |= {f"{name}_start": row[name]["start"], f"{name}_end": row[name]["end"]}
        bag["instances"].append(instance)
    for bag in bags.values():
        yes = {i["relation"] for i in bag["instances"] if i["bag_label"] == 1}
        bag["manual_relations"] = [relation for relation in bag["relations"] if relation in yes]
    return list(bags.values())


def plain_digests(source, bag_key=None):
    """Split -> digest of the rows that the files hold, without datasets and without pyarrow."""
    relations = json.loads((source / "rel2id.json").read_text())
    bag_labels = json.loads((source / "bag_label2id.json").read_text())
    found = {}
    for split, files in FILES.items():
        lines = [line for name in files for line in (source / name).read_text().splitlines()]
        rows = [plain_instance(json.loads(line), relations, bag_labels) for line in lines]
        found[split] = digest(
            plain_bags(rows, sorted(relations, key=relations.get), bag_key) if bag_key else rows
        )
    return found


CONFIGS = [("sentence", None), ("bag", "pair"), ("bag", "id"), ("bag", "triple")]


@pytest.mark.parametrize(("config", "bag_key"), CONFIGS)
@pytest.mark.parametrize("streaming", [False, True])
def test_load_nyt_h(source, cache, config, bag_key, streaming):
    options = {"bag_key": bag_key} if bag_key else {}
    loaded = load_nyt_h(source, config, streaming=streaming, cache_dir=cache, **options)
    assert {name: digest(split) for name, split in loaded.items()} == plain_digests(source, bag_key)


@pytest.mark.skipif(MAJOR >= 4, reason="loading scripts are for datasets before 4")
@pytest.mark.parametrize(("config", "bag_key"), CONFIGS)
@pytest.mark.parametrize("streaming", [False, True])
def test_the_loading_script(source, cache, config, bag_key, streaming):
    options = {"bag_key": bag_key} if bag_key else {}
    loaded = datasets.load_dataset(
        str(PACKAGE),
        config,
        data_dir=str(source),
        trust_remote_code=True,
        streaming=streaming,
        cache_dir=str(cache),
        **options,
    )
    assert {name: digest(split) for name, split in loaded.items()} == plain_digests(source, bag_key)


@pytest.mark.skipif(MAJOR >= 4, reason="loading scripts are for datasets before 4")
def test_the_loading_script_needs_no_installed_package_and_writes_nothing_beside_it(source, tmp_path):
    """A fresh process in which our package cannot be imported, and a relative path to the data."""
    code = (
        "import datasets, json, sys; sys.modules['nyt_h_dataset'] = None\n"
        "data = datasets.load_dataset('./nyt_h_dataset', data_dir=sys.argv[1], trust_remote_code=True,"
        " cache_dir='cache')\n"
        "stream = datasets.load_dataset('./nyt_h_dataset', 'bag', data_dir=sys.argv[1], streaming=True,"
        " trust_remote_code=True, cache_dir='cache'); next(iter(stream['train']))\n"
        "print(json.dumps({name: len(split) for name, split in data.items()}))"
    )
    shutil.copytree(PACKAGE, tmp_path / "nyt_h_dataset", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(source, tmp_path / "data")
    before = files_beside_the_cache(tmp_path)
    run = subprocess.run(
        [sys.executable, "-c", code, "data"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(run.stdout.splitlines()[-1]) == {"train": 220, "validation": 40, "test": 90, "na": 100}
    assert files_beside_the_cache(tmp_path) == before


def files_beside_the_cache(root):
    """What Python and the cache write is theirs."""
    names = {path.relative_to(root) for path in root.rglob("*")}
    return {name for name in names if name.parts[0] != "cache" and "__pycache__" not in name.parts}


@pytest.mark.parametrize(("config", "bag_key"), CONFIGS[:2])
@pytest.mark.parametrize("streaming", [False, True])
def test_nothing_is_written_beside_the_package(source, cache, config, bag_key, streaming):
    before = files_beside_the_cache(PACKAGE), set(os.listdir(source.parent)), set(os.listdir(source))
    loaded = load_nyt_h(source, config, streaming=streaming, cache_dir=cache)
    next(iter(loaded["train"]))
    assert (
        files_beside_the_cache(PACKAGE),
        set(os.listdir(source.parent)),
        set(os.listdir(source)),
    ) == before


@pytest.fixture(scope="module")
def exported(source, tmp_path_factory):
    """Written by the newest datasets; the older one reads what another venv wrote, if it is told where."""
    given = os.environ.get("NYT_H_EXPORTED")
    if MAJOR >= 4:
        from nyt_h_dataset.card.export import export_nyt_h

        folder = Path(given) if given else tmp_path_factory.mktemp("exported") / "folder"
        export_nyt_h(
            source, folder, figures=False, overwrite=True, cache_dir=tmp_path_factory.mktemp("cache")
        )
        return folder
    if not given or not Path(given).is_dir():
        pytest.skip("NYT_H_EXPORTED names no folder that the newest datasets exported")
    return Path(given)


@pytest.mark.parametrize(("config", "bag_key"), CONFIGS[:2])
@pytest.mark.parametrize("streaming", [False, True])
def test_the_exported_folder(source, exported, cache, config, bag_key, streaming):
    loaded = datasets.load_dataset(str(exported), config, streaming=streaming, cache_dir=str(cache))
    assert {name: digest(split) for name, split in loaded.items()} == plain_digests(source, bag_key)


@pytest.mark.skipif(MAJOR < 4, reason="datasets before 4 runs loading scripts")
def test_from_datasets_4_on_the_script_is_refused(source):
    """USER_REPORTS 37; `load_nyt_h` and the exported folder are the roads there."""
    with pytest.raises(RuntimeError, match="Dataset scripts are no longer supported"):
        datasets.load_dataset(str(PACKAGE), "sentence", data_dir=str(source))


def test_the_digest_sees_a_change_of_one_offset(source, cache):
    rows = [dict(row) for row in load_nyt_h(source, split="test", cache_dir=cache)]
    rows[3]["tail"]["end"] += 1
    assert digest(rows) != plain_digests(source)["test"]
