"""Classifiers that types restrict: what comes for free (nothing), unknown types, saved models, bags."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from finetune.encoders.encoder_sources import build_classifier
from finetune.encoders.word_vectors import word_tokenizer
from finetune.model.bag_pooling import POOLINGS
from finetune.model.batching import RowBatches
from finetune.model.encoding import RowEncoder
from finetune.model.entity_inputs import EntityInput
from finetune.model.modeling import RelationClassifier
from finetune.model.prediction_records import prediction_records
from finetune.model.relation_pipeline import RelationPipeline
from finetune.model.type_restriction import TypeRelations, TypeRestrictionHead, label_logits
from finetune.model.word_encoders import WordEncoder, WordEncoderConfig
from tests.finetune.model.classifiers import check_in_a_fresh_process
from tests.hub_clients import BLOCK
from weighted_f1_metric import f1_family

LABELS = ["born_in", "NA", "lives_in", "made_in", "part_of"]
NA = 1
RELATIONS = TypeRelations((("city", "city"), ("city", "person"), ("person", "city")), ((4,), (3,), (0, 2)))
SENTENCE = "Barack Obama was born in Honolulu."
SENTENCES = [SENTENCE, "In Honolulu nobody knows Barack Obama.", "Zürich and New York City."]
SPANS = np.array([[0, 12, 25, 33], [25, 37, 3, 11], [0, 6, 11, 19]])
TYPES = [("person", "city"), ("person,city", "city"), ("city", "city")]


def build(relations: TypeRelations = RELATIONS, **options):
    tokenizer, _ = word_tokenizer(sentences=SENTENCES, spans=SPANS)
    torch.manual_seed(4)
    model = build_classifier(
        encoder=WordEncoder(WordEncoderConfig(architecture="pcnn", vocab_size=len(tokenizer))),
        tokenizer=tokenizer,
        entity_input=EntityInput("plain"),
        label_names=LABELS,
        negative_relation="NA",
        representation="sentence",
        classifier_head="type_restriction",
        type_relations=relations.as_lists(),
        max_row_tokens=20,
        **options,
    )
    return model.eval(), tokenizer


def batches_of(tokenizer, types=TYPES, *, labels=(0, 2, 4), sentences=SENTENCES, spans=SPANS) -> RowBatches:
    encoder = RowEncoder(tokenizer, entity_input=EntityInput("plain"), max_length=20)
    names = [str(number) for number in range(len(sentences))]
    rows = encoder.encode(sentences=sentences, spans=spans, row_names=names)
    rows = replace(rows, type_pairs=RELATIONS.pairs_of(types))
    return RowBatches(rows=rows, labels=np.array(labels), row_ids=np.arange(len(sentences)), pad_id=0)


def batch_of(tokenizer, rows=(0, 1, 2), **given) -> dict[str, torch.Tensor]:
    batch = batches_of(tokenizer, **given).__getitems__(list(rows))
    del batch["row_ids"]
    return batch


def test_a_fresh_process_loads_what_was_saved(forked_python: Path, tmp_path: Path) -> None:
    model, tokenizer = build()
    check_in_a_fresh_process(forked_python, tmp_path, {"types": (model, tokenizer, batch_of(tokenizer))})


def test_nothing_comes_for_free_from_random_predictions(monkeypatch) -> None:
    """Random detector, random choice: rows of the negative relation cost as much as they must."""
    model, tokenizer = build()
    generator = torch.Generator().manual_seed(5)

    def random_head(self, vectors, type_pairs, *, with_detector=False):
        drawn = torch.randn(len(vectors), 6, generator=generator)
        return label_logits(drawn[:, :5], self.candidates(type_pairs), drawn[:, 5], negative_id=NA)

    monkeypatch.setattr(TypeRestrictionHead, "forward", random_head)
    # Types, gold relation, rows, candidates; half of the rows are of NA, of some the types rule out the gold.
    kinds = [
        (("person", "city"), "NA", 1000, 2),
        (("person", "city"), "born_in", 600, 2),
        (("person", "city"), "made_in", 200, 2),
        (("city", "person"), "NA", 700, 1),
        (("city", "person"), "made_in", 700, 1),
        (("city", "person"), "born_in", 100, 1),
        (("person", "person"), "NA", 200, 0),
        (("person", "person"), "born_in", 100, 0),
    ]
    types = [kind for kind, _, count, _ in kinds for _ in range(count)]
    gold = np.array([label for _, label, count, _ in kinds for _ in range(count)])
    many = len(gold)
    labels = [LABELS.index(label) for label in gold]
    batch = batches_of(
        tokenizer, types, labels=labels, sentences=[SENTENCE] * many, spans=np.tile(SPANS[0], (many, 1))
    ).__getitems__(list(range(many)))
    del batch["row_ids"], batch["labels"]
    with torch.no_grad():
        outputs = model(**batch).logits.numpy()
    assert len(outputs) == many, "no row is left out"
    records = prediction_records(
        names=[str(row) for row in range(many)],
        outputs=outputs,
        label_names=LABELS,
        negative_relation="NA",
        activation=model.config.score_activation,
    )
    predicted = np.array([record["pred"] for record in records])
    allowed = {("person", "city"): ["born_in", "lives_in"], ("city", "person"): ["made_in"]}
    expected_right = expected_said = 0.0
    for kind, label, count, num_candidates in kinds:
        said = predicted[[pair == kind and name == label for pair, name in zip(types, gold, strict=True)]]
        if not num_candidates:
            assert (said == "NA").all(), "types that training does not have"
            continue
        # The detector lets half of the rows through, whatever they are: those of NA are false positives.
        assert (said == "NA").mean() == pytest.approx(0.5, abs=0.06), (kind, label)
        expected_said += count / 2
        if label in allowed[kind]:
            assert (said == label).mean() == pytest.approx(0.5 / num_candidates, abs=0.06)
            expected_right += count / 2 / num_candidates
        elif label != "NA":
            assert not (said == label).any(), "a relation that the types rule out"
    scores = f1_family(predictions=list(predicted), references=list(gold), negative_label="NA")
    num_positive = int((gold != "NA").sum())
    assert scores["micro_precision"] == pytest.approx(expected_right / expected_said, abs=0.02)
    assert scores["micro_recall"] == pytest.approx(expected_right / num_positive, abs=0.02)
    assert scores["micro_f1"] == pytest.approx(2 * expected_right / (expected_said + num_positive), abs=0.02)
    # What the published evaluation reports: NA rows that pass the detector are called NA all the same.
    leaky = np.where(gold == "NA", "NA", predicted)
    free = f1_family(predictions=list(leaky), references=list(gold), negative_label="NA")
    assert free["micro_f1"] > scores["micro_f1"] + 0.08


def test_unknown_types_are_the_negative_relation_and_train_the_detector() -> None:
    model, tokenizer = build()
    batch = batch_of(
        tokenizer, types=[("person", "person"), ("river", "city"), ("city", "city")], labels=(1, 1, 4)
    )
    with torch.no_grad():
        output = model(**batch)
    assert output.logits[:2].softmax(dim=1).tolist() == [[0.0, 1.0, 0.0, 0.0, 0.0]] * 2
    alone = -output.logits[2].log_softmax(dim=0)[4]
    torch.testing.assert_close(output.loss, alone)
    model.train()
    some = {name: value[:2] for name, value in batch.items()}
    model(**some).loss.backward()
    assert model.classifier.detector.weight.grad.any()
    assert not model.classifier.weight.grad.any()


def test_the_loss_of_evaluation_stays_small_where_types_rule_out_a_relation() -> None:
    model, tokenizer = build()
    with torch.no_grad():
        output = model(**batch_of(tokenizer, labels=(3, 2, 4)))
    shares = output.logits.softmax(dim=1).clamp(min=torch.finfo(torch.float32).tiny)
    expected = -shares[torch.arange(3), torch.tensor([3, 2, 4])].log()
    assert expected[0] == pytest.approx(87.3, abs=0.1)
    torch.testing.assert_close(output.loss, expected.mean())


def test_a_saved_model_gives_the_same_scores(tmp_path: Path) -> None:
    model, tokenizer = build()
    with torch.no_grad():
        for value in model.classifier.parameters():
            value.normal_()
    model.save_pretrained(tmp_path)
    assert (tmp_path / "type_restriction.py").is_file()
    loaded = RelationClassifier.from_pretrained(tmp_path).eval()
    assert loaded.config.type_relations == RELATIONS.as_lists()
    batch = batch_of(tokenizer)
    with torch.no_grad():
        # A file is not read to where the numbers lay, and sums are made in another order.
        torch.testing.assert_close(loaded(**batch).logits, model(**batch).logits, rtol=1e-6, atol=1e-5)
        half = RelationClassifier.from_pretrained(tmp_path, dtype=torch.bfloat16).eval()(**batch).logits
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, model(**batch).logits, rtol=0.05, atol=0.3)


ELSEWHERE = (
    BLOCK
    + """
import torch
from transformers import pipeline

torch.set_num_threads(1)
relations = pipeline("relation-classification", model=sys.argv[1], trust_remote_code=True)
assert type(relations.model).__module__.startswith("transformers_modules")
relations.save_pretrained(sys.argv[2])
again = pipeline("relation-classification", model=sys.argv[2], trust_remote_code=True)
records = json.loads(sys.stdin.read())
found = relations(records)
assert again(records) == found
print(json.dumps(found))
"""
)


def record(sentence: int, types: tuple[str, str]) -> dict:
    places = SPANS[sentence].tolist()
    sides = {
        side: {"start": start, "end": end, "type": kind}
        for side, start, end, kind in zip(("head", "tail"), places[::2], places[1::2], types, strict=True)
    }
    return {"sentence": SENTENCES[sentence], **sides}


def test_where_this_project_is_not_installed(forked_python: Path, tmp_path: Path) -> None:
    model, tokenizer = build(bag_pooling="max")
    model.save_pretrained(tmp_path / "m")
    tokenizer.save_pretrained(tmp_path / "m")
    records = [record(row, types) for row, types in enumerate(TYPES)]
    records = [*records, record(0, ("person", "person")), {"bag_id": "b", "instances": records}]
    with torch.no_grad():
        scores = model(**batch_of(tokenizer)).logits
        bag = model(**batch_of(tokenizer) | {"bag_sizes": torch.tensor([3]), "labels": None}).logits
    shown = subprocess.run(
        [str(forked_python), "-I", "-c", ELSEWHERE, str(tmp_path / "m"), str(tmp_path / "again")],
        input=json.dumps(records),
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert shown.returncode == 0, shown.stderr[-3000:]
    found = json.loads(shown.stdout.splitlines()[-1])
    for one, expected in zip(found, [*scores, torch.eye(5)[NA], bag[0]], strict=True):
        assert list(one["scores"].values()) == pytest.approx(expected.tolist(), abs=1e-6)
    assert found[3]["pred"] == "NA"
    assert found[0]["scores"]["made_in"] == found[0]["scores"]["part_of"] == 0


def test_records_without_types_are_refused() -> None:
    model, tokenizer = build()
    relations = RelationPipeline(model=model, tokenizer=tokenizer)
    whole = record(0, TYPES[0])
    with pytest.raises(ValueError, match=r"record 2: 1 of 1 rows has an entity without a type \('Bar"):
        relations([whole, whole | {"head": [0, 12]}])
    with pytest.raises(ValueError, match=r"record 1: .* needs the types of both; give every entity one, or"):
        relations([whole | {"head": whole["head"] | {"type": ""}}])
    batch = batch_of(tokenizer)
    del batch["type_pairs"]
    with pytest.raises(ValueError, match="the head 'type_restriction' needs `type_pairs`, the known pairs"):
        model(**batch)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_bags(pooling: str) -> None:
    model, tokenizer = build(bag_pooling=pooling)
    unknown = ("person", "person")
    sentences = [*SENTENCES, "Nobody is made in Zürich.", "A city."]
    spans = np.vstack([SPANS, [[0, 6, 18, 24], [0, 1, 2, 6]]])
    batches = batches_of(
        tokenizer, [*TYPES, unknown, unknown], sentences=sentences, spans=spans, labels=(0,) * 5
    )

    def bags(*bags: list[int], labels: list[int] | None = None) -> dict[str, torch.Tensor]:
        batch = batches.__getitems__([row for bag in bags for row in bag])
        del batch["row_ids"], batch["labels"]
        batch["bag_sizes"] = torch.tensor([len(bag) for bag in bags])
        return batch | ({} if labels is None else {"labels": torch.tensor(labels)})

    batch = bags([0, 1], [2], [3, 4], labels=[2, 4, 1])
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    losses = []
    for _ in range(20):
        output = model.train()(**batch)
        assert output.logits.shape == (3, 6), "the detector's logit stands behind those of the labels"
        output.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(output.loss.item())
    assert losses[-1] < losses[0] / 2
    with torch.no_grad():
        output = model.eval()(**batch)
        known, mixed = model(**bags([0, 1], [2])).logits, model(**bags([0, 3, 1], [4, 2])).logits
    assert output.logits.shape == (3, 5)
    assert output.logits.argmax(dim=1).tolist() == [2, 4, 1]
    assert output.loss.isfinite()
    certain = output.logits[2] if pooling in ("att", "max") else output.logits[2].softmax(dim=0)
    assert certain.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
    torch.testing.assert_close(output.logits[:2], known)
    torch.testing.assert_close(mixed, known, msg="where others have one, unknown types have no say")


def test_what_does_not_go_together_is_refused() -> None:
    model, _ = build()
    for changes, message in (
        ({"multi_label": True}, "'type_restriction' ranks the relations .* not go with `multi_label`"),
        ({"type_relations": None}, "the classifier head 'type_restriction' needs `type_relations`"),
        ({"type_relations": []}, "the classifier head 'type_restriction' needs `type_relations`"),
    ):
        with pytest.raises(ValueError, match=message):
            type(model.config).from_dict(model.config.to_dict() | changes)
