"""What stays of a sentence that is too long: both entities, always, when they fit."""

from hypothesis import given
from hypothesis import strategies as st

from finetune.model.encoding import kept_slices


@st.composite
def marked_row(draw: st.DrawFn) -> tuple[int, tuple[int, int, int, int], int]:
    num_tokens = draw(st.integers(4, 40))
    places = sorted(draw(st.permutations(range(num_tokens)))[:4])
    order = draw(st.sampled_from([(0, 1, 2, 3), (2, 3, 0, 1), (0, 3, 1, 2), (1, 2, 0, 3), (0, 2, 1, 3)]))
    positions = tuple(places[i] for i in order)
    return num_tokens, positions, draw(st.integers(4, 40))


@given(marked_row())
def test_both_entities_are_kept_or_the_row_is_given_up(
    row: tuple[int, tuple[int, int, int, int], int],
) -> None:
    num_tokens, positions, budget = row
    slices = kept_slices(
        num_tokens=num_tokens,
        head=(positions[0], positions[1] + 1),
        tail=(positions[2], positions[3] + 1),
        budget=budget,
    )
    head, tail = set(range(positions[0], positions[1] + 1)), set(range(positions[2], positions[3] + 1))
    apart = positions[1] < positions[2] or positions[3] < positions[0]
    whole = set(range(min(positions), max(positions) + 1))
    needed = head | tail if apart else whole
    if slices is None:
        assert len(needed) > budget
        return
    kept = [token for start, end in slices for token in range(start, end)]
    assert needed <= set(kept)
    assert kept == sorted(set(kept))
    assert kept[0] >= 0
    assert kept[-1] < num_tokens
    assert len(kept) == min(num_tokens, budget), "no room is wasted"
    if len(whole) <= budget:
        assert len(slices) == 1, "the middle is shortened last"


def test_the_room_is_shared_between_the_sides() -> None:
    assert kept_slices(num_tokens=100, head=(50, 53), tail=(55, 58), budget=28) == ((40, 68),)


def test_at_the_ends_the_other_side_gets_the_room() -> None:
    assert kept_slices(num_tokens=100, head=(0, 3), tail=(5, 8), budget=28) == ((0, 28),)
    assert kept_slices(num_tokens=100, head=(90, 93), tail=(97, 100), budget=28) == ((72, 100),)


def test_the_middle_is_cut_at_its_centre() -> None:
    slices = kept_slices(num_tokens=100, head=(90, 93), tail=(10, 13), budget=17)
    assert slices == ((10, 19), (85, 93))


def test_entities_that_do_not_fit() -> None:
    assert kept_slices(num_tokens=100, head=(10, 21), tail=(30, 41), budget=21) is None
    assert kept_slices(num_tokens=100, head=(10, 41), tail=(20, 31), budget=30) is None
