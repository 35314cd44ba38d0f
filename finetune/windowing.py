"""Which tokens of a sentence stay when it is longer than the encoder reads: pure functions."""

from __future__ import annotations


def kept_slices(
    *, num_tokens: int, head: tuple[int, int], tail: tuple[int, int], budget: int
) -> tuple[tuple[int, int], ...] | None:
    """Half-open slices of the token sequence to keep, or None when both entities do not fit.

    A sequence that fits is kept whole. Otherwise one window is cut around both entities, with the room left
    over shared between the two sides. Only when the stretch from the first entity to the end of the last is
    itself too long is the middle between the entities shortened, from its centre; then nothing outside the
    entities is kept.

    Args:
        num_tokens: Tokens of the sentence as shown, markers and type words included.
        head: Half-open token positions of the head with its markers and type words.
        tail: The same for the tail; the two may overlap.
        budget: Tokens that may stay.

    >>> kept_slices(num_tokens=20, head=(8, 11), tail=(12, 15), budget=11)
    ((6, 17),)
    >>> kept_slices(num_tokens=20, head=(0, 3), tail=(17, 20), budget=9)
    ((0, 5), (16, 20))
    """
    if num_tokens <= budget:
        return ((0, num_tokens),)
    first, last = min(head[0], tail[0]), max(head[1], tail[1])
    room = budget - (last - first)
    if room >= 0:
        left = min(first, max(room // 2, room - (num_tokens - last)))
        return ((first - left, last + room - left),)
    (start, inner_start), (inner_end, end) = sorted((head, tail))
    room = budget - (inner_start - start) - (end - inner_end)
    if inner_start > inner_end or room < 0:
        return None
    return ((start, inner_start + room - room // 2), (inner_end - room // 2, end))
