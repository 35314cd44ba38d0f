"""Uploaded or pasted labels, or the files of a track -> the page with every score (no Gradio here)."""

from __future__ import annotations

import html
import json
import tempfile
from collections.abc import Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..commands.foreign_files import (
    fitted_records,
    is_foreign,
    label_map_of,
    read_any_records,
    report_lines,
)
from ..commands.label_files import GOLD_NAMES, PREDICTED_NAMES, read_label_file
from ..commands.prediction_files import checked_predictions, read_references, read_relations
from ..counts import ClassCounts, class_counts
from ..family import f1_family
from ..figures.plots import plot_class_weights, plot_f1_by_support
from ..figures.track_figures import FIGURE_CAPTIONS, captioned_figures
from ..systems.foreign import ForeignRules
from ..table import percent
from ..tables import (
    BOUNDS_NOTE,
    RANKING_NAMES,
    averages_by_truth,
    bounded,
    open_note,
    track_notes,
    twins_note,
)
from ..tracks import scored_track
from ..units import truth_name
from ..unjudged.bounds import bounds_of_scored
from ..validation import quoted
from ..weighting import AVERAGES
from .example import NEGATIVE_RELATION
from .pages import Page, csv_text, download_link, html_table, lines_html, table_html
from .uploads import UploadError, UploadLimits, checked_upload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Four visitors at once must fit into the 16 GB of a free Space, whatever they send.
LIMITS = UploadLimits(num_bytes=64_000_000, num_rows=1_000_000)
MAX_LABELS = 2_000
MAX_LABEL_LENGTH = 200
# The page lists so many classes; the downloads hold all.
MAX_CLASS_ROWS = 100
MEASURES = ("precision", "recall", "f1")


def labels_page(
    *,
    predictions: str = "",
    predictions_file: str | None = None,
    references: str = "",
    references_file: str | None = None,
    negative_label: str = "",
    macro_over: str = "supported",
) -> Page:
    """Return the page of two label columns, each pasted or in a file, one label a line.

    Args:
        predictions, references: pasted text, or "".
        predictions_file, references_file: a text, JSON, JSON-lines or CSV file, or None.
        negative_label: the label that is not scored; "" for none.
        macro_over: as in `f1_family`.

    Raises:
        UploadError: a column is missing, given twice, too large, or no text; too many or too long labels.
        TypeError, ValueError: as `read_label_file` and `f1_family`.
    """
    columns: dict[str, Any] = {
        "predictions": _labels(predictions, predictions_file, "predictions"),
        "references": _labels(references, references_file, "references"),
    }
    distinct = set().union(*columns.values())
    longest = max(distinct, key=len)
    if len(longest) > MAX_LABEL_LENGTH:
        raise UploadError(
            f"A label has {len(longest):,} characters, at most {MAX_LABEL_LENGTH}: {longest[:40]!r}..."
        )
    if len(distinct) > MAX_LABELS:
        raise UploadError(
            f"There are {len(distinct):,} different labels, at most {MAX_LABELS:,}. Give one label a line, "
            "and nothing else on it."
        )
    negative, note = _negative(negative_label.strip(), distinct)
    # The classes of macro_over="labels" are those of the page: all that occur in either column.
    named = sorted(distinct) if macro_over == "labels" else None
    counts = class_counts(**columns, labels=named, negative_label=negative)
    scores = f1_family(
        **columns,
        labels=named,
        negative_label=negative,
        macro_over=macro_over,
        per_class=True,
        signature=True,
    )
    table = [[average, *(percent(scores[f"{average}_{name}"]) for name in MEASURES)] for average in AVERAGES]
    num_rows = len(columns["references"])
    parts = [
        _lead(f"Micro F1 {percent(scores['micro_f1'])}, macro F1 {percent(scores['macro_f1'])}"),
        html_table(["in percent", "precision", "recall", "F1"], table, name="averages", caption="Averages"),
        lines_html([f"{num_rows:,} rows, {len(counts.labels):,} classes are scored.", *note]),
        lines_html([f"Undefined, shown as 0: {', '.join(scores['undefined'])}."] * bool(scores["undefined"])),
        _classes_html(scores["per_class"], "Per class", is_open=True),
        _signature_html({"": scores["signature"]}),
        _downloads_html(scores, {"": scores}),
    ]
    return Page(_page(parts), partial(_label_figures, counts))


def track_page(
    *,
    track: str,
    predictions_file: str | None,
    test_file: str | None,
    rel2id_file: str | None,
    negative_relation: str = "NA",
    by: str = "rows",
    unk: str = "error",
    rules: ForeignRules | None = None,
) -> Page:
    """Return the page of a prediction file on a track, against a test file in NYT-H's format.

    Args:
        track, negative_relation, by, unk: As in `score_track`.
        predictions_file, test_file, rel2id_file: The uploads.
        rules: How the output of a system that knows nothing of NYT-H is read.

    Raises:
        UploadError: a file is missing, too large, or no text.
        TypeError, ValueError: as `read_predictions`, `read_references`, `read_relations`, `score_track`.
    """
    rules = rules or ForeignRules()
    predictions = checked_upload(predictions_file, "prediction file", LIMITS)
    against: dict[str, Any] = {
        "track": track,
        "references": read_references(checked_upload(test_file, "test file (test.json)", LIMITS)),
        "relations": read_relations(
            checked_upload(rel2id_file, "rel2id.json", LIMITS), negative_relation=negative_relation.strip()
        ),
        "negative_relation": negative_relation.strip(),
    }
    broken: list[str] | None = [] if rules.missing == "negative" else None
    records, said = read_any_records(predictions, broken=broken), []
    if is_foreign(rules, records):
        fitted = fitted_records(records, rules, broken=broken or [], **against)
        said = report_lines(fitted.report)
    scored = scored_track(
        **against,
        predictions=fitted.records if said else checked_predictions(records),
        by=by,
        unk=unk,
        per_class=True,
    )
    scores, prefixes = scored.scores, list(scored.signatures)
    notes = track_notes(scores)
    if scores.get("num_twins") and by == "rows":
        notes.append(f"{twins_note(scores)} To score each sentence once, choose: by sentences.")
    bounds = bounds_of_scored(scored)
    if bounds is not None:
        scores = {**scores, "magt_bounds": bounds}
        notes += [BOUNDS_NOTE, open_note(bounds)]
    best = "magt" if "magt" in prefixes else prefixes[0]
    micro, macro = (
        percent(scores[f"{best}_{average}_f1"]) + bounded(bounds, f"{average}_f1")
        for average in ("micro", "macro")
    )
    parts = [
        _lead(f"{truth_name(best)}: micro F1 {micro}, macro F1 {macro}"),
        table_html(averages_by_truth(scores, bounds=bounds), name="averages", caption="F1 under each truth"),
        lines_html([*said, *notes]),
    ]
    if scored.predictions.scores is not None:
        parts.append(_ranking_html(scores))
    for prefix in prefixes:
        table = [
            [
                average,
                *(
                    percent(scores[f"{prefix}_{average}_{name}"])
                    + bounded(bounds if prefix == "magt" else None, f"{average}_{name}")
                    for name in MEASURES
                ),
            ]
            for average in (*AVERAGES, "macro_all")
        ]
        title = truth_name(prefix)
        header, caption = ["in percent", "precision", "recall", "F1"], f"Precision and recall under {title}"
        parts.append(_details(caption, html_table(header, table, name=prefix, caption=caption)))
        parts.append(_classes_html(scores[f"{prefix}_per_class"], f"Per class under {title}"))
    tables = {
        prefix: {
            **{
                f"{average}_{name}": scores[f"{prefix}_{average}_{name}"]
                for average in AVERAGES
                for name in MEASURES
            },
            "per_class": scores[f"{prefix}_per_class"],
        }
        for prefix in prefixes
    }
    parts += [_signature_html(scored.signatures), _downloads_html(scores, tables)]
    return Page(_page(parts), partial(captioned_figures, scored))


def foreign_rules(
    labels: str, id_key: str, pred_key: str, threshold: float | None, is_lenient: bool
) -> ForeignRules:
    """Return how another system's output is read, from the fields of the page.

    Args:
        labels: Lines of its label and ours, between them a tab, a semicolon or a comma; or a JSON object.
        id_key, pred_key: Its names of the id and of the label; "" for ours.
        threshold: Statements with a lower score are taken back; None: none are.
        is_lenient: What does not fit counts as the negative relation and is told, instead of an error.

    Raises:
        ValueError: A map that cannot be read.
    """
    return ForeignRules(
        label_map=label_map_of(labels, "the map of labels") if labels.strip() else {},
        unknown="negative" if is_lenient else "error",
        missing="negative" if is_lenient else "error",
        extra="ignore" if is_lenient else "error",
        id_key=id_key.strip() or None,
        pred_key=pred_key.strip() or None,
        threshold=threshold,
    )


def _negative(name: str, labels: Set[str]) -> tuple[str | None, list[str]]:
    """The negative label, and what is to be said of it.

    The page comes with the usual name filled in; labels that have no such class are scored without.
    """
    if not name or name in labels:
        return name or None, []
    if name == NEGATIVE_RELATION:
        return None, [
            f"No row is labelled {name!r}, so every label is scored. If one of them means "
            '"no relation", name it in the field "Negative label".'
        ]
    raise UploadError(
        f'No row is labelled {name!r}, the name in the field "Negative label". Write the label that means '
        '"no relation" there, or clear the field to score every label. The labels are '
        f"{quoted(sorted(labels))}."
    )


def _lead(text: str) -> str:
    """The numbers that matter, which screen readers hear when they arrive."""
    return f'<p class="lead" role="status">{html.escape(text)}</p>'


def _labels(text: str, path: str | None, what: str) -> list[str]:
    """The labels of one column."""
    if text.strip() and path:
        raise UploadError(f"The {what} are given twice: clear the pasted text, or remove {Path(path).name}.")
    names = GOLD_NAMES if what == "references" else PREDICTED_NAMES
    if path:
        return read_label_file(checked_upload(path, what, LIMITS), names=names)
    if not text.strip():
        raise UploadError(f"There are no {what}; paste them, one label a line, or upload a file.")
    with tempfile.TemporaryDirectory() as folder:
        pasted = Path(folder) / f"pasted {what}"
        pasted.write_text(text, encoding="utf-8")
        try:
            return read_label_file(checked_upload(pasted, what, LIMITS), names=names)
        except ValueError as error:
            raise UploadError(str(error).replace(str(pasted), pasted.name)) from None


def _page(parts: Sequence[str]) -> str:
    return f'<div class="nyt-page">{"".join(parts)}</div>'


def _details(title: str, content: str, *, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{title}</summary>{content}</details>"


def _classes_html(per_class: Mapping[Any, Mapping[str, Any]], title: str, *, is_open: bool = False) -> str:
    """The scores of the classes, by falling support; the first of them where they are many."""
    ordered = sorted(per_class.items(), key=lambda item: -item[1]["support"])
    rows = [
        [label, *(percent(own[name]) for name in MEASURES), own["support"], own["predicted"]]
        for label, own in ordered[:MAX_CLASS_ROWS]
    ]
    header = ["class", "precision", "recall", "F1", "support", "predicted"]
    table = html_table(header, rows, name="classes", caption=title)
    left = len(ordered) - len(rows)
    more = f"<p>{left:,} more are in the downloads.</p>" if left else ""
    return _details(title, table + more, is_open=is_open)


def _ranking_html(scores: Mapping[str, Any]) -> str:
    """The ranking measures, a row for each truth; P@K where there are K candidates."""
    prefixes = list(scores["signatures"])
    stem = f"{prefixes[0]}_precision_at_"
    ks = [key.removeprefix(stem) for key in scores if key.startswith(stem) and scores[key] is not None]
    names = {"prevalence": "prevalence", **RANKING_NAMES, **{f"precision_at_{k}": f"P@{k}" for k in ks}}
    rows = [
        [truth_name(prefix), *(percent(scores[f"{prefix}_{key}"]) for key in names)] for prefix in prefixes
    ]
    header = ["in percent", *names.values()]
    return _details("Ranking", html_table(header, rows, name="ranking", caption="Ranking"))


def _signature_html(lines: Mapping[str, str]) -> str:
    texts = [f"{truth_name(prefix)}: {line}".removeprefix(": ") for prefix, line in lines.items()]
    return f'<h2>Signature</h2><pre class="signature">{html.escape(chr(10).join(texts))}</pre>'


def _downloads_html(scores: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Links to all numbers as JSON, and to averages and classes as CSV."""
    rows: list[list[Any]] = []
    for truth, own in tables.items():
        rows += [
            ["average", truth, average, *(own[f"{average}_{name}"] for name in MEASURES), None, None]
            for average in AVERAGES
        ]
        rows += [
            ["class", truth, label, *(one[name] for name in MEASURES), one["support"], one["predicted"]]
            for label, one in own["per_class"].items()
        ]
    table = csv_text(["kind", "truth", "name", *MEASURES, "support", "predicted"], rows)
    numbers = json.dumps(scores, indent=1, ensure_ascii=False, allow_nan=False)
    links = download_link(numbers, "scores.json", "application/json") + download_link(
        table, "scores.csv", "text/csv"
    )
    return f"<h2>Download</h2>{links}"


def _label_figures(counts: ClassCounts) -> dict[str, Figure]:
    if not counts.support.sum():
        return {}
    return {
        FIGURE_CAPTIONS["class_weights"]: plot_class_weights(counts),
        FIGURE_CAPTIONS["f1_by_support"]: plot_f1_by_support({"": counts}),
    }
