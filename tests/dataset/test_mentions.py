"""Where entities are mentioned: examples for each rule, and properties against a brute force over tokens."""

import importlib.util
import itertools
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nyt_h_dataset.instances import locate_rows
from nyt_h_dataset.mentions import (
    AMBIGUOUS,
    MISSING,
    OVERLAPPING,
    POLICIES,
    STATUSES,
    UNIQUE,
    fold,
    folded_mentions,
    is_boundary,
    locate,
    written_mentions,
)


def words_at(sentence, spans):
    return [sentence[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("sentence", "word", "starts"),
    [
        ("at 312 and 12 .", "12", [11]),
        ("12,000 or 12.5 or 12:30 or 12", "12", [27]),
        ("Yorkshire , York", "York", [12]),
        ("(Bonn) \"Bonn\" 'Bonn' [Bonn] ``Bonn''", "Bonn", [1, 8, 15, 22, 30]),
        ("-LRB-Bonn-RRB-", "Bonn", [5]),
        ("Bonn, Bonn. Bonn; Bonn", "Bonn", [0, 6, 12, 18]),
        ("India's tea , Indians", "India", [0]),
        ("India’s tea", "India", [0]),
        ("O'Brien met Brien", "Brien", [12]),
        ("D'Or and d'or", "D", []),
        ("the Giants' field", "Giants", [4]),
        ("Bonn-based , Cologne/Bonn , Köln–Bonn", "Bonn", [0, 21, 33]),
        ("U.S.A. and U.S. and U.S.-led", "U.S.", [11, 20]),
        ("AT&T", "AT", []),
        ("a@Bonn", "Bonn", []),
        ("in Bonn.The end", "Bonn", [3]),
        ("Amazon.com", "Amazon", []),
        ("Amazon.com Inc.", "Amazon.com", [0]),
        ("Yahoo! and Yahoo!", "Yahoo!", [0, 11]),
        ("New_York", "York", []),
        ("Cafe\u0301 Cafe", "Cafe", [6]),
        ("A B A B A", "A B A", [0, 4]),
        ("Bonn", " Bonn ", [0]),
        ("Bonn", "", []),
        ("Bonn", "  ", []),
    ],
)
def test_written_mentions_stand_at_token_boundaries(sentence, word, starts):
    assert [start for start, _ in written_mentions(sentence, word)] == starts


@pytest.mark.parametrize(
    ("sentence", "word", "found"),
    [
        ("in SAO PAULO", "São Paulo", ["SAO PAULO"]),
        ("in Sa\u0303o Paulo .", "São Paulo", ["Sa\u0303o Paulo"]),
        ("São_Paulo", "Sao Paulo", ["São_Paulo"]),
        ("New York", "New_York", ["New York"]),
        ("Acme -LRB- Ohio -RRB- said", "Acme (Ohio)", ["Acme -LRB- Ohio -RRB-"]),
        ("Acme (Ohio) said", "Acme -LRB- Ohio -RRB-", ["Acme (Ohio)"]),
        ("Acme -lsb-x-rsb-", "acme [X]", ["Acme -lsb-x-rsb-"]),
        ("die Straße", "STRASSE", ["Straße"]),
        ("Straße", "STRAS", []),
        ("Lodz and Łódź", "lódz", ["Lodz", "Łódź"]),
        ("O’Brien", "O'BRIEN", ["O’Brien"]),
        ("al–Assad", "al-assad", ["al–Assad"]),
        ("New   York", "new york", ["New   York"]),
        ("New\u00a0York", "New York", ["New\u00a0York"]),
        ("the 12TH", "12th", ["12TH"]),
        ("BONNER", "Bonn", []),
        ("\u0301Bonn", "bonn", []),
        ("Bonn", "\u0301", []),
    ],
)
def test_folded_mentions_map_back_to_the_sentence(sentence, word, found):
    assert words_at(sentence, folded_mentions(sentence, word)) == found


@pytest.mark.parametrize(
    ("sentence", "head", "tail", "spans", "status"),
    [
        ("Ann left Bonn", "Ann", "Bonn", ("Ann", "Bonn"), UNIQUE),
        ("New York City and York", "York", "New York City", ((18, 22), (0, 13)), AMBIGUOUS),
        ("New York City and york", "York", "New York City", ((18, 22), (0, 13)), AMBIGUOUS),
        ("in New York City", "York", "New York City", ((7, 11), (3, 16)), OVERLAPPING),
        ("New York City", "New York", "York City", ((0, 8), (4, 13)), OVERLAPPING),
        ("New York City , New York City", "York", "New York City", ((20, 24), (0, 13)), AMBIGUOUS),
        ("Bonn and Bonn", "Bonn", "Bonn", ((0, 4), (9, 13)), AMBIGUOUS),
        ("only Bonn", "Bonn", "Bonn", ((5, 9), (5, 9)), OVERLAPPING),
        ("Ann left", "Ann", "Bonn", ((0, 3), (-1, -1)), MISSING),
        ("Ann left", "Bo", "Bonn", ((-1, -1), (-1, -1)), MISSING),
        ("", "Ann", "Bonn", ((-1, -1), (-1, -1)), MISSING),
        ("Ann left bonn for BONN", "Ann", "Bonn", ((0, 3), (9, 13)), AMBIGUOUS),
        ("Ann left bonn for Bonn", "Ann", "Bonn", ((0, 3), (18, 22)), UNIQUE),
    ],
)
def test_the_pair_and_its_status(sentence, head, tail, spans, status):
    found = locate(sentence, head, tail)
    if isinstance(spans[0], str):
        assert (sentence[slice(*found.head)], sentence[slice(*found.tail)]) == spans
    else:
        assert (found.head, found.tail) == spans
    assert STATUSES[found.status] == STATUSES[status]


def test_the_policies_differ():
    sentence = "Bonn , Ann , x , Ann Bonn"
    assert locate(sentence, "Ann", "Bonn")[:2] == ((7, 10), (0, 4))
    assert locate(sentence, "Ann", "Bonn", policy="closest")[:2] == ((17, 20), (21, 25))
    with pytest.raises(ValueError, match="`mention_policy` must be one of 'first', 'closest'; got 'nearest'"):
        locate(sentence, "Ann", "Bonn", policy="nearest")
    with pytest.raises(ValueError, match="`mention_policy` must be one of"):
        locate_rows([sentence], ["Ann"], ["Bonn"], policy="nearest")


# Properties. Tokens are letters between single blanks: boundaries are plain, a brute force can walk them.
TOKENS = st.lists(st.sampled_from(["a", "b", "c", "B", "ab"]), min_size=0, max_size=9)
WORDS = st.lists(st.sampled_from(["a", "b", "c", "ab"]), min_size=1, max_size=3)


def brute_force(tokens, word, same=str.__eq__):
    """Spans where the tokens of `word` stand, found by comparing token lists."""
    offsets = list(itertools.accumulate((len(token) + 1 for token in tokens), initial=0))
    return [
        (offsets[i], offsets[i + len(word)] - 1)
        for i in range(len(tokens) - len(word) + 1)
        if all(same(a, b) for a, b in zip(tokens[i : i + len(word)], word, strict=True))
    ]


def separate(head, tail):
    return head[1] <= tail[0] or tail[1] <= head[0]


@given(TOKENS, WORDS, WORDS, st.sampled_from(POLICIES))
def test_spans_never_overlap_when_a_separate_pair_exists(tokens, head, tail, policy):
    sentence = " ".join(tokens)
    heads, tails = brute_force(tokens, head), brute_force(tokens, tail)
    any_heads, any_tails = (
        brute_force(tokens, word, lambda a, b: a.casefold() == b.casefold()) for word in (head, tail)
    )
    found = locate(sentence, " ".join(head), " ".join(tail), policy=policy)
    if not any_heads or not any_tails:
        assert found.status == MISSING
        return
    pairs = [(h, t) for h in any_heads for t in any_tails if separate(h, t)]
    assert (found.status == OVERLAPPING) == (not pairs)
    assert separate(found.head, found.tail) == bool(pairs)
    assert found.head in any_heads
    assert found.tail in any_tails
    free = [(h, t) for h in heads or any_heads for t in tails or any_tails if separate(h, t)]
    one_each = len(heads or any_heads) == len(tails or any_tails) == 1
    assert (found.status == UNIQUE) == (one_each and bool(free))


def inside(span, others):
    return any(o != span and o[0] <= span[0] and span[1] <= o[1] for o in others)


@given(TOKENS, WORDS, WORDS, st.sampled_from(POLICIES))
def test_a_mention_inside_the_other_entity_is_not_taken_when_there_is_another(tokens, head, tail, policy):
    heads, tails = brute_force(tokens, head), brute_force(tokens, tail)
    free_heads = [h for h in heads if not inside(h, tails)]
    free_tails = [t for t in tails if not inside(t, heads)]
    if any(separate(h, t) for h in free_heads for t in free_tails):
        found = locate(" ".join(tokens), " ".join(head), " ".join(tail), policy=policy)
        assert found.head in free_heads
        assert found.tail in free_tails


@given(TOKENS, WORDS, WORDS)
def test_the_policies_give_the_earliest_and_the_closest_pair(tokens, head, tail):
    sentence, head_word, tail_word = " ".join(tokens), " ".join(head), " ".join(tail)
    heads, tails = brute_force(tokens, head), brute_force(tokens, tail)
    free_heads = [h for h in heads if not inside(h, tails)]
    free_tails = [t for t in tails if not inside(t, heads)]
    pairs = [(h, t) for h in free_heads for t in free_tails if separate(h, t)]
    if not pairs:
        return
    first = locate(sentence, head_word, tail_word)
    assert max(first.head[1], first.tail[1]) == min(max(h[1], t[1]) for h, t in pairs)
    closest = locate(sentence, head_word, tail_word, policy="closest")
    gap = max(closest.tail[0] - closest.head[1], closest.head[0] - closest.tail[1])
    assert gap == min(max(t[0] - h[1], h[0] - t[1]) for h, t in pairs)


@given(TOKENS, WORDS, WORDS, st.sampled_from(POLICIES))
def test_renaming_changes_nothing(tokens, head, tail, policy):
    names = str.maketrans("abcB", "xyzY")
    before = locate(" ".join(tokens), " ".join(head), " ".join(tail), policy=policy)
    after = locate(
        " ".join(tokens).translate(names),
        " ".join(head).translate(names),
        " ".join(tail).translate(names),
        policy=policy,
    )
    assert before == after


@given(TOKENS, WORDS, WORDS, st.sampled_from(POLICIES))
def test_swapping_head_and_tail_swaps_the_spans(tokens, head, tail, policy):
    if head != tail:
        one = locate(" ".join(tokens), " ".join(head), " ".join(tail), policy=policy)
        two = locate(" ".join(tokens), " ".join(tail), " ".join(head), policy=policy)
        assert one.status == two.status
        if one.status == UNIQUE:
            assert (one.head, one.tail) == (two.tail, two.head)


@given(st.lists(st.tuples(TOKENS, WORDS, WORDS), max_size=5), st.sampled_from(POLICIES))
def test_the_rows_of_a_table_are_located_like_single_rows(rows, policy):
    texts = [[" ".join(part) for part in row] for row in rows]
    columns = locate_rows(*([row[i] for row in texts] for i in range(3)), policy=policy)
    assert len(columns) == 5
    for row, *values in zip(texts, *columns, strict=True):
        found = locate(*row, policy=policy)
        assert tuple(values) == (*found.head, *found.tail, found.status)


ANY_TEXT = st.text(
    st.one_of(st.sampled_from("aé_ ()ßİ’-\u0301\u00a0ﬁ½Å"), st.characters(exclude_categories=["Cs"])),
    max_size=25,
)


@given(ANY_TEXT)
def test_folding_keeps_the_place_of_every_character(text):
    folded, starts, ends = fold(text)
    assert len(folded) == len(starts) == len(ends)
    assert starts == sorted(starts)
    assert all(0 <= start < end <= len(text) for start, end in zip(starts, ends, strict=True))
    for char, start, end in zip(folded, starts, ends, strict=True):
        # What stands there folds to something with this character in it.
        assert char in fold(text[start:end])[0] or char == " "


@given(
    st.lists(st.sampled_from(["Zoë", "Ab", "K", "Łódź", "straße"]), min_size=1, max_size=3),
    st.sampled_from(["upper", "lower", "underscore", "plain", "decomposed"]),
    st.sampled_from(["", "x ", "( ", "``", "-LRB-", "x, "]),
    st.sampled_from(["", " x", " )", "''", "-RRB-", "'s", ", x"]),
)
def test_a_name_in_another_spelling_is_found_exactly(tokens, form, before, after):
    word = " ".join(tokens)
    written = {
        "upper": word.upper(),
        "lower": word.lower(),
        "underscore": word.replace(" ", "_"),
        "plain": fold(word)[0],
        "decomposed": unicodedata.normalize("NFD", word),
    }[form]
    sentence = before + written + after
    spans = written_mentions(sentence, word) or folded_mentions(sentence, word)
    assert (len(before), len(before) + len(written)) in spans


@given(st.text(max_size=12))
def test_the_ends_of_a_text_are_boundaries(text):
    assert is_boundary(text, 0)
    assert is_boundary(text, len(text))


def test_the_real_positions_are_met_wherever_there_is_one_mention_of_each(real_data):
    """USER_REPORTS 18: entities are given by character span, so that nobody has to search or replace."""
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "mentions.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_mentions", path)
    benchmarks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmarks)
    cases = benchmarks._cases(real_data, real_data / "gold_positions.jsonl", in_tokens=True)
    results = benchmarks.measure(cases)
    assert results["one mention of each"] == (2333, 2333)
    assert results["status unique"] == (2333, 2333)
    assert results["policy first"] == (2567, 2595)
    # The others are the rows whose published positions overlap though a separate pair exists.
    for case in cases:
        found = locate(*case[:3])
        if (found.head, found.tail) != case.true:
            assert not separate(*case.true)
            assert separate(found.head, found.tail)
