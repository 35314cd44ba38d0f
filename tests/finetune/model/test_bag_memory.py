"""Memory does not grow with the sentences of a bag: the benchmark's own measure, in fresh processes."""

import sys
from pathlib import Path

import pytest

from benchmarks.bags import main

TINY = ["--hidden_size=32", "--layers=1", "--heads=2", "--vocab_size=2000", "--threads=1", "--tokens=32"]


def test_a_bag_of_thousands_of_sentences(
    forked_python: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", str(forked_python))
    main([*TINY, "--tokens_per_chunk=2048", "--sizes=4000"])
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()[3:]]
    assert [(step.strip(), size.strip()) for step, size, *_ in rows] == [
        ("training", "4,000"),
        ("prediction", "4,000"),
    ]
    # A bag of 100 takes 20 MiB. Without chunks one of 4,000 takes 740 MiB in training, 250 in prediction.
    assert all(float(of_the_bag) < 100 for _, _, _, of_the_bag, _, _ in rows)
