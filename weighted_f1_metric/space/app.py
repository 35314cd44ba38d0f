"""The Space of the metric: score files, compare runs, read what the numbers mean.

    python -m weighted_f1_metric.space.app        # here, with the package installed
    python space/app.py                           # in a Space: the folder above is all there is

A thin shell: the pages are made by score_page.py and compare_page.py.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = "weighted_f1_metric"

if PACKAGE not in sys.modules:  # in a Space the folder has another name and is not installed
    _FOLDER = Path(__file__).resolve().parents[1]
    _SPEC = importlib.util.spec_from_file_location(
        PACKAGE, _FOLDER / "__init__.py", submodule_search_locations=[str(_FOLDER)]
    )
    assert _SPEC is not None  # a path to a Python file always has a loader
    assert _SPEC.loader is not None
    sys.modules[PACKAGE] = importlib.util.module_from_spec(_SPEC)
    _SPEC.loader.exec_module(sys.modules[PACKAGE])

import gradio as gr  # noqa: E402
from starlette.middleware import Middleware  # noqa: E402

from weighted_f1_metric.space import (  # noqa: E402
    MAX_SESSIONS,
    PAGE_CSS,
    PAGE_SCRIPT,
    Page,
    RequestLimit,
    drawn,
    in_page,
    page_theme,
)
from weighted_f1_metric.space.compare_page import compare_page  # noqa: E402
from weighted_f1_metric.space.example_files import ExampleFiles, write_example  # noqa: E402
from weighted_f1_metric.space.score_page import LIMITS, foreign_rules, labels_page, track_page  # noqa: E402
from weighted_f1_metric.units import TRACKS  # noqa: E402

DRAWING = '<div class="nyt-page"><p>Drawing the pictures ...</p></div>'
NOTHING = '<div class="nyt-page"></div>'
LABELS, TRACK = "Labels", "A track of NYT-H"
OWN_ID = "USER/weighted_f1_metric"  # in about.md; the Hub tells a Space its id
# So many requests compute at a time, and so many more may wait.
NUM_AT_A_TIME, NUM_WAITING = 4, 300


def show(page: Page, pictures: bool = True) -> Iterator[tuple[str, str]]:
    """Yield the numbers at once, the pictures when they are drawn."""
    yield page.html, DRAWING if pictures else ""
    if pictures:
        yield page.html, drawn(page)


def score_labels(
    predictions: str,
    predictions_file: str | None,
    references: str,
    references_file: str | None,
    negative_label: str,
    macro_over: str,
    pictures: bool,
) -> Iterator[tuple[str, str]]:
    """Yield scores two label columns."""
    page = in_page(labels_page)(
        predictions=predictions or "",
        predictions_file=predictions_file,
        references=references or "",
        references_file=references_file,
        negative_label=negative_label or "",
        macro_over=macro_over,
    )
    yield from show(page, pictures)


def score_files(
    track: str,
    predictions_file: str | None,
    test_file: str | None,
    rel2id_file: str | None,
    negative_relation: str,
    by: str,
    unk: str,
    pictures: bool,
    labels: str = "",
    id_key: str = "",
    pred_key: str = "",
    threshold: float | None = None,
    is_lenient: bool = False,
) -> Iterator[tuple[str, str]]:
    """Yield scores a prediction file on a track."""

    @in_page
    def scored(**inputs: Any) -> Page:
        rules = foreign_rules(labels or "", id_key or "", pred_key or "", threshold, is_lenient)
        return track_page(**inputs, rules=rules)

    page = scored(
        track=track,
        predictions_file=predictions_file,
        test_file=test_file,
        rel2id_file=rel2id_file,
        negative_relation=negative_relation or "",
        by=by,
        unk=unk,
    )
    yield from show(page, pictures)


def compare(files_a: list[str] | None, files_b: list[str] | None, name_a: str, name_b: str) -> str:
    """Compare two sets of runs."""
    page = in_page(compare_page)
    return page(files_a=files_a, files_b=files_b, name_a=name_a or "", name_b=name_b or "").html


def build(example: ExampleFiles) -> gr.Blocks:
    """Return the page."""
    first = list(score_labels(example.predictions, None, example.references, None, "NA", "supported", True))[
        -1
    ]
    with gr.Blocks(title="Weighted F1 of relation classification", analytics_enabled=False,
                   delete_cache=(600, 1800)) as page:  # fmt: skip
        gr.Markdown(
            "# Weighted F1 of relation classification\n"
            "One prediction file, every average: micro, weighted, dodrans, entropy and macro F1, against "
            "distant and human labels. An example is filled in; replace it with your own."
        )
        with gr.Tab("Score"):
            _score_tab(example, first)
        with gr.Tab("Compare"):
            _compare_tab(example)
        with gr.Tab("About"):
            about = Path(__file__).with_name("about.md").read_text(encoding="utf-8")
            gr.Markdown(about.replace(OWN_ID, os.environ.get("SPACE_ID", OWN_ID)))
    return page


def _score_tab(example: ExampleFiles, first: tuple[str, str]) -> None:
    kind = gr.Radio([LABELS, TRACK], value=LABELS, label="What do you have?")
    pictures = gr.Checkbox(True, label="Draw pictures")
    with gr.Column() as label_inputs:
        with gr.Row():
            columns = []
            for what, text in (("Predictions", example.predictions), ("References", example.references)):
                with gr.Column(min_width=260):
                    pasted = gr.Textbox(
                        text, label=f"{what}, one label a line", lines=6, max_lines=6, elem_id=what.lower()
                    )
                    file = gr.File(
                        label=f"or a file of {what.lower()}", height=150,
                        elem_id=f"{what.lower()}_file",
                    )  # fmt: skip
                    file.upload(lambda: "", outputs=pasted, api_visibility="private")
                    columns += [pasted, file]
        with gr.Row():
            negative = gr.Textbox("NA", label="Negative label", info="gets no score of its own; may be empty")
            macro = gr.Dropdown(["supported", "labels"], value="supported", label="Macro over",
                                info="classes with support, or all labels")  # fmt: skip
        score = gr.Button("Score labels", variant="primary", elem_id="score_labels")
    with gr.Column(visible=False) as track_inputs:
        with gr.Row():
            files = [
                gr.File(label=label, height=150, elem_id=name, min_width=200)
                for name, label in (
                    ("pred_file", "Predictions (JSON lines)"),
                    ("test_file", "test.json"),
                    ("rel2id_file", "rel2id.json"),
                )
            ]
        with gr.Row():
            track = gr.Dropdown(list(TRACKS), value="bag2bag", label="Track", min_width=140)
            relation = gr.Textbox("NA", label="Negative relation", min_width=140)
            by = gr.Dropdown(["rows", "sentences"], value="rows", label="By", min_width=140)
            unk = gr.Dropdown(["error", "exclude"], value="error", label="Unjudged rows", min_width=140)
        with gr.Accordion("Output of a system with other labels", open=False, elem_id="other_system"):
            labels = gr.Textbox(
                label="Its labels and ours, a line each", lines=4, elem_id="label_map",
                placeholder="place of birth = /people/person/place_of_birth".replace(" = ", "\t"),
                info="between them a tab, a semicolon or a comma",
            )  # fmt: skip
            with gr.Row():
                id_key = gr.Textbox(label="Its name of the id", placeholder="instance_id", min_width=140)
                pred_key = gr.Textbox(label="Its name of the label", placeholder="pred", min_width=140)
                threshold = gr.Number(None, label="Take back below this score", min_width=140)
            is_lenient = gr.Checkbox(
                False, label="Count what does not fit as negative, and say how much that is"
            )
        with gr.Row():
            score_track = gr.Button("Score track", variant="primary", elem_id="score_track")
            fill = gr.Button("Fill in example files", elem_id="fill_track")
    with gr.Column():
        tables = gr.HTML(first[0], elem_id="tables")
        figures = gr.HTML(first[1], elem_id="figures")
    kind.change(
        # Results of the other kind of input go with it.
        lambda choice: (gr.update(visible=choice == LABELS), gr.update(visible=choice == TRACK), NOTHING, ""),
        kind, [label_inputs, track_inputs, tables, figures], api_visibility="private",
    )  # fmt: skip
    score.click(
        score_labels, [*columns, negative, macro, pictures], [tables, figures], api_name="score_labels"
    )
    score_track.click(
        score_files,
        [track, *files, relation, by, unk, pictures, labels, id_key, pred_key, threshold, is_lenient],
        [tables, figures], api_name="score_track",
    )  # fmt: skip
    fill.click(lambda: example.track, outputs=files, api_visibility="private")


def _compare_tab(example: ExampleFiles) -> None:
    gr.Markdown(
        "Upload the results of two systems, a file for each run: `scores.json` from the tab Score, what "
        "`python -m weighted_f1_metric score --json` writes, or a `results.json` of the fine-tuning command."
    )
    names, files = [], []
    with gr.Row():
        for letter in "AB":
            with gr.Column(min_width=260):
                names.append(
                    gr.Textbox(label=f"Name of {letter}", placeholder=letter, elem_id=f"name_{letter}")
                )
                files.append(gr.File(label=f"Runs of {letter}", file_count="multiple", height=140,
                                     elem_id=f"runs_{letter}"))  # fmt: skip
    with gr.Row():
        go = gr.Button("Compare", variant="primary", elem_id="compare")
        fill = gr.Button("Fill in example runs", elem_id="fill_runs")
    result = gr.HTML(elem_id="comparison")
    go.click(compare, [*files, *names], result, api_name="compare")
    fill.click(
        lambda: (*example.systems.values(), *example.systems),
        outputs=[*files, *names],
        api_visibility="private",
    )


def main() -> None:
    """Serve the page; host and port as Gradio reads them from the environment."""
    with tempfile.TemporaryDirectory() as folder:
        page = build(write_example(Path(folder)))
        page.queue(default_concurrency_limit=NUM_AT_A_TIME, max_size=NUM_WAITING)
        page.launch(
            css=PAGE_CSS,
            head=PAGE_SCRIPT,
            theme=page_theme(),
            state_session_capacity=MAX_SESSIONS,
            max_file_size=LIMITS.num_bytes,
            allowed_paths=[folder],
            show_error=False,
            footer_links=["api", "gradio"],
            run_history=False,
            ssr_mode=False,
            app_kwargs={"middleware": [Middleware(RequestLimit, num_bytes=2 * LIMITS.num_bytes)]},
        )


if __name__ == "__main__":
    main()
