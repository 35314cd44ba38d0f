"""`export`: the folder loads anywhere with the rows of `load_nyt_h`, and its card says what is in it."""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard

from nyt_h_dataset import build_corpus, convert_corpus, load_nyt_h, published, write_sample
from nyt_h_dataset.__main__ import main
from nyt_h_dataset.card.export import export_nyt_h
from nyt_h_dataset.card.verification import Check
from tests.folders import ROOT

CONFIGS = ("sentence", "bag")
SPLITS = ("train", "validation", "test", "na")
OLD_PYTHON = ROOT / ".venv-old" / "bin" / "python"
# Runs where our packages are blocked; prints a hash of the rows of each config and split, both roads.
LOAD_BACK = """
import sys
for name in ("nyt_h_dataset", "hub_cards", "weighted_f1_metric", "finetune"):
    sys.modules[name] = None
import hashlib, json, datasets
folder, cache = sys.argv[1:]
text = lambda rows: "".join(sorted(json.dumps(row, sort_keys=True) for row in rows))
digest = lambda rows: hashlib.sha256(text(rows).encode()).hexdigest()
found = {}
for config in ("sentence", "bag"):
    for streaming in (False, True):
        data = datasets.load_dataset(folder, config, streaming=streaming, cache_dir=cache)
        for split in data:
            found[f"{config}/{split}/{streaming}"] = digest(data[split])
print(json.dumps(found))
"""


def digest(rows):
    """Whatever the order of the rows: those of train are mixed."""
    text = "".join(sorted(json.dumps(row, sort_keys=True) for row in rows))
    return hashlib.sha256(text.encode()).hexdigest()


def table(card, title):
    """The first table of a section, as a mapping of first cell to the other cells."""
    lines = card.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0].splitlines()
    rows = [line[2:-2].split(" | ") for line in lines if line.startswith("|")]
    return {row[0].strip("`"): row[1:] for row in rows[2:]}, rows[0]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_sample(tmp_path_factory.mktemp("source") / "tiny", size="tiny").path


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return tmp_path_factory.mktemp("built")


@pytest.fixture(scope="module")
def exported(source, built, tmp_path_factory):
    return export_nyt_h(source, tmp_path_factory.mktemp("export") / "nyt-h", cache_dir=built)


@pytest.fixture(scope="module")
def card(exported):
    return (exported.path / "README.md").read_text(encoding="utf-8")


def test_the_folder_holds_parquet_pictures_and_the_card_and_no_code(exported):
    names = sorted(
        str(path.relative_to(exported.path)) for path in exported.path.rglob("*") if path.is_file()
    )
    parquet = [f"{config}/{split}-00000-of-00001.parquet" for config in CONFIGS for split in SPLITS]
    assert names == sorted(["README.md", "figures/bag_sizes.png", "figures/label_distribution.png", *parquet])
    assert exported.num_bytes == sum((exported.path / name).stat().st_size for name in parquet)


@pytest.mark.parametrize("interpreter", ["this", "old"])
def test_it_loads_back_where_our_packages_are_blocked_streaming_too(
    exported, source, built, tmp_path, interpreter
):
    """`old` is the second venv with datasets 3.6, which `make test-old-datasets` makes."""
    python = sys.executable if interpreter == "this" else OLD_PYTHON
    if not Path(python).is_file():
        pytest.skip("the second venv with datasets 3.6 is not here (make test-old-datasets)")
    words = [str(python), "-I", "-c", LOAD_BACK, str(exported.path), str(tmp_path / "cache")]
    shown = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=True)
    found = json.loads(shown.stdout.splitlines()[-1])
    expected = {}
    for config in CONFIGS:
        for split, rows in load_nyt_h(source, config, cache_dir=built).items():
            expected[f"{config}/{split}/False"] = expected[f"{config}/{split}/True"] = digest(rows)
    assert found == expected
    assert len(set(found.values())) == 8


def test_features_are_the_same_classlabels_included(exported, source, built, tmp_path):
    for config in CONFIGS:
        data = datasets.load_dataset(str(exported.path), config, cache_dir=str(tmp_path))
        assert data["test"].features == load_nyt_h(source, config, split="test", cache_dir=built).features


def test_the_parquet_files_carry_no_metadata_of_one_version(exported):
    """DESIGN part 4: what datasets >= 4 embeds, older readers do not know."""
    for path in exported.path.rglob("*.parquet"):
        assert set(pq.read_metadata(path).metadata) == {b"ARROW:schema"}
        assert pq.read_schema(path).metadata is None
        assert pq.read_metadata(path).row_group(0).column(0).compression == "ZSTD"


def test_the_metadata_names_configs_features_sizes_task_language_and_licence(exported, source, built, card):
    data = DatasetCard(card).data.to_dict()
    assert data["task_categories"] == ["text-classification"]
    assert data["language"] == ["en"]
    assert data["size_categories"] == ["n<1K"]
    assert [config["config_name"] for config in data["configs"]] == ["sentence", "bag"]
    for info in data["dataset_info"]:
        config = info["config_name"]
        assert {s["name"]: s["num_examples"] for s in info["splits"]} == exported.num_rows[config]
        files = list((exported.path / config).glob("*.parquet"))
        assert info["download_size"] == sum(path.stat().st_size for path in files)
        assert info["dataset_size"] == sum(split["num_bytes"] for split in info["splits"]) > 0
    assert exported.num_rows["sentence"]["test"] == 90


@pytest.fixture
def nyt_h(folder, monkeypatch):
    """The folder, with one of its records as the one that the authors' README prints."""
    record = folder.records["dev.json"][0]
    example = {key: record[key] for key in ("instance_id", "bag_id", "relation")}
    for entity in ("head", "tail"):
        word = record[entity]["word"].lower()
        example |= {f"{entity}_guid": record[entity]["guid"], f"{entity}_word": word}
    monkeypatch.setattr(published, "EXAMPLE", example)
    return folder


def test_synthetic_data_are_called_so_and_real_data_are_newswire(card, nyt_h, cache, tmp_path):
    assert "> **Synthetic data.**" in card
    assert DatasetCard(card).data.license == "apache-2.0"
    assert "synthetic" in DatasetCard(card).data.tags
    assert "zhu-etal" not in card
    export_nyt_h(nyt_h.path, tmp_path / "out", cache_dir=cache, figures=False)
    real = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "ynthetic" not in real
    assert DatasetCard(real).data.license == "other"
    assert "newswire of the New York Times" in real
    assert "Linguistic Data Consortium" in real
    assert "@inproceedings{zhu-etal-2020-towards-accurate" in real


def test_a_corpus_of_ones_own_is_called_what_it_says_of_itself(folder, cache, tmp_path):
    """Neither NYT-H's title, licence, citation nor its human answers."""
    rows = [record | {"head": record["head"]["word"], "tail": record["tail"]["word"]} for record in (
        *folder.records["train_nonna.json"], *folder.records["na_rest.json"],
    )]  # fmt: skip
    sources = dict.fromkeys(("train", "validation", "test"), tmp_path / "a.jsonl")
    for row_id in rows:
        del row_id["instance_id"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    own = convert_corpus(tmp_path / "own", **sources, name="Bonn-RE", licence="cc-by-4.0").path
    text = (export_nyt_h(own, tmp_path / "x", cache_dir=cache, figures=False).path / "README.md").read_text()
    assert DatasetCard(text).data.pretty_name == "Bonn-RE"
    assert DatasetCard(text).data.to_dict()["license_name"] == "cc-by-4.0"
    for said in ("cc-by-4.0", "converted from a corpus", "given with the corpus", "judged by: nobody"):
        assert said in text
    plain = export_nyt_h(folder.path, tmp_path / "y", cache_dir=cache, figures=False).path / "README.md"
    for card in (text, plain.read_text()):
        for untrue in ("New York Times", "Linguistic", "zhu-etal", "judged by humans", "# NYT-H\n", "by row"):
            assert untrue not in card
    assert "do not say under which licence" in plain.read_text()


def test_data_made_of_the_sample_stay_synthetic(source, cache, tmp_path):
    built = build_corpus(source, tmp_path / "built", min_train=5, cache_dir=cache).path
    out = export_nyt_h(built, tmp_path / "out", cache_dir=cache, figures=False)
    assert out.is_synthetic
    assert "> **Synthetic data.**" in (out.path / "README.md").read_text()


def test_a_copy_that_is_not_the_published_one_says_so(card, nyt_h, cache, tmp_path, monkeypatch):
    """USER_REPORTS 11 and 12: what is called NYT-H has its numbers, or the card says that it has not."""
    assert "published facts" not in card, "synthetic data are announced as such"
    out = export_nyt_h(nyt_h.path, tmp_path / "a", cache_dir=cache, figures=False).path
    text = (out / "README.md").read_text(encoding="utf-8")
    assert "**These are not the published data of NYT-H**: 14 of 19 published facts differ" in text
    assert "relations, NA among them 3 (published: 22), train_nonna and na_train rows 3" in text
    monkeypatch.setattr(
        "nyt_h_dataset.card.export.published_checks",
        lambda *_, na: [Check("rows", 3, 3)] if na == "all" else [],
    )
    out = export_nyt_h(nyt_h.path, tmp_path / "b", cache_dir=cache, figures=False, na="all").path
    text = (out / "README.md").read_text(encoding="utf-8")
    assert "The 1 published facts about NYT-H hold for these data." in text
    assert "not the published" not in text


def test_an_archive_of_synthetic_data_is_called_synthetic_too(source, built, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "default")
    with tarfile.open(tmp_path / "nyt-h.tar.bz2", "w:bz2") as tar:
        tar.add(source, "data")
    out = export_nyt_h(tmp_path / "nyt-h.tar.bz2", tmp_path / "out", cache_dir=built, figures=False).path
    assert "> **Synthetic data.**" in (out / "README.md").read_text(encoding="utf-8")
    assert not (tmp_path / "default").exists(), "unpacked once, in the cache that was named"


def test_unknown_relations_are_treated_as_asked(folder, cache, tmp_path):
    folder.records["dev.json"][0]["relation"] = "/new/one"
    folder.write()
    with pytest.raises(ValueError, match=r"'/new/one' is not in rel2id\.json"):
        export_nyt_h(folder.path, tmp_path / "out", cache_dir=cache, figures=False)
    assert not (tmp_path / "out").exists()
    out = export_nyt_h(
        folder.path, tmp_path / "out", cache_dir=cache, figures=False, unknown_relation="na"
    ).path
    rows = datasets.load_dataset(str(out), "sentence", split="validation", cache_dir=str(tmp_path / "again"))
    assert rows["relation"][:] == [0]


def test_the_tables_are_plain_counts_of_the_raw_files(card, source):
    def read(name):
        return [json.loads(line) for line in (source / name).read_text(encoding="utf-8").splitlines()]

    train, dev, test = read("train_nonna.json") + read("na_train.json"), read("dev.json"), read("test.json")
    relations, header = table(card, "Relations")
    assert header == ["relation", "train", "validation", "test", "test, yes", "yes-share in test"]
    assert len(relations) == 22
    for name, cells in relations.items():
        rows = [[r for r in part if r["relation"] == name] for part in (train, dev, test)]
        yes = sum(r["bag_label"] == "yes" for r in rows[2])
        share = f"{100 * yes / len(rows[2]):.1f}%" if rows[2] else ""
        assert cells == [*(f"{len(part):,}" for part in rows), f"{yes:,}", share]
    bags, _ = table(card, "Bags")
    assert bags["test"][0] == str(len({r["bag_id"] for r in test}))
    assert sum(map(int, bags["test"][1:])) == int(bags["test"][0])
    mentions, _ = table(card, "Where the entities are")
    assert sum(int(cell) for cell in mentions["train"]) == len(train)


def test_perplexities_are_those_of_the_metric(card, source):
    """The dataset computes them without the metric; both must say the same ([B] Table 1)."""
    from weighted_f1_metric import label_statistics

    rows = [
        json.loads(line) for name in ("train_nonna.json", "na_train.json") for line in (source / name).open()
    ]
    expected = label_statistics(labels=[row["relation"] for row in rows], negative_label="NA")
    cells, _ = table(card, "Label distributions")
    assert cells["train"] == [
        str(expected["num_relations"]),
        str(expected["num_samples"]),
        f"{100 * expected['negative_fraction']:.1f}%",
        f"{expected['perplexity']:.2f}",
        f"{expected['perplexity_without_negative']:.2f}",
        f"{expected['imbalance_ratio']:.2f}",
    ]


def test_nothing_private_is_in_any_file(exported, source, built):
    for path in exported.path.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            for private in (source, built, exported.path):
                assert str(private).encode() not in content, path.name
                assert private.parent.name.encode() not in content, path.name


def test_pictures_are_pictures_and_the_card_shows_them(exported, card):
    for name in ("label_distribution", "bag_sizes"):
        content = (exported.path / "figures" / f"{name}.png").read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) > 10_000
        assert f"](figures/{name}.png)" in card


def test_without_matplotlib_the_remedy_is_named_and_nothing_is_written(source, built, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "nyt-h\[plots\]", or leave them out'):
        export_nyt_h(source, tmp_path / "out", cache_dir=built)
    assert list(tmp_path.iterdir()) == []
    out = export_nyt_h(source, tmp_path / "out", cache_dir=built, figures=False).path
    assert not (out / "figures").exists()
    assert "![" not in (out / "README.md").read_text(encoding="utf-8")


def test_options_reach_the_rows_and_the_card(source, built, tmp_path):
    options = {"na": "none", "bag_key": "triple", "mention_policy": "closest"}
    out = export_nyt_h(source, tmp_path / "out", cache_dir=built, figures=False, **options).path
    for config in CONFIGS:
        data = datasets.load_dataset(str(out), config, cache_dir=str(tmp_path / "cache"))
        expected = load_nyt_h(source, config, cache_dir=built, **options)
        assert {name: digest(rows) for name, rows in data.items()} == {
            name: digest(rows) for name, rows in expected.items()
        }
    text = (out / "README.md").read_text(encoding="utf-8")
    for said in (
        "a row per (entity pair, relation)",
        "`train` has no NA rows",
        "the `closest` pair was taken",
    ):
        assert said in text


def test_a_folder_that_is_not_empty_is_refused_an_earlier_export_is_replaced(source, built, tmp_path):
    out = tmp_path / "out"
    export_nyt_h(source, out, cache_dir=built, figures=False)
    with pytest.raises(ValueError, match=r"is not empty \(it holds README.md, bag, sentence\)"):
        export_nyt_h(source, out, cache_dir=built, figures=False)
    export_nyt_h(source, out, cache_dir=built, figures=False, na="none", overwrite=True)
    assert "`train` has no NA rows" in (out / "README.md").read_text(encoding="utf-8")
    (out / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match=r"holds what was not written here: thesis\.tex"):
        export_nyt_h(source, out, cache_dir=built, figures=False, overwrite=True)
    assert (out / "thesis.tex").read_text() == "mine"


def test_a_failure_leaves_the_earlier_export_as_it_was(source, built, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError("No space left on device")

    out = export_nyt_h(source, tmp_path / "out", cache_dir=built, figures=False).path
    before = (out / "README.md").read_bytes()
    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", fail)
    with pytest.raises(OSError, match="No space left"):
        export_nyt_h(source, out, cache_dir=built, na="all", overwrite=True)
    assert (out / "README.md").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_markup_in_relation_names_stays_text(folder, cache, tmp_path):
    evil = [
        "NA",
        "a|b",
        "`x` **y**",
        "<script>alert(1)</script>",
        "$\\frac$",
        "{{ 1 }}",
        "yes",
        "1: [x](y)\n---\nz",
    ]
    folder.relations = {name: index for index, name in enumerate(evil)}
    for records in folder.records.values():
        for number, record in enumerate(records):
            record["relation"] = "NA" if record["relation"] == "NA" else evil[1 + number]
    test = folder.records["test.json"][0]
    folder.records["test.json"] = [
        test | {"instance_id": f"T#{n}", "relation": r} for n, r in enumerate(evil[1:])
    ]
    out = export_nyt_h(folder.write().path, tmp_path / "out", cache_dir=cache).path
    text = (out / "README.md").read_text(encoding="utf-8")
    assert DatasetCard(text).data.to_dict()["dataset_info"][1]["features"][2]["dtype"]["class_label"][
        "names"
    ] == {str(index): name for index, name in enumerate(evil)}
    body = text.split("---\n", 2)[2]
    rows = [
        line for line in body.split("## Relations")[1].split("##")[0].splitlines() if line.startswith("|")
    ]
    assert len(rows) == 2 + len(evil)
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}
    assert "`<script>alert(1)</script>`" in body
    assert "`` `x` **y** ``" in body
    loaded = datasets.load_dataset(str(out), "sentence", split="test", cache_dir=str(tmp_path / "again"))
    assert loaded.features["relation"].names == evil
    assert loaded["relation"][:] == list(range(1, len(evil)))


def test_the_command_writes_and_says_what(source, built, tmp_path, capsys):
    words = ["export", "--data_dir", str(source), "--out", str(tmp_path / "out"), "--cache_dir", str(built)]
    assert main([*words, "--no_figures", "--na", "none", "--bag_key", "triple"]) == 0
    printed = capsys.readouterr().out
    assert "sentence   train 160, validation 40, test 90, na 100" in printed
    assert f'load_dataset("{tmp_path / "out"}", "bag")' in printed
    assert main([*words, "--no_figures"]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert main([*words, "--no_figures", "--overwrite"]) == 0
