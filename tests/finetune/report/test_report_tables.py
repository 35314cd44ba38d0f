"""What a run reports beside its scores: reference lines, seen pairs, false alarms, figures."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from finetune.__main__ import main
from finetune.data.nyt_h_rows import read_nyt_h
from finetune.report.report_tables import compared_table, report_sections
from weighted_f1_metric import read_predictions, score_track

Words = Callable[..., list[str]]
Results = Callable[[Path], dict]
SHORT = ["--num_train_epochs", "2"]


@pytest.fixture(scope="module")
def reported(sample: Path, words_for: Words, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two seeds with all that can be reported."""
    out = tmp_path_factory.mktemp("reported") / "run"
    more = ["--seeds", "1", "2", "--reference_lines", "--evaluate_na", "15", "--figures", "true", *SHORT]
    assert main([word for word in words_for(sample, out) if word != "--figures=false"] + more) == 0
    return out


def test_seen_and_unseen_pairs_add_up(reported: Path, results_of: Results) -> None:
    results = results_of(reported)
    parts = results["seen_pairs"]
    assert list(parts) == ["seen", "unseen"]
    assert sum(part["num_units"] for part in parts.values()) == results["mean"]["num_units"] == 90
    for part in parts.values():
        if part["num_units"]:
            for prefix in ("dsgt", "magt", "magt_ds_scope"):
                assert f"{prefix}_dodrans_f1" in part["mean"]
                assert f"{prefix}_auc" in part["sd"]


def test_false_alarms_are_those_of_the_predictions(reported: Path, sample: Path, results_of: Results) -> None:
    results = results_of(reported)
    alarms = results["false_alarms"]
    shares = []
    for seed in ("1", "2"):
        records = read_predictions(reported / f"seed-{seed}" / "na_predictions.jsonl")
        assert len(records) == results["data"]["splits"]["na"]["num_rows"] == 15
        shares.append(sum(record["pred"] != "NA" for record in records) / 15)
        assert results["seeds"][seed]["false_alarms"]["share"] == shares[-1]
        trained = {
            json.loads(line)["instance_id"] for line in (sample / "na_train.json").read_text().splitlines()
        }
        assert not trained & {record["instance_id"] for record in records}
    assert alarms["share"] == pytest.approx(sum(shares) / 2)
    assert alarms["num_units"] == 15
    assert sum(alarms["relations"].values()) == pytest.approx(alarms["share"])


def test_reference_lines(reported: Path, sample: Path, results_of: Results) -> None:
    results = results_of(reported)
    lines = results["reference_lines"]
    assert list(lines) == ["majority", "type_pair", "entities_masked", "entities_only"]
    data = read_nyt_h(str(sample))
    train = [data.label_names[label] for label in data.splits["train"].labels]
    most = max(data.label_names[1:], key=train.count)
    expected = score_track(
        track="sent2sent",
        references=data.splits["test"].references,
        predictions=[{"instance_id": name, "pred": most} for name in data.splits["test"].row_names],
        relations=data.label_names[1:],
    )
    assert lines["majority"]["mean"]["magt_micro_f1"] == expected["magt_micro_f1"] > 0
    for name in ("entities-masked", "entities-only"):
        own = results_of(reported / f"reference-{name}")
        assert own["n"] == 2
        assert own["signature"] == results["signature"], "comparable"
        assert own["data"]["fingerprint"] != results["data"]["fingerprint"]
        assert lines[name.replace("-", "_")]["mean"] == own["mean"]
        assert own["data"]["notes"][-1].endswith(name.replace("-", "_"))
        assert (reported / f"reference-{name}" / "seed-2" / "model.safetensors").exists()


def test_figures_and_the_page(reported: Path, results_of: Results) -> None:
    results = results_of(reported)
    files = sorted(path.name for path in (reported / "figures").iterdir())
    assert files == sorted(results["figures"])
    assert set(files) >= {"averages.png", "pr_curves.png", "relation_coverage.png", "f1_by_support_magt.png"}
    assert all((reported / "figures" / name).read_bytes().startswith(b"\x89PNG") for name in files)
    page = (reported / "README.md").read_text()
    for title in ("Reference lines", "Entity pairs seen and unseen in training", "False alarms", "Pictures"):
        assert f"\n## {title}\n" in page
    for name in files:
        assert f"](figures/{name})" in page
    assert "| F1 in percent | this model | majority relation | entity-type pair | entities masked |" in page
    assert "Of 15 units of the negative relation that training has not, " in page


def test_lines_can_be_added_to_a_finished_run(
    sample: Path, tmp_path: Path, words_for: Words, results_of: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    words = words_for(sample, tmp_path / "run", "--seed", "1", "--max_steps", "2")
    assert main(words) == 0
    before = results_of(tmp_path / "run")
    assert "reference_lines" not in before
    assert main([*words, "--reference_lines"]) == 0
    after = results_of(tmp_path / "run")
    assert after["mean"] == before["mean"]
    assert set(after["reference_lines"]) == {"majority", "type_pair", "entities_masked", "entities_only"}
    assert "seed 1: finished before" in capsys.readouterr().out
    assert main([*words, "--overwrite"]) == 0
    assert not (tmp_path / "run" / "reference-entities-only").exists()


def test_without_matplotlib_the_run_goes_on(
    sample: Path,
    tmp_path: Path,
    words_for: Words,
    results_of: Results,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    words = [
        word for word in words_for(sample, tmp_path / "run", "--max_steps", "2") if "figures" not in word
    ]
    assert main(words) == 0
    assert (
        'no figures: Figures need matplotlib; install it with pip install "nyt-h[plots]".'
        in capsys.readouterr().out
    )
    assert results_of(tmp_path / "run")["figures"] == []
    assert not (tmp_path / "run" / "figures").exists()


def test_evaluate_na_asks_for_what_is_there(
    sample: Path, tmp_path: Path, words_for: Words, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words_for(sample, tmp_path / "run", "--evaluate_na", "1000")) == 2
    assert "`--evaluate_na` asks for 1000 rows; the `na` split has " in capsys.readouterr().err
    assert main(words_for(sample, tmp_path / "run", "--evaluate_na", "-1")) == 2
    assert "`--evaluate_na` must be 0 or more rows; got -1" in capsys.readouterr().err
    assert main(words_for(sample, tmp_path / "run", "--data", "tacred", "--evaluate_na", "5")) == 2
    assert "`--evaluate_na` needs an `na` split, and tacred has none" in capsys.readouterr().err


def test_tables_of_data_without_types_and_truths() -> None:
    scores = {"mean": {"micro_f1": 0.5, "official_macro_f1": 0.25, "num_units": 3}, "sd": {"micro_f1": 0.125}}
    table = compared_table({"x": scores, "y": {"mean": {"micro_f1": None}, "sd": {}}})
    assert table.splitlines()[2:] == ["| micro | 50.00 ± 12.50 | - |", "| official macro | 25.00 | - |"]
    lines = {"majority": scores, "type_pair": None, "entities_masked": scores, "entities_only": scores}
    ((_, section),) = report_sections(
        {**scores, "reference_lines": lines, "seen_pairs": None, "false_alarms": None}
    )
    assert "These data have no entity types." in section
    assert "entity-type pair" not in section
