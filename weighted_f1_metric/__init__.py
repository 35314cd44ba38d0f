"""Scores of relation classification: the weighted F1 family, NYT-H tracks, ranking, significance, statistics.

Nothing here imports evaluate, datasets, torch or transformers; `evaluate.load` of this folder reaches the
same functions.
"""

from .commands.figure_files import write_figures, write_rank_figures, write_track_figures
from .commands.files import atomic_file, is_part_of, parse_json, write_text
from .commands.foreign_files import read_any_records, read_label_map
from .commands.prediction_files import (
    read_judgments,
    read_predictions,
    read_references,
    read_relations,
    write_predictions,
)
from .counts import ClassCounts, class_counts
from .exponent_curve import exponent_curve
from .family import f1_family, family_from_counts
from .figures.plots import (
    COLOURS,
    drawable,
    plot_averages,
    plot_class_weights,
    plot_exponent_curve,
    plot_f1_by_support,
)
from .figures.rank_plots import plot_probability_better, plot_ranks
from .figures.ranking_plots import (
    plot_coverage_panels,
    plot_pr_curves,
    plot_pr_panels,
    plot_relation_coverage,
)
from .figures.track_figures import (
    draw_track_figures,
    track_coverage,
    track_curve,
)
from .fscore import AveragedScores, average_scores, averaged_scores, class_scores
from .label_statistics import label_statistics, statistics_table
from .ranking import PRCurve, pr_curve, ranking_measures
from .signature import VERSION, Signature, comparable, data_fingerprint, parse_signature, signature
from .significance.comparison import Comparison, compare_runs, holm_adjusted, smallest_effect
from .significance.comparison_table import SIGNIFICANCE_LEVEL, agreement_table, p_text, reference_table
from .significance.rank_agreement import RankAgreement, rank_systems
from .significance.rank_intervals import Ranking, RankIntervals, rank_counts, rank_intervals
from .significance.rank_table import measure_notes, question_notes, rank_notes, rank_overview, rank_table
from .significance.resampling import bootstrap_interval, randomization_test
from .significance.run_measures import check_comparable
from .systems.breakdown import SLICES, confusions, gap_of_scored, slices_of_scored
from .systems.calibration import Calibration, calibration
from .systems.examples import examples_of_scored
from .systems.false_alarms import false_alarms
from .systems.foreign import ForeignPredictions, ForeignRules, fit_predictions
from .systems.label_breakdown import label_breakdown
from .systems.triples import Triple, read_triples
from .table import Table, number, percent
from .tables import AUC_NOTE, BOUNDS_NOTE, open_note, track_table
from .track_statistics import (
    TrackStatistics,
    statistics_of_units,
    track_statistics,
    truth_pairs,
)
from .tracks import ScoredTrack, score_track, score_units, scored_track
from .trainer_hook import make_compute_metrics
from .unit_predictions import UnitPredictions, read_unit_predictions
from .units import TRACKS, TRUTH_NAMES, TRUTHS, Units, read_units, truth_name, unit_id_key
from .unjudged.bounds import bounds_of_scored, magt_bounds, mean_bounds, order_bounds
from .unjudged.estimation import Estimate, MagtEstimate, estimate_magt
from .weighting import AVERAGES, check_desiderata, class_weights

__version__ = VERSION

__all__ = [
    "AUC_NOTE",
    "AVERAGES",
    "BOUNDS_NOTE",
    "COLOURS",
    "SIGNIFICANCE_LEVEL",
    "SLICES",
    "TRACKS",
    "TRUTHS",
    "TRUTH_NAMES",
    "VERSION",
    "AveragedScores",
    "Calibration",
    "ClassCounts",
    "Comparison",
    "Estimate",
    "ForeignPredictions",
    "ForeignRules",
    "MagtEstimate",
    "PRCurve",
    "RankAgreement",
    "RankIntervals",
    "Ranking",
    "ScoredTrack",
    "Signature",
    "Table",
    "TrackStatistics",
    "Triple",
    "UnitPredictions",
    "Units",
    "agreement_table",
    "atomic_file",
    "average_scores",
    "averaged_scores",
    "bootstrap_interval",
    "bounds_of_scored",
    "calibration",
    "check_comparable",
    "check_desiderata",
    "class_counts",
    "class_scores",
    "class_weights",
    "comparable",
    "compare_runs",
    "confusions",
    "data_fingerprint",
    "draw_track_figures",
    "drawable",
    "estimate_magt",
    "examples_of_scored",
    "exponent_curve",
    "f1_family",
    "false_alarms",
    "family_from_counts",
    "fit_predictions",
    "gap_of_scored",
    "holm_adjusted",
    "is_part_of",
    "label_breakdown",
    "label_statistics",
    "magt_bounds",
    "make_compute_metrics",
    "mean_bounds",
    "measure_notes",
    "number",
    "open_note",
    "order_bounds",
    "p_text",
    "parse_json",
    "parse_signature",
    "percent",
    "plot_averages",
    "plot_class_weights",
    "plot_coverage_panels",
    "plot_exponent_curve",
    "plot_f1_by_support",
    "plot_pr_curves",
    "plot_pr_panels",
    "plot_probability_better",
    "plot_ranks",
    "plot_relation_coverage",
    "pr_curve",
    "question_notes",
    "randomization_test",
    "rank_counts",
    "rank_intervals",
    "rank_notes",
    "rank_overview",
    "rank_systems",
    "rank_table",
    "ranking_measures",
    "read_any_records",
    "read_judgments",
    "read_label_map",
    "read_predictions",
    "read_references",
    "read_relations",
    "read_triples",
    "read_unit_predictions",
    "read_units",
    "reference_table",
    "score_track",
    "score_units",
    "scored_track",
    "signature",
    "slices_of_scored",
    "smallest_effect",
    "space",
    "statistics_of_units",
    "statistics_table",
    "track_coverage",
    "track_curve",
    "track_statistics",
    "track_table",
    "truth_name",
    "truth_pairs",
    "unit_id_key",
    "write_figures",
    "write_predictions",
    "write_rank_figures",
    "write_text",
    "write_track_figures",
]
