"""`python -m nyt_h_dataset push`: what arrives, and that strangers load the same rows from it."""

import hashlib
import json

import pytest
import yaml
from huggingface_hub import DatasetCard

from hub_cards.upload import MANIFEST
from nyt_h_dataset import load_nyt_h, write_sample
from nyt_h_dataset.__main__ import main
from tests.hub_clients import LOAD_DATASET, run_client, run_command
from tests.hub_server import READER, TOKEN

REPO = "tester/nyt-h"
SPLITS = ("train", "validation", "test", "na")


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    root = tmp_path_factory.mktemp("nyt-h")
    write_sample(root / "data", size="tiny")
    flags = {"data_dir": root / "data", "cache_dir": root / "cache", "repo_id": REPO}
    return ["push", *(str(word) for name, value in flags.items() for word in (f"--{name}", value))]


def rows_digest(rows):
    text = "".join(sorted(json.dumps(row, sort_keys=True) for row in rows))  # the export mixes NA rows in
    return hashlib.sha256(text.encode()).hexdigest()


def test_pushed_and_loaded_back(hub, words, tmp_path):
    environment = hub.environment(tmp_path / "home")
    done = run_command("nyt_h_dataset", *words, environment=environment)
    assert done.returncode == 0, done.stderr
    assert f"Pushed 11 files to {hub.url}/datasets/{REPO} (private), commit " in done.stdout
    assert TOKEN not in done.stdout + done.stderr

    files = hub.files("datasets", REPO)
    parquet = {f"{c}/{s}-00000-of-00001.parquet" for c in ("sentence", "bag") for s in SPLITS}
    pictures = {"figures/bag_sizes.png", "figures/label_distribution.png"}
    assert set(files) == {".gitattributes", MANIFEST, "README.md", *parquet, *pictures}
    assert not any(TOKEN.encode() in content for content in files.values())
    assert len(hub.history("datasets", REPO)) == 2
    assert f'load_dataset("{REPO}", "bag")' in files["README.md"].decode()

    configs = ["sentence", "bag"]
    asked = {"repo_id": REPO, "configs": configs}
    found = run_client(LOAD_DATASET, asked, environment=environment, folder=tmp_path)
    expected = {}
    for config in configs:
        for split, rows in load_nyt_h(words[2], config, cache_dir=words[4]).items():
            expected |= {f"{config}/{split}/{way}": rows_digest(rows) for way in ("loaded", "streamed")}
    assert found == expected
    assert len(set(found.values())) == 8

    done = run_command("nyt_h_dataset", *words, "--no_figures", environment=environment)
    assert "2 files of an earlier push deleted" in done.stdout
    assert set(hub.files("datasets", REPO)) == set(files) - pictures


def test_the_same_data_give_the_same_bytes(words, tmp_path, capsys):
    """So a repeated push finds nothing to do."""
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        assert main([*words, "--dry_run", "--out", str(folder)]) == 0
    one, two = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in folders
    )
    assert one == two
    assert len(one) == 11


def test_a_dry_run_shows_files_and_card_and_asks_nobody(words, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert main([*words, "--no_figures", "--dry_run", "--out", str(tmp_path / "kept")]) == 0
    shown = capsys.readouterr().out
    assert "To the dataset tester/nyt-h (private), in one commit: 9 files, " in shown
    assert "bag/test-00000-of-00001.parquet" in shown
    card = (tmp_path / "kept" / "README.md").read_text()
    assert shown.endswith(card + "\n")
    assert DatasetCard(card).data.license == "apache-2.0"


def test_a_refusal_is_one_line(hub, words, tmp_path):
    environment = hub.environment(tmp_path / "home", READER)
    done = run_command("nyt_h_dataset", *words, "--no_figures", environment=environment)
    assert done.returncode == 2
    said = [line for line in done.stderr.splitlines() if line.startswith("nyt-h-dataset: ")]
    assert len(said) == 1
    assert "this account may not write there" in said[0]
    assert "Traceback" not in done.stderr


def test_an_id_that_is_none_is_refused_before_any_work(words, capsys):
    assert main([*words[:-1], "nyt-h"]) == 2
    assert "`repo_id` must be OWNER/NAME" in capsys.readouterr().err


def test_a_benchmark_has_its_tasks_in_configs_and_splits_that_exist(hub, words, tmp_path):
    done = run_command("nyt_h_dataset", *words, "--benchmark", environment=hub.environment(tmp_path))
    assert done.returncode == 0, done.stderr
    files = hub.files("datasets", REPO)
    benchmark = yaml.safe_load(files["eval.yaml"])
    assert list(benchmark) == ["name", "description", "evaluation_framework", "tasks"]
    configs = DatasetCard(files["README.md"].decode()).data.configs
    splits = {one["config_name"]: {file["split"] for file in one["data_files"]} for one in configs}
    assert len({task["id"] for task in benchmark["tasks"]}) == len(benchmark["tasks"]) == 9
    assert all(task["split"] in splits[task["config"]] for task in benchmark["tasks"])
    assert {len(task) for task in benchmark["tasks"]} == {3}
    assert "huggingface.js" in done.stdout
