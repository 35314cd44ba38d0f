"""Records to predict: every way to give the entities, and the answer to broken ones."""

import sys

import pytest

from finetune.model.markers import Span
from finetune.model.relation_pipeline import Sentence, read_unit

TEXT = "Ann was born in Bonn."


def sentence_of(record: dict) -> Sentence:
    (sentence,) = read_unit(record, where="line 1").sentences
    return sentence


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ([0, 3], [16, 20]),
        ((0, 3), (16, 20)),
        ("Ann", "Bonn"),
        ("ann", "BONN"),
        ({"start": 0, "end": 3}, {"start": 16, "end": 20, "word": "Bonn"}),
        ({"word": "Ann"}, "Bonn"),
    ],
)
def test_entities_as_spans_words_and_objects(head, tail) -> None:
    for key in ("sentence", "text"):
        found = sentence_of({key: TEXT, "head": head, "tail": tail})
        assert found == (TEXT, Span(0, 3), Span(16, 20), None)


def test_columns_of_the_bag_config() -> None:
    places = {"head_start": 0, "head_end": 3, "tail_start": 16, "tail_end": 20}
    types = {"head": {"word": "Ann", "type": "/a/person"}, "tail": {"word": "Bonn", "type": "city,town"}}
    assert sentence_of({"sentence": TEXT, **places, **types}).types == ("/a/person", "city,town")
    assert sentence_of({"sentence": TEXT, **places, **types})[1:3] == (Span(0, 3), Span(16, 20))


def test_what_is_not_found() -> None:
    nowhere = Span(-1, -1)
    assert sentence_of({"text": TEXT, "head": "Ann", "tail": "Berlin"})[1:3] == (nowhere, nowhere)
    assert sentence_of({"text": TEXT, "head": [0, 3], "tail": [-1, -1]})[1:3] == (Span(0, 3), nowhere)
    assert sentence_of({"text": TEXT, "head": [-1, -1], "tail": [-1, -1]})[1:3] == (nowhere, nowhere)


def test_bags_give_their_sentences_what_they_lack() -> None:
    record = {
        "bag_id": 7,
        "head": "Ann",
        "tail": "Bonn",
        "instances": [{"sentence": TEXT}, {"text": "In Bonn, Ann.", "head": [9, 12], "tail": [3, 7]}],
    }
    unit = read_unit(record, where="line 1")
    assert (unit.name, unit.is_bag) == ("7", True)
    assert [tuple(one[1:3]) for one in unit.sentences] == [((0, 3), (16, 20)), ((9, 12), (3, 7))]


def test_ids_are_those_of_the_unit() -> None:
    record = {"instance_id": "i", "bag_id": "b", "text": TEXT, "head": "Ann", "tail": "Bonn"}
    assert read_unit(record, where="line 1").name == "i"
    assert read_unit({"bag_id": "b", "instances": [record]}, where="line 1").name == "b"


GOOD = {"sentence": TEXT, "head": [0, 3], "tail": [16, 20]}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([1], "line 7: expected an object with 'sentence', 'head' and 'tail'; got list"),
        (GOOD | {"sentence": 3}, r"line 7: 'sentence' \(or 'text'\) must be a text; got 3"),
        (GOOD | {"sentence": " "}, "must be a text; got ' '"),
        (
            {"sentence": TEXT, "head": "Ann"},
            r"line 7: 'tail' must be \[start, end\], the entity's words, .*; 'tail' is missing",
        ),
        (GOOD | {"head": [0]}, r"'head' must be \[start, end\].* got \[0\]"),
        (GOOD | {"head": [0, True]}, "got .0, True"),
        (GOOD | {"head": {"start": 3}}, "got .'start': 3"),
        (GOOD | {"head": ""}, "'head' must be"),
        (GOOD | {"head": [0, 99]}, r"row 'line 7': the head span \(0, 99\) is not inside the sentence of 21"),
        (GOOD | {"tail": [5, 5]}, r"row 'line 7': the tail span \(5, 5\) is not inside"),
        (GOOD | {"tail": [0, 3]}, r"line 7: head and tail are the same span \(0, 3\)"),
        (GOOD | {"tail": "Bonn"}, "line 7: 'tail' is given by its words and 'head' by its span; give both"),
        (
            GOOD | {"head": {"start": 0, "end": 3, "type": 1}},
            "line 7: the type of 'head' must be a text; got 1",
        ),
        ({"instances": []}, "line 7: 'instances' must be a list with the sentences of the bag, at least one"),
        ({"instances": ["x"]}, "line 7, instance 1: expected an object with 'sentence'; got str"),
        ({"instances": [GOOD, GOOD | {"tail": [0, 3]}]}, "line 7, instance 2: head and tail are the same"),
    ],
)
def test_broken_records(record, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_unit(record, where="line 7")


def test_words_need_the_package_that_searches_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nyt_h_dataset", None)
    assert sentence_of(GOOD).head == Span(0, 3)
    with pytest.raises(
        ValueError, match=r"line 7: to search .* the package nyt-h must be installed; give char"
    ):
        read_unit({"text": TEXT, "head": "Ann", "tail": "Bonn"}, where="line 7")
