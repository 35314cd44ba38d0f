"""README and docs as a stranger reads them: every command of every page, in one shell, in order.

The shell starts in a folder that holds what a clone holds and nothing else. Its `python` is a fork of a
process that has imported the libraries (see forked_commands). What else is replaced stands in REPLACED, with
the reason. The Python sessions (`>>>`) of the pages are doctests of their own.
"""

import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

import pytest

from nyt_h_dataset import write_sample
from tests.folders import ROOT
from tests.forked_commands import forked_python
from tests.hub_server import HubServer

PAGES = (
    "README.md",
    *(
        "docs/load.md",
        "docs/score.md",
        "docs/labels.md",
        "docs/compare.md",
        "docs/unjudged.md",
        "docs/fine-tune.md",
    ),
    *("docs/own-corpus.md", "docs/publish.md", "docs/systems-and-results.md"),
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
DEMO = """python -c "
from finetune import demo
demo.TRAINING = {'max_steps': '2'}
raise SystemExit(demo.demo_main(['--output_dir', 'demo-output']))" """
# Pattern -> what runs in its place; each must be on some page.
REPLACED = {
    # Making a venv takes minutes and needs an index of packages; the demo itself runs, two steps of it.
    r"^make demo": DEMO,
    r"^make test": "make --dry-run test",
    r"^pip install.*": "true",
    # The authors' server, and the counts of the published data, which a sample has not.
    r"download --out nyt-h": r"download --out nyt-h --quiet --url $ARCHIVE",
    r"verify --data_dir nyt-h": r"verify --data_dir nyt-h || [ $? = 1 ]",
    # Training: the same flags, two steps instead of epochs, one seed instead of three, no pictures; the
    # demo's encoder instead of one of the Hub. An experiment is many of these, and has tests of its own.
    r"--num_train_epochs \d+": "--max_steps 2 --no_figures",
    r"bert-base-uncased": "demo-output/encoder --max_steps 2",
    r"--seeds 9 148 378": "--seeds 9",
    # Systems with several finished runs on the bags, which have tests of their own.
    r"weighted_f1_metric rank (.*)": r"weighted_f1_metric rank \1 --help",
    r"finetune.experiments (.*) --num_workers 2": r"finetune.experiments \1 --help",
    # The Hub on loopback takes a token from the environment and knows one user.
    r"hf auth login": "hf auth whoami",
    r"\buser/": "tester/",
    # Servers run until they are stopped; tests/space drives them.
    r"python -m ([\w.]+\.app)$": r"""python -c 'import importlib.util as i; assert i.find_spec("\1")'""",
}


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str


def blocks() -> list[Block]:
    """Return the fenced blocks of all pages, in the order in which README lists the pages."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 2
            found.append(Block(page, line, match[1], match[2]))
    return found


def replaced(text: str) -> str:
    for pattern, instead in REPLACED.items():
        text = re.sub(pattern, lambda match, instead=instead: match.expand(instead), text, flags=re.MULTILINE)
    return text


def shell_script(python: Path) -> str:
    """Return all blocks that are no doctests as one script; a Python block is a program of its own."""
    parts = ["set -euo pipefail", f'python() {{ "{python}" "$@"; }}']
    for block in blocks():
        if block.language not in ("sh", "python") or ">>>" in block.text:
            continue
        text = (
            block.text if block.language == "sh" else f"python - <<'END_OF_BLOCK'\n{block.text}END_OF_BLOCK\n"
        )
        parts += [f"echo '@@ {block.page}, line {block.line}'", replaced(text)]
    return "\n".join(parts)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the tracked files and folders, as links, so that nothing is written beside them."""
    folder = tmp_path / "nyt-h-clone"
    folder.mkdir()
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in sorted({line.split("/")[0] for line in tracked.splitlines()}):
        (folder / name).symlink_to(ROOT / name)
    return folder


def publish_archive(hub: HubServer, folder: Path) -> str:
    """Put a sample, packed as the authors pack theirs, on the Hub; return its address."""
    data = write_sample(folder / "data").path
    with tarfile.open(folder / "nyt-h.tar.bz2", "w:bz2") as tar:
        tar.add(data, "data")
    hub.api().create_repo("tester/archive", repo_type="dataset")
    hub.api().upload_file(
        path_or_fileobj=folder / "nyt-h.tar.bz2",
        path_in_repo="nyt-h.tar.bz2",
        repo_id="tester/archive",
        repo_type="dataset",
    )
    return f"{hub.url}/datasets/tester/archive/resolve/main/nyt-h.tar.bz2"


@pytest.mark.slow
def test_every_command_of_every_page_in_one_shell(hub: HubServer, clone: Path, tmp_path: Path) -> None:
    environment = hub.environment(tmp_path / "home") | {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "ARCHIVE": publish_archive(hub, tmp_path / "published"),
        "NO_PROXY": "127.0.0.1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with forked_python(tmp_path, environment) as python:
        done = subprocess.run(
            ["bash", "-c", shell_script(python)],
            cwd=clone,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
    place = done.stdout.rpartition("@@ ")[2].splitlines()[:1]
    assert done.returncode == 0, f"{place}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert {path.name for path in (clone / "runs").iterdir()} >= {"first", "pcnn", "bert", "bags", "own-pcnn"}
    assert len((clone / "predictions.jsonl").read_text().splitlines()) == 2
    assert {"dsgt_macro_f1", "magt_macro_f1"} <= set((clone / "scores.json").read_text().split('"'))
    for kind, name in (("datasets", "nyt-h"), ("spaces", "weighted_f1_metric"), ("models", "relations")):
        assert "README.md" in hub.files(kind, f"tester/{name}")


def test_what_is_replaced_is_on_some_page() -> None:
    text = "\n".join(block.text for block in blocks() if block.language in ("sh", "python"))
    assert [pattern for pattern in REPLACED if not re.search(pattern, text, flags=re.MULTILINE)] == []


def test_readme_lists_the_pages_in_this_order() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [link for link in LINK.findall(text) if link.startswith("docs/")] == [*PAGES[1:]]
    assert sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")) == sorted(PAGES[1:])


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = LINK.findall(text)
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


def test_extras_that_the_pages_install_are_there() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.findall(r"\.\[([\w,]+)\]", "\n".join(block.text for block in blocks()))
    assert named
    assert {extra for names in named for extra in names.split(",")} <= set(extras)
