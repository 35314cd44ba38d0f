"""The command `stats`: label files of every kind, the table, and every error."""

import argparse
import json

import pytest

from tests.folders import SHARED
from weighted_f1_metric.commands.prediction_files import read_label_file
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
        "\ufeff" + "\r\n".join(map(json.dumps, RECORDS)) + "\r\n\r\n",
        json.dumps(RECORDS, indent=1),
        json.dumps(["a", "b", "NA"]),
        "a\nb\nNA\n",
        "\ufeff8001\ta\r\n8002\tb\r\n\r\n8003\tNA\r\n",
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
            '{"relation": "a"}\n\n{"label": "b"}\n',
            ValueError,
            r"labels, line 3: .* no 'relation'; it has 'label'",
        ),
        ('{"relation": 3}', ValueError, r"labels, line 1: a label must be a text; got 3"),
        ('["a", {"label": "a"}]', ValueError, r"labels, entry 2: the record has no 'relation'"),
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
    with pytest.raises(FileNotFoundError, match=r"No label file .*nowhere"):
        stats(tmp_path / "nowhere")


def test_another_key_can_be_named(tmp_path, capsys):
    (tmp_path / "labels").write_text('{"label": "a"}\n')
    stats(tmp_path / "labels", "--key", "label")
    assert "| 1 | 1 | 0.0 | 1.00 |" in capsys.readouterr().out
