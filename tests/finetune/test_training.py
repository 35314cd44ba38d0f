"""Whole runs, small: every file that is written, the numbers in them, and what a second run may do."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from benchmarks import training
from finetune import train
from finetune.__main__ import main
from finetune.readers import read_nyt_h, read_semeval2010
from nyt_h_dataset import write_sample
from weighted_f1_metric import f1_family, read_predictions, score_track

FLAGS = [
    "--num_train_epochs=12",
    "--learning_rate=3e-3",
    "--disable_tqdm=true",
    "--logging_strategy=no",
]
SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "data"
    write_sample(folder, size="tiny")
    return folder


def words_for(sample: Path, encoder: Path, out: Path, *more: str) -> list[str]:
    words = ["--data_dir", str(sample), "--model_name_or_path", str(encoder), "--output_dir", str(out)]
    return [*words, *FLAGS, *more]


@pytest.fixture(scope="module")
def two_seeds(sample: Path, bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "two"
    assert main(words_for(sample, bert_folder, out, "--seeds", "9", "148")) == 0
    return out


def results_of(out: Path) -> dict:
    return json.loads((out / "results.json").read_text())


def test_the_files(two_seeds: Path) -> None:
    assert sorted(path.name for path in two_seeds.iterdir()) == [
        "README.md",
        "results.json",
        "run.json",
        "seed-148",
        "seed-9",
    ]
    for seed in ("seed-9", "seed-148"):
        assert sorted(path.name for path in (two_seeds / seed).iterdir()) == [
            "config.json",
            "metrics.json",
            "model.safetensors",
            "predictions.jsonl",
            "tokenizer.json",
            "tokenizer_config.json",
        ]


def test_predictions_scored_again_give_the_same_numbers(two_seeds: Path, sample: Path) -> None:
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
        assert numbers["dsgt_micro_f1"] > 0.1, "a model that learned nothing would show nothing"
        assert {name: metrics[name] for name in numbers} == numbers
        assert {name: results["seeds"][seed]["test"][name] for name in numbers} == numbers
        assert "magt_ds_scope_auc" in numbers, "the scores over relations are used"


def test_rows_without_entities_are_there_and_negative(two_seeds: Path, sample: Path) -> None:
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


def test_mean_and_sd_over_seeds(two_seeds: Path) -> None:
    results = results_of(two_seeds)
    assert results["n"] == 2
    first, second = (results["seeds"][seed]["test"] for seed in ("9", "148"))
    for name in ("dsgt_macro_all_f1", "magt_dodrans_f1"):
        assert results["mean"][name] == pytest.approx((first[name] + second[name]) / 2)
        assert results["sd"][name] == pytest.approx(abs(first[name] - second[name]) / 2**0.5)
    assert results["mean"]["dsgt_precision_at_2000"] is results["sd"]["dsgt_precision_at_2000"] is None


def test_what_a_reader_needs_to_repeat_it(two_seeds: Path, sample: Path, bert_folder: Path) -> None:
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


def test_the_best_epoch_on_validation_is_used(two_seeds: Path) -> None:
    for entry in results_of(two_seeds)["seeds"].values():
        assert entry["training"]["num_steps"] == 84
        assert entry["training"]["num_steps_of_used_weights"] in range(7, 85, 7)
        assert "dsgt_macro_all_f1" in entry["validation"]
        assert not [name for name in entry["validation"] if name.startswith("magt")], "nobody judged it"


def test_two_seeds_differ_and_one_repeats(
    two_seeds: Path, sample: Path, bert_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "again"
    assert main(words_for(sample, bert_folder, out, "--seed", "148")) == 0
    weights = [load_file(path / "model.safetensors") for path in (two_seeds / "seed-148", out / "seed-148")]
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])
    texts = [(path / "predictions.jsonl").read_text() for path in (two_seeds / "seed-148", out / "seed-148")]
    assert texts[0] == texts[1]
    assert texts[0] != (two_seeds / "seed-9" / "predictions.jsonl").read_text()
    single = results_of(out)
    assert single["mean"] == results_of(two_seeds)["seeds"]["148"]["test"]
    assert set(single["sd"].values()) == {None}


def test_another_run_is_not_touched(
    two_seeds: Path, sample: Path, bert_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in two_seeds.rglob("*")}
    assert main(words_for(sample, bert_folder, two_seeds)) == 2
    assert "holds a finished run; give another folder, or `--overwrite`" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in two_seeds.rglob("*")} == before


def test_overwrite_leaves_nothing_of_the_other_run(
    two_seeds: Path, sample: Path, bert_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(two_seeds, out)
    assert main(words_for(sample, bert_folder, out, "--seed", "7", "--overwrite", "--max_steps", "1")) == 0
    assert sorted(path.name for path in out.glob("seed-*")) == ["seed-7"]
    assert list(results_of(out)["seeds"]) == ["7"]


def test_files_of_others_are_not_touched(
    sample: Path, bert_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert main(words_for(sample, bert_folder, tmp_path, "--overwrite")) == 2
    assert "holds files that no run of this command wrote (first: 'thesis.txt'" in capsys.readouterr().err
    assert main(words_for(sample, bert_folder, tmp_path / "thesis.txt")) == 2
    assert "is a file; give a folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_interrupted_run_leaves_no_results(
    sample: Path,
    bert_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, calls = tmp_path / "run", []

    def stopped(*_: object, **__: object) -> None:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        train.write_predictions_now(*_, **__)

    monkeypatch.setattr(train, "write_predictions_now", train.write_predictions, raising=False)
    monkeypatch.setattr(train, "write_predictions", stopped)
    words = words_for(sample, bert_folder, out, "--max_steps", "1")
    with pytest.raises(KeyboardInterrupt):
        main([*words, "--seeds", "1", "2"])
    assert (out / "seed-1" / "metrics.json").is_file()
    assert not (out / "results.json").exists()
    assert not list(out.rglob("*.part"))
    assert main([*words, "--seed", "3"]) == 2
    assert "holds an unfinished run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--select_by", "magt_macro_f1"],
            "`select_by` 'magt_macro_f1' is no measure of the validation split",
        ),
        (
            ["--select_by", "x", "--eval_strategy", "no"],
            "`--select_by` needs a validation split, and `--eval",
        ),
        (["--max_length", "65"], "`max_length` is 65, but this encoder reads at most 64"),
        (["--max_length", "5"], "`max_length` must be at least 8"),
        (
            ["--model_name_or_path", "./no_encoder"],
            "'./no_encoder' (no folder of that name is here): the encoder's",
        ),
    ],
)
def test_faults_show_before_training(
    flags: list[str],
    message: str,
    sample: Path,
    bert_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(words_for(sample, bert_folder, tmp_path / "run", *flags)) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_no_row_to_train_on(
    sample: Path, bert_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    shutil.copytree(sample, data)
    for name in ("train_nonna.json", "na_train.json"):
        lines = [json.loads(line) for line in (data / name).read_text().splitlines()]
        for line in lines:
            line["sentence"] = "Nobody is here ."
        (data / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(words_for(data, bert_folder, tmp_path / "run")) == 2
    assert (
        "none of the 220 training rows can be used: 220 without both entities found"
        in capsys.readouterr().err
    )


def test_the_final_weights_where_nothing_selects(sample: Path, bert_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert main(words_for(sample, bert_folder, out, "--eval_strategy", "no", "--max_steps", "2")) == 0
    results = results_of(out)
    assert results["selected_by"] is None
    assert results["seeds"]["42"]["training"]["num_steps_of_used_weights"] == 2
    assert "these are the final weights" in (out / "README.md").read_text()


def test_selection_by_steps(sample: Path, bert_folder: Path, tmp_path: Path) -> None:
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
    assert main(words_for(sample, bert_folder, tmp_path / "run", *more)) == 0
    results = results_of(tmp_path / "run")
    assert results["seeds"]["42"]["training"]["num_steps_of_used_weights"] in (2, 4, 5)
    assert not (tmp_path / "run" / "seed-42" / "checkpoints").exists()


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


def test_the_benchmark_runs(bert_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_semeval(tmp_path)
    training.main(["--data_dir", str(tmp_path), "--model_name_or_path", str(bert_folder), "--steps=5"])
    assert re.search(r"plain loop: +\d.*\nfinetune: +\d.*\nratio: +\d", capsys.readouterr().out)


def test_semeval(bert_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_semeval(tmp_path)
    out = tmp_path / "run"
    assert (
        main(words_for(tmp_path, bert_folder, out, "--data", "semeval2010", "--num_train_epochs", "30")) == 0
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
        main(words_for(tmp_path, bert_folder, tmp_path / "b", "--data", "semeval2010", "--select_by", "x"))
        == 2
    )
    assert "needs a validation split, and semeval2010 has none" in capsys.readouterr().err


@pytest.mark.skipif(not (SHARED / "nyt_h_shaped").is_dir(), reason="../shared/data/nyt_h_shaped is not there")
def test_real_sentences_in_nyt_h_format(bert_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert main(words_for(SHARED / "nyt_h_shaped", bert_folder, out, "--max_steps", "3")) == 0
    expected = json.loads((SHARED / "nyt_h_shaped" / "expected_scores.json").read_text())
    ours = results_of(out)["echo"]
    for prefix, measures in expected["sent2sent/echo_ds_label"]["expected"].items():
        for name, value in measures.items():
            assert ours[f"{prefix}_{name}"] == pytest.approx(value, abs=1e-9), (prefix, name)
