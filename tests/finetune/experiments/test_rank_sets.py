"""Rank sets in the report: the numbers are those of the metric, what was asked, and who is left out."""

import pytest

from finetune.experiments.rank_sets import draw_rank_sets, rank_sets, rank_sets_table
from finetune.experiments.run_results import runs_by_track
from finetune.experiments.significance import method
from tests.finetune.experiments.made_runs import guesses, made_data, run_by_hand, run_of_predictions
from weighted_f1_metric import rank_intervals

ACCURACY = {"good": 0.95, "middle": 0.6, "poor": 0.1}


def track_runs(folder, data, *, seeds=(9, 148, 378), track="bag2bag", systems=tuple(ACCURACY)):
    runs, said = [], {}
    for shift, name in enumerate(systems):
        said[name] = {
            seed: guesses(data, track, seed=seed + shift, accuracy=ACCURACY[name]) for seed in seeds
        }
        runs.append(run_of_predictions(folder / name, data, name, said[name], track))
    return runs, said


def test_ranks_are_those_of_the_metric_over_seeds_and_bags(tmp_path):
    data = made_data(num_rows=60)
    runs, said = track_runs(tmp_path, data)
    without = {int(seed): own["test"] for seed, own in runs[0].results["seeds"].items()}
    runs.append(run_by_hand(tmp_path / "silent", data, "silent", without, "bag2bag"))
    (own,) = runs_by_track(runs, data)
    ranks = rank_sets(own, data)
    assert ranks.left_out == ("silent",)
    expected = rank_intervals(
        systems={name: list(records.values()) for name, records in said.items()},
        references=data.splits["test"].references,
        track="bag2bag",
        relations=data.relations,
        truths=("dsgt", "magt_ds_scope", "magt"),
        question="seeds",
        seed=0,
    )
    assert ranks.result.to_json() == expected.to_json()
    table = rank_sets_table(own, ranks)
    assert len(table.rows) == 3 * len(expected.rankings)
    first = expected.rankings["dsgt_micro_f1"].systems[0]
    assert f"| good | {first.rank} ({first.rank_low}-{first.rank_high}) {first.group} |" in table.text
    assert "new seeds and new test bags" in table.text
    assert "silent" in table.text
    assert "Half the width takes" in table.text
    # The first of 36 tests over 3 and 3 seeds: t(4) = 7.90 at 0.05 / 72, times sqrt(2 / 3).
    assert "must be 6.5 sds" in method(own)


def test_one_seed_is_asked_about_bags_alone(tmp_path):
    data = made_data(human=False, num_rows=60)
    runs, _ = track_runs(tmp_path, data, seeds=(9,), track="sent2sent")
    (own,) = runs_by_track(runs, data)
    ranks = rank_sets(own, data)
    assert ranks.result.question == "runs"
    assert ranks.result.num_bags == 30
    assert "new test bags" in rank_sets_table(own, ranks).text
    assert "sds" not in method(own)


def test_one_system_has_no_rank(tmp_path):
    data = made_data()
    runs, _ = track_runs(tmp_path, data, systems=("good",))
    (own,) = runs_by_track(runs, data)
    ranks = rank_sets(own, data)
    assert ranks.result is None
    assert rank_sets_table(own, ranks) is None
    assert draw_rank_sets(tmp_path, own, ranks) == []


def test_pictures_of_one_f1(tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    data = made_data()
    runs, _ = track_runs(tmp_path, data, seeds=(9,), systems=("good", "poor"))
    (own,) = runs_by_track(runs, data)
    shown = draw_rank_sets(tmp_path / "out", own, rank_sets(own, data))
    assert shown == [f"figures/{what}_bag2bag_magt_macro_all_f1.png" for what in ("ranks", "better")]
    assert all((tmp_path / "out" / path).with_suffix(".pdf").is_file() for path in shown)
