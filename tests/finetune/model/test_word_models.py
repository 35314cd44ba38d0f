"""Classifiers on word encoders: saved and loaded, in bags, and with ranked relations."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from finetune.encoders.encoder_sources import build_classifier
from finetune.encoders.word_vectors import word_tokenizer
from finetune.model.bag_pooling import POOLINGS
from finetune.model.configuration import RelationClassifierConfig
from finetune.model.crcnn import crcnn_loss
from finetune.model.encoding import RowEncoder
from finetune.model.entity_inputs import EntityInput
from finetune.model.modeling import RelationClassifier
from finetune.model.word_encoders import WordEncoder, WordEncoderConfig
from tests.finetune.model import classifiers
from tests.finetune.model.classifiers import Batch, check_in_a_fresh_process
from tests.hub_clients import BLOCK

LABELS = ["born_in", "NA", "made_in"]
SENTENCES = [
    "Barack Obama was born in Honolulu.",
    "Crème brûlée is made in Zürich, not in New York City.",
    "In Honolulu nobody knows Barack Obama.",
    "Nothing is here.",
]
SPANS = np.array([[0, 12, 25, 33], [0, 12, 24, 30], [25, 37, 3, 11], [-1, -1, -1, -1]])
SYSTEMS = [("cnn", "linear"), ("pcnn", "linear"), ("att_blstm", "linear"), ("cnn", "crcnn")]


def build(architecture: str, head: str, **options):
    tokenizer, _ = word_tokenizer(sentences=SENTENCES, spans=SPANS)
    torch.manual_seed(4)
    encoder = WordEncoder(
        WordEncoderConfig(architecture=architecture, vocab_size=len(tokenizer), num_fixed_words=2)
    )
    model = build_classifier(
        encoder=encoder,
        tokenizer=tokenizer,
        entity_input=EntityInput("plain"),
        label_names=LABELS,
        negative_relation="NA",
        representation="sentence",
        classifier_head=head,
        max_row_tokens=20,
        **options,
    )
    return model.eval(), tokenizer


def batch_of(tokenizer, rows=(0, 1, 2, 3)) -> Batch:
    given = {"sentences": SENTENCES, "spans": SPANS, "labels": [0, 2, 1, 1], "max_length": 20}
    return classifiers.batch_of(tokenizer, **given, rows=rows, entity_input=EntityInput("plain"))


def test_a_fresh_process_loads_what_was_saved(forked_python: Path, tmp_path: Path) -> None:
    built = {f"{architecture}_{head}": build(architecture, head) for architecture, head in SYSTEMS}
    made = {name: (model, tokenizer, batch_of(tokenizer)) for name, (model, tokenizer) in built.items()}
    check_in_a_fresh_process(forked_python, tmp_path, made)


ELSEWHERE = (
    BLOCK
    + """
import torch
from transformers import AutoModel, pipeline

torch.set_num_threads(1)
for folder in sys.argv[1:]:
    assert type(AutoModel.from_pretrained(folder, trust_remote_code=True)).__module__.startswith("transf")
    relations = pipeline("relation-classification", model=folder, trust_remote_code=True)
    print(json.dumps(relations(json.loads(sys.stdin.readline()))))
"""
)


def test_where_this_project_is_not_installed(forked_python: Path, tmp_path: Path) -> None:
    spans = [dict(zip(("start", "end"), pair, strict=True)) for pair in ((0, 12), (25, 33))]
    record = {"sentence": SENTENCES[0], "head": spans[0], "tail": spans[1]}
    folders, expected = [], []
    for architecture, head in SYSTEMS[1:]:
        model, tokenizer = build(architecture, head)
        folders.append(tmp_path / f"{architecture}_{head}")
        model.save_pretrained(folders[-1])
        tokenizer.save_pretrained(folders[-1])
        with torch.no_grad():
            expected.append(model(**batch_of(tokenizer, rows=[0])).logits[0].softmax(dim=0).tolist())
    shown = subprocess.run(
        [str(forked_python), "-I", "-c", ELSEWHERE, *map(str, folders)],
        input=(json.dumps(record) + "\n") * len(folders),
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert shown.returncode == 0, shown.stderr[-3000:]
    for scores, line in zip(expected, shown.stdout.splitlines(), strict=True):
        assert list(json.loads(line)["scores"].values()) == pytest.approx(scores, abs=1e-6)


@pytest.mark.parametrize(("architecture", "head"), SYSTEMS)
def test_a_row_without_entities_is_surely_negative(architecture: str, head: str) -> None:
    model, tokenizer = build(architecture, head)
    with torch.no_grad():
        output, alone = model(**batch_of(tokenizer)), model(**batch_of(tokenizer, rows=[3]))
        found = model(**batch_of(tokenizer, rows=[0, 1, 2]))
    assert output.logits[3].softmax(dim=0).tolist() == [0.0, 1.0, 0.0]
    assert torch.equal(alone.logits[0], output.logits[3])
    torch.testing.assert_close(output.loss, found.loss)


def test_a_word_is_cut_at_the_border_of_an_entity() -> None:
    tokenizer, _ = word_tokenizer(sentences=["New York-based firm"], spans=np.array([[0, 8, 15, 19]]))
    rows = RowEncoder(tokenizer, entity_input=EntityInput("plain"), max_length=20).encode(
        sentences=["New York-based firm"], spans=np.array([[0, 8, 15, 19]]), row_names=["a"]
    )
    assert tokenizer.convert_ids_to_tokens(rows.token_ids.tolist()) == ["new", "york", "-", "based", "firm"]
    assert rows.entity_starts.tolist() == [[0, 4]]
    assert rows.entity_spans.tolist() == [[0, 2, 4, 5]]


def test_a_config_with_the_old_name_of_the_head_is_read() -> None:
    model, _ = build("cnn", "crcnn")
    old = RelationClassifierConfig.from_dict(model.config.to_dict() | {"classifier_head": "ranking"})
    assert old.classifier_head == "crcnn"


def test_ranked_relations_have_the_crcnn_loss_and_the_negative_one_the_score_zero() -> None:
    model, tokenizer = build("cnn", "crcnn")
    batch = batch_of(tokenizer)
    with torch.no_grad():
        output = model(**batch)
    assert (output.logits[:3, 1] == 0).all()
    losses = crcnn_loss(output.logits[:3], batch["labels"][:3], 1)
    torch.testing.assert_close(output.loss, losses.mean())


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize(("architecture", "head"), SYSTEMS)
def test_bags_of_each_system_learn(architecture: str, head: str, pooling: str) -> None:
    model, tokenizer = build(architecture, head, bag_pooling=pooling)
    batch = batch_of(tokenizer, rows=[0, 2, 1, 3, 3]) | {
        "bag_sizes": torch.tensor([2, 2, 1]),
        "labels": torch.tensor([0, 2, 1]),
    }
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    model.train()
    losses = []
    for _ in range(15):
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    with torch.no_grad():
        output = model.eval()(**batch)
    assert output.logits.argmax(dim=1).tolist() == [0, 2, 1]
    assert output.loss.isfinite()


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'crcnn' ranks the relations .* not go with `multi_label`"):
        build("cnn", "crcnn", multi_label=True)
    model, _ = build("cnn", "linear")
    for changes, message in (
        ({"representation": "cls"}, "'cls' does not go with an encoder of the kind 'word_encoder'"),
        ({"input_format": "positions"}, "'sentence' does not go with the input 'positions': .* of their own"),
    ):
        config = model.config.to_dict() | changes
        with pytest.raises(ValueError, match=message):
            RelationClassifier(type(model.config).from_dict(config))
