"""The dataset card: its metadata and its sections, from statistics (pure; plain values for `hub_cards`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hub_cards import as_code, as_text, dataset_card, markdown_table

from ..about import About
from ..schema import CITATION, DESCRIPTION, HOMEPAGE
from .corpus_statistics import CardStatistics
from .figures import BAGS_FILE, LABELS_FILE
from .verification import Check

FIGURES_FOLDER = "figures"
_CORPUS = "https://catalog.ldc.upenn.edu/LDC2008T19"
_LICENCE = (
    "The sentences are newswire of the New York Times (The New York Times Annotated Corpus, LDC2008T19): "
    "they belong to the New York Times and are used under the terms of that corpus, which the Linguistic "
    "Data Consortium licenses. The labels and human answers are the work of the authors of NYT-H; the source "
    "page says what they allow. Who passes this copy on needs the right to do so: keep it private unless "
    "you have it."
)
_SYNTHETIC_LICENCE = (
    "The text was made by a program and is under the Apache License 2.0. It holds no newswire."
)

_COLUMNS = """\
**sentence**, a row per instance: `relation` is the distant-supervision label; `bag_label` the human answer to
"does this sentence express `relation`?" (`unk`: nobody was asked); `manual_relation` is `relation` if yes,
NA if no (not the distant label; others were not judged), -1 if nobody was asked. `head` and `tail` carry
half-open character offsets `start` and `end`, -1 when not found; `mention_status` says how sure they are.

**bag**, a row per {bag}: `relations` are its distant labels, `manual_relations` those with at
least one yes, `annotated` says whether every row of the bag was judged, `instances` holds the sentences
with offsets.

The negative relation is called `NA`. `train` has {na}; the split `na` has the whole NA set.
"""
_NA_TEXTS = {
    "sampled": "the NA rows that the authors sampled",
    "all": "the whole NA set",
    "none": "no NA rows",
}
_BAG_TEXTS = {
    "pair": "entity pair (by guid, over all files of a split; `bag_id` is that of its first instance)",
    "id": "`bag_id` as the authors published it",
    "triple": "(entity pair, relation)",
}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def licence_metadata(*, synthetic: bool) -> dict[str, str]:
    """Return the licence of the text, as metadata of a card.

    >>> licence_metadata(synthetic=True)
    {'license': 'apache-2.0'}
    """
    if synthetic:
        return {"license": "apache-2.0"}
    return {"license": "other", "license_name": "nyt-annotated-corpus", "license_link": _CORPUS}


def card_metadata(
    *, splits: Mapping[str, Mapping[str, int]], dataset_info: Any, about: About, is_nyt_h: bool
) -> dict[str, Any]:
    """Return the YAML part: `splits` is config -> split -> rows, `dataset_info` as `datasets` writes it.

    The folder `<config>/` holds `<split>-*.parquet`; the first config is the default one.
    """
    total, synthetic = sum(next(iter(splits.values())).values()), about.is_synthetic
    licence = {"license": "other", "license_name": about.licence or "not-stated"}
    if synthetic or is_nyt_h:
        licence = licence_metadata(synthetic=synthetic)
    return {
        "pretty_name": _title(about, is_nyt_h),
        "language": ["en" if is_nyt_h or synthetic else "und"],
        **licence,
        "task_categories": ["text-classification"],
        "tags": ["relation-extraction", "distant-supervision"] + ["synthetic"] * synthetic,
        "annotations_creators": ["machine-generated"] + ["other"] * (not synthetic),
        "language_creators": ["machine-generated" if synthetic else "found"],
        "multilinguality": ["monolingual"],
        "size_categories": [next((name for limit, name in _SIZES if total < limit), "1M<n<10M")],
        "configs": [
            {
                "config_name": config,
                **({"default": True} if config == next(iter(splits)) else {}),
                "data_files": [{"split": split, "path": f"{config}/{split}-*.parquet"} for split in rows],
            }
            for config, rows in splits.items()
        ],
        "dataset_info": dataset_info,
    }


def card_text(
    *,
    metadata: Mapping[str, Any],
    splits: Mapping[str, Mapping[str, int]],
    statistics: CardStatistics,
    options: Mapping[str, str],
    about: About,
    is_nyt_h: bool,
    checks: Sequence[Check],
    figures: bool,
    where: str,
) -> str:
    """Return the whole README. `options` are `na`, `bag_key` and `mention_policy`, as the data were built.

    `checks` are the published numbers beside those of these data.
    """
    sections = [
        ("What is in it", _contents(splits, options) + (_published(checks) if is_nyt_h else "")),
        *([("What was done to them", _steps(about))] if about.steps else []),
        ("Relations", _relations(statistics, figures=figures)),
        ("Label distributions", _distributions(statistics)),
        ("Bags", _bags(statistics, figures=figures)),
        ("Where the entities are", _mentions(statistics, options)),
        ("Limits", _limits(about, is_nyt_h)),
    ]
    return dataset_card(
        metadata=metadata,
        values={
            "title": metadata["pretty_name"],
            "synthetic": about.is_synthetic,
            "description": DESCRIPTION if is_nyt_h else _description(about),
            "where": where,
            "sections": [{"title": title, "body": body.strip()} for title, body in sections],
            "licence": _licence(about, is_nyt_h),
            "homepage": HOMEPAGE if is_nyt_h else "",
            "citation": CITATION.strip() if is_nyt_h else (about.citation or "").strip(),
        },
    )


def _contents(splits: Mapping[str, Mapping[str, int]], options: Mapping[str, str]) -> str:
    names = list(next(iter(splits.values())))
    rows = [[as_code(config), *(f"{rows[name]:,}" for name in names)] for config, rows in splits.items()]
    table = markdown_table(["config (rows)", *map(as_code, names)], rows)
    return f"{table}\n\n" + _COLUMNS.format(bag=_BAG_TEXTS[options["bag_key"]], na=_NA_TEXTS[options["na"]])


def _published(checks: Sequence[Check]) -> str:
    """Whether these are the published data; a copy with other numbers must not pass as them."""
    wrong = [check for check in checks if not check.ok]
    if not wrong:
        return f"\nThe {len(checks)} published facts about NYT-H hold for these data."
    listed = ", ".join(f"{check.name} {check.here:,} (published: {check.published:,})" for check in wrong[:3])
    return (
        f"\n**These are not the published data of NYT-H**: {len(wrong)} of {len(checks)} published facts "
        f"differ, among them {listed}. Scores on them are not scores on NYT-H."
    )


def _relations(statistics: CardStatistics, *, figures: bool) -> str:
    rows = [
        [
            as_code(row.name),
            *(f"{count:,}" for count in (row.train, row.validation, row.test, row.yes)),
            _percent(row.yes_share),
        ]
        for row in statistics.relations
    ]
    header = ["relation", "train", "validation", "test", "test, yes", "yes-share in test"]
    table = markdown_table(header, rows)
    text = f"Rows per relation by distant label, and the human answers in test.\n\n{table}"
    if figures:
        text += f"\n\n![Share of each relation in train and in test]({FIGURES_FOLDER}/{LABELS_FILE})"
    return text


def _distributions(statistics: CardStatistics) -> str:
    header = ["labels", "relations", "rows", "NA", "perplexity", "without NA", "imbalance ratio"]
    rows = [
        [
            as_text(row.name),
            str(row.num_relations),
            f"{row.num_rows:,}",
            _percent(row.negative_fraction),
            _number(row.perplexity),
            _number(row.perplexity_without_negative),
            _number(row.imbalance_ratio),
        ]
        for row in statistics.labels
    ]
    divergence = ""
    if statistics.divergence is not None:
        divergence = (
            "\n\nJensen-Shannon divergence between the positive labels of train and test: "
            f"{statistics.divergence:.4f} bits (base 2; 0 = the same shares, 1 = no label in common)."
        )
    return (
        "Perplexity is exp of the entropy of the labels; the imbalance ratio is the largest over the "
        "smallest positive relation that occurs (Harbecke et al. 2022, Table 1).\n\n"
        f"{markdown_table(header, rows)}{divergence}"
    )


def _bags(statistics: CardStatistics, *, figures: bool) -> str:
    sizes = list(next(iter(statistics.bag_sizes.values())))
    rows = [
        [as_code(name), f"{statistics.num_bags[name]:,}", *(f"{counts[size]:,}" for size in sizes)]
        for name, counts in statistics.bag_sizes.items()
    ]
    text = f"Entity pairs by their number of rows.\n\n{markdown_table(['split', 'bags', *sizes], rows)}"
    if figures:
        text += f"\n\n![Share of bags by number of rows]({FIGURES_FOLDER}/{BAGS_FILE})"
    return text


def _mentions(statistics: CardStatistics, options: Mapping[str, str]) -> str:
    statuses = list(next(iter(statistics.mentions.values())))
    rows = [
        [as_code(name), *(f"{counts[status]:,}" for status in statuses)]
        for name, counts in statistics.mentions.items()
    ]
    return (
        "NYT-H has no offsets; these were found in the text. `unique`: one mention of each entity; "
        f"`ambiguous`: several, the {as_code(options['mention_policy'])} pair was taken; `overlapping`: no "
        "separate pair; `missing`: an entity was not found, its offsets are -1, its row is there.\n\n"
        f"{markdown_table(['rows', *statuses], rows)}"
    )


def _title(about: About, is_nyt_h: bool) -> str:
    if is_nyt_h:
        return "NYT-H"
    if about.is_synthetic:
        return f"{about.name or 'NYT-H'} (synthetic sample)"
    return about.name or "Relation extraction corpus in the format of NYT-H"


def _description(about: About) -> str:
    source = "Sentences made by a program" if about.is_synthetic else "Sentences"
    return (
        f"{source} with two entities each, in the format of NYT-H. `relation` is the label that the corpus "
        "came with, `bag_label` a human answer to whether this sentence expresses it (unk where nobody was "
        f"asked). Test judged by: {about.judged or 'not stated'}."
    )


def _licence(about: About, is_nyt_h: bool) -> str:
    if about.is_synthetic:
        return _SYNTHETIC_LICENCE
    if is_nyt_h:
        return _LICENCE
    return (
        f"Licence: {about.licence}." if about.licence else "The data do not say under which licence they are."
    )


def _steps(about: About) -> str:
    return "\n".join(f"{number}. {as_text(step)}" for number, step in enumerate(about.steps, start=1))


def _limits(about: About, is_nyt_h: bool) -> str:
    split = "split off train by row, so entity pairs stand on both sides"
    if not is_nyt_h:
        split = about.validation or "made in a way that is not stated"
    judged = "Outside `test` nobody judged" if is_nyt_h else f"Test judged by: {about.judged or 'not stated'}"
    return (
        '- A "no" says that the distant label is not expressed. Other relations were not judged.\n'
        f"- {judged}; distant labels are often wrong.\n"
        f"- `validation`: {split}.\n"
        "- One sentence can be several rows, one per relation of its pair, each judged on its own."
    )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}%"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}"
