"""Word vectors read from a file, and the tokenizer of whole words made from them and the training rows."""

from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from finetune.encoders import word_vectors
from finetune.encoders.word_vectors import UNKNOWN, read_word_vectors, word_tokenizer

NOT_FOUND = np.full((1, 4), -1)


def write(folder: Path, text: str) -> Path:
    path = folder / "vectors.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_vectors_are_read_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"w{i} {i} -{i}.5 1e-{i}" for i in range(7)] + [". . . 1 2 3", "\u2028 4 5 6 "]
    monkeypatch.setattr(word_vectors, "LINES_PER_BLOCK", 4)
    read = read_word_vectors(write(tmp_path, "\n".join(lines) + "\n"))
    assert read.words == [*(f"w{i}" for i in range(7)), ". . .", "\u2028"]
    expected = [[i, -i - 0.5, 10.0**-i] for i in range(7)] + [[1, 2, 3], [4, 5, 6]]
    np.testing.assert_allclose(read.values, np.array(expected), rtol=1e-6)
    assert read.values.dtype == np.float32
    assert not read.is_cased


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("400000 50\nthe 1 2\n", r"vectors.txt, line 1: '400000 50' is a header .* delete the line"),
        ("the 1 2\nof 1\n", r"vectors.txt, line 2: 1 numbers behind 'of'; the first line has 2"),
        ("the 1 2\nof 1 2 3\n", r"vectors.txt, line 2: 3 numbers behind 'of'; the first line has 2"),
        ("the 1 2\n\nof 1 2\n", r"line 2: 0 numbers behind ''; the first line has 2"),
        ("the 1 2\nof 1 two\n", r"line 2: 'two' in the vector of 'of' is no finite number"),
        ("the 1 2\nof 1 nan\n", r"line 2: 'nan' in the vector of 'of' is no finite number"),
        (
            "the 1 2\nof 3 4\na 3 4\nof 1 2\nthe 1 2\n",
            r"line 4: the word 'of' is there already, in line 2 \(2",
        ),
        ("the\n", r"line 1: 'the' is no word with numbers behind it"),
        ("", r"vectors.txt is empty; it must hold a word and its numbers"),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.setattr(word_vectors, "LINES_PER_BLOCK", 1)
    with pytest.raises(ValueError, match=message):
        read_word_vectors(write(tmp_path, text))


def test_files_that_are_missing_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"`word_vectors`: the file .*nothing\.txt is not there"):
        read_word_vectors(tmp_path / "nothing.txt")
    path = tmp_path / "vectors.txt"
    path.write_bytes(b"the 1 2\n\xff\xfe 1 2\n")
    with pytest.raises(ValueError, match="not UTF-8 text"):
        read_word_vectors(path)


def words_of(sentence: str) -> list[str]:
    tokenizer, _ = word_tokenizer(sentences=[sentence], spans=NOT_FOUND)
    ids = tokenizer(sentence)["input_ids"]
    assert tokenizer.unk_token_id not in ids
    return tokenizer.convert_ids_to_tokens(ids)


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("He doesn't like Smith's well-known cat.", "he does n't like smith 's well-known cat ."),
        (
            "Mr. Smith, of the U.S., paid $1,000.50 (today)",
            "mr. smith , of the u.s. , paid $ 1,000.50 ( today )",
        ),
        (
            "New Rochelle -LRB- as he did -RRB- , `` so '' --",
            "new rochelle -lrb- as he did -rrb- , `` so '' --",
        ),
        ("İstanbul \u00a0and Zürich...", "i̇stanbul and zürich ..."),
        ("they're can't 'tis", "they 're ca n't ' tis"),
    ],
)
def test_words_are_those_of_glove(sentence: str, words: str) -> None:
    assert words_of(sentence) == words.split()


def test_offsets_point_into_the_sentence_as_written() -> None:
    sentence = "İstanbul isn't Zürich."
    tokenizer, _ = word_tokenizer(sentences=[sentence], spans=NOT_FOUND)
    offsets = tokenizer(sentence, return_offsets_mapping=True)["offset_mapping"]
    assert [sentence[start:end] for start, end in offsets] == ["İstanbul", "is", "n't", "Zürich", "."]


def test_the_vocabulary_holds_training_words_and_words_with_vectors(tmp_path: Path) -> None:
    vectors = read_word_vectors(write(tmp_path, "paris 1 2\nin 3 4\nrome 5 6\n"))
    sentences = ["The New York-based firm", "the firm in Paris"]
    spans = np.array([[4, 12, 19, 23], [-1, -1, -1, -1]])
    tokenizer, num_fixed = word_tokenizer(sentences=sentences, spans=spans, vectors=vectors)
    assert num_fixed == 3
    ids = tokenizer.get_vocab()
    # Fixed first: what has a vector and is in no training sentence. Then by falling frequency, then alphabet.
    assert sorted(ids, key=ids.__getitem__) == [
        "[PAD]",
        "[UNK]",
        "rome",
        "firm",
        "the",
        "-",
        "based",
        "in",
        "new",
        "paris",
        "york",
    ]
    assert tokenizer.convert_ids_to_tokens(tokenizer("Rome, Boston")["input_ids"]) == [
        "rome",
        UNKNOWN,
        UNKNOWN,
    ]
    reordered, _ = word_tokenizer(sentences=sentences[::-1], spans=spans[::-1], vectors=vectors)
    assert reordered.get_vocab() == ids


def test_case_is_kept_where_the_vectors_have_it(tmp_path: Path) -> None:
    vectors = read_word_vectors(write(tmp_path, "Paris 1 2\nin 3 4\n"))
    assert vectors.is_cased
    tokenizer, _ = word_tokenizer(sentences=["The man"], spans=NOT_FOUND, vectors=vectors)
    assert tokenizer.convert_ids_to_tokens(tokenizer("The man in Paris paris")["input_ids"]) == [
        "The",
        "man",
        "in",
        "Paris",
        UNKNOWN,
    ]


def test_a_saved_tokenizer_is_loaded_by_the_auto_class(tmp_path: Path) -> None:
    sentence = "The [UNK] [PAD] man isn't in New York-based firms."
    tokenizer, _ = word_tokenizer(sentences=[sentence], spans=NOT_FOUND)
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.is_fast
    for text in (sentence, "A man who has [UNK]"):
        options = {"return_offsets_mapping": True, "split_special_tokens": True}
        assert dict(loaded(text, **options)) == dict(tokenizer(text, **options))
    assert (loaded.pad_token_id, loaded.unk_token_id) == (0, 1)
    assert loaded.unk_token_id not in loaded("[UNK]", split_special_tokens=True)["input_ids"]
