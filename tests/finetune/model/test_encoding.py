"""Marked token ids for BERT and RoBERTa tokenizers, and rows that are too long or have no entities."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finetune.encoders.encoder_sources import add_entity_tokens
from finetune.model.encoding import EncodedRows, RowEncoder, RowStatus
from finetune.model.entity_inputs import EntityInput
from finetune.model.markers import MarkerTokens

MARKERS = MarkerTokens()


@pytest.fixture(scope="module")
def bert(bert_tokenizer):
    tokenizer = copy.deepcopy(bert_tokenizer)
    add_entity_tokens(tokenizer, EntityInput())
    return tokenizer


@pytest.fixture(scope="module")
def roberta(roberta_tokenizer):
    tokenizer = copy.deepcopy(roberta_tokenizer)
    add_entity_tokens(tokenizer, EntityInput())
    return tokenizer


def encode(tokenizer, sentence: str, head: str, tail: str, max_length: int = 64) -> EncodedRows:
    """The row of a sentence whose entities are its first places of the strings given."""
    spans = [(at := sentence.index(text), at + len(text)) for text in (head, tail)]
    row = np.array([[spans[0][0], spans[0][1], spans[1][0], spans[1][1]]])
    return RowEncoder(tokenizer, entity_input=EntityInput(), max_length=max_length).encode(
        sentences=[sentence], spans=row, row_names=["r0"]
    )


def tokens(tokenizer, rows: EncodedRows) -> list[str]:
    return tokenizer.convert_ids_to_tokens(rows.token_ids.tolist())


def test_bert(bert) -> None:
    rows = encode(bert, "Barack Obama was born in Honolulu.", "Honolulu", "Barack Obama")
    words = "[CLS] [E2] barack obama [/E2] was born in [E1] honolulu [/E1] . [SEP]"
    assert tokens(bert, rows) == words.split()
    assert rows.entity_starts.tolist() == [[8, 1]]
    assert rows.entity_spans.tolist() == [[9, 10, 2, 4]]


def test_bert_entity_that_ends_within_a_word(bert) -> None:
    rows = encode(bert, "New York-based Smiths", "York", "Smith")
    assert tokens(bert, rows)[:6] == ["[CLS]", "new", "[E1]", "york", "[/E1]", "-"]
    after = tokens(bert, rows)
    assert after[after.index("[E2]") + 1 : after.index("[/E2]")] == ["smith"]
    assert after[after.index("[/E2]") + 1 :] == ["##s", "[SEP]"]


def test_roberta_has_the_tokens_of_the_unmarked_sentence(roberta) -> None:
    """No stray blank as a token of its own: the words keep theirs, the markers stand between."""
    sentence = "Crème brûlée is made in Zürich; the recipe comes from Orléans."
    rows = encode(roberta, sentence, "Zürich", "Orléans")
    marked = tokens(roberta, rows)
    assert [token for token in marked if token not in MARKERS.tokens] == [
        "<s>",
        *roberta.tokenize(sentence),
        "</s>",
    ]
    assert "Ġ" not in marked
    start = marked.index("[E1]")
    assert "".join(marked[start + 1 : marked.index("[/E1]")]) == "ĠZÃ¼rich"
    assert marked[start - 1] == "Ġin"


def test_roberta_entity_that_ends_within_a_token(roberta) -> None:
    rows = encode(roberta, "The child is wrapped into the cradle.", "chi", "wrap")
    marked = tokens(roberta, rows)
    assert "Ġ" not in marked
    assert "".join(marked[marked.index("[E1]") + 1 : marked.index("[/E1]")]) == "Ġchi"
    assert "".join(marked[marked.index("[E2]") + 1 : marked.index("[/E2]")]) == "Ġwrap"
    assert "".join(token for token in marked if token not in MARKERS.tokens)[3:-4].replace("Ġ", " ") == (
        "The child is wrapped into the cradle."
    )


def test_text_that_spells_a_marker_or_a_special_token_is_text(bert, roberta) -> None:
    sentence = "The [E1] child [SEP] </s> [/E2] cradle <pad>"
    for tokenizer in (bert, roberta):
        rows = encode(tokenizer, sentence, "child", "cradle")
        ids = rows.token_ids.tolist()
        for token in MARKERS.tokens:
            assert ids.count(tokenizer.convert_tokens_to_ids(token)) == 1
        assert ids.count(tokenizer.sep_token_id) == 1
        assert tokenizer.pad_token_id not in ids


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_positions_point_at_the_markers_in_every_arrangement(
    kind: str, request: pytest.FixtureRequest
) -> None:
    tokenizer = request.getfixturevalue(kind)
    sentence = "New York City is in New York (Acme)."
    spans = [
        (0, 8, 0, 13),
        (0, 13, 0, 8),
        (4, 13, 0, 8),
        (0, 8, 0, 8),
        (0, 4, 4, 8),
        (20, 28, 35, 36),
        (1, 2, 30, 32),
    ]
    rows = RowEncoder(tokenizer, entity_input=EntityInput(), max_length=64).encode(
        sentences=[sentence] * len(spans),
        spans=np.array(spans),
        row_names=[str(i) for i in range(len(spans))],
    )
    ids = tokenizer.convert_tokens_to_ids(["[E1]", "[E2]"])
    for i in range(len(spans)):
        row = rows.token_ids[rows.row_starts[i] : rows.row_starts[i + 1]]
        assert row[rows.entity_starts[i]].tolist() == ids
    assert rows.counts() == {
        "num_rows": 7,
        "num_windowed": 0,
        "num_tokens_cut": 0,
        "num_cannot_be_kept": 0,
        "num_not_found": 0,
        "num_unseen_types": 0,
    }


LONG = "the child was " * 20 + "wrapped" + " and bound" * 20 + " into the cradle" + " by means" * 20


@settings(max_examples=40)
@given(st.integers(8, 64), st.booleans())
def test_a_long_row_keeps_both_entities(bert, max_length: int, turned: bool) -> None:
    head, tail = ("cradle", "wrapped") if turned else ("wrapped", "cradle")
    rows = encode(bert, LONG, head, tail, max_length=max_length)
    marked = tokens(bert, rows)
    assert len(marked) <= max_length
    assert rows.status.tolist() == [RowStatus.WINDOWED]
    for name, start, end in ((head, "[E1]", "[/E1]"), (tail, "[E2]", "[/E2]")):
        assert marked[marked.index(start) : marked.index(end) + 1] == [start, *bert.tokenize(name), end]
    assert marked[0] == "[CLS]"
    assert marked[-1] == "[SEP]"
    assert [marked.index("[E1]"), marked.index("[E2]")] == rows.entity_starts[0].tolist()
    places = [marked.index(token) for token in MARKERS.tokens]
    assert rows.entity_spans[0].tolist() == [places[0] + 1, places[1], places[2] + 1, places[3]]
    assert rows.counts()["num_tokens_cut"] == len(bert.tokenize(LONG)) + 6 - len(marked)


def test_rows_that_cannot_be_used_are_kept_and_counted(bert) -> None:
    encoder = RowEncoder(bert, entity_input=EntityInput(), max_length=12)
    spans = np.array([[-1, -1, 4, 9], [0, len(LONG) // 2, 4, 9], [4, 9, 10, 13]])
    rows = encoder.encode(sentences=[LONG] * 3, spans=spans, row_names=["a", "b", "c"])
    assert rows.status.tolist() == [RowStatus.NOT_FOUND, RowStatus.CANNOT_BE_KEPT, RowStatus.WINDOWED]
    assert rows.usable.tolist() == [False, False, True]
    assert rows.entity_spans[:2].tolist() == [[-1] * 4] * 2
    assert rows.entity_starts[:2].tolist() == [[-1] * 2] * 2
    assert rows.lengths.tolist() == [2, 2, 12]
    assert rows.counts()["num_cannot_be_kept"] == rows.counts()["num_not_found"] == 1


def test_a_span_outside_the_sentence_is_an_error(bert) -> None:
    with pytest.raises(ValueError, match="row 'b': the head span"):
        RowEncoder(bert, entity_input=EntityInput(), max_length=12).encode(
            sentences=["a child", "a child"],
            spans=np.array([[0, 1, 2, 7], [0, 99, 2, 7]]),
            row_names=["a", "b"],
        )


def test_a_length_without_room_for_two_entities_is_an_error(bert) -> None:
    with pytest.raises(ValueError, match="`max_length` must be at least 8"):
        RowEncoder(bert, entity_input=EntityInput(), max_length=7)
