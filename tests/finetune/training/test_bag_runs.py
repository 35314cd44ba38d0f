"""Runs on the bag tracks, small: what is learned, what is written, and the numbers in it."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from finetune import RelationClassifierConfig
from finetune.__main__ import main
from finetune.arguments import DataArguments, ModelArguments, RunArguments, Settings
from finetune.command_line import parse_arguments
from finetune.data.bag_units import BagBatches
from finetune.model.bag_pooling import POOLINGS, score_activation
from finetune.model.batching import RowBatches
from finetune.model.prediction_records import scores_of
from finetune.trainer_arguments import RelationTrainingArguments
from finetune.training.messages import plan_lines
from finetune.training.preparation import Prepared, prepare
from finetune.training.train import (
    build_trainer,
    chosen_threshold,
    metric_of_trainer,
    run_seed,
    split_records,
    split_scores,
)
from nyt_h_dataset import write_sample
from weighted_f1_metric import read_predictions, read_relations, score_track

Words = Callable[..., list[str]]
Results = Callable[[Path], dict]


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("small") / "data", size="small").path


def majority_f1(data: Path) -> float:
    """DSGT micro F1 of answering every test bag with the most frequent relation of training."""
    relations = Counter(record["relation"] for record in read_lines(data / "train_nonna.json"))
    answer = relations.most_common(1)[0][0]
    references = read_lines(data / "test.json")
    bags = dict.fromkeys(record["bag_id"] for record in references)
    scores = score_track(
        track="bag2bag",
        references=references,
        predictions=[{"bag_id": bag, "pred": answer} for bag in bags],
        relations=read_relations(data / "rel2id.json"),
    )
    return scores["dsgt_micro_f1"]


@pytest.mark.parametrize("pooling", [*POOLINGS, "avg, multi-label", "one, trained on sentences"])
def test_every_pooling_learns(pooling: str, small: Path, tmp_path: Path) -> None:
    """On a network that learns in two epochs; what the encoder is makes no difference to the pooling."""
    words = ["--data_dir", str(small), "--output_dir", str(tmp_path / "out"), "--track=bag2bag"]
    words += [f"--bag_pooling={pooling.split(',')[0]}", f"--multi_label={pooling.endswith('multi-label')}"]
    words += [f"--train_on={'sentences' if pooling.endswith('sentences') else 'bags'}", "--encoder=pcnn"]
    words += ["--num_train_epochs=2", "--learning_rate=1e-2", "--per_device_train_batch_size=32", "--seed=1"]
    words += ["--disable_tqdm=true", "--logging_strategy=no", "--eval_strategy=no", "--bf16=false"]
    settings = parse_arguments(words)
    prepared = prepare(settings)
    folder = tmp_path / "seed-1"
    trainer = build_trainer(seed=1, prepared=prepared, settings=settings, folder=folder, say=print)
    scores = run_seed(trainer, prepared=prepared, folder=folder).scores["test"]
    assert scores["dsgt_micro_f1"] > 1.8 * majority_f1(small)


def prepared_for(sample: Path, encoder: Path, *, track: str = "bag2bag", **options) -> Prepared:
    if track != "sent2sent":
        options = {"bag_pooling": "one", **options}
    settings = Settings(
        DataArguments(data_dir=str(sample), track=track),  # type: ignore[arg-type]
        ModelArguments(model_name_or_path=str(encoder), **options),
        RunArguments(),
        RelationTrainingArguments(output_dir="unused"),
    )
    return prepare(settings)


@pytest.mark.parametrize(
    ("track", "pooling", "multi_label"),
    [
        ("bag2bag", "one", False),
        ("bag2bag", "att", False),
        ("bag2sent", "max", False),
        ("bag2bag", "att", True),
        ("bag2sent", "avg", True),
        ("sent2sent", None, True),
    ],
)
def test_selection_sees_the_numbers_of_the_final_scores(
    track: str, pooling: str | None, multi_label: bool, sample: Path, bert_folder: Path
) -> None:
    options = {} if pooling is None else {"bag_pooling": pooling}
    prepared = prepared_for(sample, bert_folder, track=track, multi_label=multi_label, **options)
    units = prepared.batches["validation"]
    activation = score_activation(bag_pooling=pooling, multi_label=multi_label)
    outputs = np.random.default_rng(0).normal(size=(len(units), len(prepared.data.label_names)), scale=2)
    if activation == "identity":
        outputs = scores_of(outputs, activation="sigmoid")
    order = np.random.default_rng(1).permutation(len(units))
    gathered = (outputs[order], (units.labels[order], units.row_ids[order]))
    for name in ("dsgt_macro_all_f1", "dsgt_auc"):
        object.__setattr__(prepared, "select_by", name)
        selected = metric_of_trainer(prepared, activation)(gathered)
        threshold = chosen_threshold(prepared, outputs, activation) if multi_label else None
        records = split_records(prepared, "validation", outputs, activation, threshold)
        final = split_scores(prepared, "validation", records)
        assert final[name] == pytest.approx(selected[name], abs=1e-9) != 0
    assert ("bag_id" in records[0]) == (track != "sent2sent"), "bag2sent selects on validation bags"


def test_units_of_the_tracks(sample: Path, bert_folder: Path) -> None:
    lines = {name: read_lines(sample / f"{name}.json") for name in ("train_nonna", "na_train", "dev", "test")}
    bags = {name: list(dict.fromkeys(record["bag_id"] for record in lines[name])) for name in ("dev", "test")}
    train = lines["train_nonna"] + lines["na_train"]
    examples = {(record["bag_id"], record["relation"]) for record in train}
    bag2bag = prepared_for(sample, bert_folder).batches
    missing = 1  # a row of the sample whose entity is not found; its bag has others or is left out
    assert len(examples) - missing <= len(bag2bag["train"]) <= len(examples)
    assert list(bag2bag["validation"].bags.names) == bags["dev"]
    assert list(bag2bag["test"].bags.names) == bags["test"]
    ids = np.concatenate([bag2bag["validation"].row_ids, bag2bag["test"].row_ids])
    assert ids.tolist() == list(range(len(bags["dev"]) + len(bags["test"])))
    assert bag2bag["test"].bags.sizes.sum() == len(lines["test"]), "no row is left out of an evaluation"
    bag2sent = prepared_for(sample, bert_folder, track="bag2sent", bag_size=2)
    assert list(bag2sent.batches["validation"].bags.names) == bags["dev"]
    test = bag2sent.batches["test"]
    assert list(test.bags.names) == [record["instance_id"] for record in lines["test"]]
    assert set(test.bags.sizes) == {1}
    assert test.row_ids[0] == len(bags["dev"])
    assert (bag2sent.batches["train"].bag_size, test.bag_size) == (2, 0), "the limit is for training only"
    (line,) = (
        line for line in plan_lines(bag2sent, RelationTrainingArguments("x"), 1) if "bags from" in line
    )
    assert "; each epoch reads " in line
    baseline = prepared_for(sample, bert_folder, train_on="sentences").batches
    assert isinstance(baseline["train"], RowBatches)
    assert isinstance(baseline["validation"], BagBatches)


def test_label_sets_of_the_tracks(sample: Path, bert_folder: Path) -> None:
    prepared = prepared_for(sample, bert_folder, multi_label=True)
    names = prepared.data.label_names
    wanted: dict[str, set[str]] = {}
    for record in read_lines(sample / "train_nonna.json") + read_lines(sample / "na_train.json"):
        wanted.setdefault(record["bag_id"], set()).add(record["relation"])
    train = prepared.batches["train"]
    found = {
        bag: {names[label] for label in np.flatnonzero(row == 1)} or {"NA"}
        for bag, row in zip(train.bags.names, train.labels, strict=True)
    }
    # A row whose entity is not found is left out of its bag, not out of the bag's relations.
    assert found == {bag: wanted[bag] for bag in found}
    assert len(wanted) - 1 <= len(found)
    assert max(map(len, found.values())) > 1
    rows = prepared_for(sample, bert_folder, track="sent2sent", multi_label=True).batches["test"]
    assert (rows.labels == 1).sum(axis=1).tolist() == [1] * 90


def scored_again(out: Path, sample: Path, track: str) -> dict:
    """The scores of predictions.jsonl, which must be those of metrics.json."""
    again = score_track(
        track=track,
        references=read_lines(sample / "test.json"),
        predictions=read_predictions(out / "seed-42" / "predictions.jsonl"),
        relations=read_relations(sample / "rel2id.json"),
    )
    metrics = json.loads((out / "seed-42" / "metrics.json").read_text())
    numbers = {name: value for name, value in again.items() if isinstance(value, (int, float))}
    assert {name: metrics[name] for name in numbers} == numbers
    assert {"magt_auc", "dsgt_precision_at_50", "magt_relations_covered_at_50"} <= set(metrics)
    assert metrics["signature"] == again["signatures"]
    return metrics


def test_a_bag2bag_run(sample: Path, tmp_path: Path, words_for: Words, results_of: Results) -> None:
    out = tmp_path / "run"
    more = ["--track", "bag2bag", "--bag_pooling", "att", "--bag_size", "3", "--gradient_checkpointing"]
    assert main(words_for(sample, out, *more, "--max_steps", "3", "--tokens_per_chunk", "512")) == 0
    scored_again(out, sample, "bag2bag")
    predictions = read_predictions(out / "seed-42" / "predictions.jsonl")
    bags = dict.fromkeys(record["bag_id"] for record in read_lines(sample / "test.json"))
    assert [record["bag_id"] for record in predictions] == list(bags)
    for record in predictions:
        assert record["scores"][record["pred"]] == max(record["scores"].values())
    config = RelationClassifierConfig.from_pretrained(out / "seed-42")
    assert (config.bag_pooling, config.multi_label, config.threshold) == ("att", False, None)
    results = results_of(out)
    assert (results["track"], results["selected_by"]) == ("bag2bag", "dsgt_macro_all_f1")


def test_a_bag2sent_run(sample: Path, tmp_path: Path, words_for: Words, results_of: Results) -> None:
    out = tmp_path / "run"
    more = ["--track", "bag2sent", "--bag_pooling", "max", "--max_steps", "2"]
    assert main(words_for(sample, out, *more)) == 0
    scored_again(out, sample, "bag2sent")
    predictions = read_predictions(out / "seed-42" / "predictions.jsonl")
    lines = read_lines(sample / "test.json")
    assert [record["instance_id"] for record in predictions] == [line["instance_id"] for line in lines]
    entry = results_of(out)["seeds"]["42"]
    num_bags = len({record["bag_id"] for record in read_lines(sample / "dev.json")})
    assert (entry["test"]["num_units"], entry["validation"]["num_units"]) == (90, num_bags)


def test_a_multi_label_run(sample: Path, tmp_path: Path, words_for: Words, results_of: Results) -> None:
    out = tmp_path / "run"
    more = ["--track", "bag2bag", "--bag_pooling", "max", "--multi_label", "--num_train_epochs", "4"]
    assert main(words_for(sample, out, *more)) == 0
    scored_again(out, sample, "bag2bag")
    threshold = RelationClassifierConfig.from_pretrained(out / "seed-42").threshold
    assert results_of(out)["seeds"]["42"]["training"]["threshold"] == threshold
    predictions = read_predictions(out / "seed-42" / "predictions.jsonl")
    for record in predictions:
        positive = {name: score for name, score in record["scores"].items() if name != "NA"}
        assert record["pred"] == [name for name, score in positive.items() if score >= threshold]
        assert record["scores"]["NA"] == pytest.approx(1 - max(positive.values()), abs=1e-6)
    assert any(record["pred"] for record in predictions)


def test_without_validation_the_threshold_is_the_default(sample: Path, bert_folder: Path) -> None:
    prepared = prepared_for(sample, bert_folder, multi_label=True)
    batches = {name: units for name, units in prepared.batches.items() if name != "validation"}
    object.__setattr__(prepared, "batches", batches)
    lines = plan_lines(prepared, RelationTrainingArguments("x"), 1)
    assert any("predicted from a score of 0.5 on: there is no validation" in line for line in lines)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--track", "bag2bag"],
            "`--track bag2bag` needs `--bag_pooling`, one of 'one', 'att', 'avg'",
        ),
        (
            ["--bag_pooling", "one"],
            "`--bag_pooling` belongs to the bag tracks, and `--track sent2sent` has",
        ),
        (["--bag_size", "3"], "`--bag_size` belongs to the bag tracks"),
        (["--track", "bag2bag", "--bag_pooling", "sum"], "invalid choice: 'sum'"),
        (["--track", "bag2bag", "--bag_pooling", "one", "--bag_size", "-1"], "`bag_size` must be 0 (all"),
        (["--tokens_per_chunk", "0"], "`tokens_per_chunk` must be a positive integer; got 0"),
        (
            ["--track", "bag2sent", "--bag_pooling", "one", "--train_on", "sentences"],
            "`--train_on sentences` goes with `--track bag2bag`; a sentence model that scores sentences is",
        ),
        (
            ["--track", "bag2bag", "--bag_pooling", "one", "--train_on", "sentences", "--bag_size", "2"],
            "`--bag_size` limits the bags of training, and with `--train_on sentences` there are none",
        ),
        (
            ["--multi_label", "--loss_weighting", "macro"],
            "`--loss_weighting` is for examples with one relation; with `--multi_label` they have any number",
        ),
        (["--multi_label", "--label_smoothing_factor", "0.1"], "`--label_smoothing_factor` is for examples"),
    ],
)
def test_flags_that_do_not_go_together(
    flags: list[str],
    message: str,
    sample: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words_for: Words,
) -> None:
    assert main(words_for(sample, tmp_path / "run", *flags)) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_bags_of_data_without_human_labels(bert_folder: Path, tmp_path: Path) -> None:
    """They are scored against the distant labels; sentences of it against their labels, as ever."""
    names = {"NA": 0, "/person/born": 1, "/place/in": 2}
    (tmp_path / "small_rel2id.json").write_text(json.dumps(names))
    for split, count in (("train", 12), ("val", 6), ("test", 9)):
        lines = []
        for i in range(count):
            head, tail = (
                {"name": "Obama", "id": f"h{i // 3}", "pos": [0, 5]},
                {"name": "Honolulu", "pos": [9, 17]},
            )
            record = {"text": "Obama in Honolulu", "relation": list(names)[i % 3], "h": head}
            lines.append(json.dumps({**record, "t": {**tail, "id": "t"}}) + "\n")
        (tmp_path / f"small_{split}.txt").write_text("".join(lines))
    settings = Settings(
        DataArguments(data="opennre", data_dir=str(tmp_path), track="bag2bag"),
        ModelArguments(model_name_or_path=str(bert_folder), bag_pooling="max"),
        RunArguments(),
        RelationTrainingArguments(output_dir="unused"),
    )
    prepared = prepare(settings)
    assert prepared.data.splits["test"].references is None
    assert prepared.select_by == "dsgt_macro_all_f1"
    assert prepared.batches["test"].bags.sizes.tolist() == [3, 3, 3]
    records = split_records(prepared, "test", np.full((3, 3), [0.1, 0.7, 0.2]), "identity", None)
    scores = split_scores(prepared, "test", records)
    # Each of the three pairs has both positive relations, and is given one.
    assert (scores["dsgt_micro_precision"], scores["dsgt_micro_recall"]) == (1.0, 0.5)
    assert not any(name.startswith("magt") for name in scores)
