"""Properties of mentions, most of them against a brute force that walks tokens."""

import itertools
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from nyt_h_dataset import folding
from nyt_h_dataset.instances import locate_rows
from nyt_h_dataset.mentions import (
    MISSING,
    OVERLAPPING,
    POLICIES,
    UNIQUE,
    fold,
    folded_mentions,
    is_boundary,
    locate,
    written_mentions,
)

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


FOLDABLE = st.text(
    st.one_of(
        st.sampled_from([*"aB_ \t()[]{}-.'’–øæßİıſ（¨", "\u0301", "\u00a0", "\ue000"]),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=12,
)


# Often enough for texts that hold nothing else: these are folded all at once.
GAPS = ["-LRB-", "-rsb-", "–lrb–", "-lſb-", "a", " ", "  (", ") ", " [ "]


@settings(max_examples=300)
@given(parts=st.lists(st.one_of(FOLDABLE, st.sampled_from(GAPS)), max_size=6))
def test_folding_at_once_equals_folding_by_character(parts):
    text = "".join(parts)
    # For the sake of this character, which stays as it is, a text is folded character by character.
    assert tuple(part[:-1] for part in folding.fold(f"{text}\ue000")) == folding.fold(text)


def test_a_long_s_in_an_escape_is_no_escape():
    assert folding.fold("-lſb-")[0] == "-lsb-"
