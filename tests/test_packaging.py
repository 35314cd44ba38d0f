"""`pip install nyt-h`: the sdist and the wheel are whole, and their commands run away from the checkout."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.folders import ROOT

pytestmark = pytest.mark.slow
PACKAGES = ("weighted_f1_metric", "nyt_h_dataset", "finetune", "hub_cards", "leaderboard")
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"


def run(*command: object, cwd: Path, **more: str) -> str:
    ran = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **more},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    return ran.stdout


@pytest.fixture(scope="module")
def sources() -> set[str]:
    """What a package must bring: every file of its folder that is not made by running."""
    return {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, sources: set[str]) -> Path:
    """The wheel that is made of the sdist, and the sdist of a copy: building writes beside the sources."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in {"pyproject.toml", "README.md", "LICENSE", *sources}:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    run(sys.executable, "-c", BUILD, "build_sdist", out, cwd=copy)
    (archive,) = out.glob("nyt_h-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(out, filter="data")
    run(sys.executable, "-c", BUILD, "build_wheel", out, cwd=out / archive.name.removesuffix(".tar.gz"))
    (built,) = out.glob("nyt_h-*.whl")
    return built


def test_the_wheel_of_the_sdist_is_whole(wheel: Path, sources: set[str]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    assert sources <= held
    assert {name.partition("/")[0] for name in held if ".dist-info" not in name} == set(PACKAGES)


def test_its_commands_run_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    target, work = tmp_path / "installed", tmp_path / "work"
    work.mkdir()
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target)
    run(*pip, wheel, cwd=work)
    here = {"PYTHONPATH": str(target)}
    where = run(sys.executable, "-c", "import nyt_h_dataset as n; print(n.__file__)", cwd=work, **here)
    assert Path(where.strip()).is_relative_to(target)
    assert "score" in run(target / "bin" / "weighted-f1", "--help", cwd=work, **here)
    run(
        target / "bin" / "nyt-h-dataset",
        "sample",
        "--out",
        work / "corpus",
        "--size",
        "tiny",
        cwd=work,
        **here,
    )
    assert (work / "corpus" / "rel2id.json").is_file()
