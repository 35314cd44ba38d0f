"""The shape of the code, read from its imports: arrows, circles, private names, full folders."""

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
# Within finetune, from the top down: a folder, or a file beside them, uses only what stands below it.
FLOORS = (
    {"__main__"},
    {"demo", "experiments"},
    {"command_line", "predict", "label_words"},
    {"push"},
    {"training"},
    {"report", "encoders"},
    {"data"},
    {"arguments", "settings_files"},
    {"trainer_arguments", "model"},
)
FILES = sorted(path for part in PARTS for path in (ROOT / part).rglob("*.py"))
MODULES = {
    module_name: path
    for path in FILES
    for module_name in [".".join(path.relative_to(ROOT).with_suffix("").parts)]
}
MAX_FILES = 22


def imports(path: Path) -> set[tuple[str, str]]:
    """Return (module, name) of all that a file imports, relative modules spelt out; a module has no name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
            module = ".".join((*parents, *filter(None, [node.module])))
            found |= {(module, alias.name) for alias in node.names}
    return found


def imported_modules(path: Path) -> set[str]:
    """Return the dotted names of the modules that a file imports; ours as the file that is reached."""
    found = set()
    for module, name in imports(path):
        inner = f"{module}.{name}"
        found.add(
            inner if inner in MODULES else f"{module}.__init__" if f"{module}.__init__" in MODULES else module
        )
    return found


ARROWS = {name: imported_modules(path) & set(MODULES) - {name} for name, path in MODULES.items()}


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of nodes that reach each other."""
    reach = {name: set(targets) for name, targets in arrows.items()}
    for middle in reach:
        for targets in reach.values():
            if middle in targets:
                targets |= reach[middle]
    return sorted(
        {
            tuple(sorted(o for o in reach[name] if name in reach.get(o, ())))
            for name in reach
            if name in reach[name]
        }
    )


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


def room(module: str) -> str:
    """Return the folder of finetune, or the file beside the folders, in which a module stands."""
    return module.split(".")[1]


def test_no_import_runs_in_a_circle():
    # A package's face imports what it hands on, and what it holds may name the package: no circle of files.
    assert (
        circles(
            {name: {t for t in targets if not t.endswith("__init__")} for name, targets in ARROWS.items()}
        )
        == []
    )


def test_within_finetune_every_import_runs_down():
    floor = {name: number for number, names in enumerate(reversed(FLOORS), start=1) for name in names}
    inside = {
        name: {t for t in targets if t.startswith("finetune.")}
        for name, targets in ARROWS.items()
        if name.startswith("finetune.")
    }
    rooms = {room(name) for name in inside} - {"__init__"}
    assert rooms == set(floor), "a new room gets its floor in FLOORS"
    up = [
        f"{name} -> {target}"
        for name, targets in inside.items()
        for target in targets
        if room(name) not in ("__init__", room(target))
        and room(target) != "__init__"
        and floor[room(target)] >= floor[room(name)]
    ]
    assert up == []


def test_no_file_reaches_for_a_private_name_of_another():
    reached = [
        f"{path.relative_to(ROOT)}: {module}.{name}"
        for path in FILES
        for module, name in imports(path)
        if module.split(".")[0] in PARTS
        and (name or module.split(".")[-1]).startswith("_")
        and not name.startswith("__")
    ]
    assert reached == []


def test_no_folder_fills_up():
    counts: dict[str, int] = {}
    for path in FILES:
        folder = str(path.parent.relative_to(ROOT))
        counts[folder] = counts.get(folder, 0) + (path.name != "__init__.py")
    assert {folder: count for folder, count in counts.items() if count > MAX_FILES} == {}


def test_errors_derive_from_the_base_of_their_package_and_from_a_kind_of_python():
    """And end in Error; those that never leave their file are nobody's to catch."""
    bases = {
        "finetune": "FinetuneError",
        "nyt_h_dataset": "NytHError",
        "hub_cards": "HubCardsError",
        "weighted_f1_metric/space": "SpaceError",
    }
    found: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                parents = [ast.unparse(parent) for parent in node.bases]
                if any(parent.endswith(("Error", "Exception")) for parent in parents):
                    found[f"{path.relative_to(ROOT).as_posix()}: {node.name}"] = parents
    for place, parents in found.items():
        base = next(base for part, base in bases.items() if place.startswith(f"{part}/"))
        assert place.endswith("Error")
        if place.endswith(f": {base}"):
            assert parents == ["Exception"], place
        else:
            assert parents[0] == base, place
            assert parents[-1] in ("ValueError", "OSError"), place
    assert len(found) == 12


def test_the_checks_see_what_they_look_for():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [("a", "b", "c")]
    assert ("nyt_h_dataset.sample.sample", "write_sample") in imports(ROOT / "nyt_h_dataset/__init__.py")
    assert "weighted_f1_metric.counts" in ARROWS["weighted_f1_metric.family"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_is_named_by_a_noun_of_its_own(path):
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
        "finetune.experiments.__main__": ("torch", "transformers", "datasets", "numpy"),
    }.items():
        code = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
        shown = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
        )
        assert shown.stdout.strip() == "[]", module


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        *(
            "weighted_f1_metric",
            "nyt_h_dataset",
            "finetune",
            "finetune.experiments.__main__",
            "finetune.push",
        ),
        *("hub_cards", "leaderboard"),
    ],
)
def test_help_of_each_command(module):
    shown = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, cwd=ROOT)
    assert shown.returncode == 0, shown.stderr
    assert "usage:" in shown.stdout
