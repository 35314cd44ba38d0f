"""The batch plan: the same for the same seed, epoch and global batch size, and complete."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.training.relation_trainer import LongestFirstSampler, PlannedBatches, batch_plan

LENGTHS = np.random.default_rng(0).integers(5, 120, size=3333)


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=200),
    st.integers(0, 2**32 - 1),
    st.integers(0, 3),
    st.integers(1, 40),
)
def test_every_row_appears_once(lengths: list[int], seed: int, epoch: int, batch_size: int) -> None:
    plan = batch_plan(lengths=np.array(lengths), seed=seed, epoch=epoch, batch_size=batch_size)
    assert sorted(plan.tolist()) == list(range(len(lengths)))


def test_it_depends_on_seed_epoch_and_batch_size_only() -> None:
    plan = batch_plan(lengths=LENGTHS, seed=0, epoch=0, batch_size=32)
    assert np.array_equal(plan, batch_plan(lengths=LENGTHS, seed=0, epoch=0, batch_size=32))
    for seed, epoch, batch_size in ((1, 0, 32), (0, 1, 32), (0, 0, 16)):
        assert not np.array_equal(
            plan, batch_plan(lengths=LENGTHS, seed=seed, epoch=epoch, batch_size=batch_size)
        )


def test_a_recorded_plan() -> None:
    """A resumed run of a later version must see the same batches."""
    plan = batch_plan(lengths=np.arange(10) % 4, seed=9, epoch=2, batch_size=4)
    assert plan.tolist() == RECORDED


RECORDED = [9, 8, 4, 0, 7, 6, 5, 1, 2, 3]


def test_batches_hold_rows_of_similar_length() -> None:
    def padded(order: np.ndarray) -> int:
        return sum(
            LENGTHS[order[at : at + 32]].max() * len(order[at : at + 32]) for at in range(0, len(order), 32)
        )

    plan = batch_plan(lengths=LENGTHS, seed=3, epoch=0, batch_size=32)
    assert padded(plan) < 1.1 * LENGTHS.sum()
    assert padded(np.random.default_rng(0).permutation(len(LENGTHS))) > 1.6 * LENGTHS.sum()


def test_only_the_last_batch_is_short_and_its_rows_are_random() -> None:
    last = [batch_plan(lengths=LENGTHS, seed=seed, epoch=0, batch_size=32)[-5:] for seed in range(40)]
    mean = LENGTHS[np.concatenate(last)].mean()
    assert abs(mean - LENGTHS.mean()) < 10


def test_batches_are_not_sorted_by_length() -> None:
    plan = batch_plan(lengths=LENGTHS, seed=3, epoch=0, batch_size=32)
    means = [LENGTHS[plan[at : at + 32]].mean() for at in range(0, 3200, 32)]
    assert abs(np.corrcoef(means, range(len(means)))[0, 1]) < 0.35


def test_splitting_a_global_batch_gives_every_process_the_same_plan() -> None:
    plan = batch_plan(lengths=LENGTHS, seed=0, epoch=0, batch_size=32)[:3328].reshape(-1, 2, 16)
    widths = LENGTHS[plan].max(axis=2)
    assert np.abs(widths[:, 0] - widths[:, 1]).mean() < 3


def test_the_sampler_follows_the_epoch() -> None:
    batches = PlannedBatches(lengths=LENGTHS, seed=7, batch_size=8)
    first = list(batches)
    assert list(batches) == first
    assert len(batches) == len(first) == -(-len(LENGTHS) // 8)
    batches.set_epoch(1)
    plan = batch_plan(lengths=LENGTHS, seed=7, epoch=1, batch_size=8).tolist()
    assert [row for batch in batches for row in batch] == plan != [row for batch in first for row in batch]


@pytest.mark.parametrize("num_rows", [219, 193, 192, 32, 5, 1])
@pytest.mark.parametrize(("num_processes", "accumulation_steps"), [(2, 1), (3, 2), (1, 4)])
def test_several_processes_see_every_row_once_in_the_steps_of_one(
    num_rows: int, num_processes: int, accumulation_steps: int
) -> None:
    shape = {"lengths": LENGTHS[:num_rows], "seed": 7}
    shares = [
        list(
            PlannedBatches(
                **shape,
                batch_size=16,
                num_processes=num_processes,
                process_index=process,
                accumulation_steps=accumulation_steps,
            )
        )
        for process in range(num_processes)
    ]
    together = [[row for share in batch for row in share] for batch in zip(*shares, strict=True)]
    alone = PlannedBatches(**shape, batch_size=16 * num_processes, accumulation_steps=accumulation_steps)
    assert together == list(alone)
    assert sorted(row for batch in together for row in batch) == list(range(num_rows))
    sizes = [len(share) for share in [batches[-1] for batches in shares]]
    assert max(sizes) - min(sizes) <= 1


def test_longest_first() -> None:
    assert list(LongestFirstSampler(np.array([3, 9, 3, 12]))) == [3, 1, 0, 2]


def test_a_batch_size_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="`batch_size` must be a positive integer; got 0"):
        batch_plan(lengths=LENGTHS, seed=0, epoch=0, batch_size=0)
