"""Where markers go: by character span, properly nested, in every arrangement of two spans."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.model.markers import MarkerTokens, Span, check_span, mark_sentence, marker_insertions

SENTENCE = "New York City is in New York."


@pytest.mark.parametrize(
    ("head", "tail", "marked"),
    [
        ((0, 13), (20, 28), "[E1]New York City[/E1] is in [E2]New York[/E2]."),
        ((20, 28), (0, 13), "[E2]New York City[/E2] is in [E1]New York[/E1]."),
        ((0, 8), (0, 13), "[E2][E1]New York[/E1] City[/E2] is in New York."),
        ((0, 13), (0, 8), "[E1][E2]New York[/E2] City[/E1] is in New York."),
        ((4, 13), (9, 13), "New [E1]York [E2]City[/E2][/E1] is in New York."),
        ((9, 13), (0, 13), "[E2]New York [E1]City[/E1][/E2] is in New York."),
        ((4, 8), (0, 13), "[E2]New [E1]York[/E1] City[/E2] is in New York."),
        ((0, 8), (4, 13), "[E1]New [E2]York[/E1] City[/E2] is in New York."),
        ((4, 13), (0, 8), "[E2]New [E1]York[/E2] City[/E1] is in New York."),
        ((0, 4), (4, 8), "[E1]New [/E1][E2]York[/E2] City is in New York."),
        ((4, 8), (0, 4), "[E2]New [/E2][E1]York[/E1] City is in New York."),
        ((0, 8), (0, 8), "[E1][E2]New York[/E2][/E1] City is in New York."),
        ((0, 3), (28, 29), "[E1]New[/E1] York City is in New York[E2].[/E2]"),
    ],
    ids=[
        "apart",
        "tail first",
        "nested, same start",
        "nested, head outside",
        "nested, same end",
        "nested, same end, tail outside",
        "nested inside",
        "crossing",
        "crossing, tail first",
        "adjacent",
        "adjacent, tail first",
        "equal",
        "at both ends",
    ],
)
def test_marked_sentence(head: tuple[int, int], tail: tuple[int, int], marked: str) -> None:
    assert mark_sentence(SENTENCE, head=Span(*head), tail=Span(*tail)) == marked


def test_a_repeated_name_is_marked_where_the_span_says() -> None:
    marked = mark_sentence("Paris, Texas is not Paris.", head=Span(20, 25), tail=Span(7, 12))
    assert marked == "Paris, [E2]Texas[/E2] is not [E1]Paris[/E1]."


@st.composite
def sentence_with_spans(draw: st.DrawFn) -> tuple[str, Span, Span]:
    text = draw(st.text(alphabet="ab (é-", min_size=2, max_size=12))
    spans = []
    for _ in range(2):
        start = draw(st.integers(0, len(text) - 1))
        spans.append(Span(start, draw(st.integers(start + 1, len(text)))))
    return text, spans[0], spans[1]


@given(sentence_with_spans())
def test_markers_enclose_their_spans_and_nothing_is_lost(case: tuple[str, Span, Span]) -> None:
    text, head, tail = case
    marked = mark_sentence(text, head=head, tail=tail)
    others = {"[E1]": ("[E2]", "[/E2]"), "[E2]": ("[E1]", "[/E1]")}
    for (start, end), span in ((("[E1]", "[/E1]"), head), (("[E2]", "[/E2]"), tail)):
        inside = marked.split(start)[1].split(end)[0]
        for other in others[start]:
            inside = inside.replace(other, "")
        assert inside == text[span.start : span.end]
    for token in MarkerTokens().tokens:
        assert marked.count(token) == 1
        marked = marked.replace(token, "")
    assert marked == text


@given(sentence_with_spans())
def test_spans_that_nest_give_markers_that_nest(case: tuple[str, Span, Span]) -> None:
    _, head, tail = case
    order = [insertion.marker for insertion in marker_insertions(head=head, tail=tail)]
    crossing = head.start < tail.start < head.end < tail.end or tail.start < head.start < tail.end < head.end
    assert (order in ([0, 2, 1, 3], [2, 0, 3, 1])) == crossing


@pytest.mark.parametrize("span", [(3, 3), (5, 4), (0, 6), (-1, 2), (-2, -2)])
def test_a_span_outside_the_text_is_refused(span: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"row 'TEST#7': the tail span .* is not inside the sentence of 5"):
        check_span(Span(*span), name="tail", length=5, row="TEST#7")


def test_a_mention_that_was_not_found_passes_the_check_but_cannot_be_marked() -> None:
    check_span(Span(-1, -1), name="head", length=5, row="TEST#7")
    with pytest.raises(ValueError, match="the head was not found"):
        mark_sentence("abc", head=Span(-1, -1), tail=Span(0, 1))


def test_marker_tokens_must_differ() -> None:
    with pytest.raises(ValueError, match="must be distinct and not empty"):
        MarkerTokens(head_start="[E]", tail_start="[E]")
