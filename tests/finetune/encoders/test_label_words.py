"""Label words: the files of the package, files of users, the generator and its command."""

import json
from pathlib import Path

import pytest

from finetune.encoders.label_words import label_word_ids, read_label_words
from finetune.label_words import generated_words, main

NAMES = ["NA", "/people/person/place_of_birth", "/people/deceased_person/place_of_death"]
FIVE = ["person", "was", "born", "in", "city"]


def read(tmp_path: Path, content: object, names: list[str] = NAMES[:2]) -> dict[str, tuple[str, ...]]:
    path = tmp_path / "words.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_label_words(str(path), label_names=names, data="nyt_h")


@pytest.mark.parametrize(
    ("data", "negative", "number"),
    [("nyt_h", "NA", 22), ("semeval2010", "Other", 19), ("tacred", "no_relation", 42)],
)
def test_the_files_of_the_package(data: str, negative: str, number: int) -> None:
    path = Path(read_label_words.__globals__["__file__"]).with_name(f"label_words_{data}.json")
    names = list(json.loads(path.read_text()))
    assert len(names) == number
    words = read_label_words(None, label_names=names, data=data)
    assert len(set(words.values())) == number
    assert words[negative] == ("entity", "is", "irrelevant", "to", "entity")
    assert all(word == word.lower() and word.isalpha() for own in words.values() for word in own)
    if data == "semeval2010":  # the words of the two directions change places
        forth, back = words["Cause-Effect(e1,e2)"], words["Cause-Effect(e2,e1)"]
        assert (forth[0], forth[4]) == (back[4], back[0]) == ("cause", "effect")


def test_words_come_in_the_order_of_the_labels_and_others_are_not_used(tmp_path: Path) -> None:
    given = {"more": ["a", "b", "c", "d", "e"], NAMES[1]: FIVE, "NA": ["a", "is", "not", "of", "a"]}
    assert list(read(tmp_path, given).items()) == [
        ("NA", ("a", "is", "not", "of", "a")),
        (NAMES[1], tuple(FIVE)),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"NA": FIVE}, r"words.json label words lack 1 of the 2 relations \(first: '/people/person/place_of"),
        (
            {"NA": FIVE, NAMES[1]: FIVE},
            "'NA' and '/people/person/place_of_birth' have the same words 'person w",
        ),
        ({"NA": FIVE[:4]}, r"'NA' must have a list of 5 words, the same number .* got \[\"person\", \"was\""),
        ({"NA": [*FIVE[:4], "a "]}, "'NA' must have a list of 5 words"),
        ({"NA": "a b c d e"}, "'NA' must have a list of 5 words"),
        ({"NA": [1, 2, 3, 4, 5]}, "'NA' must have a list of 5 words"),
        ([FIVE], "must hold one JSON object, relation name -> 5 words; got a list"),
        ('{"NA": [],\n"NA" []}', "words.json, line 2: not JSON"),
        ('{"NA": ["a"], "NA": ["b"]}', "'NA'"),
    ],
)
def test_a_file_that_cannot_be_used(content: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, content)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"words none.json is not there; `python -m finetune.label_w"):
        read_label_words("none.json", label_names=NAMES, data="tacred")
    with pytest.raises(ValueError, match="needs `--label_words` for opennre, a file with one JSON object"):
        read_label_words(None, label_names=NAMES, data="opennre")
    with pytest.raises(
        ValueError, match=r"tacred's label words lack 1 of the 1 relations \(first: 'per:new'"
    ):
        read_label_words(None, label_names=["per:new"], data="tacred")


def test_words_that_the_vocabulary_lacks_are_named(bert_tokenizer, roberta_tokenizer) -> None:
    words = {"NA": ("a", "is", "not", "of", "zzz"), "r": ("the", "Oviedo", "made", "in", "City")}
    with pytest.raises(
        ValueError, match=r"^2 label words are not .*: 'zzz' \('NA', mask 5\), 'Oviedo' \('r',"
    ):
        label_word_ids(bert_tokenizer, words)
    with pytest.raises(ValueError, match=r"'zzz' .* put other words in their place, or .* `--label_words`"):
        label_word_ids(roberta_tokenizer, words)


def test_generated_words_are_known_and_different() -> None:
    names = [*NAMES, "/people/person/place_of_birth/", "/business/company/founders", "per:city_of_birth"]
    lacking = {"birth", "irrelevant", "founder", "city"}
    made = generated_words(names, negative_relation="NA", known=lambda word: word not in lacking)
    assert list(made) == names
    assert len(set(made.values())) == len(names)
    assert not lacking & {word for words in made.values() for word in words}
    assert made["NA"] == ("entity", "is", "related", "to", "entity")
    assert made["/people/deceased_person/place_of_death"] == ("person", "place", "of", "death", "place")
    assert made["/people/person/place_of_birth"] == ("person", "place", "of", "related", "place")
    assert made["/people/person/place_of_birth/"] == ("person", "people", "of", "related", "place")
    assert made["/business/company/founders"] == ("company", "has", "the", "founders", "founders")
    assert made["per:city_of_birth"] == ("person", "related", "of", "related", "entity")


def test_names_that_the_generator_refuses() -> None:
    with pytest.raises(ValueError, match="`--negative_relation` 'none' is none of the 3 relations"):
        generated_words(NAMES, negative_relation="none", known=lambda word: True)
    with pytest.raises(ValueError, match="'NA' is there more than once"):
        generated_words([*NAMES, "NA"], negative_relation="NA", known=lambda word: True)
    with pytest.raises(
        ValueError, match=r"'NA': the vocabulary has neither 'entity' nor any of 'entity', 'th"
    ):
        generated_words(NAMES, negative_relation="NA", known=lambda word: False)
    with pytest.raises(ValueError, match="'a': all words that the rules can make belong to other relations"):
        generated_words(["NA", "a"], negative_relation="NA", known=lambda word: word in ("one", "the"))


def test_the_command(sample: Path, bert_folder: Path, bert_tokenizer, tmp_path: Path, capsys) -> None:
    given = ["--relations", str(sample / "rel2id.json"), "--output", str(tmp_path / "words.json")]
    given += ["--model_name_or_path", str(bert_folder)]
    names = list(json.loads((sample / "rel2id.json").read_text()))
    # A vocabulary of 300 tokens has none of the words that stand in for nouns.
    assert main(given) == 2
    assert "'NA': the vocabulary has neither 'entity' nor any of" in capsys.readouterr().err
    known = tmp_path / "encoder"
    bert_tokenizer.__class__(
        vocab={**bert_tokenizer.get_vocab(), "entity": len(bert_tokenizer)}, model_max_length=64
    ).save_pretrained(known)
    (known / "config.json").write_text((bert_folder / "config.json").read_text())
    given[-1] = str(known)
    assert main(given) == 0
    assert f"label words of {len(names)} relations" in capsys.readouterr().out
    words = read_label_words(str(tmp_path / "words.json"), label_names=names, data="nyt_h")
    assert len(set(words.values())) == len(names)
    assert main(given) == 2
    assert "is there already; give another `--output`" in capsys.readouterr().err
    (tmp_path / "list.json").write_text("[1]")
    for file, message in (("list.json", "must hold relation names"), ("no.json", "no.json is not there")):
        assert main([*given[:1], str(tmp_path / file), *given[2:]]) == 2
        assert message in capsys.readouterr().err
