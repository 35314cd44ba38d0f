"""The command `stats`: label files of every kind, the table, and every error."""

import argparse
import gzip
import json

import pytest

from tests.folders import SHARED
from weighted_f1_metric import label_statistics
from weighted_f1_metric.commands.label_files import read_label_file
from weighted_f1_metric.commands.stats import add_stats_parser

KEY = SHARED / "semeval2010" / "TEST_KEY_DIRECTED.txt"


def stats(*words):
    parser = argparse.ArgumentParser()
    add_stats_parser(parser.add_subparsers())
    arguments = parser.parse_args(["stats", *map(str, words)])
    return arguments.run(arguments)


@pytest.mark.skipif(not KEY.is_file(), reason="the shared data folder is not beside the repository")
def test_semeval_rows_of_the_papers_table(capsys):
    assert stats(KEY, "--negative", "Other") == 0
    assert "| 19 | 2717 | 16.7 | 14.45 | 14.37 | 291.00 |" in capsys.readouterr().out
    stats(KEY, "--negative", "Other", "--undirected")
    assert "| 10 | 2717 | 16.7 | 9.61 | 8.80 | 2.10 |" in capsys.readouterr().out


RECORDS = [{"relation": "a", "x": 1}, {"relation": "b"}, {"relation": "NA"}]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(json.dumps, RECORDS)),
        "\ufeff" + "\r\n".join(map(json.dumps, RECORDS)) + "\r\n",
        json.dumps(RECORDS, indent=1),
        json.dumps(["a", "b", "NA"]),
        "a\nb\nNA\n",
        "\ufeff8001\ta\r\n8002\tb\r\n8003\tNA\r\n",
    ],
)
def test_every_kind_of_file_gives_the_labels(tmp_path, text):
    file = tmp_path / "labels"
    file.write_bytes(text.encode())
    assert read_label_file(file) == ["a", "b", "NA"]


def test_only_line_feeds_end_a_line(tmp_path):
    records = [{"relation": label, "sentence": "one\u2028two\x85three"} for label in ("a", "b")]
    file = tmp_path / "labels"
    file.write_text("\n".join(json.dumps(record, ensure_ascii=False) for record in records), encoding="utf-8")
    assert read_label_file(file) == ["a", "b"]


def test_a_file_without_the_negative_label_is_said(tmp_path, capsys):
    (tmp_path / "train").write_text("a\na\nb\nNA\n")
    (tmp_path / "test").write_text("a\nb\n")
    stats(tmp_path / "train", tmp_path / "test", "--negative", "NA", "--json", tmp_path / "out.json")
    shown = capsys.readouterr().out
    assert f"{tmp_path / 'test'}: no row has the negative label 'NA'." in shown
    assert f"{tmp_path / 'train'}: no row" not in shown
    written = json.loads((tmp_path / "out.json").read_text())
    assert written[str(tmp_path / "train")]["negative_fraction"] == 0.25
    assert written[str(tmp_path / "test")]["negative_fraction"] == 0.0
    with pytest.raises(ValueError, match="No row has the negative label 'Na'; labels are 'NA', 'a', 'b'"):
        stats(tmp_path / "train", tmp_path / "test", "--negative", "Na")


def test_directions_are_joined(tmp_path, capsys):
    (tmp_path / "key").write_text("R(e1,e2)\nR(e2,e1)\nS(e1,e2)\n")
    stats(tmp_path / "key", "--undirected")
    assert "| 2 | 3 | 0.0 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ('{"relation": "a"}\n{"relation": \n', ValueError, r"labels, line 2: not valid JSON"),
        (
            '{"relation": "a"}\n{"label": "b"}\n',
            ValueError,
            r"labels, line 2: .* no 'relation'; it has 'label'",
        ),
        ('{"relation": 3}', ValueError, r"labels, line 1: a label must be a text; got 3"),
        ('["a", {"text": "a"}]', ValueError, r"labels, entry 2: .* it has 'text'"),
        ('["a", ', ValueError, r"labels, line 1: not valid JSON"),
        ("[]", ValueError, "holds no label"),
        (" \n", ValueError, "holds no label"),
    ],
)
def test_broken_files_are_named_with_the_line(tmp_path, text, error, match):
    (tmp_path / "labels").write_text(text)
    with pytest.raises(error, match=match):
        stats(tmp_path / "labels")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere"):
        stats(tmp_path / "nowhere")


def test_another_key_can_be_named(tmp_path, capsys):
    (tmp_path / "labels").write_text('{"label": "a"}\n')
    stats(tmp_path / "labels", "--key", "label")
    assert "| 1 | 1 | 0.0 | 1.00 |" in capsys.readouterr().out


AS_LABELS = ["a", "b(e1,e2)", "NA"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels.txt", b"a\nb(e1,e2)\nNA"),
        ("directed.txt", b"a(e1,e2)\nb(e1,e2)\nNA(e2,e1)\n"),
        ("labels.tsv", b"id\trelation\ttext\n1\ta\tx\n2\tb(e1,e2)\ty\n3\tNA\tz\n"),
        ("quoted.tsv", b'"id"\t"Label"\n"1"\t"a"\n"2"\t"b(e1,e2)"\n"3"\t"NA"\n'),
        ("no_header.tsv", b"1\ta\n2\tb(e1,e2)\n3\tNA\n"),
        ("labels.csv", b'relation,id\na,1\n"b(e1,e2)",2\nNA,3\n'),
        ("one_column.csv", b"relation\na\nb(e1,e2)\nNA\n"),
        ("no_header.csv", b'1,a\n2,"b(e1,e2)"\n3,NA\n'),
        ("semicolons.csv", b"id;gold\r\n1;a\r\n2;b(e1,e2)\r\n3;NA\r\n"),
        ("strings.jsonl", b'"a"\n"b(e1,e2)"\n"NA"\n'),
        ("records.jsonl", b'{"label": "a"}\n{"label": "b(e1,e2)"}\n{"label": "NA"}\n'),
        ("predictions.jsonl", b'{"instance_id": "0", "pred": "a"}\n{"pred": "b(e1,e2)"}\n{"pred": "NA"}\n'),
        ("array.json", b'["a",\n "b(e1,e2)", "NA"]'),
    ],
)
@pytest.mark.parametrize("how", ["as it is", "gz", "utf-8-sig", "utf-16", "crlf"])
def test_one_reader_for_every_kind_and_coding(tmp_path, name, content, how):
    text = content.decode()
    if how == "crlf":
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    content = text.encode(how if how.startswith("utf") else "utf-8")
    file = tmp_path / (name + ".gz" * (how == "gz"))
    file.write_bytes(gzip.compress(content) if how == "gz" else content)
    expected = ["a(e1,e2)", "b(e1,e2)", "NA(e2,e1)"] if name == "directed.txt" else AS_LABELS
    assert read_label_file(file) == expected


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("a\n\nb\n", "line 2"),
        ("a\nb\n\n", "line 3"),
        ("1\ta\n \t \n2\tb\n", "line 2"),
        ('"a"\n\n"b"\n', "line 2"),
        ("id,label\n1,a\n\n2,b\n", "line 3"),
        ("1\ta\n2\t\n", "line 2"),
        ('{"label": "a"}\n{"label": " "}\n', "line 2"),
        ("# made by hand\na\nb\n", "line 1"),
        ("a\n# made by hand\nb\n", "line 2"),
        ("1\ta\n# made by hand\n2\tb\n", "line 2"),
        ("1\ta\tx\n2\tb\n", "line 2"),
        ("id,label\n1,a\n2,b,c\n", "line 3"),
        ("id\tcategory\n1\ta\n2\tb\n", "category"),
        ("relation\tlabel\na\tb\n", "'relation', 'label'"),
        ('1\t"<e1>x</e1> and <e2>y</e2>."\n2\t"<e1>x</e1> and <e2>y</e2>."\n', "line 1"),
        ("a\0\nb\n", "line 1"),
    ],
)
def test_lines_that_are_no_rows_are_never_dropped(tmp_path, content, place):
    (tmp_path / "labels").write_text(content)
    with pytest.raises(ValueError, match=place):
        read_label_file(tmp_path / "labels")


def test_labels_that_look_like_something_else_are_kept(tmp_path):
    file = tmp_path / "tags"
    file.write_text('#\n"\nlabel\n``\nlabel\n,\n#NA\n')
    assert read_label_file(file) == ["#", '"', "label", "``", "label", ",", "#NA"]


@pytest.mark.parametrize(("content", "named"), [(b"a\n\xe9\n", "line 2"), (b"a\0\n\0b\0", "line 1")])
def test_bytes_in_another_coding_are_named(tmp_path, content, named):
    (tmp_path / "labels").write_bytes(content)
    with pytest.raises(ValueError, match=f"labels, {named}"):
        read_label_file(tmp_path / "labels")


def test_cut_gzip_is_named(tmp_path):
    (tmp_path / "labels.gz").write_bytes(gzip.compress(b"a\nb\n" * 100)[:-9])
    with pytest.raises(ValueError, match=r"labels\.gz"):
        read_label_file(tmp_path / "labels.gz")


def test_a_column_is_named(tmp_path):
    (tmp_path / "labels.tsv").write_text("id\tmine\tyours\n1\ta\tb\n")
    assert read_label_file(tmp_path / "labels.tsv", key="yours") == ["b"]
    with pytest.raises(ValueError, match="'ours'"):
        read_label_file(tmp_path / "labels.tsv", key="ours")


@pytest.mark.skipif(not KEY.is_file(), reason="the shared data folder is not beside the repository")
@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("TRAIN_FILE.TXT", "| 19 | 8000 | 17.6 |"),
        ("TEST_FILE_FULL.TXT", "| 19 | 2717 | 16.7 | 14.45 | 14.37 | 291.00 |"),
    ],
)
def test_semeval_files_with_sentences(name, row, capsys):
    stats(KEY.with_name(name), "--negative", "Other")
    assert row in capsys.readouterr().out


def test_files_together_are_one_row(tmp_path):
    for name, labels in {"train.txt": ["a", "a", "NA"], "test.txt": ["b", "NA"]}.items():
        (tmp_path / name).write_text("\n".join(labels) + "\n")
    files = [str(tmp_path / name) for name in ("train.txt", "test.txt")]
    out = tmp_path / "out.json"
    assert stats(*files, "--together", "--negative", "NA", "--json", out) == 0
    (found,) = json.loads(out.read_text()).values()
    assert found == label_statistics(labels=["a", "a", "NA", "b", "NA"], negative_label="NA")
