"""The builder file as loading script of datasets < 4, and the command line."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nyt_h_dataset
from nyt_h_dataset.__main__ import main

PACKAGE = Path(nyt_h_dataset.__file__).parent


def siblings(name):
    """The siblings that a file of the package imports."""
    tree = ast.parse((PACKAGE / f"{name}.py").read_text())
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    assert all(node.level == 1 and node.module and node.col_offset == 0 for node in nodes), name
    return {node.module for node in nodes}


def test_the_script_imports_every_sibling_that_its_siblings_need():
    """The script loader copies what the script imports and nothing else."""
    reached, todo = set(), siblings("nyt_h_dataset")
    while todo:
        name = todo.pop()
        reached.add(name)
        todo |= siblings(name) - reached
    assert reached == siblings("nyt_h_dataset")
    assert not reached & {"loading", "sample", "__main__"}


def test_no_comment_stands_on_an_import_of_the_script():
    lines = (PACKAGE / "nyt_h_dataset.py").read_text().splitlines()
    assert not [line for line in lines if line.startswith("from .") and "#" in line]


def test_the_script_has_one_builder_and_no_absolute_import_of_itself():
    text = (PACKAGE / "nyt_h_dataset.py").read_text()
    assert text.count("Builder):") == 1
    assert "from nyt_h_dataset" not in text
    assert "import nyt_h_dataset" not in text


def test_importing_the_package_loads_no_heavy_library():
    heavy = "('torch', 'transformers', 'evaluate')"
    code = f"import sys, nyt_h_dataset; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert run.stdout.strip() == "[]"


def test_the_command_writes_a_sample(tmp_path, capsys):
    assert main(["sample", "--out", str(tmp_path / "x"), "--size", "tiny", "--seed", "2"]) == 0
    printed = capsys.readouterr().out
    assert "test.json                  90 rows" in printed
    assert "Synthetic corpus written to" in printed
    assert nyt_h_dataset.load_nyt_h(tmp_path / "x", split="test", streaming=True)


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("x")
    assert main(["sample", "--out", str(tmp_path)]) == 2
    assert "is not empty and not a sample written before" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["sample", "--help"]])
def test_help(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 0
    assert "sample" in capsys.readouterr().out


def test_without_a_command_the_usage_is_printed(capsys):
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    assert "COMMAND" in capsys.readouterr().err
