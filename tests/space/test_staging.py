"""The leaderboard's Space as a folder and on the Hub; both Spaces run on the tested Gradio."""

import re
import subprocess
import sys

import pytest

from hub_cards import front_matter, stage_metric
from leaderboard.__main__ import main
from leaderboard.staging import stage_leaderboard
from tests.folders import ROOT

NEEDED = {"README.md", "requirements.txt", "leaderboard/app.py", "weighted_f1_metric/__init__.py"}


def run(*arguments, environment):
    command = [sys.executable, "-m", "leaderboard", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)


def test_a_push_is_one_commit_of_the_staged_folder(hub, tmp_path):
    environment = hub.environment(tmp_path)
    shown = run("push", "--repo_id", "tester/board", "--dry_run", environment=environment)
    assert shown.returncode == 0, shown.stderr
    assert "leaderboard/app.py" in shown.stdout
    assert "app_file: leaderboard/app.py" in shown.stdout
    assert {line.split()[0] for line in hub.requests} == {"GET"}
    assert ("spaces", "tester/board") not in hub.state.repositories
    done = run("push", "--repo_id", "tester/board", environment=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Pushed ")
    assert environment["HF_TOKEN"] not in done.stdout + done.stderr
    files = hub.files("spaces", "tester/board")
    assert files.keys() >= NEEDED
    assert not [path for path in files if "__pycache__" in path or path.endswith("staging.py")]


def test_the_staged_folder_is_whole_or_not_there(tmp_path, capsys):
    assert main(["stage", "--out", str(tmp_path / "space")]) == 0
    files = {path.relative_to(tmp_path / "space").as_posix() for path in (tmp_path / "space").rglob("*")}
    assert files >= NEEDED
    card = front_matter((tmp_path / "space" / "README.md").read_text())
    assert (card["sdk"], card["app_file"]) == ("gradio", "leaderboard/app.py")
    assert main(["stage", "--out", str(tmp_path / "space")]) == 2
    assert "is not empty" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["weighted_f1_metric", "leaderboard"])
def test_a_space_runs_on_the_tested_gradio(part):
    pins = [
        re.search(r"^gradio==(.+)$", path.read_text(), re.M).group(1)
        for path in (ROOT / "constraints.txt", ROOT / part / "requirements.txt")
    ]
    assert pins[0] == pins[1]


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """Skips the test when no registry of packages answers."""
    command = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "packaging"]
    asked = pip(*command, "--dest", str(tmp_path_factory.mktemp("wheel")))
    if asked.returncode:
        pytest.skip(f"no registry of packages answers: {asked.stderr.strip().splitlines()[-1]}")


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.registry
@pytest.mark.parametrize("part", ["weighted_f1_metric", "leaderboard"])
def test_the_requirements_resolve_for_the_python_of_the_card(part, registry, tmp_path):
    """As the Hub builds it: the Python of the card, its Gradio with login, then requirements.txt."""
    folder = tmp_path / "space"
    folder.mkdir()
    if part == "leaderboard":
        stage_leaderboard(folder)
    else:
        stage_metric(ROOT / part, folder, repo_id=f"tester/{part}")
    card = front_matter((folder / "README.md").read_text())
    found = pip(
        "install", "--dry-run", "--ignore-installed", "--only-binary=:all:", "--target", str(tmp_path / "to"),
        "--python-version", card["python_version"], f"gradio[oauth]=={card['sdk_version']}",
        "-r", str(folder / "requirements.txt"),
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert f"gradio-{card['sdk_version']}" in found.stdout
