"""The Space of the leaderboard; a thin shell around board.py and submission.py.

    python -m leaderboard.app           # here; results go to ./leaderboard-results
    python leaderboard/app.py           # in a Space, staged with the metric beside it

`LEADERBOARD_TEST_DIR` or `LEADERBOARD_TEST_REPO` name the test set, `LEADERBOARD_RESULTS_REPO` (a dataset
repository, with HF_TOKEN) or `LEADERBOARD_RESULTS_DIR` the place of the results.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

if not __package__:  # in a Space this file is run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gradio as gr
from starlette.middleware import Middleware

from leaderboard.board import AVERAGES, MEASURES, board_html, rank_figure, records_of
from leaderboard.examples import example_records
from leaderboard.gold_data import GoldData, read_gold_data
from leaderboard.hub_results import HubResults
from leaderboard.local_results import LocalResults
from leaderboard.submission import LIMITS, scored_record
from weighted_f1_metric import TRACKS, TRUTH_NAMES, space

NUM_AT_A_TIME, NUM_WAITING = 4, 300
FORMAT = """
One JSON line for each unit of the test set: `{"bag_id": "...", "pred": "relation"}` on bag2bag,
`{"instance_id": "...", "pred": "relation"}` on the sentence tracks. `pred` may be a list of relations; with
`"scores": {"relation": number, ...}` in each line the ranking is measured too. The file is read, never
executed, and only its scores are kept.
"""


class Board:
    """The test set, the results, and the pages made of them."""

    def __init__(self, gold: GoldData, results: LocalResults | HubResults) -> None:
        """Scores the reference line of each track once."""
        self.gold = gold
        self.results = results
        self.echo = {track: gold.echo(track) for track in TRACKS}
        self.examples = example_records(gold) if gold.is_example else []

    def view(self, track: str, truth: str, sort_by: str) -> space.Page:
        """The table and the picture of one track and truth."""
        choices = {"track": (track, TRACKS), "truth": (truth, TRUTH_NAMES), "sort_by": (sort_by, MEASURES)}
        for name, (value, known) in choices.items():
            if value not in known:
                raise space.UploadError(f"`{name}` must be one of {', '.join(known)}; got {value!r:.40}.")
        signature = self.echo[track]["signatures"].get(truth)
        if signature is None:
            raise space.UploadError(
                f"This test set has no answers for {TRUTH_NAMES[truth]}; choose another truth."
            )
        records = [record for record in [*self.examples, *self.results.records()] if record["track"] == track]
        chosen = records_of(records, track=track, truth=truth, signature=signature)
        table = board_html(chosen, truth=truth, sort_by=sort_by, echo=self.echo[track])
        left = len(records) - len(chosen)
        if left:
            table += f'<div class="nyt-page"><p>{left} results on another test set are not shown.</p></div>'
        return space.Page(table, partial(self._figures, chosen, truth, sort_by))

    @staticmethod
    def _figures(records: Any, truth: str, sort_by: str) -> dict[str, Any]:
        figure = rank_figure(records, truth=truth, sort_by=sort_by)
        caption = f"The place of each model under each average, {TRUTH_NAMES[truth]}"
        return {} if figure is None else {caption: figure}

    def submit(self, name: str, link: str, track: str, predictions_file: str | None) -> space.Page:
        """Scores and keeps a submission."""
        record = scored_record(
            name=name, link=link, track=track, predictions_file=predictions_file, gold=self.gold
        )
        self.results.append(record)
        header = [
            "F1 in percent",
            *(title for truth, title in TRUTH_NAMES.items() if truth in record["signatures"]),
        ]
        rows = [
            [title, *(space.percent(record["scores"][f"{truth}_{key}"]) for truth in record["signatures"])]
            for key, title in AVERAGES.items()
        ]
        done = space.message_box(f"{record['name']} is on the {track} board.")
        return space.Page(
            f'{done}<div class="nyt-page">{space.html_table(header, rows, name="submitted")}</div>'
        )


def build(board: Board) -> gr.Blocks:
    """The page."""

    def view(track: str, truth: str, sort_by: str) -> tuple[str, str]:
        page = space.in_page(board.view)(track, truth, sort_by)
        return page.html, space.drawn(page)

    def submit(name: str, link: str, track: str, file: str | None) -> str:
        return space.in_page(board.submit)(name or "", link or "", track, file).html

    with gr.Blocks(title="Leaderboard of relation classification", analytics_enabled=False,
                   delete_cache=(600, 1800)) as page:  # fmt: skip
        gr.Markdown(
            "# Leaderboard of relation classification\nModels by measures: which one is best depends on the "
            "average and on the truth."
            + (
                "\n\n*This is the made-up example; no test set is configured.*"
                if board.gold.is_example
                else ""
            )
        )
        with gr.Tab("Board"):
            with gr.Row():
                track = gr.Dropdown(
                    list(TRACKS), value="bag2bag", label="Track", min_width=140, elem_id="track"
                )
                truth = gr.Dropdown(
                    [(title, key) for key, title in TRUTH_NAMES.items()], value="magt", label="Truth",
                    min_width=140, elem_id="truth",
                )  # fmt: skip
                order = gr.Dropdown(
                    [(title, key) for key, title in MEASURES.items()], value="micro_f1", label="Sort by",
                    min_width=140, elem_id="sort_by",
                )  # fmt: skip
            table = gr.HTML(elem_id="board")
            figure = gr.HTML(elem_id="ranks")
        with gr.Tab("Submit"):
            with gr.Row():
                name = gr.Textbox(label="Name of the model", max_length=60, min_width=200, elem_id="name")
                link = gr.Textbox(
                    label="Link (optional)", placeholder="https://", min_width=200, elem_id="link"
                )
                own = gr.Dropdown(
                    list(TRACKS), value="bag2bag", label="Track", min_width=140, elem_id="own_track"
                )
            file = gr.File(label="Predictions (JSON lines)", height=150, elem_id="file")
            send = gr.Button("Score and submit", variant="primary", elem_id="send")
            answer = gr.HTML(elem_id="answer")
            gr.Markdown(FORMAT)
        chosen, shown = [track, truth, order], [table, figure]
        for control in chosen:
            control.change(view, chosen, shown, api_visibility="private")
        page.load(view, chosen, shown, api_name="board")
        send.click(submit, [name, link, own, file], answer, api_name="submit").then(
            view, chosen, shown, api_visibility="private"
        )
    return page


def main() -> None:
    """Serves the page; host and port as Gradio reads them from the environment."""
    repo_id = os.environ.get("LEADERBOARD_RESULTS_REPO")
    folder = os.environ.get("LEADERBOARD_RESULTS_DIR", "leaderboard-results")
    test_folder = os.environ.get("LEADERBOARD_TEST_DIR")
    page = build(Board(read_gold_data(), HubResults(repo_id) if repo_id else LocalResults(folder)))
    page.queue(default_concurrency_limit=NUM_AT_A_TIME, max_size=NUM_WAITING)
    page.launch(
        css=space.PAGE_CSS,
        theme=gr.themes.Soft(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]),
        max_file_size=LIMITS.num_bytes,
        blocked_paths=[str(Path(place).resolve()) for place in (folder, test_folder) if place],
        show_error=False,
        footer_links=["api", "gradio"],
        run_history=False,
        ssr_mode=False,
        app_kwargs={"middleware": [Middleware(space.RequestLimit, num_bytes=LIMITS.num_bytes + 1_000_000)]},
    )


if __name__ == "__main__":
    main()
