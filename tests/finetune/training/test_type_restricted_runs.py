"""Runs with `--classifier_head type_restriction`: what is learnt from which rows, files, what is refused."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, pipeline

from finetune.__main__ import main
from finetune.command_line import parse_arguments
from finetune.predict import main as predict
from finetune.trainer_arguments import RelationTrainingArguments
from finetune.training.messages import plan_lines
from finetune.training.preparation import prepare
from finetune.training.train import build_model
from nyt_h_dataset import write_sample

Words = Callable[..., list[str]]
HEAD = "--classifier_head=type_restriction"
QUICK = ["--disable_tqdm=true", "--logging_strategy=no", "--bf16=false", "--figures=false"]


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def allowed_in(folder: Path) -> dict[tuple[str, str], set[str]]:
    """Pairs of types -> their relations in the training files, read here once more."""
    allowed: dict[tuple[str, str], set[str]] = {}
    for row in lines_of(folder / "train_nonna.json"):
        for pair in product(*(row[side]["type"].split(",") for side in ("head", "tail"))):
            allowed.setdefault(pair, set()).add(row["relation"])
    return allowed


def candidates(row: dict, allowed: dict[tuple[str, str], set[str]]) -> set[str]:
    pairs = product(*(row[side]["type"].split(",") for side in ("head", "tail")))
    return set().union(*(allowed.get(pair, set()) for pair in pairs))


@pytest.fixture
def rarer(tmp_path: Path) -> Path:
    """The sample, in which test rows have types that training has not, and relations that types rule out."""
    folder = tmp_path / "data"
    write_sample(folder, size="tiny")
    rows = lines_of(folder / "test.json")
    allowed = allowed_in(folder)
    every = sorted(set().union(*allowed.values()))
    for number, row in enumerate(rows):
        if number % 9 == 0:
            row["head"]["type"] = "/of/nobody"
        elif number % 9 == 1:
            row["relation"] = next(name for name in every if name not in candidates(row, allowed))
    (folder / "test.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_a_run_says_nothing_that_training_does_not_have_for_the_types(
    rarer: Path, tmp_path: Path, results_of: Callable[[Path], dict], capsys
) -> None:
    out, allowed, rows = tmp_path / "out", allowed_in(rarer), lines_of(rarer / "test.json")
    words = ["--data_dir", str(rarer), "--output_dir", str(out), "--encoder=pcnn", HEAD, "--seed=5", *QUICK]
    assert main([*words, "--num_train_epochs=15"]) == 0, capsys.readouterr().err
    screen = capsys.readouterr().out
    possible = [candidates(row, allowed) for row in rows]
    ruled_out = [row["relation"] not in own for row, own in zip(rows, possible, strict=True)]
    sizes = np.array([len(own) for own in possible])
    assert f"types: {len(allowed)} pairs of entity types have relations in training, " in screen
    assert (
        f"test: by their types {(sizes > 1).sum()} rows have several possible relations, "
        f"{(sizes == 1).sum()} one (by rule) and {(sizes == 0).sum()} none (the negative relation for "
        f"certain); {sum(ruled_out)} have a relation that is none of these"
    ) in screen
    assert sum(ruled_out) >= 20
    predictions = lines_of(out / "seed-5" / "predictions.jsonl")
    right = [one["pred"] == row["relation"] for one, row in zip(predictions, rows, strict=True)]
    for one, row, own in zip(predictions, rows, possible, strict=True):
        assert one["instance_id"] == row["instance_id"]
        assert {name for name, score in one["scores"].items() if score > 0} <= own | {"NA"}
        if not own:
            assert (one["pred"], one["scores"]["NA"]) == ("NA", 1.0)
    assert not any(np.array(right) & ruled_out)
    assert sum(right) > 0.6 * (len(rows) - sum(ruled_out)), "it learns"
    counted = results_of(out)["data"]["splits"]["test"]
    assert counted["num_without_relation"] == (sizes == 0).sum() == 10
    found = pipeline("relation-classification", model=str(out / "seed-5"))(rows[:20])
    for one, two in zip(found, predictions, strict=False):
        assert one["pred"] == two["pred"]
        assert one["scores"] == pytest.approx(two["scores"], abs=1e-5)
    capsys.readouterr()
    given = ["--model", str(out / "seed-5"), "--input", str(rarer / "test.json")]
    assert predict([*given, "--output", str(tmp_path / "p.jsonl"), "--bf16=false"]) == 0
    assert [one["pred"] for one in lines_of(tmp_path / "p.jsonl")] == [one["pred"] for one in predictions]
    lacking = rows[1] | {"head": {"word": rows[1]["head"]["word"]}}
    (tmp_path / "i.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (rows[0], lacking)))
    assert predict(["--model", str(out / "seed-5"), "--input", str(tmp_path / "i.jsonl")]) == 2
    assert "i.jsonl, line 2: 1 of 1 rows has an entity without a type" in capsys.readouterr().err


def test_pairs_are_learnt_from_the_training_rows_alone(rarer: Path, tmp_path: Path, words_for: Words) -> None:
    def learnt(*more: str):
        prepared = prepare(parse_arguments(words_for(rarer, tmp_path / "o", HEAD, *more)))
        assert prepared.type_relations is not None
        names = prepared.data.label_names
        pairs = prepared.type_relations
        return prepared, {
            pair: {names[label] for label in own}
            for pair, own in zip(pairs.pairs, pairs.relations, strict=True)
        }

    _, before = learnt()
    assert before == allowed_in(rarer)
    for name in ("test.json", "dev.json"):
        rows = lines_of(rarer / name)
        for row in rows:
            row["relation"] = rows[0]["relation"]
        (rarer / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert learnt()[1] == before


def test_validation_rows_that_are_split_off_teach_no_pairs(tmp_path: Path, words_for: Words) -> None:
    record = {"token": ["Ann", "met", "Bob"], "subj_start": 0, "subj_end": 0, "obj_start": 2, "obj_end": 2}
    records = [
        record
        | {"id": str(number), "relation": f"r{number % 4}" if number % 5 else "no_relation"}
        | {"subj_type": f"S{number}", "obj_type": "O", "token": [f"Ann{number}", "met", f"Bob{number}"]}
        for number in range(40)
    ]
    for name in ("train", "test"):
        (tmp_path / f"{name}.json").write_text(json.dumps(records))
    words = words_for(tmp_path, tmp_path / "o", HEAD, "--data=tacred", "--validation_fraction=0.3")
    prepared = prepare(parse_arguments(words))
    train, validation = (prepared.data.splits[split] for split in ("train", "validation"))
    positive = train.labels != prepared.data.label_names.index("no_relation")
    assert len(validation) >= 10
    own = {pair for pair, counts in zip(train.types, positive.tolist(), strict=True) if counts}
    assert set(prepared.type_relations.pairs) == own
    assert not set(prepared.type_relations.pairs) & set(validation.types)
    assert prepared.counts["validation"]["num_without_relation"] == len(validation)


@pytest.mark.parametrize("pooling", ["one", "att", "avg", "max"])
def test_bags_run(pooling: str, rarer: Path, tmp_path: Path, results_of: Callable[[Path], dict]) -> None:
    out = tmp_path / "out"
    words = ["--data_dir", str(rarer), "--output_dir", str(out), "--encoder=crcnn", HEAD, "--seed=5", *QUICK]
    more = ["--track=bag2bag", f"--bag_pooling={pooling}", "--max_steps=3", "--loss_weighting=macro"]
    assert main([*words, *more]) == 0
    model = AutoModelForSequenceClassification.from_pretrained(out / "seed-5")
    assert model.config.encoder.architecture == "cnn"
    assert type(model.classifier).__name__ == "TypeRestrictionHead"
    allowed, own = allowed_in(rarer), {}
    for row in lines_of(rarer / "test.json"):
        own.setdefault(row["bag_id"], set()).update(candidates(row, allowed))
    for one in lines_of(out / "seed-5" / "predictions.jsonl"):
        assert {name for name, score in one["scores"].items() if score > 0} <= own[one["bag_id"]] | {"NA"}


def test_training_that_goes_on_keeps_the_pairs(
    sample: Path, rarer: Path, tmp_path: Path, words_for: Words
) -> None:
    """On a pretrained encoder; the second training has types that the first one had not."""
    first = words_for(sample, tmp_path / "first", HEAD, "--num_train_epochs=1", "--input=typed_markers")
    assert main(first) == 0
    rows = lines_of(rarer / "train_nonna.json")
    rows[0]["head"]["type"] = "/of/nobody"
    (rarer / "train_nonna.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    trained = ["--model_name_or_path", str(tmp_path / "first" / "seed-42"), "--input=typed_markers"]
    words = words_for(rarer, tmp_path / "more", HEAD, *trained, "--num_train_epochs=1")
    prepared = prepare(parse_arguments(words))
    lines = plan_lines(prepared, RelationTrainingArguments("x"), 1)
    assert any("have relations in the training of the classifier that goes on, " in line for line in lines)
    line = next(line for line in lines if line.startswith("train: by their types"))
    assert line.endswith("1 none (these train the detector alone); 1 have a relation that is none of these")
    assert main(words) == 0
    configs = [
        json.loads((tmp_path / run / "seed-42" / "config.json").read_text())["type_relations"]
        for run in ("first", "more")
    ]
    assert configs[0] == configs[1]
    assert not any("/of/nobody" in pair for pair in configs[1])


def test_data_without_types(tmp_path: Path, sample: Path, words_for: Words, capsys) -> None:
    for name, first in (("TRAIN_FILE.TXT", 1), ("TEST_FILE_FULL.TXT", 2)):
        text = f'{first}\t"A <e1>cord</e1> of the <e2>university</e2>."\nOther\n\n'
        (tmp_path / name).write_text(text)
    semeval = ["--data=semeval2010", "--validation_fraction=0"]
    assert main(words_for(tmp_path, tmp_path / "o", HEAD, *semeval)) == 2
    said = capsys.readouterr().err
    assert (
        "semeval2010, train: the entities have no types, and the classifier head 'type_restriction'" in said
    )
    folder = tmp_path / "data"
    write_sample(folder, size="tiny")
    rows = lines_of(folder / "dev.json")
    for number in (3, 4):
        rows[number]["tail"]["type"] = ""
    (folder / "dev.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(words_for(folder, tmp_path / "o", HEAD)) == 2
    said = capsys.readouterr().err
    names = f"{rows[3]['instance_id']!r}, {rows[4]['instance_id']!r}"
    assert f"nyt_h, validation: 2 of {len(rows)} rows have an entity without a type ({names}), and" in said
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--input=prompt"], "'type_restriction' does not go with the representation 'masks'"),
        (["--multi_label=true"], "'type_restriction' ranks the relations"),
        (["--label_smoothing_factor=0.1"], "go with `--classifier_head type_restriction`, whose loss has no"),
    ],
)
def test_flags_that_do_not_fit(
    more: list[str], message: str, sample: Path, tmp_path: Path, words_for: Words, capsys
) -> None:
    assert main(words_for(sample, tmp_path / "o", HEAD, *more)) == 2
    assert message in capsys.readouterr().err


def test_the_weights_start_from_the_seed(sample: Path, tmp_path: Path) -> None:
    words = ["--data_dir", str(sample), "--output_dir", str(tmp_path / "o"), "--encoder=cnn", HEAD]
    arguments = parse_arguments(words)
    prepared = prepare(arguments)
    one, two, other = (
        build_model(prepared, arguments.model, seed).classifier.weight.detach() for seed in (1, 1, 2)
    )
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    assert one.std() == pytest.approx(0.02, rel=0.1)
