"""Which tokens of a marked sentence stay when it is longer than the encoder reads: pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from .markers import HEAD_END, HEAD_START, TAIL_END, TAIL_START


def kept_slices(
    *, num_tokens: int, marker_positions: Sequence[int], budget: int
) -> tuple[tuple[int, int], ...] | None:
    """Half-open slices of the token sequence to keep, or None when both entities do not fit.

    A sequence that fits is kept whole. Otherwise one window is cut around both entities, with the room left
    over shared between the two sides. Only when the stretch from the first to the last marker is itself too
    long is the middle between the entities shortened, from its centre; then nothing outside the entities is
    kept.

    Args:
        num_tokens: Tokens of the marked sentence, markers included.
        marker_positions: Token positions of the four markers in the order of MarkerTokens.
        budget: Tokens that may stay, markers included.

    >>> kept_slices(num_tokens=20, marker_positions=(8, 10, 12, 14), budget=11)
    ((6, 17),)
    >>> kept_slices(num_tokens=20, marker_positions=(0, 2, 17, 19), budget=9)
    ((0, 5), (16, 20))
    """
    if num_tokens <= budget:
        return ((0, num_tokens),)
    first, last = min(marker_positions), max(marker_positions) + 1
    room = budget - (last - first)
    if room >= 0:
        left = min(first, max(room // 2, room - (num_tokens - last)))
        return ((first - left, last + room - left),)
    entities = (
        (marker_positions[HEAD_START], marker_positions[HEAD_END] + 1),
        (marker_positions[TAIL_START], marker_positions[TAIL_END] + 1),
    )
    (start, inner_start), (inner_end, end) = sorted(entities)
    room = budget - (inner_start - start) - (end - inner_end)
    if inner_start > inner_end or room < 0:
        return None
    return ((start, inner_start + room - room // 2), (inner_end - room // 2, end))
