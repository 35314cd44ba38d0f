"""What goes wrong around the cache: files that change, a full disk, no permission, a race."""

import errno
import json
import os
import subprocess
import sys
import tarfile

import datasets
import pytest

from nyt_h_dataset import NytH, load_nyt_h, nyt_h_dataset, records
from nyt_h_dataset.nyt_h_dataset import DataError


def files(cache):
    """Data of the cache, whole or half; locks do not count."""
    return [path.name for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]


def replace(path):
    """Another file of the same size under the same name."""
    beside = path.with_suffix(".new")
    beside.write_text(path.read_text().replace("Monday", "Friday"))
    os.replace(beside, path)


@pytest.mark.parametrize("config", ["sentence", "bag"])
@pytest.mark.parametrize(
    ("name", "method"), [("na_rest.json", "_files"), ("train_nonna.json", "_report_unknown")]
)
def test_a_file_replaced_while_the_cache_is_built_is_noticed(
    folder, cache, monkeypatch, config, name, method
):
    """Before it is read (all rows of it would be new, the key old) and when it was read already."""
    real = getattr(NytH, method)

    def replace_first(self, *args, **options):
        if "Friday" not in (folder.path / name).read_text():
            replace(folder.path / name)
        return real(self, *args, **options)

    monkeypatch.setattr(NytH, method, replace_first)
    with pytest.raises(DataError, match="was replaced or written to while"):
        load_nyt_h(folder.path, config, cache_dir=cache)
    assert not files(cache)
    assert len(load_nyt_h(folder.path, config, cache_dir=cache, split="test")) == (
        1 if config == "bag" else 2
    )


def test_a_file_that_grows_while_it_is_read_is_named(folder):
    """Streams have no fingerprint to compare; each part of a file compares its own beginning and end."""
    path = folder.path / "test.json"
    (shard,) = records.shards(str(path), 4)
    blocks = records.read_blocks(shard, block_bytes=10)
    next(blocks)
    with open(path, "a") as file:
        file.write(json.dumps(folder.records["dev.json"][0]) + "\n")
    with pytest.raises(ValueError, match=r"test\.json was replaced or written to while it was read"):
        list(blocks)


def test_a_shard_whose_file_lost_its_end_does_not_hang(folder):
    path = folder.path / "test.json"
    (shard,) = records.shards(str(path), 4)
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    assert sum(block.columns.num_rows for block in records.read_blocks(shard)) == 1


FULL_DISK = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
import datasets
from nyt_h_dataset import load_nyt_h
datasets.disable_progress_bars()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    load_nyt_h(sys.argv[1], "bag", cache_dir=sys.argv[2])
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the limit on file sizes is POSIX")
def test_a_disk_that_takes_no_more_leaves_no_half_cache(sample, cache):
    """A limit on the size of a file: the kernel refuses the bytes behind it, as on a full disk."""
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(sample), str(cache), "100000"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"the cache {cache}" in run.stdout, run.stderr[-2000:]
    assert "cannot be written" in run.stdout
    assert "File too large" in run.stdout
    assert "pass another `cache_dir`" in run.stdout
    assert not files(cache)
    assert len(load_nyt_h(sample, "bag", cache_dir=cache, split="test"))


def test_a_full_disk_during_unpacking_leaves_nothing(folder, cache, tmp_path, monkeypatch):
    with tarfile.open(tmp_path / "nyt-h.tar.bz2", "w:bz2") as tar:
        tar.add(folder.path, arcname="data")

    def full(*_args, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tarfile.TarFile, "makefile", full)
    with pytest.raises(OSError, match=r"cannot be unpacked into .*No space left on device.*Nothing is left"):
        load_nyt_h(tmp_path / "nyt-h.tar.bz2", cache_dir=cache)
    assert not files(cache)
    monkeypatch.undo()
    assert len(load_nyt_h(tmp_path / "nyt-h.tar.bz2", cache_dir=cache, split="test")) == 2


def test_a_cache_that_cannot_be_made_is_named(folder, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match=r"the cache \S+/file/cache cannot be written .*another `cache_dir`"):
        load_nyt_h(folder.path, cache_dir=tmp_path / "file" / "cache")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission_to_write_is_named(folder, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(OSError, match=r"the cache \S+/closed/cache cannot be written .*Permission denied"):
        load_nyt_h(folder.path, cache_dir=tmp_path / "closed" / "cache")


def test_a_data_file_that_cannot_be_read_is_no_fault_of_the_cache(folder, cache, monkeypatch):
    def refuse(shard):
        raise PermissionError(errno.EACCES, "Permission denied", shard.path)

    monkeypatch.setattr(nyt_h_dataset, "read_blocks", refuse)
    with pytest.raises(datasets.exceptions.DatasetGenerationError) as caught:
        load_nyt_h(folder.path, cache_dir=cache)
    assert caught.value.__cause__.filename.endswith("train_nonna.json")


TWO = """
import sys, time, pathlib
import datasets
from nyt_h_dataset import load_nyt_h, nyt_h_dataset
datasets.disable_progress_bars()
built = []
real = nyt_h_dataset.NytH._split_generators
def count(self, manager):
    built.append(1)
    time.sleep(1)
    return real(self, manager)
nyt_h_dataset.NytH._split_generators = count
me, other = pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
me.touch()
while not other.exists():
    time.sleep(0.01)
data = load_nyt_h(sys.argv[1], "bag", cache_dir=sys.argv[2])
print(len(built), {name: len(split) for name, split in sorted(data.items())})
"""


@pytest.mark.parametrize("source", ["folder", "tarball"])
def test_two_processes_at_once_both_succeed_and_one_builds(folder, cache, tmp_path, source):
    path = folder.path
    if source == "tarball":
        path = tmp_path / "nyt-h.tar.bz2"
        with tarfile.open(path, "w:bz2") as tar:
            tar.add(folder.path, arcname="data")
    flags = [str(tmp_path / name) for name in "ab"]
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", TWO, str(path), str(cache), *order],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for order in (flags, flags[::-1])
    ]
    printed = []
    for run in runs:
        out, err = run.communicate(timeout=120)
        assert run.returncode == 0, err[-2000:]
        printed.append(out.strip().split(" ", 1))
    assert sorted(count for count, _ in printed) == ["0", "1"]
    assert printed[0][1] == printed[1][1] == "{'na': 1, 'test': 1, 'train': 1, 'validation': 1}"
    assert not list(cache.rglob(".unpacking*"))
    assert not list(cache.rglob("*.incomplete"))
