"""The tarball, the folder that holds it and the older release: the same rows, and what is refused."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

from nyt_h_dataset import load_nyt_h
from nyt_h_dataset.record_lines import RecordError
from nyt_h_dataset.records import array_items


def rows(dataset):
    return [dict(row) for row in dataset]


def ids(dataset):
    return [row["instance_id"] for row in dataset]


def pack(path, folder, mode="w:bz2"):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, mode) as tar:
        tar.add(folder, arcname="data")
    return path


def write_older_release(folder, root, labels_in=".", dump=json.dumps):
    """The same records as JSON arrays: train holds a sample of the NA set, release/na.json all of it."""
    records = folder.records
    arrays = {
        "train/train.json": [*records["train_nonna.json"], *records["na_train.json"]],
        "train/dev.json": records["dev.json"],
        "train/test.json": records["test.json"],
        "release/na.json": [*records["na_train.json"], *records["na_rest.json"]],
        "release/train.json": [*records["train_nonna.json"], *records["dev.json"]],
        "release/test.json": records["test.json"],
    }
    for name, array in arrays.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(dump(array))
    for name in ("rel2id.json", "bag_label2id.json"):
        (root / labels_in / name).write_bytes((folder.path / name).read_bytes())
    return root


@pytest.mark.parametrize(
    ("name", "mode"), [("nyt-h.tar.bz2", "w:bz2"), ("x.tar.gz", "w:gz"), ("x.tar", "w:")]
)
@pytest.mark.parametrize("config", ["sentence", "bag"])
def test_the_tarball_gives_the_rows_of_the_folder(folder, cache, tmp_path, name, mode, config):
    archive = pack(tmp_path / "downloads" / name, folder.path, mode)
    whole = load_nyt_h(folder.path, config, cache_dir=cache)
    unpacked = load_nyt_h(archive, config, cache_dir=tmp_path / "other")
    stream = load_nyt_h(archive, config, cache_dir=tmp_path / "other", streaming=True)
    for split in whole:
        assert rows(unpacked[split]) == rows(stream[split]) == rows(whole[split])
    assert len(list((tmp_path / "other" / "nyt_h_archives").iterdir())) == 1
    assert [path.name for path in (tmp_path / "downloads").iterdir()] == [name]


def test_the_folder_that_holds_the_tarball_is_enough(folder, cache, tmp_path):
    pack(tmp_path / "downloads" / "nyt-h.tar.bz2", folder.path)
    assert ids(load_nyt_h(tmp_path / "downloads", cache_dir=cache, split="test")) == ["TEST#0", "TEST#1"]


def test_extracted_files_beside_the_tarball_are_the_ones_that_count(folder, cache):
    pack(folder.root / "nyt-h.tar.bz2", folder.path)
    folder.records["test.json"][0]["instance_id"] = "EDITED"
    folder.write()
    assert ids(load_nyt_h(folder.root, cache_dir=cache, split="test")) == ["EDITED", "TEST#1"]


def test_another_tarball_of_the_same_name_is_unpacked_anew(folder, cache, tmp_path):
    archive = tmp_path / "downloads" / "nyt-h.tar.bz2"
    pack(archive, folder.path)
    assert ids(load_nyt_h(archive, cache_dir=cache, split="test")) == ["TEST#0", "TEST#1"]
    folder.records["test.json"][0]["instance_id"] = "EDITED"
    pack(archive, folder.write().path)
    assert ids(load_nyt_h(archive, cache_dir=cache, split="test")) == ["EDITED", "TEST#1"]


def member(name, kind=tarfile.REGTYPE, linkname="", content=b"{}"):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, linkname
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    return info, io.BytesIO(content)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (member("/etc/evil"), "the member '/etc/evil' has an absolute path"),
        (member("C:/evil"), "the member 'C:/evil' has an absolute path"),
        (member("data/../../evil"), r"the member 'data/../../evil' leaves the folder \(`..`\)"),
        (member("data\\..\\evil"), "leaves the folder"),
        (member("data/a", tarfile.SYMTYPE, "/etc/passwd"), r"'data/a' is a link \(to '/etc/passwd'\)"),
        (member("data/a", tarfile.SYMTYPE, "test.json"), r"'data/a' is a link \(to 'test.json'\)"),
        (member("data/a", tarfile.LNKTYPE, "data/test.json"), "'data/a' is a link"),
        (member("data/null", tarfile.CHRTYPE), "'data/null' is a device"),
        (member("data/pipe", tarfile.FIFOTYPE), "'data/pipe' is a device or another special file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_member_that_would_land_elsewhere_is_refused_by_name(folder, cache, tmp_path, bad, message):
    archive = pack(tmp_path / "in" / "nyt-h.tar", folder.path, "w:")
    with tarfile.open(archive, "a") as tar:
        tar.addfile(*bad)
    with pytest.raises(ValueError, match=message):
        load_nyt_h(archive, cache_dir=cache)
    assert not [path for path in cache.rglob("*") if path.is_file()]
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("mode", ["w:bz2", "w:gz", "w:"])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.9])
def test_a_truncated_tarball_says_so(sample, cache, tmp_path, mode, share):
    archive = pack(tmp_path / "nyt-h.tar.bz2", sample, mode)
    data = archive.read_bytes()
    archive.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(
        ValueError, match=r"nyt-h.tar.bz2 (is cut off or damaged|does not hold the data files)"
    ):
        load_nyt_h(archive, cache_dir=cache)
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_a_damaged_tarball_says_so(sample, cache, tmp_path):
    archive = pack(tmp_path / "nyt-h.tar.bz2", sample)
    data = bytearray(archive.read_bytes())
    data[-40] ^= 255  # behind the last member: only the checksum tells
    archive.write_bytes(data)
    with pytest.raises(ValueError, match="is cut off or damaged"):
        load_nyt_h(archive, cache_dir=cache)


def test_a_wrong_file_under_the_right_name_is_named(cache, tmp_path):
    archive = tmp_path / "nyt-h.tar.bz2"
    archive.write_text("<!DOCTYPE html><title>Virus scan warning</title>")
    with pytest.raises(ValueError, match=r"is not a tar archive; .* A web page was saved in its place"):
        load_nyt_h(archive, cache_dir=cache)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("x")
    pack(archive, tmp_path / "other")
    with pytest.raises(ValueError, match=r"does not hold the data files of NYT-H; it holds: data/notes\.txt"):
        load_nyt_h(archive, cache_dir=cache)
    assert not [path for path in cache.rglob("*") if path.is_file()]


def lines_of_records(array):
    return "[\n" + ",\n".join(json.dumps(record) for record in array) + "\n]\n"


def indented(array):
    return "\ufeff" + json.dumps(array, indent=2, ensure_ascii=False)


@pytest.mark.parametrize("dump", [json.dumps, lines_of_records, indented])
@pytest.mark.parametrize("labels_in", [".", "train", "release"])
def test_the_older_release_gives_the_same_rows(folder, cache, tmp_path, dump, labels_in):
    older = write_older_release(folder, tmp_path / "older" / "data", labels_in, dump)
    for config in ("sentence", "bag"):
        whole = load_nyt_h(folder.path, config, cache_dir=cache)
        for options in ({}, {"streaming": True}, {"num_proc": 2}):
            found = load_nyt_h(older.parent, config, cache_dir=cache / str(len(options)), **options)
            for split in whole:
                assert rows(found[split]) == rows(whole[split]), (config, split)


@pytest.mark.parametrize("na", ["sampled", "all", "none"])
def test_na_of_the_older_release(folder, cache, tmp_path, na):
    older = write_older_release(folder, tmp_path / "older")
    whole = load_nyt_h(folder.path, na=na, cache_dir=cache)
    found = load_nyt_h(older, na=na, cache_dir=tmp_path / "other")
    for split in whole:
        assert ids(found[split]) == ids(whole[split])


def test_an_unknown_relation_that_becomes_na_stays_when_na_rows_are_left_out(folder, cache, tmp_path):
    folder.records["train_nonna.json"][0]["relation"] = "/no/such"
    older = write_older_release(folder.write(), tmp_path / "older")
    for path in (folder.path, older):
        data = load_nyt_h(path, na="none", unknown_relation="na", split="train", cache_dir=cache)
        assert ids(data) == ["TRAIN#0", "TRAIN#1"]


@pytest.mark.parametrize(
    ("name", "record", "first"),
    [
        ("dev.json", "TRAIN#0", r"train\.json:1 \(record 1\)"),
        ("na_rest.json", "DEV#0", r"dev\.json:1 \(record 1\)"),
        ("na_train.json", "TEST#1", r"test\.json:1 \(record 2\)"),
    ],
)
def test_duplicate_ids_are_seen_in_the_older_release_too(folder, cache, tmp_path, name, record, first):
    folder.records[name][0]["instance_id"] = record
    older = write_older_release(folder.write(), tmp_path / "older")
    with pytest.raises(ValueError, match=rf"duplicate `instance_id` '{record}': .*{first}"):
        load_nyt_h(older, cache_dir=cache)


def test_both_releases_at_once_are_refused_with_their_files(folder, cache):
    write_older_release(folder, folder.path)
    message = (
        r"both releases are there: line-JSON files \(.*train_nonna\.json.*\) and .* \(.*train/train\.json"
    )
    with pytest.raises(ValueError, match=message):
        load_nyt_h(folder.root, cache_dir=cache)


def test_both_releases_in_a_folder_and_its_parent_are_refused(folder, cache):
    write_older_release(folder, folder.root)
    with pytest.raises(ValueError, match="both releases are there"):
        load_nyt_h(folder.root, cache_dir=cache)
    assert ids(load_nyt_h(folder.path, split="test", cache_dir=cache)) == ["TEST#0", "TEST#1"]


def test_a_file_of_the_older_release_that_is_missing_is_named(folder, cache, tmp_path):
    older = write_older_release(folder, tmp_path / "older")
    (older / "release" / "na.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks release/na\.json \(1 of 6 files missing\)"):
        load_nyt_h(older, cache_dir=cache)


GOOD = '{"instance_id": "X"}'
BROKEN_ARRAYS = {
    "lines": (
        GOOD + "\n" + GOOD,
        r":1: a JSON array must begin here; got .* newer release, one object a line",
    ),
    "page": ("<html>", r":1: a JSON array must begin here; got '<html>'. Is it another file"),
    "cut between": (
        f"[\n{GOOD},\n",
        r":3 \(record 2\): an object must begin here; got the end of the file. Is",
    ),
    "cut inside": (f"[\n{GOOD},\n" + GOOD[:12], r":3 \(record 2\): not valid JSON .* Is the file cut off"),
    "no end": (f"[\n{GOOD}\n", r":3: a comma or the end of the array must follow record 1; got the end"),
    "no comma": (f"[\n{GOOD}\n{GOOD}]", r":3: a comma or the end of the array must follow record 1; got '{"),
    "trailing comma": (f"[{GOOD},\n]", r":2 \(record 2\): an object must begin here; got '\]'"),
    "number": (f"[{GOOD},\n 7]", r":2 \(record 2\): an object must begin here; got '7\]'"),
    "more behind": (f"[{GOOD}]\n[]", r":2: something follows the array: '\[\]'"),
    "broken": (f'[{GOOD},\n\n{{"a" 1}}]', r":3 \(record 2\): not valid JSON \(Expecting ':' delimiter"),
    "nan": (f'[{GOOD},{{"a": NaN}}]', r":1 \(record 2\): not valid JSON \(NaN is not JSON"),
    "key twice": ('[{"a": 1, "a": 2}]', r":1 \(record 1\): not valid JSON \(the key 'a' is there twice"),
    "not utf-8": (f"[{GOOD},\n".encode() + b'{"a": "\xe9"}]', r":2: the byte 0xe9 is not UTF-8"),
}


@pytest.mark.parametrize("chunk_bytes", [1, 7, 1 << 22])
@pytest.mark.parametrize("name", BROKEN_ARRAYS)
def test_a_fault_of_an_array_is_named_with_its_line(tmp_path, name, chunk_bytes):
    text, message = BROKEN_ARRAYS[name]
    path = tmp_path / "a.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(RecordError, match=r"a\.json" + message):
        list(array_items(str(path), chunk_bytes=chunk_bytes))


@pytest.mark.parametrize("chunk_bytes", [1, 2, 3, 50, 1 << 22])
def test_an_array_is_read_whatever_the_chunks(tmp_path, chunk_bytes):
    path = tmp_path / "a.json"
    records = [{"a": 'é\n[{,}]"\\', "b": [1, {"c": None}]}, {}, {"ü": "\U0001f600" * 9}]
    path.write_text(indented(records), encoding="utf-8")
    items = list(array_items(str(path), chunk_bytes=chunk_bytes))
    assert [item.record for item in items] == records
    lines = path.read_text().splitlines()
    assert [lines[int(item.where.split(":")[-1].split()[0]) - 1].strip()[0] for item in items] == ["{"] * 3


def test_faults_of_records_in_arrays_have_line_and_number(folder, cache, tmp_path):
    older = write_older_release(folder, tmp_path / "older", dump=lines_of_records)
    text = (older / "train" / "test.json").read_text()
    for change, message in {
        ('"relation": "/alpha/first"', '"relation": "/no/such"'): "the relation '/no/such' is not in rel2id",
        ('"bag_label": "no"', '"bag_label": "maybe"'): "`bag_label` must be one of",
        ('"bag_label": "no"', '"bag_label": 1'): "`bag_label` must be a string; got int 1",
    }.items():
        head, _, last = text.rpartition(change[0])
        (older / "train" / "test.json").write_text(head + change[1] + last)
        with pytest.raises(ValueError, match=rf"test\.json:3 \(record 2\): {message}"):
            load_nyt_h(older, cache_dir=cache)
    for content in ("", " ", "[]", "[ \n]"):
        (older / "train" / "test.json").write_text(content)
        with pytest.raises(ValueError, match=r"test\.json holds no records"):
            load_nyt_h(older, cache_dir=cache)


@pytest.mark.parametrize("damage", ["removed", "cut", "all removed"])
def test_an_unpacked_file_that_is_lost_is_unpacked_again(folder, cache, tmp_path, damage):
    archive = pack(tmp_path / "nyt-h.tar.bz2", folder.path)
    load_nyt_h(archive, cache_dir=cache)
    (unpacked,) = (cache / "nyt_h_archives").iterdir()
    if damage == "removed":
        (unpacked / "data" / "dev.json").unlink()
    elif damage == "cut":
        (unpacked / "data" / "dev.json").write_text("")
    else:
        shutil.rmtree(unpacked / "data")
    assert ids(load_nyt_h(archive, cache_dir=cache, split="validation")) == ["DEV#0"]
    assert (unpacked / "data" / "dev.json").read_bytes() == (folder.path / "dev.json").read_bytes()
    assert list((cache / "nyt_h_archives").iterdir()) == [unpacked]


def test_what_a_killed_process_was_unpacking_is_removed_and_nothing_else(folder, cache, tmp_path):
    archive = pack(tmp_path / "nyt-h.tar.bz2", folder.path)
    code = (
        "import os, sys, tarfile\n"
        "tarfile.TarFile.extract = lambda *_, **__: os.kill(os.getpid(), 9)\n"
        "from nyt_h_dataset import load_nyt_h; load_nyt_h(sys.argv[1], cache_dir=sys.argv[2])"
    )
    run = subprocess.run([sys.executable, "-c", code, str(archive), str(cache)], check=False)
    assert run.returncode == -9
    unpacked = cache / "nyt_h_archives"
    (left,) = unpacked.iterdir()
    mine = unpacked / re.sub(r"\.\d+\.", f".{os.getpid()}.", left.name)
    mine.mkdir()
    load_nyt_h(archive, cache_dir=cache)
    assert not left.exists()
    assert mine.exists(), "of a process that runs"


def test_a_shared_cache_can_be_read_by_others(folder, cache, tmp_path):
    load_nyt_h(pack(tmp_path / "nyt-h.tar.bz2", folder.path), cache_dir=cache)
    mask = os.umask(0)
    os.umask(mask)
    for path in [cache / "nyt_h_archives", *(cache / "nyt_h_archives").rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o777 if path.is_dir() else 0o666) & ~mask, path
