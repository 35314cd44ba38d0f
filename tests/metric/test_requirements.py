"""What the metric asks of an environment: numpy, and what `evaluate.load` itself has loaded already."""

import ast
import subprocess
import sys
from pathlib import Path

import weighted_f1_metric

FOLDER = Path(weighted_f1_metric.__file__).parent

# Only the standard library and numpy can be imported; scipy and matplotlib where a function uses them.
NUMPY_ALONE = """
import importlib.abc, sys

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names | {"numpy", "weighted_f1_metric"}:
            raise ModuleNotFoundError(f"No module named {top!r}", name=top)

sys.meta_path.insert(0, Blocked())
sys.path.insert(0, sys.argv[1])
from weighted_f1_metric import check_desiderata, f1_family, label_statistics, score_track
print(f1_family(predictions=["a", "NA"], references=["a", "b"], negative_label="NA")["macro_f1"])
row = {"instance_id": "i", "bag_id": "b", "relation": "r", "bag_label": "yes"}
said = [{"instance_id": "i", "pred": "r", "scores": {"r": 1.0}}]
scores = score_track(track="sent2sent", references=[row], predictions=said, relations=["r"])
print(scores["magt_average_precision"])
"""


def test_the_package_needs_numpy_alone() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", NUMPY_ALONE, str(FOLDER.parent)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["0.5", "1.0"]


def third_party_imports(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names)


def test_the_evaluate_module_asks_for_numpy_beside_evaluate_itself() -> None:
    entry = FOLDER / "weighted_f1_metric.py"
    siblings = {
        FOLDER / f"{node.module}.py"
        for node in ast.parse(entry.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.level
    }
    assert third_party_imports(entry) == {"evaluate", "datasets"}
    assert set().union(*map(third_party_imports, siblings)) == {"numpy"}
