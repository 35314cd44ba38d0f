"""The benchmark of the dataset measures what it says: whole builds of the same rows."""

import json
import sys

from benchmarks import dataset as benchmark


def test_the_rows_are_repeated_under_new_ids(tmp_path):
    folder = benchmark.write_repeated_sample(tmp_path / "rows", 4500)
    lines = (folder / "train_nonna.json").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert len({record["instance_id"] for record in records}) == len(records) == 4500
    assert records[0]["sentence"] == records[2000]["sentence"]
    assert records[0]["bag_id"] != records[2000]["bag_id"]


def test_every_system_runs(sample, monkeypatch, capsys):
    for system in benchmark.SYSTEMS:
        monkeypatch.setattr(sys, "argv", ["dataset", "--child", system, "--data_dir", str(sample)])
        assert benchmark.main() == 0
        seconds, megabytes = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert seconds > 0
        assert megabytes > 10


def test_the_table_has_the_ratios(capsys):
    found = {name: (2.0 if "build" in name else 1.0, 50.0) for name in benchmark.SYSTEMS}
    benchmark.print_comparison(found | {"plain builder": (9.0, 1.0)})
    printed = capsys.readouterr().out
    assert "plain builder / sentence build             4.50" in printed
    assert "bag build / sentence build                 1.00" in printed
