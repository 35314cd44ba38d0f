"""What a run's folder remembers of where it began."""

import json
from pathlib import Path

import torch

from finetune.report.results import versions
from finetune.training.run_identity import STARTED, claim_folder, differences_from, version_notes

ARGUMENTS = {"input": "markers", "classifier_dropout": None, "freeze_layers": 0, "seeds": [9]}


def claim(folder: Path) -> dict:
    claim_folder(folder, arguments=ARGUMENTS, fingerprint="f", num_processes=1, seeds=[9], overwrite=False)
    return json.loads((folder / STARTED).read_text())


def test_threads_and_processor_are_kept_and_others_are_told(tmp_path: Path) -> None:
    started = claim(tmp_path)
    assert started["versions"] == versions()
    assert started["versions"]["threads"] == str(torch.get_num_threads())
    assert started["versions"]["processor"] == torch.backends.cpu.get_cpu_capability()
    assert version_notes(tmp_path) == []
    started["versions"] |= {"threads": "77", "processor": "Z80"}
    (tmp_path / STARTED).write_text(json.dumps(started))
    assert claim(tmp_path)["versions"]["threads"] == "77"
    (note,) = version_notes(tmp_path)
    assert "threads 77 then" in note
    assert "processor Z80 then" in note


def test_a_run_that_began_before_a_flag_was_there_goes_on(tmp_path: Path) -> None:
    started = claim(tmp_path)
    for name in ("classifier_dropout", "freeze_layers"):
        del started["arguments"][name]
    del started["versions"]
    (tmp_path / STARTED).write_text(json.dumps(started))
    assert claim(tmp_path)
    assert version_notes(tmp_path) == []
    (told,) = differences_from(tmp_path, arguments=ARGUMENTS | {"freeze_layers": 2}, fingerprint="f")
    assert "freeze_layers" in told
