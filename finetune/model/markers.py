"""Where entity markers go in a sentence: pure functions over character spans.

Markers are placed by character position, never by searching for a string, so that training, evaluation and
later use mark the same mention even when a name occurs twice.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import NamedTuple

NOT_FOUND = -1


class Span(NamedTuple):
    """A mention: half-open character offsets into the sentence, or (-1, -1) when it was not found."""

    start: int
    end: int

    @property
    def found(self) -> bool:
        """Whether the mention has a place in the sentence."""
        return (self.start, self.end) != (NOT_FOUND, NOT_FOUND)


@dataclass(frozen=True)
class MarkerTokens:
    """The four marker tokens, in the order head start, head end, tail start, tail end.

    Reference: Baldini Soares et al. (2019), "Matching the Blanks", section 3.2 ("entity marker tokens").
    """

    head_start: str = "[E1]"
    head_end: str = "[/E1]"
    tail_start: str = "[E2]"
    tail_end: str = "[/E2]"

    def __post_init__(self) -> None:
        """Raise ValueError unless the four tokens are distinct and none is empty."""
        if len(set(self.tokens)) != 4 or not all(self.tokens):
            raise ValueError(f"the four marker tokens must be distinct and not empty; got {self.tokens}.")

    @property
    def tokens(self) -> tuple[str, str, str, str]:
        """The four strings in the order of the fields."""
        return astuple(self)


@dataclass(frozen=True)
class Insertion:
    """One marker: the character in front of which it stands, and its index in MarkerTokens."""

    position: int
    marker: int


HEAD_START, HEAD_END, TAIL_START, TAIL_END = range(4)


def check_span(span: Span, *, name: str, length: int, row: str) -> None:
    """Return None when the span is usable or "not found".

    Args:
        span: The mention.
        name: "head" or "tail", for the message.
        length: Number of characters of the sentence.
        row: The id of the row, for the message.

    Raises:
        ValueError: The span is empty, reversed or outside the sentence.

    >>> check_span(Span(0, 5), name="head", length=5, row="TEST#0")
    """
    if span.found and not 0 <= span.start < span.end <= length:
        raise ValueError(
            f"row {row!r}: the {name} span ({span.start}, {span.end}) is not inside the sentence of {length} "
            "characters; a span is half-open, holds at least one character, and is (-1, -1) when not found."
        )


def marker_insertions(*, head: Span, tail: Span) -> tuple[Insertion, Insertion, Insertion, Insertion]:
    """Return four insertions in reading order.

    Spans that share a border nest properly: at one position an entity that ends there is closed before one
    that starts there is opened, the longer of two entities is opened first and closed last, and of two
    equal spans the head is the outer one. Entities that cross keep the order of their borders.

    >>> [(i.position, i.marker) for i in marker_insertions(head=Span(4, 8), tail=Span(4, 17))]
    [(4, 2), (4, 0), (8, 1), (17, 3)]
    """
    # At one position: closings (0) before openings (1). Among openings the longer span first, among
    # closings the shorter first; the last entry puts the head outside the tail when the spans are equal.
    keyed = []
    for span, first, rank in ((head, HEAD_START, 0), (tail, TAIL_START, 1)):
        keyed.append(((span.start, 1, -span.end, rank), Insertion(span.start, first)))
        keyed.append(((span.end, 0, -span.start, -rank), Insertion(span.end, first + 1)))
    a, b, c, d = (insertion for _, insertion in sorted(keyed, key=lambda item: item[0]))
    return a, b, c, d


def mark_sentence(sentence: str, *, head: Span, tail: Span, markers: MarkerTokens | None = None) -> str:
    """Return the sentence with its four markers, for reading; the encoder gets the same order as token ids.

    Raises:
        ValueError: A span is not found or not inside the sentence.

    >>> mark_sentence("New York City is big.", head=Span(0, 8), tail=Span(0, 13))
    '[E2][E1]New York[/E1] City[/E2] is big.'
    """
    names = (markers or MarkerTokens()).tokens
    for span, name in ((head, "head"), (tail, "tail")):
        if not span.found:
            raise ValueError(f"the {name} was not found in the sentence, so it cannot be marked.")
        check_span(span, name=name, length=len(sentence), row=sentence[:40])
    pieces, done = [], 0
    for insertion in marker_insertions(head=head, tail=tail):
        pieces += [sentence[done : insertion.position], names[insertion.marker]]
        done = insertion.position
    return "".join([*pieces, sentence[done:]])
