"""The tokens of every input format in every arrangement of two spans, and what goes with what."""

import copy
import itertools

import numpy as np
import pytest
from transformers import PreTrainedTokenizerBase

from finetune.encoders.encoder_sources import add_entity_tokens
from finetune.model.encoding import EncodedRows, RowEncoder, RowStatus
from finetune.model.entity_inputs import DEFINED, TYPED, EntityInput, check_combination, entity_input

SENTENCE = "New York City is in New York."
TYPES = ("person", "us_state")
# Head and tail as half-open character spans of SENTENCE.
ARRANGEMENTS = {
    "apart": ((0, 13), (20, 28)),
    "tail first": ((20, 28), (0, 13)),
    "tail outside, same start": ((0, 8), (0, 13)),
    "head outside, same start": ((0, 13), (0, 8)),
    "tail outside, same end": ((9, 13), (0, 13)),
    "tail outside": ((4, 8), (0, 13)),
    "crossing": ((0, 8), (4, 13)),
    "crossing, tail first": ((4, 13), (0, 8)),
    "adjacent": ((0, 3), (4, 8)),
    "adjacent, tail first": ((4, 8), (0, 3)),
    "equal": ((0, 8), (0, 8)),
    "at both ends": ((0, 3), (28, 29)),
}


def encoder_for(tokenizer: PreTrainedTokenizerBase, name: str, max_length: int = 64) -> RowEncoder:
    shown = entity_input(name, types=[TYPES] if name in TYPED else None)
    tokenizer = copy.deepcopy(tokenizer)
    add_entity_tokens(tokenizer, shown)
    return RowEncoder(tokenizer, entity_input=shown, max_length=max_length)


def encode(
    encoder: RowEncoder, sentence: str, head: tuple[int, int], tail: tuple[int, int], types=TYPES
) -> EncodedRows:
    spans = np.array([[*head, *tail]])
    return encoder.encode(sentences=[sentence], spans=spans, row_names=["r0"], types=[types])


def tokens(encoder: RowEncoder, rows: EncodedRows) -> list[str]:
    return encoder.tokenizer.convert_ids_to_tokens(rows.token_ids.tolist())


PLAIN = "new york city is in new york ."
EXPECTED = {
    "plain": dict.fromkeys(ARRANGEMENTS, PLAIN),
    "positions": dict.fromkeys(ARRANGEMENTS, PLAIN),
    "markers": {
        "apart": "[E1] new york city [/E1] is in [E2] new york [/E2] .",
        "tail first": "[E2] new york city [/E2] is in [E1] new york [/E1] .",
        "tail outside, same start": "[E2] [E1] new york [/E1] city [/E2] is in new york .",
        "head outside, same start": "[E1] [E2] new york [/E2] city [/E1] is in new york .",
        "tail outside, same end": "[E2] new york [E1] city [/E1] [/E2] is in new york .",
        "tail outside": "[E2] new [E1] york [/E1] city [/E2] is in new york .",
        "crossing": "[E1] new [E2] york [/E1] city [/E2] is in new york .",
        "crossing, tail first": "[E2] new [E1] york [/E2] city [/E1] is in new york .",
        "adjacent": "[E1] new [/E1] [E2] york [/E2] city is in new york .",
        "adjacent, tail first": "[E2] new [/E2] [E1] york [/E1] city is in new york .",
        "equal": "[E1] [E2] new york [/E2] [/E1] city is in new york .",
        "at both ends": "[E1] new [/E1] york city is in new york [E2] . [/E2]",
    },
    "entity_mask": {
        "apart": "[SUBJ-person] is in [OBJ-us_state] .",
        "tail first": "[OBJ-us_state] is in [SUBJ-person] .",
        "tail outside, same start": "[OBJ-us_state] [SUBJ-person] is in new york .",
        "head outside, same start": "[SUBJ-person] [OBJ-us_state] is in new york .",
        "tail outside, same end": "[OBJ-us_state] [SUBJ-person] is in new york .",
        "tail outside": "[OBJ-us_state] [SUBJ-person] is in new york .",
        "crossing": "[SUBJ-person] [OBJ-us_state] is in new york .",
        "crossing, tail first": "[OBJ-us_state] [SUBJ-person] is in new york .",
        "adjacent": "[SUBJ-person] [OBJ-us_state] city is in new york .",
        "adjacent, tail first": "[OBJ-us_state] [SUBJ-person] city is in new york .",
        "equal": "[SUBJ-person] [OBJ-us_state] city is in new york .",
        "at both ends": "[SUBJ-person] york city is in new york [OBJ-us_state]",
    },
}
# The other inputs put other pieces where `markers` has its four tokens.
STARTS_AND_ENDS = {
    "typed_markers": ("<S:person>", "</S:person>", "<O:us_state>", "</O:us_state>"),
    "markers_punct": ("@", "@", "#", "#"),
    "typed_markers_punct": ("@ * PERSON *", "@", "# ^ US_STATE ^", "#"),
}
for other, pieces in STARTS_AND_ENDS.items():
    texts = dict(EXPECTED["markers"])
    for marker, piece in zip(("[E1]", "[/E1]", "[E2]", "[/E2]"), pieces, strict=True):
        texts = {name: text.replace(marker, piece) for name, text in texts.items()}
    EXPECTED[other] = texts
# The entity's own words, head and tail.
OWN = {name: tuple(SENTENCE[slice(*span)].lower() for span in spans) for name, spans in ARRANGEMENTS.items()}


def test_the_tables_cover_every_input() -> None:
    assert EXPECTED.keys() == DEFINED.keys()


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("name", DEFINED)
def test_bert_tokens_starts_and_spans(bert_tokenizer, name: str, arrangement: str) -> None:
    encoder = encoder_for(bert_tokenizer, name)
    rows = encode(encoder, SENTENCE, *ARRANGEMENTS[arrangement])
    said = tokens(encoder, rows)
    words = {"PERSON": bert_tokenizer.tokenize("person"), "US_STATE": bert_tokenizer.tokenize("us state")}
    expected = [words.get(word, [word]) for word in EXPECTED[name][arrangement].split()]
    assert said == ["[CLS]", *itertools.chain(*expected), "[SEP]"]
    anchors = {"plain": None, "positions": None, "markers": ("[E1]", "[E2]"), "markers_punct": ("@", "#")}
    anchors |= {"typed_markers": ("<S:person>", "<O:us_state>"), "typed_markers_punct": ("@", "#")}
    for side, own in enumerate(OWN[arrangement]):
        start = rows.entity_starts[0, side]
        first, end = rows.entity_spans[0, 2 * side : 2 * side + 2]
        if name == "entity_mask":
            assert said[start] == ("[SUBJ-person]", "[OBJ-us_state]")[side]
            assert (start, start + 1) == (first, end)
            continue
        inside = said[first:end]
        assert [inside[0], inside[-1]] == [own.split()[0], own.split()[-1]]
        if anchors[name] is None:
            assert start == first
            assert inside == own.split()
        else:
            assert said[start] == anchors[name][side]
            assert start < first
            assert [token for token in inside if token in PLAIN.split()] == own.split()


def test_roberta_keeps_the_words_tokens_and_has_no_stray_blanks(roberta_tokenizer) -> None:
    sentence = "Crème brûlée is made in Zürich; the recipe comes from Orléans."
    spans = [(at := sentence.index(name), at + len(name)) for name in ("Zürich", "Orléans")]
    plain = roberta_tokenizer.tokenize(sentence)
    for name in DEFINED:
        encoder = encoder_for(roberta_tokenizer, name)
        said = tokens(encoder, encode(encoder, sentence, *spans, types=("child", "child_cradle")))[1:-1]
        assert "Ġ" not in said, name
        if name == "entity_mask":
            masked = "".join(plain).replace("ĠZÃ¼rich", "[SUBJ]").replace("ĠOrlÃ©ans", "[OBJ]")
            assert "".join(said) == masked
            continue
        words = "".join(token for token in said if token not in encoder.entity_input.new_tokens)
        for piece in ("@*child*", "#^childĠcradle^", "@", "#"):
            words = words.replace(piece, "")
        assert words == "".join(plain), name


def test_a_plain_sentence_has_the_tokens_it_has_without_entities(bert_tokenizer, roberta_tokenizer) -> None:
    """An entity that ends within a token owns the whole token; nothing is cut."""
    sentence = "The child is wrapped into the cradle."
    for tokenizer in (bert_tokenizer, roberta_tokenizer):
        encoder = encoder_for(tokenizer, "positions")
        rows = encode(encoder, sentence, (4, 7), (16, 18))
        assert rows.token_ids.tolist() == tokenizer(sentence)["input_ids"]
        said = tokens(encoder, rows)
        head, head_end, tail, tail_end = rows.entity_spans[0]
        assert "".join(said[head:head_end]).strip("Ġ").startswith("chi")
        assert "wrapped".startswith("".join(said[tail:tail_end]).strip("Ġ").replace("##", "")[:4])


@pytest.mark.parametrize("name", DEFINED)
def test_long_rows_keep_what_shows_the_entities(bert_tokenizer, name: str) -> None:
    sentence = "the child was " * 20 + "wrapped" + " and bound" * 20 + " into the cradle" + " by means" * 20
    spans = [(at := sentence.index(word), at + len(word)) for word in ("cradle", "wrapped")]
    whole_encoder = encoder_for(bert_tokenizer, name, max_length=600)
    whole = encode(whole_encoder, sentence, *spans)
    assert whole.status.tolist() == [RowStatus.WHOLE]
    for max_length in (36, 37, 64):
        encoder = encoder_for(bert_tokenizer, name, max_length=max_length)
        rows = encode(encoder, sentence, *spans)
        assert rows.lengths.tolist() == [max_length]
        assert rows.status.tolist() == [RowStatus.WINDOWED]
        assert rows.num_tokens_cut == whole.lengths[0] - max_length
        said, before = tokens(encoder, rows), tokens(whole_encoder, whole)
        for side in (0, 1):
            first, end = rows.entity_spans[0, 2 * side : 2 * side + 2]
            old_first, old_end = whole.entity_spans[0, 2 * side : 2 * side + 2]
            assert said[first:end] == before[old_first:old_end]
            start, old_start = rows.entity_starts[0, side], whole.entity_starts[0, side]
            assert said[start:first] == before[old_start:old_first], "markers and type words stay"
            after = 0 if name in ("plain", "positions", "entity_mask") else 1
            assert said[end : end + after] == before[old_end : old_end + after]


def test_an_entity_without_a_token_cannot_be_kept(bert_tokenizer) -> None:
    for name in DEFINED:
        rows = encode(encoder_for(bert_tokenizer, name), SENTENCE, (3, 4), (9, 13))
        assert rows.status.tolist() == [RowStatus.CANNOT_BE_KEPT], name


class TestTypes:
    def test_tokens_are_those_of_the_training_rows(self) -> None:
        shown = entity_input("typed_markers", types=[("person", "city"), ("person", ""), ("band", "city")])
        assert shown.new_tokens == (
            *("<S>", "</S>", "<S:band>", "</S:band>", "<S:person>", "</S:person>"),
            *("<O>", "</O>", "<O:city>", "</O:city>"),
        )

    @pytest.mark.parametrize(("name", "first"), [("typed_markers", "<S>"), ("entity_mask", "[SUBJ]")])
    def test_an_unseen_type_gets_the_untyped_token_and_is_counted(
        self, bert_tokenizer, name: str, first: str
    ) -> None:
        encoder = encoder_for(bert_tokenizer, name)
        rows = encode(encoder, SENTENCE, (0, 13), (20, 28), types=("river", "us_state"))
        assert tokens(encoder, rows)[1] == first
        assert rows.counts()["num_unseen_types"] == 1
        assert encode(encoder, SENTENCE, (0, 13), (20, 28)).counts()["num_unseen_types"] == 0

    def test_an_empty_type_adds_no_words(self, bert_tokenizer) -> None:
        encoder = encoder_for(bert_tokenizer, "typed_markers_punct")
        said = tokens(encoder, encode(encoder, SENTENCE, (0, 3), (20, 28), types=("", "city")))
        assert said[1:4] == ["@", "new", "@"]

    def test_data_without_types(self, bert_tokenizer) -> None:
        with pytest.raises(
            ValueError,
            match="`--input entity_mask` shows the entities' types, and semeval2010 has none; inputs that "
            "work: plain, positions, markers, markers_punct",
        ):
            entity_input("entity_mask", types=None, data="semeval2010")
        encoder = encoder_for(bert_tokenizer, "typed_markers")
        with pytest.raises(
            ValueError, match="'typed_markers' shows the entities' types, and none were given"
        ):
            encoder.encode(sentences=[SENTENCE], spans=np.array([[0, 3, 4, 8]]), row_names=["r0"])


def test_a_tokenizer_that_does_not_know_the_punctuation(bert_tokenizer) -> None:
    tokenizer = copy.deepcopy(bert_tokenizer)
    tokenizer.backend_tokenizer.normalizer = None
    tokenizer.unk_token = "@"
    with pytest.raises(ValueError, match="does not know '@', which marks an entity in the input 'markers_pu"):
        RowEncoder(tokenizer, entity_input=EntityInput("markers_punct"), max_length=64)


class TestCombinations:
    def test_those_of_the_papers(self) -> None:
        possible = {(name, one) for name, several in DEFINED.items() for one in several}
        of_baldini_soares = {
            ("plain", "cls"),
            ("plain", "mention_pooling"),
            ("positions", "mention_pooling"),
            ("markers", "cls"),
            ("markers", "mention_pooling"),
            ("markers", "entity_start"),
        }
        inputs_of_zhou = ("entity_mask", "markers", "markers_punct", "typed_markers", "typed_markers_punct")
        assert possible == of_baldini_soares | {(name, "entity_start") for name in inputs_of_zhou}
        for name, representation in possible:
            check_combination(input_format=name, representation=representation)

    @pytest.mark.parametrize(
        ("name", "representation", "message"),
        [
            (
                "plain",
                "entity_start",
                "this input has none. plain goes with cls, mention_pooling; entity_start",
            ),
            ("positions", "cls", r"Baldini Soares et al. \(2019\), Figure 3, do not define it"),
            ("entity_mask", "mention_pooling", r"Zhou and Chen \(2021\), section 3, define this input with"),
            ("dots", "cls", "`input` must be one of plain, positions, markers, .* got 'dots'"),
            ("plain", "mean", "the representation 'mean' does not go .* mean with no input"),
        ],
    )
    def test_others_are_refused_with_the_reason(self, name: str, representation: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            check_combination(input_format=name, representation=representation)


def test_the_least_length_counts_what_the_input_adds(bert_tokenizer) -> None:
    for name, least in {"plain": 4, "markers": 8, "entity_mask": 6, "typed_markers_punct": 14}.items():
        with pytest.raises(ValueError, match=f"`max_length` must be at least {least} to hold two entities"):
            encoder_for(bert_tokenizer, name, max_length=least - 1)
        encoder_for(bert_tokenizer, name, max_length=least)
