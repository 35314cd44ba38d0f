"""A metric folder -> a folder for its Space: the files as they are, and a card made from them."""

from __future__ import annotations

import ast
import os
import re
import shutil
from pathlib import Path
from typing import Any

from .cards import metric_card
from .staging import CARD, check_repo_id, folder_files

APP = "space/app.py"
# The Python that the Hub builds a Space with, unless the card says another: 3.10, which lacks what we use.
PYTHON_VERSION = "3.11"


def stage_metric(folder: str | os.PathLike[str], out: Path, *, repo_id: str) -> list[str]:
    """Copy the metric's files to `out` and write the card of its Space; return the paths that stay behind.

    Sent are the Python files of the package and its sub-packages, the Markdown that the app shows, and
    requirements.txt; whatever else lies in the folder (notes, logs, environments) is not ours to publish.

    The folder is read, never run: description and citation are the constants `_DESCRIPTION` and `_CITATION`
    of its entry script, the version is `VERSION` in signature.py, the version of Gradio the one that
    requirements.txt pins.

    Args:
        folder: the metric's folder, with `<its name>.py`, which `evaluate.load` looks for.
        out: an empty folder.
        repo_id: owner/name of the Space; the name is that of the folder.

    Raises:
        FileNotFoundError: no such folder, or a file that is read is not there.
        ValueError: another name in `repo_id`, a constant that is no text, or Gradio not pinned.
    """
    root = Path(os.path.abspath(folder))
    files = [path for path in folder_files(root) if _is_sent(root, path)]
    name = check_repo_id(repo_id).split("/")[1]
    if name != root.name:
        raise ValueError(
            f"a Space that evaluate loads has the name of the metric's folder and script: `repo_id` must end "
            f"in /{root.name}; got {repo_id!r}."
        )
    title = root.name.replace("_", " ").capitalize()
    description = " ".join(text_constant(root / f"{name}.py", "_DESCRIPTION").split())
    text = metric_card(
        metadata=space_metadata(
            title=title,
            sdk_version=pinned_version(root / "requirements.txt", "gradio"),
            app_file=APP,
            tags=["evaluate", "metric"],
            description="F1 of relation classification under five averages",
        ),
        values={
            "title": title,
            "description": description,
            "repo_id": repo_id,
            "version": text_constant(root / "signature.py", "VERSION"),
            "citation": text_constant(root / f"{name}.py", "_CITATION").strip(),
        },
    )
    for path in files:
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, out / path)
    (out / CARD).write_text(text, encoding="utf-8")
    return sorted(folder_files(root).keys() - set(files))


def _is_sent(root: Path, path: str) -> bool:
    """Whether a file is part of the metric: code of a package, a page of the app, or the requirements."""
    place = Path(path)
    packages = [folder for folder in place.parents if folder != Path()]
    if place.suffix == ".py":
        return all((root / folder / "__init__.py").is_file() for folder in packages)
    return path == "requirements.txt" or (place.suffix == ".md" and place.parent == Path(APP).parent)


def space_metadata(
    *,
    title: str,
    sdk_version: str,
    app_file: str,
    tags: list[str],
    description: str,
    login: bool = False,
) -> dict[str, Any]:
    """Return the metadata of a Gradio Space; `description` has at most 60 characters; `login` with a Hub
    account.

    >>> space_metadata(title="T", sdk_version="6.0.0", app_file="app.py", tags=[], description="d")["sdk"]
    'gradio'
    """
    return {
        "title": title,
        "emoji": "📏",
        "colorFrom": "blue",
        "colorTo": "gray",
        "sdk": "gradio",
        "sdk_version": sdk_version,
        "python_version": PYTHON_VERSION,
        "app_file": app_file,
        "pinned": False,
        "license": "apache-2.0",
        "short_description": description,
        "tags": tags,
        **({"hf_oauth": True} if login else {}),
    }


def pinned_version(requirements: Path, package: str) -> str:
    """Return the version in the line `package==version` of a requirements file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the package is not pinned there.
    """
    if not requirements.is_file():
        raise FileNotFoundError(f"{requirements} is not there; it pins what the Space runs on.")
    found = re.search(rf"^{re.escape(package)}==([\w.]+)", requirements.read_text(encoding="utf-8"), re.M)
    if found is None:
        raise ValueError(f"{requirements} does not pin {package}; add a line {package}==VERSION.")
    return found[1]


def text_constant(path: Path, name: str) -> str:
    """Return the text that a Python file assigns to `name` at its top level; the file is parsed, not run.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no Python, or assigns no text to that name.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there; a metric's folder has it.")
    try:
        statements = ast.parse(path.read_text(encoding="utf-8")).body
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: not Python: {error.msg}.") from error
    for statement in statements:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", None) == name:
            value = statement.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                return value.value
    raise ValueError(f"{path} assigns no text to {name}.")
