"""Whole runs, small: every file that is written and the numbers in them."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from benchmarks import device, training
from finetune.__main__ import main
from finetune.data.nyt_h_rows import read_nyt_h
from finetune.data.semeval import read_semeval2010
from tests.folders import SHARED
from weighted_f1_metric import f1_family, read_predictions, score_track

Words = Callable[..., list[str]]
Results = Callable[[Path], dict]


def test_the_files(two_seeds: Path) -> None:
    assert sorted(path.name for path in two_seeds.iterdir()) == [
        "README.md",
        "results.json",
        "run.json",
        "seed-148",
        "seed-9",
    ]
    for seed in ("seed-9", "seed-148"):
        assert sorted(path.name for path in (two_seeds / seed).iterdir() if path.suffix != ".py") == [
            "config.json",
            "history.json",
            "metrics.json",
            "model.safetensors",
            "predictions.jsonl",
            "tokenizer.json",
            "tokenizer_config.json",
            "training.json",
        ]


def test_predictions_scored_again_give_the_same_numbers(
    two_seeds: Path, sample: Path, results_of: Results
) -> None:
    data = read_nyt_h(str(sample))
    results = results_of(two_seeds)
    for seed in ("9", "148"):
        predictions = read_predictions(two_seeds / f"seed-{seed}" / "predictions.jsonl")
        assert [record["instance_id"] for record in predictions] == data.splits["test"].row_names
        for record in predictions:
            assert list(record["scores"]) == list(data.label_names)
            assert sum(record["scores"].values()) == pytest.approx(1, abs=1e-6)
            assert record["scores"][record["pred"]] == max(record["scores"].values())
        again = score_track(
            track="sent2sent",
            references=[json.loads(line) for line in (sample / "test.json").read_text().splitlines()],
            predictions=predictions,
            relations=[name for name in data.label_names if name != "NA"],
        )
        metrics = json.loads((two_seeds / f"seed-{seed}" / "metrics.json").read_text())
        assert metrics["signature"] == results["signature"] == again["signatures"]
        assert metrics["echo"] == again["echo"]
        assert results["echo"].items() <= again["echo"].items()
        numbers = {name: value for name, value in again.items() if isinstance(value, (int, float))}
        assert numbers["dsgt_micro_f1"] > 0, "a model that learned nothing would show nothing"
        assert {name: metrics[name] for name in numbers} == numbers
        assert {name: results["seeds"][seed]["test"][name] for name in numbers} == numbers
        assert "magt_ds_scope_auc" in numbers, "the scores over relations are used"


def test_rows_without_entities_are_there_and_negative(
    two_seeds: Path, sample: Path, results_of: Results
) -> None:
    test = read_nyt_h(str(sample)).splits["test"]
    missing = np.flatnonzero((test.spans < 0).any(axis=1))
    assert len(missing), "the sample has such rows, or this test shows nothing"
    predictions = read_predictions(two_seeds / "seed-9" / "predictions.jsonl")
    for row in missing:
        assert predictions[row]["pred"] == "NA"
        assert predictions[row]["scores"]["NA"] == 1.0
    counts = results_of(two_seeds)["data"]["splits"]
    assert counts["test"]["num_not_found"] == len(missing)
    assert counts["test"]["num_rows"] == len(predictions) == 90


def test_mean_and_sd_over_seeds(two_seeds: Path, results_of: Results) -> None:
    results = results_of(two_seeds)
    assert results["n"] == 2
    first, second = (results["seeds"][seed]["test"] for seed in ("9", "148"))
    for name in ("dsgt_macro_all_f1", "magt_dodrans_f1"):
        assert results["mean"][name] == pytest.approx((first[name] + second[name]) / 2)
        assert results["sd"][name] == pytest.approx(abs(first[name] - second[name]) / 2**0.5)
    assert results["mean"]["dsgt_precision_at_2000"] is results["sd"]["dsgt_precision_at_2000"] is None


def test_what_a_reader_needs_to_repeat_it(two_seeds: Path, sample: Path, results_of: Results) -> None:
    results = results_of(two_seeds)
    assert results["selected_by"] == "dsgt_macro_all_f1"
    assert results["arguments"]["seeds"] == [9, 148]
    assert results["arguments"]["learning_rate"] == 3e-3
    assert results["data"]["fingerprint"] == read_nyt_h(str(sample)).fingerprint
    assert results["versions"]["torch"]
    page = (two_seeds / "README.md").read_text()
    assert "| macro, all relations |" in page
    assert "mean and standard deviation of 2 seeds (9, 148)" in page
    assert results["signature"]["magt"] in page


def test_the_best_epoch_on_validation_is_used(two_seeds: Path, results_of: Results) -> None:
    for entry in results_of(two_seeds)["seeds"].values():
        assert entry["training"]["num_steps"] == 84
        assert entry["training"]["num_steps_of_used_weights"] in range(7, 85, 7)
        assert "dsgt_macro_all_f1" in entry["validation"]
        assert not [name for name in entry["validation"] if name.startswith("magt")], "nobody judged it"


def test_two_seeds_differ_and_one_repeats(
    two_seeds: Path, sample: Path, tmp_path: Path, words_for: Words, results_of: Results
) -> None:
    out = tmp_path / "again"
    assert main(words_for(sample, out, "--seed", "148")) == 0
    weights = [load_file(path / "model.safetensors") for path in (two_seeds / "seed-148", out / "seed-148")]
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])
    texts = [(path / "predictions.jsonl").read_text() for path in (two_seeds / "seed-148", out / "seed-148")]
    assert texts[0] == texts[1]
    assert texts[0] != (two_seeds / "seed-9" / "predictions.jsonl").read_text()
    single = results_of(out)
    assert single["mean"] == results_of(two_seeds)["seeds"]["148"]["test"]
    assert set(single["sd"].values()) == {None}


def test_the_final_weights_where_nothing_selects(
    sample: Path, tmp_path: Path, words_for: Words, results_of: Results
) -> None:
    out = tmp_path / "run"
    assert main(words_for(sample, out, "--eval_strategy", "no", "--max_steps", "2")) == 0
    results = results_of(out)
    assert results["selected_by"] is None
    assert results["seeds"]["42"]["training"]["num_steps_of_used_weights"] == 2
    assert "these are the final weights" in (out / "README.md").read_text()


def test_selection_by_steps(sample: Path, tmp_path: Path, words_for: Words, results_of: Results) -> None:
    more = [
        "--eval_strategy",
        "steps",
        "--eval_steps",
        "2",
        "--max_steps",
        "5",
        "--select_by",
        "dsgt_micro_f1",
    ]
    assert main(words_for(sample, tmp_path / "run", *more)) == 0
    results = results_of(tmp_path / "run")
    assert results["seeds"]["42"]["training"]["num_steps_of_used_weights"] in (2, 4, 5)
    assert not (tmp_path / "run" / "seed-42" / "checkpoints").exists()


def test_a_run_that_diverges_says_so_and_leaves_no_results(
    sample: Path, tmp_path: Path, words_for: Words, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main(words_for(sample, out, "--learning_rate", "1e30", "--num_train_epochs", "1")) == 2
    assert "training has diverged; use a smaller `--learning_rate`" in capsys.readouterr().err
    assert not (out / "results.json").exists()


SEMEVAL = [
    ("The <e1>child</e1> was bound into the <e2>cradle</e2>.", "Entity-Destination(e1,e2)"),
    ("The <e2>cradle</e2> got the <e1>child</e1>.", "Entity-Destination(e2,e1)"),
    ("A <e1>cord</e1> of the <e2>university</e2>.", "Other"),
    ("The <e1>recipe</e1> comes from <e2>Smith</e2>.", "Product-Producer(e1,e2)"),
]


def write_semeval(folder: Path) -> None:
    for name, first, count in (("TRAIN_FILE.TXT", 1, 10), ("TEST_FILE_FULL.TXT", 8001, 3)):
        records = [
            f'{first + i}\t"{text}"\n{label}\nComment:\n\n' for i, (text, label) in enumerate(SEMEVAL * count)
        ]
        (folder / name).write_text("".join(records))


def test_the_benchmark_runs(
    bert_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "TURNS", 2)
    write_semeval(tmp_path)
    training.main(["--data_dir", str(tmp_path), "--model_name_or_path", str(bert_folder), "--steps=2"])
    shown = capsys.readouterr().out
    for line in (
        r"training, finetune / plain: \d+\.\d\d \(turns ",
        r"training, finetune / plain, 128: \d+\.\d\d \(turns ",
        r"real tokens per second, finetune / bare: \d\.\d{3} \(turns ",
        r"prediction, finetune / plain: \d+\.\d\d \(turns ",
    ):
        assert re.search(line, shown), line


def test_the_benchmark_of_devices_runs_in_small(capsys: pytest.CaptureFixture[str]) -> None:
    device.main(["--small", "--seconds", "0.01", "--rows", "2"])
    lines = capsys.readouterr().out.splitlines()
    rates = [line.split("|")[5] for line in lines if " sdpa " in line or " eager " in line]
    assert len(rates) == 2 * 2 * 2 * (2 if torch.cuda.is_available() else 1)
    assert all(int(rate.replace(",", "")) > 0 for rate in rates)


def test_semeval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words_for: Words, results_of: Results
) -> None:
    write_semeval(tmp_path)
    out = tmp_path / "run"
    assert (
        main(
            words_for(
                tmp_path,
                out,
                "--data",
                "semeval2010",
                "--num_train_epochs",
                "30",
                "--validation_fraction",
                "0",
            )
        )
        == 0
    )
    results = results_of(out)
    data = read_semeval2010(str(tmp_path))
    predictions = read_predictions(out / "seed-42" / "predictions.jsonl")
    assert [record["instance_id"] for record in predictions] == data.splits["test"].row_names
    gold = [label for _, label in SEMEVAL * 3]
    predicted = [record["pred"] for record in predictions]
    family = f1_family(predictions=predicted, references=gold, negative_label="Other")
    official = f1_family(predictions=predicted, references=gold, negative_label="Other", groups=data.groups)
    assert family.pop("undefined") == []
    assert {name: results["mean"][name] for name in family} == family
    assert results["mean"]["official_macro_f1"] == official["macro_f1"] > 0.9
    assert results["selected_by"] is None
    assert results["echo"] is None
    assert "| official macro |" in capsys.readouterr().out
    assert (
        main(
            words_for(
                tmp_path,
                tmp_path / "b",
                "--data",
                "semeval2010",
                "--select_by",
                "x",
                "--validation_fraction",
                "0",
            )
        )
        == 2
    )
    assert "needs a validation split, and semeval2010 has none" in capsys.readouterr().err


@pytest.mark.skipif(not (SHARED / "nyt_h_shaped").is_dir(), reason="../shared/data/nyt_h_shaped is not there")
def test_real_sentences_in_nyt_h_format(tmp_path: Path, words_for: Words, results_of: Results) -> None:
    out = tmp_path / "run"
    assert main(words_for(SHARED / "nyt_h_shaped", out, "--max_steps", "3")) == 0
    expected = json.loads((SHARED / "nyt_h_shaped" / "expected_scores.json").read_text())
    ours = results_of(out)["echo"]
    for prefix, measures in expected["sent2sent/echo_ds_label"]["expected"].items():
        for name, value in measures.items():
            assert ours[f"{prefix}_{name}"] == pytest.approx(value, abs=1e-9), (prefix, name)
