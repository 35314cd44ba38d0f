"""Batches of many shapes in 16 bits do not fill the memory with kernels."""

import subprocess
from pathlib import Path

import pytest

from finetune.trainer_arguments import computes_bf16
from tests.folders import ROOT

GROWTH = """
import sys
if sys.argv[1] == "limited":
    from finetune.training.processes import limit_caches
    limit_caches()
import torch
from benchmarks.memory import peak_mebibytes

def run(shapes):
    for rows in shapes:
        with torch.autocast("cpu", torch.bfloat16):
            layer(torch.ones(rows, 180)).sum().backward()
    return peak_mebibytes()

torch.set_num_threads(1)
layer = torch.nn.Linear(180, 230)
run([600])
before = run(range(1, 200))
print(run(range(200, 600)) - before)
"""


def grown(python: Path, how: str) -> float:
    """MiB that 400 new shapes add to 200, in a process of its own."""
    words = [str(python), "-c", GROWTH, how]
    return float(subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not computes_bf16(use_cpu=True), reason="torch uses oneDNN with 16-bit units only")
def test_shapes_do_not_stay_in_memory(forked_python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        monkeypatch.delenv(name, raising=False)
    assert grown(forked_python, "limited") < 0.3 * grown(forked_python, "unlimited")
