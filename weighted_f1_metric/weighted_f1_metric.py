"""The evaluate module: `evaluate.load("./weighted_f1_metric")`, or from a Space of that name.

evaluate copies this file and the siblings it imports, no others: so every sibling that the computation
reaches is imported here, also those that only siblings use, and never with a comment on the line.
"""
# ruff: noqa: F401

from __future__ import annotations

import inspect
from typing import Any

import evaluate
from datasets import Features, Value

from .columns import read_labels, wrong_label
from .counts import class_counts
from .family import f1_family
from .fscore import averaged_scores
from .judgments import read_answers
from .label_table import count_labels, scored_labels
from .ranking import checked_ks, rank_candidates, relation_coverage
from .row_sources import read_columns
from .signature import VERSION
from .track_statistics import track_arguments, track_statistics, unit_records
from .tracks import score_track
from .unit_predictions import read_unit_predictions
from .units import TRACKS, read_units
from .validation import check_choice, quoted
from .weighting import AVERAGES

_DESCRIPTION = """Precision, recall and F1 of relation classification under every average of the weighted F1
family (micro, weighted, dodrans, entropy, macro), without a score for the negative class. The configs
sent2sent, bag2sent and bag2bag score NYT-H against its distant labels (DSGT) and its human ones (MAGT)."""

_CITATION = """@inproceedings{harbecke2022why,
    title = {Why only Micro-F1? Class Weighting of Measures for Relation Classification},
    author = {Harbecke, David and Chen, Yuxuan and Hennig, Leonhard and Alt, Christoph},
    booktitle = {Proceedings of NLP Power! The First Workshop on Efficient Benchmarking in NLP},
    year = {2022},
    url = {https://aclanthology.org/2022.nlppower-1.4}
}
@inproceedings{zhu2020towards,
    title = {Towards Accurate and Consistent Evaluation: A Dataset for Distantly-Supervised Relation
    Extraction}, author = {Zhu, Tong and Wang, Haitao and Yu, Junjie and Zhou, Xiabing and Chen, Wenliang and
    Zhang, Wei and Zhang, Min}, booktitle = {Proceedings of the 28th International Conference on
    Computational Linguistics}, year = {2020}
}"""

CONFIGS = ("default", *TRACKS)

_TRACK_FEATURES = Features(
    {
        "predictions": {
            "id": Value("string"),
            "pred": [Value("string")],
            "score_names": [Value("string")],
            "score_values": [Value("float64")],
        },
        "references": {
            "id": Value("string"),
            "rows": [
                {
                    "instance_id": Value("string"),
                    "bag_id": Value("string"),
                    "relation": Value("string"),
                    "bag_label": Value("string"),
                    "sentence": Value("string"),
                }
            ],
        },
    }
)
# Strings first: evaluate takes the first that fits, and "3" would fit an integer.
_LABEL_FEATURES = [
    Features({"predictions": Value(kind), "references": Value(kind)}) for kind in ("string", "int64")
]


class WeightedF1Metric(evaluate.Metric):
    """The weighted F1 family (config "default") and the NYT-H tracks (configs of their names).

    Options of `f1_family` or `score_track` are given to `compute`, or once to `evaluate.load(...,
    option=value)`: there they also hold within `evaluate.combine`, which passes options of `compute` to
    every metric alike.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Keeps the options of the computation apart from those of evaluate.

        Raises:
            TypeError: an option that neither knows.
            ValueError: an unknown config.
        """
        config = check_choice(
            "config_name", kwargs.get("config_name") or (args and args[0]) or "default", CONFIGS
        )
        known = _options(config)
        own = set(inspect.signature(evaluate.Metric.__init__).parameters) | {"download_config"}
        unknown = sorted(set(kwargs) - own - known)
        if unknown:
            raise TypeError(
                f"Unknown options {quoted(unknown)}; config {config!r} takes {quoted(sorted(known), 20)}."
            )
        self.options = {name: kwargs.pop(name) for name in sorted(known & set(kwargs))}
        # Of what was added so far: the type of labels, or the relations that came with the references.
        self.label_type: type | None = None
        self.relations: dict[str, int] | None = None
        super().__init__(*args, **kwargs)

    def _info(self) -> evaluate.MetricInfo:
        """What evaluate shows and stores; the inputs are documented once, by the function that computes."""
        is_default = self.config_name == "default"
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=inspect.getdoc(f1_family if is_default else score_track) or "",
            features=_LABEL_FEATURES if is_default else _TRACK_FEATURES,
            reference_urls=[
                "https://aclanthology.org/2022.nlppower-1.4",
                "https://github.com/Spico197/NYT-H",
            ],
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add a batch. Default config: one int or str label a row on both sides, equally many.

        Track configs: predictions (the unit's id, `pred`, optionally `scores`) and the references of exactly
        these units, each in any form that `score_track` takes; a bag must come whole.

        Raises:
            TypeError: labels that are float, bool, None or of mixed type; records that are none.
            ValueError: no rows, unequal lengths, units without prediction or reference.
        """
        if self.writer is None:  # the first batch of a result
            self.label_type = self.relations = None
        if self.config_name == "default":
            batch = [_plain_labels(predictions, "predictions"), _plain_labels(references, "references")]
            if len(batch[0]) != len(batch[1]):
                raise ValueError(
                    f"`predictions` and `references` must be equally long; got {len(batch[0])} predictions "
                    f"and {len(batch[1])} references."
                )
            if type(batch[0][0]) is not type(batch[1][0]):
                raise TypeError(
                    f"Labels must be all str or all int; `predictions` are {type(batch[0][0]).__name__}, "
                    f"`references` are {type(batch[1][0]).__name__}."
                )
            if self.label_type not in (None, type(batch[0][0])):
                raise TypeError(
                    f"Labels must be all str or all int; these are {type(batch[0][0]).__name__}, those that "
                    f"were added before are {self.label_type.__name__}."
                )
            self.label_type = type(batch[0][0])
        else:
            *batch, names = unit_records(self.config_name, predictions, references)
            if names is not None:
                self.relations = {name: number for number, name in enumerate(names)}
        super().add_batch(predictions=batch[0], references=batch[1], **kwargs)

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one label pair, or on a track one prediction record and the reference record(s) of its unit.

        Raises:
            TypeError, ValueError: as `add_batch`.
        """
        # evaluate.combine calls `add` with the plural names.
        prediction = kwargs.pop("predictions", prediction)
        reference = kwargs.pop("references", reference)
        if self.config_name != "default" and isinstance(reference, (list, tuple)):
            self.add_batch(predictions=[prediction], references=list(reference), **kwargs)
        else:
            self.add_batch(predictions=[prediction], references=[reference], **kwargs)

    def compute(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> Any:
        """Return the result over `predictions` and `references`, or over all that was added; options as
        `_compute`.

        Raises:
            TypeError, ValueError: as `add_batch`; nothing to score at all.
        """
        if predictions is None and references is None and self.writer is None:
            raise ValueError("There is nothing to score: no labels were added, and none were given.")
        return super().compute(predictions=predictions, references=references, **kwargs)

    def _compute(self, *, predictions: Any, references: Any, **options: Any) -> dict[str, Any]:
        """The result of `f1_family` or `score_track` over everything that was added."""
        options = {**self.options, **options}
        unknown = sorted(set(options) - _options(self.config_name))
        if unknown:
            raise TypeError(
                f"Unknown options {quoted(unknown)}; config {self.config_name!r} takes "
                f"{quoted(sorted(_options(self.config_name)), 20)}."
            )
        if self.config_name == "default":
            return f1_family(predictions=predictions, references=references, **{"signature": True, **options})
        options.setdefault("relations", self.relations)
        return score_track(
            track=self.config_name, **track_arguments(self.config_name, predictions, references), **options
        )


def _options(config: str) -> set[str]:
    """The names of the options that the function behind `config` takes."""
    function = f1_family if config == "default" else score_track
    return set(inspect.signature(function).parameters) - {"predictions", "references", "track"}


def _plain_labels(values: Any, name: str) -> list[Any]:
    """The labels as a list of str or of int, fully checked: evaluate would cut 1.5 to 1."""
    labels = read_labels(values, name)
    if not isinstance(labels, list):
        return labels.tolist()
    if not all(isinstance(label, str) for label in labels):
        raise wrong_label(labels, name)
    return [str(label) for label in labels]
