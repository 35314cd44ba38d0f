"""Reading blocks: the fast road equals the careful one, and every line is read exactly once."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nyt_h_dataset import records
from nyt_h_dataset.record_lines import COLUMNS, SPAN_COLUMNS, check_line
from nyt_h_dataset.records import RecordError, read_ahead, read_blocks, shards

ENTITY = {"guid": "/guid/1", "word": "Ann", "type": "/people/person"}


def line(number, **changes):
    record = dict.fromkeys(("bag_id", "relation", "bag_label", "sentence"), "x")
    return json.dumps({"instance_id": f"X#{number}", **record, "head": ENTITY, "tail": ENTITY} | changes)


def read(path, *, shard_bytes=1 << 26, block_bytes=1 << 23):
    found = []
    for shard in shards(str(path), 0, shard_bytes=shard_bytes):
        for block in read_blocks(shard, block_bytes=block_bytes):
            found += [tuple(row.values()) for row in block.columns.to_pylist()]
    return found


def expected(text):
    return [tuple(check_line(raw, "")[0]) for raw in text.split(b"\n") if raw.strip()]


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=6),
    shard_bytes=st.one_of(st.integers(40, 900), st.just(1)),
    block_bytes=st.integers(1, 900),
    end=st.sampled_from([b"", b"\n", b"\r\n", b"\n\n"]),
    separator=st.sampled_from([b"\n", b"\r\n", b"\n\n"]),
    bom=st.booleans(),
)
def test_any_cut_into_shards_and_blocks_reads_each_line_once(
    sizes, shard_bytes, block_bytes, end, separator, bom
):
    lines = [line(n, sentence="é" * size).encode() for n, size in enumerate(sizes)]
    text = separator.join(lines) + end
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + text)
        assert read(path, shard_bytes=shard_bytes, block_bytes=block_bytes) == expected(text)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=80)
@given(texts=st.lists(TEXTS, min_size=1, max_size=5), ascii_only=st.booleans())
def test_any_text_survives_both_roads(texts, ascii_only):
    rows = [json.loads(line(n, sentence=text)) for n, text in enumerate(texts)]
    raw = [json.dumps(row, ensure_ascii=ascii_only).encode() for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_bytes(b"\n".join(raw))
        assert [row[COLUMNS.index("sentence")] for row in read(path)] == texts
        # A blank in front of a line sends the block down the careful road.
        path.write_bytes(b"\n".join(b" " + part for part in raw))
        assert [row[COLUMNS.index("sentence")] for row in read(path)] == texts


def test_plain_files_never_take_the_careful_road(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text("".join(line(n) + "\n" for n in range(50)))
    monkeypatch.setattr(records, "check_line", None)
    assert len(read(path)) == 50


def test_a_line_longer_than_a_block_of_pyarrow_is_read(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(line(0) + "\n" + line(1, sentence="y" * 3_000_000) + "\n")
    assert [len(row[COLUMNS.index("sentence")]) for row in read(path)] == [1, 3_000_000]


def test_extra_keys_of_any_kind_are_kept_out(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(line(0, extra=1) + "\n" + line(1, extra="text") + "\n" + line(2, other={"a": []}) + "\n")
    (block,) = read_blocks(shards(str(path), 0)[0])
    assert block.columns.column_names == [*COLUMNS, *SPAN_COLUMNS]
    assert sorted(block.extra_keys) == ["extra", "other"]


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_nan_in_a_key_that_nobody_reads_is_still_named(tmp_path, constant):
    path = tmp_path / "a.json"
    path.write_text(line(0, extra=0.5) + "\n" + line(1, extra=0.5).replace("0.5", constant) + "\n")
    with pytest.raises(RecordError, match=rf"a\.json:2: not valid JSON \({constant} is not JSON"):
        read(path)


def test_the_word_infinity_in_a_sentence_is_a_word(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(line(0, sentence="Infinity Broadcasting and NaN", extra=0.5) + "\n")
    assert len(read(path)) == 1


def test_an_object_over_two_lines_is_no_record(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(json.loads(line(0)), indent=1))
    with pytest.raises(RecordError, match=r"a\.json:1: not valid JSON"):
        read(path)


def test_two_whole_records_on_one_line_are_named(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(line(0) + "\n" + line(1) + line(2) + "\n")
    with pytest.raises(RecordError, match=r"a\.json:2: something follows the first JSON value"):
        read(path)


@pytest.mark.parametrize("key", ["sentence", "extra"])
def test_a_record_with_a_byte_that_is_not_utf8_is_named(tmp_path, key):
    path = tmp_path / "a.json"
    path.write_bytes((line(0) + "\n" + line(1, **{key: "caf!"}) + "\n").encode().replace(b"!", b"\xe9"))
    with pytest.raises(RecordError, match=r"a\.json:2: byte \d+ of the line \(0xe9\) is not UTF-8"):
        read(path)


def test_a_fault_in_a_later_shard_has_its_line_in_the_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("".join(line(n) + "\n" for n in range(20)) + "{\n")
    with pytest.raises(RecordError, match=r"a\.json:21: "):
        read(path, shard_bytes=700, block_bytes=300)


def test_reading_ahead_gives_the_same_blocks_and_the_same_fault(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("".join(line(n) + "\n" for n in range(30)) + "{\n")
    (shard,) = shards(str(path), 0)
    found, plain = [], []
    with pytest.raises(RecordError, match=r"a\.json:31: ") as ahead:
        found.extend(block.columns for block in read_ahead(read_blocks(shard, block_bytes=300)))
    with pytest.raises(RecordError) as direct:
        plain.extend(block.columns for block in read_blocks(shard, block_bytes=300))
    assert str(ahead.value) == str(direct.value)
    assert len(found) == len(plain) > 2
    assert all(a.equals(b) for a, b in zip(found, plain, strict=True))


def test_reading_ahead_may_be_left_early(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("".join(line(n) + "\n" for n in range(30)))
    blocks = read_ahead(read_blocks(shards(str(path), 0)[0], block_bytes=300))
    next(blocks)
    blocks.close()
    assert list(blocks) == []


# Bytes that mean nothing to JSON, in and out of what UTF-8 allows.
SIGNS = st.one_of(
    st.lists(st.sampled_from([0x61, *range(0x80, 0x100)]), max_size=8).map(bytes),
    st.text(st.characters(min_codepoint=0x80, exclude_categories=["Cs"]), max_size=4).map(str.encode),
)


@settings(max_examples=200)
@given(data=SIGNS)
@example(data=b"\xed\xa0\x80")
@example(data=b"\xc0\xaf")
@example(data=b"\xf4\x90\x80\x80")
@example(data=b"\xc3")
def test_utf8_is_what_python_calls_utf8(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_bytes(line(0, sentence="HERE").encode().replace(b"HERE", data))
        try:
            sentence = data.decode()
        except UnicodeDecodeError:
            with pytest.raises(RecordError):
                read(path)
        else:
            assert [row[COLUMNS.index("sentence")] for row in read(path)] == [sentence]
