"""A staged folder appears as a whole or not at all."""

import pytest

from hub_cards import staged_folder


def write(out, content="new", **options):
    with staged_folder(out, **options) as folder:
        (folder / "a.txt").write_text(content)


def test_the_folder_is_not_there_before_the_block_ends(tmp_path):
    out = tmp_path / "deep" / "out"
    with staged_folder(out) as folder:
        (folder / "a.txt").write_text("x")
        assert not out.exists()
    assert (out / "a.txt").read_text() == "x"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_failure_leaves_everything_as_it_was(tmp_path):
    out = tmp_path / "out"
    write(out, "old")
    with pytest.raises(TypeError, match="data must be str"):
        write(out, 7, overwrite=True, replaceable=["a.txt"])
    assert (out / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_empty_folder_is_used_and_a_full_one_needs_overwrite(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    write(out)
    with pytest.raises(
        ValueError, match=r"is not empty \(it holds a.txt\); give another folder, or say overwrite"
    ):
        write(out)
    write(out, "newer", overwrite=True, replaceable=["a.txt"])
    assert (out / "a.txt").read_text() == "newer"


def test_foreign_files_are_never_replaced(tmp_path):
    out = tmp_path / "out"
    write(out)
    for name in ("mine", "yours"):
        (out / name).mkdir()
    with pytest.raises(ValueError, match=r"not written here: mine, yours \(2 in all\)"):
        write(out, overwrite=True, replaceable=["a.txt"])
    assert (out / "mine").is_dir()


def test_what_somebody_wrote_meanwhile_is_not_lost(tmp_path):
    out = tmp_path / "out"

    def write_late():
        with staged_folder(out):
            out.mkdir()
            (out / "theirs").write_text("kept")

    with pytest.raises(ValueError, match="is not empty"):
        write_late()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (out / "theirs").read_text() == "kept"


def test_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("x")
    with pytest.raises(ValueError, match="is a file; give a folder"):
        write(tmp_path / "out")
