"""`python -m hub_cards push-metric`: the Space that arrives, and what strangers get from `evaluate.load`."""

import re
import shutil
from pathlib import Path

import pytest
from huggingface_hub import SpaceCard  # the Hub's own reader

import weighted_f1_metric
from hub_cards.__main__ import main
from hub_cards.upload import MANIFEST
from tests.hub_clients import LOAD_METRIC, RUN_BLOCKS, run_client, run_command
from tests.hub_server import TOKEN
from weighted_f1_metric import f1_family, parse_signature, score_track

FOLDER = Path(weighted_f1_metric.__file__).parent
REPO = "tester/weighted_f1_metric"
ROWS = [
    {"instance_id": "i0", "bag_id": "b0", "relation": "a", "bag_label": "yes"},
    {"instance_id": "i1", "bag_id": "b1", "relation": "a", "bag_label": "no"},
    {"instance_id": "i2", "bag_id": "b1", "relation": "b", "bag_label": "yes"},
]
FAMILY = {"predictions": ["a", "NA", "b"], "references": ["a", "b", "b"], "negative_label": "NA"}
SENTENCES = [{"instance_id": row["instance_id"], "pred": "a"} for row in ROWS]
BAGS = [{"bag_id": "b0", "pred": "a", "scores": {"a": 0.9, "b": 0.1}}]
BAGS += [{"bag_id": "b1", "pred": ["a", "b"], "scores": {"a": 0.7, "b": 0.6}}]
COMMON = {"references": ROWS, "relations": ["a", "b"]}
COMPUTATIONS = {
    "default": FAMILY,
    "sent2sent": {"predictions": SENTENCES, **COMMON},
    "bag2sent": {"predictions": SENTENCES, **COMMON},
    "bag2bag": {"predictions": BAGS, **COMMON},
}


@pytest.fixture
def folder(tmp_path):
    """A copy of the metric, so that nothing is written beside it."""
    place = tmp_path / FOLDER.name
    shutil.copytree(FOLDER, place)
    return place


def test_pushed_and_loaded_back(hub, folder, tmp_path):
    environment = hub.environment(tmp_path / "home")
    words = ("push-metric", "--folder", str(folder), "--repo_id", REPO)
    (folder / "__pycache__").mkdir(exist_ok=True)
    (folder / "__pycache__" / "left.pyc").write_bytes(b"left")
    foreign = ("credentials.json", "run.log", "venv/lib/x.py", "venv/pyvenv.cfg", "notes.md", "figures/a.png")
    for name in foreign:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("only mine")
    done = run_command("hub_cards", *words, environment=environment)
    assert done.returncode == 0, done.stderr
    assert TOKEN not in done.stdout + done.stderr

    files = hub.files("spaces", REPO)
    here = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    sent = {
        name: path.read_bytes()
        for name, path in here.items()
        if "__pycache__" not in name and name not in foreign
    }
    assert files.items() >= sent.items()
    assert set(files) - set(sent) == {"README.md", ".gitattributes", MANIFEST}
    assert not [name for name, content in files.items() if b"only mine" in content]
    assert f"({len(foreign)} in all)" in done.stdout
    assert len(hub.history("spaces", REPO)) == 2
    info = hub.api().space_info(REPO)
    assert (info.private, info.sdk, info.tags) == (True, "gradio", ["evaluate", "metric"])
    card = SpaceCard(files["README.md"].decode())
    assert card.data.app_file in files
    assert f"gradio=={card.data.sdk_version}" in files["requirements.txt"].decode().split()

    blocks = re.findall(r"```python\n(.*?)```", card.content, re.DOTALL)
    assert len(blocks) == 2
    asked = {"repo_id": REPO, "computations": COMPUTATIONS, "blocks": blocks}
    found, shown = run_client(LOAD_METRIC + RUN_BLOCKS, asked, environment=environment, folder=tmp_path)
    tracks = {track: given for track, given in COMPUTATIONS.items() if track != "default"}
    expected = {track: score_track(track=track, **given) for track, given in tracks.items()}
    assert parse_signature(found["default"].pop("signature"))
    assert found == {"default": f1_family(**FAMILY), **expected}

    promised = re.findall(r"^print\(.*\)  # (.*)$", "\n".join(blocks), re.MULTILINE)
    assert shown[:2] == promised[:2] == ["0.5 0.333", "1.0 0.667"]
    assert "|track:bag2bag|truth:magt|" in shown[2]


def test_a_dry_run_asks_nobody(folder, capsys, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert main(["push-metric", "--folder", str(folder), "--repo_id", REPO, "--public", "--dry_run"]) == 0
    shown = capsys.readouterr().out
    assert f"To the Space {REPO} (public), in one commit" in shown
    assert "  weighted_f1_metric.py\n" in shown
    assert "# Weighted f1 metric\n" in shown


def test_a_link_in_the_folder_is_refused(folder, tmp_path, capsys):
    (tmp_path / "secret").write_text("token")
    (folder / "more.py").symlink_to(tmp_path / "secret")
    assert "more.py" in refused(folder, capsys)


def refused(folder, capsys, repo_id=REPO):
    assert main(["push-metric", "--folder", str(folder), "--repo_id", repo_id, "--dry_run"]) == 2
    return capsys.readouterr().err


def test_folders_that_are_no_metric(folder, tmp_path, capsys):
    assert "there is no folder" in refused(tmp_path / "none", capsys)
    assert "`repo_id` must end in /weighted_f1_metric; got 'tester/f1'" in refused(
        folder, capsys, "tester/f1"
    )
    (folder / "requirements.txt").write_text("gradio>=6\n")
    assert "does not pin gradio; add a line gradio==VERSION" in refused(folder, capsys)
    (folder / "requirements.txt").unlink()
    assert "it pins what the Space runs on" in refused(folder, capsys)
    script = folder / "weighted_f1_metric.py"
    script.write_text("_DESCRIPTION = 1 + 1\n")
    assert "assigns no text to _DESCRIPTION" in refused(folder, capsys)
    script.write_text("def :\n")
    assert "line 1: not Python: " in refused(folder, capsys)
    script.unlink()
    assert "weighted_f1_metric.py is not there; a metric's folder has it" in refused(folder, capsys)


def test_the_folder_is_read_and_not_run(folder, tmp_path, capsys):
    script = folder / "weighted_f1_metric.py"
    script.write_text(f"{script.read_text()}\nopen({str(tmp_path / 'ran')!r}, 'w')\n")
    assert main(["push-metric", "--folder", str(folder), "--repo_id", REPO, "--dry_run"]) == 0
    assert not (tmp_path / "ran").exists()
