"""The shape of the code, read from its imports: who may use whom, how long a file is, how it is called."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("weighted_f1_metric", "nyt_h_dataset", "finetune", "hub_cards", "leaderboard")
# The arrows of the design. What is not listed here is forbidden.
ALLOWED = {
    "weighted_f1_metric": set(),
    "hub_cards": set(),
    "nyt_h_dataset": {"hub_cards"},
    "finetune": {"weighted_f1_metric", "nyt_h_dataset", "hub_cards"},
    "leaderboard": {"weighted_f1_metric", "hub_cards"},
}
FILES = sorted(path for part in PARTS for path in (ROOT / part).rglob("*.py"))
MAX_LINES = 300


def imported_modules(path: Path) -> set[str]:
    """Return the dotted names that a file imports, relative ones spelt out."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
            found.add(".".join((*parents, *filter(None, [node.module]))))
    return found


def public_names(part: str) -> set[str]:
    """Return what a package lists in `__all__`."""
    for node in ast.parse((ROOT / part / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def test_there_are_files_to_check():
    assert {path.relative_to(ROOT).parts[0] for path in FILES} >= {
        "weighted_f1_metric",
        "nyt_h_dataset",
        "finetune",
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_uses_only_the_parts_it_may_use(path):
    part = path.relative_to(ROOT).parts[0]
    used = {name.split(".")[0] for name in imported_modules(path)} & set(PARTS) - {part}
    assert used <= ALLOWED[part], f"{path.name} imports {sorted(used - ALLOWED[part])}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_reaches_other_parts_through_their_public_names(path):
    part = path.relative_to(ROOT).parts[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            deep = [
                a.name for a in node.names if a.name.split(".")[0] in set(PARTS) - {part} and "." in a.name
            ]
            assert not deep, f"{path.name} imports {deep}; use `from <part> import <public name>`"
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            other = node.module.split(".")[0]
            if other in PARTS and other != part:
                assert "." not in node.module, f"{path.name} reaches into {node.module}"
                private = {alias.name for alias in node.names} - public_names(other)
                assert not private, (
                    f"{path.name} uses {sorted(private)}, which {other} does not list in __all__"
                )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_is_short_and_named_by_a_noun_of_its_own(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES
    libraries = {
        "datasets",
        "evaluate",
        "transformers",
        "torch",
        "numpy",
        "scipy",
        "pyarrow",
        "json",
        "statistics",
    }
    assert path.stem not in libraries | {"utils", "helpers", "common", "misc"}


def test_the_metric_and_the_commands_import_nothing_heavy():
    """Numbers need numpy alone, help texts no torch. A fresh process: nothing is loaded yet."""
    for module, heavy in {
        "weighted_f1_metric": ("evaluate", "datasets", "scipy", "pyarrow", "torch", "matplotlib"),
        "weighted_f1_metric.__main__": ("evaluate", "datasets", "torch", "matplotlib"),
        "finetune": ("torch", "transformers", "datasets"),
        "finetune.experiments": ("torch", "transformers", "datasets", "numpy"),
    }.items():
        code = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
        shown = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
        )
        assert shown.stdout.strip() == "[]", module


@pytest.mark.parametrize(
    "module",
    [
        *("weighted_f1_metric", "nyt_h_dataset", "finetune", "finetune.experiments", "finetune.push"),
        *("hub_cards", "leaderboard"),
    ],
)
def test_help_of_each_command(module):
    shown = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, cwd=ROOT)
    assert shown.returncode == 0, shown.stderr
    assert "usage:" in shown.stdout
