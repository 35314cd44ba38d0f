"""Saved classifiers in use: the pipeline here, and in a process in which none of our packages is there."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import pipeline

from finetune import RelationClassifier, RelationPipeline
from finetune.encoders.encoder_sources import (
    add_entity_tokens,
    build_classifier,
    load_encoder,
    load_tokenizer,
)
from finetune.model import relation_pipeline
from finetune.model.entity_inputs import DEFINED, TYPED, entity_input
from finetune.model.relation_pipeline import TOKENS_PER_BATCH, batched, by_tokens
from tests.hub_clients import BLOCK

Folder = Callable[[str], Path]
LABELS = ["born_in", "NA", "part_of"]
NEW_YORK = "New York City is in New York."
RECORDS = [
    {
        "sentence": NEW_YORK,
        "head": {"start": 0, "end": 8},
        "tail": {"start": 0, "end": 13},
        "instance_id": "a",
    },
    {"text": "Barack Obama was born in Honolulu.", "head": [25, 33], "tail": [0, 12]},
    {"text": "the child was " * 30 + "wrapped", "head": [4, 9], "tail": [420, 427]},
    {"text": "A child of the university", "head": [2, 7], "tail": [-1, -1]},
]
TYPED_RECORDS = [
    {
        "text": NEW_YORK,
        "head": {"start": 0, "end": 8, "type": "/location/city"},
        "tail": {"start": 20, "end": 28, "type": "river"},
    }
]


def saved(
    encoder: Path, out: Path, name: str = "markers", representation: str = "entity_start", **more: object
) -> RelationClassifier:
    """A new classifier, written to the folder with its tokenizer."""
    tokenizer = load_tokenizer(str(encoder))
    shown = entity_input(name, types=[("city", "city")] if name in TYPED else None)
    add_entity_tokens(tokenizer, shown)
    torch.manual_seed(0)
    model = build_classifier(
        encoder=load_encoder(str(encoder), tokenizer=tokenizer),
        tokenizer=tokenizer,
        entity_input=shown,
        label_names=LABELS,
        negative_relation="NA",
        representation=representation,
        max_row_tokens=64,
    )
    for part, value in more.items():
        setattr(model.config, part, value)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return model


@pytest.fixture(scope="module")
def folder(bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("saved") / "model"
    saved(bert_folder, out)
    return out


@pytest.fixture(scope="module")
def relations(folder: Path) -> RelationPipeline:
    return pipeline("relation-classification", model=str(folder))


def test_the_installed_package_needs_no_trust(relations: RelationPipeline) -> None:
    assert type(relations) is RelationPipeline
    assert type(relations.model) is RelationClassifier
    assert not relations.model.training


def test_what_comes_back(relations: RelationPipeline) -> None:
    first, second, third, fourth = relations(RECORDS)
    assert first["instance_id"] == "a"
    assert "instance_id" not in second
    for prediction in (first, second, third):
        assert list(prediction["scores"]) == LABELS
        assert sum(prediction["scores"].values()) == pytest.approx(1, abs=1e-6)
        assert prediction["scores"][prediction["pred"]] == max(prediction["scores"].values())
    statuses = [prediction["status"] for prediction in (first, second, third, fourth)]
    assert statuses == ["whole", "whole", "windowed", "not_found"]
    assert (fourth["pred"], fourth["scores"]["NA"]) == ("NA", 1.0)


def test_the_scores_are_the_models_own(relations: RelationPipeline) -> None:
    tokenizer = relations.tokenizer
    ids = tokenizer("[E1] New York City [/E1] is in [E2] New York [/E2].", return_tensors="pt")
    starts = [[1, 8]]
    assert tokenizer.convert_ids_to_tokens(ids["input_ids"][0, [1, 8]]) == ["[E1]", "[E2]"]
    with torch.no_grad():
        logits = relations.model(
            input_ids=ids["input_ids"],
            attention_mask=ids["attention_mask"],
            entity_starts=torch.tensor(starts),
            entity_spans=torch.tensor([[2, 5, 9, 11]]),
        ).logits[0]
    found = relations({"text": NEW_YORK, "head": "New York City", "tail": "New York"})
    expected = dict(zip(LABELS, logits.softmax(0).tolist(), strict=True))
    assert found["scores"] == pytest.approx(expected, abs=1e-6)


def test_lists_iterators_and_batches_give_the_same(relations: RelationPipeline) -> None:
    def each() -> Iterator[dict]:
        yield from RECORDS

    one_by_one = [relations(record) for record in RECORDS]
    for batch_size in (1, 2, 3, 32, None):
        several = relations(each(), batch_size=batch_size)
        assert isinstance(several, Iterator)
        for found, expected in zip(several, one_by_one, strict=True):
            assert found["scores"] == pytest.approx(expected["scores"], abs=1e-5)
            assert found["status"] == expected["status"]
    assert relations([]) == []


def test_records_are_read_as_they_are_needed(
    relations: RelationPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relation_pipeline, "CHUNK", 32)
    taken = []

    def each() -> Iterator[dict]:
        for number in range(1000):
            taken.append(number)
            yield RECORDS[1]

    next(relations(each(), batch_size=2))
    assert len(taken) == 32


def test_batches_by_tokens_hold_each_unit_once_and_few_tokens() -> None:
    random = np.random.default_rng(0)
    sizes, longest = random.integers(1, 9, 500), random.integers(3, 129, 500)
    longest[0], sizes[1] = 5000, 100  # each alone is too much
    order = np.argsort(-longest, kind="stable").tolist()
    groups = list(by_tokens(order, sizes, longest))
    assert [unit for group in groups for unit in group] == order
    for group, following in zip(groups, [*groups[1:], None], strict=True):
        tokens = sizes[group].sum() * longest[group].max()
        assert tokens <= TOKENS_PER_BATCH or len(group) == 1
        if following is not None:
            assert (sizes[group].sum() + sizes[following[0]]) * longest[group].max() > TOKENS_PER_BATCH
    assert list(by_tokens([], sizes, longest)) == []


@pytest.mark.parametrize("name", ["bert", "roberta", "electra", "deberta", "deberta-v2", "modernbert"])
def test_in_bfloat16_scores_are_nearly_those_of_float32(
    family_folder: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    saved(family_folder(name), tmp_path)
    relations = pipeline("relation-classification", model=str(tmp_path))
    expected = relations(RECORDS)
    with relations.bfloat16():
        found = relations(RECORDS)
    assert (relations.model.encoder.dtype == torch.bfloat16) == (name != "deberta")
    for ours, exact in zip(found, expected, strict=True):
        assert ours["scores"] == pytest.approx(exact["scores"], abs=0.02)
    assert relations.model.classifier.weight.dtype == torch.float32


def test_what_cannot_be_used(relations: RelationPipeline, bert_folder: Path) -> None:
    with pytest.raises(ValueError, match="record 2: 'head' must be"):
        relations([RECORDS[0], {"text": "a"}])
    with pytest.raises(ValueError, match="record 1: expected an object"):
        relations(["text"])
    with pytest.raises(TypeError, match="the pipeline has no argument 'top_k'; it has `batch_size`"):
        relations(RECORDS, top_k=3)
    with pytest.raises(ValueError, match="`batch_size` must be a positive integer; got 0"):
        relations(RECORDS, batch_size=0)
    with pytest.raises(
        ValueError, match="the record: this model was trained on sentences and has no pooling"
    ):
        relations({"instances": [RECORDS[0]]})
    with pytest.raises(ValueError, match=r"the tokenizer lacks the tokens \['\[E1\]'"):
        RelationPipeline(model=relations.model, tokenizer=load_tokenizer(str(bert_folder)))


@pytest.mark.parametrize(
    "inputs", ["Ann left Bonn.", "[E1] Ann [/E1] left [E2] Bonn [/E2].", b"Ann", None, 7]
)
def test_a_bare_text_is_an_error_at_once(relations: RelationPipeline, inputs: object) -> None:
    with pytest.raises(TypeError, match="head"):
        relations(inputs)


def test_types(bert_folder: Path, tmp_path: Path) -> None:
    saved(bert_folder, tmp_path / "m", "typed_markers")
    relations = pipeline("relation-classification", model=str(tmp_path / "m"))
    assert relations(TYPED_RECORDS)[0]["status"] == "whole"
    encoded = relations.row_encoder.encode(
        sentences=[NEW_YORK], spans=np.array([[0, 8, 20, 28]]), row_names=["a"], types=[("city", "river")]
    )
    assert "<O>" in relations.tokenizer.convert_ids_to_tokens(encoded.token_ids.tolist())
    with pytest.raises(
        ValueError, match="record 1: this model was trained with the input 'typed_markers', so"
    ):
        relations([RECORDS[0]])


class TestBags:
    def test_a_bag_is_pooled_and_a_sentence_is_a_bag_of_one(self, bert_folder: Path, tmp_path: Path) -> None:
        saved(bert_folder, tmp_path / "sentences")
        saved(bert_folder, tmp_path / "bags", bag_pooling="max")
        of_sentences = pipeline("relation-classification", model=str(tmp_path / "sentences"))
        of_bags = pipeline("relation-classification", model=str(tmp_path / "bags"))
        alone = [of_sentences(record) for record in RECORDS]
        bag = {"bag_id": "b", "instances": RECORDS}
        mixed = of_bags([RECORDS[1], bag, {"bag_id": "c", "instances": RECORDS[3:]}], batch_size=2)
        assert mixed[0]["scores"] == pytest.approx(alone[1]["scores"], abs=1e-6)
        assert mixed[1]["bag_id"] == "b"
        assert mixed[1]["status"] == {"whole": 2, "windowed": 1, "not_found": 1}
        for label in LABELS:
            assert mixed[1]["scores"][label] == pytest.approx(
                max(one["scores"][label] for one in alone[:3]), abs=1e-6
            )
        assert (mixed[2]["pred"], mixed[2]["scores"]["NA"]) == ("NA", 1.0)

    def test_several_relations_by_threshold(self, bert_folder: Path, tmp_path: Path) -> None:
        model = saved(bert_folder, tmp_path / "m", multi_label=True, threshold=0.0)
        found = pipeline("relation-classification", model=str(tmp_path / "m"))(RECORDS[1])
        assert found["pred"] == ["born_in", "part_of"]
        model.config.threshold = 1.0
        model.save_pretrained(tmp_path / "m")
        found = pipeline("relation-classification", model=str(tmp_path / "m"))(RECORDS[1])
        assert found["pred"] == []


def test_batched() -> None:
    assert list(batched(range(5), 2)) == [(0, 1), (2, 3), (4,)]
    assert list(batched([], 2)) == []


ELSEWHERE = (
    BLOCK
    + """
import torch
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, pipeline

torch.set_num_threads(1)
records = json.loads(sys.stdin.read())
for folder in sys.argv[1:]:
    config = AutoConfig.from_pretrained(folder, trust_remote_code=True)
    for auto in (AutoModel, AutoModelForSequenceClassification):
        model = auto.from_pretrained(folder, trust_remote_code=True)
        assert type(model).__name__ == "RelationClassifier", type(model)
        assert type(model).__module__.startswith("transformers_modules"), type(model).__module__
    relations = pipeline("relation-classification", model=folder, trust_remote_code=True)
    found = relations(records[config.input_format in ("typed_markers", "typed_markers_punct", "entity_mask")])
    unnamed = pipeline(model=folder, trust_remote_code=True)
    assert type(unnamed).__name__ == "RelationPipeline"
    relations.save_pretrained(folder + "-again")
    again = pipeline("relation-classification", model=folder + "-again", trust_remote_code=True)
    second = again(records[config.input_format in ("typed_markers", "typed_markers_punct", "entity_mask")])
    assert second == found
    print(json.dumps(found))
"""
)


def test_where_this_project_is_not_installed(
    family_folder: Folder, forked_python: Path, tmp_path: Path
) -> None:
    folders = {}
    families = ("bert", "roberta", "electra", "deberta", "deberta-v2", "modernbert", "bert")
    for family, (name, representations) in zip(families, DEFINED.items(), strict=True):
        folders[name] = tmp_path / f"{family}-{name}"
        saved(family_folder(family), folders[name], name, representations[-1])
    shown = subprocess.run(
        [str(forked_python), "-I", "-c", ELSEWHERE, *map(str, folders.values())],
        input=json.dumps([RECORDS, TYPED_RECORDS]),
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert shown.returncode == 0, shown.stderr[-3000:]
    for (name, place), line in zip(folders.items(), shown.stdout.splitlines(), strict=True):
        here = pipeline("relation-classification", model=str(place))
        found = json.loads(line)
        assert found == here(TYPED_RECORDS if name in TYPED else RECORDS), name
        config = json.loads((place / "config.json").read_text())
        assert config["custom_pipelines"]["relation-classification"]["impl"] == (
            "relation_pipeline.RelationPipeline"
        )
