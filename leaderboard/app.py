"""The Space of the leaderboard; a thin shell around board.py and submission.py.

    python -m leaderboard.app           # here; results go to ./leaderboard-results
    python leaderboard/app.py           # in a Space, staged with the metric beside it

`LEADERBOARD_TEST_DIR` or `LEADERBOARD_TEST_REPO` name the test set, `LEADERBOARD_RESULTS_REPO` (a dataset
repository, with HF_TOKEN) or `LEADERBOARD_RESULTS_DIR` the place of the results.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

if not __package__:  # in a Space this file is run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gradio as gr
from starlette.middleware import Middleware

from leaderboard.board import AVERAGES, MEASURES, board_html, bounds_html, rank_figure, records_of
from leaderboard.cached_results import CachedResults
from leaderboard.examples import example_records
from leaderboard.gold_data import NEGATIVE_RELATION, GoldData, read_gold_data
from leaderboard.hub_results import HubResults
from leaderboard.local_results import LocalResults
from leaderboard.ranks import BoardRanks
from leaderboard.submission import LIMITS, latest, scored_submission
from weighted_f1_metric import TRACKS, TRUTH_NAMES, space, unit_id_key, write_predictions

LOGGER = logging.getLogger(__name__)

NUM_AT_A_TIME, NUM_WAITING = 4, 300
FORMAT = """
One JSON line for each unit of the test set: `{"bag_id": "...", "pred": "relation"}` on bag2bag,
`{"instance_id": "...", "pred": "relation"}` on the sentence tracks. `pred` may be a list of relations; with
`"scores": {"relation": number, ...}` in each line the ranking is measured too. The file is read, never
executed, and only its scores are kept, with its counts per bag. Several files are several runs (seeds) of
one model: the board shows their mean and standard deviation. The templates below hold every id of the test
set.
"""


HIDDEN_DIGITS, DIGITS = 1, 2  # decimals of percentages
MAX_PICTURES = 32
QUOTA = 3  # submissions a login and day to a hidden test set
TRUTH_LINES = (
    "**DSGT** scores against the labels of distant supervision, **MAGT** against those that people "
    "confirmed; "
    "**MAGT (DS scope)** counts only predictions of a unit's own distant relations."
)


class Board:
    """The test set, the results, and the pages made of them."""

    def __init__(self, gold: GoldData, results: LocalResults | HubResults) -> None:
        """Scores the reference line of each track once."""
        self.gold = gold
        self.results = CachedResults(results)
        self.echo = {track: gold.echo(track) for track in TRACKS}
        made_up = example_records(gold) if gold.is_example else []
        self.examples = [record for record, _ in made_up]
        own = {record["id"]: counts for record, counts in made_up}
        self.ranks = BoardRanks(gold, lambda name: own[name] if name in own else results.counts_of(name))
        self.digits = HIDDEN_DIGITS if gold.is_hidden else DIGITS
        self._pictures: dict[str, str] = {}

    def about(self) -> str:
        """Return the test set in one line, as Markdown."""
        line = next(iter(self.echo["bag2bag"]["signatures"].values()))
        version = next(part for part in line.split("|") if part.startswith("data:")).removeprefix("data:")
        date = f", of {self.gold.date}" if self.gold.date else ""
        num_rows, num_bags = len(self.gold.references), len(self.gold.unit_ids("bag2bag"))
        name = "".join(f"\\{one}" if one in "\\`*_[]<>#|~$&" else one for one in self.gold.name)
        return (
            f"Test set: {name}, version {version}{date}; {num_rows:,} sentences, {num_bags:,} bags"
            + (", answers hidden" if self.gold.is_hidden else "")
            + "."
        )

    def view(self, track: str, truth: str, sort_by: str) -> space.Page:
        """Return the table and the picture of one track and truth."""
        choices = {"track": (track, TRACKS), "truth": (truth, TRUTH_NAMES), "sort_by": (sort_by, MEASURES)}
        for name, (value, known) in choices.items():
            if value not in known:
                raise space.UploadError(f"`{name}` must be one of {', '.join(known)}; got {value!r:.40}.")
        signature = self.echo[track]["signatures"].get(truth)
        if signature is None:
            raise space.UploadError(
                f"This test set has no answers for {TRUTH_NAMES[truth]}; choose another truth."
            )
        reading = self.results.latest()
        records = [
            record for record in [*self.examples, *latest(reading.records)] if record["track"] == track
        ]
        chosen = records_of(records, track=track, truth=truth, signature=signature)
        notes = []
        if not reading.is_current:
            notes.append(
                f"The results do not answer at the moment: this is the board of {reading.read_at:%H:%M} UTC. "
                "Nothing is lost."
            )
        if left := len(records) - len(chosen):
            notes.append(f"{left} results on another test set are not shown.")
        ranks, note = self.ranks.latest(track, truth, chosen)
        notes += [note] * bool(note)
        above = "".join(space.message_box(note) for note in notes)
        table = board_html(
            chosen,
            truth=truth,
            sort_by=sort_by,
            echo=self.echo[track],
            digits=self.digits,
            ranks=ranks,
        )
        return space.Page(above + table, partial(self._figures, chosen, truth, sort_by))

    def drawn(self, page: space.Page) -> str:
        """Return the picture of a page that `view` made, drawn once for each table: it shows the same."""
        if page.html in self._pictures:
            return self._pictures[page.html]
        drawn = space.drawn(page)
        if "<img" in drawn:
            if len(self._pictures) >= MAX_PICTURES:
                self._pictures.pop(next(iter(self._pictures)), None)
            self._pictures[page.html] = drawn
        return drawn

    def _figures(self, records: Any, truth: str, sort_by: str) -> dict[str, Any]:
        figure = rank_figure(records, truth=truth, sort_by=sort_by, digits=self.digits)
        caption = f"The place of each model under each average, {TRUTH_NAMES[truth]}"
        return {} if figure is None else {caption: figure}

    def submit(
        self,
        name: str,
        link: str,
        track: str,
        predictions_file: str | Sequence[str] | None,
        *,
        login: str = "",
    ) -> space.Page:
        """Score and keep a submission; `login` is who sends it."""
        record, counts = scored_submission(
            name=name,
            link=link,
            track=track,
            predictions_file=predictions_file,
            gold=self.gold,
            login=login,
        )
        try:
            self.results.append(record, counts)
        except (ValueError, TypeError):
            raise
        except Exception:  # whatever the Hub or the disk does; the scores are not told, they would be free
            LOGGER.exception("a result could not be saved")
            raise space.UploadError(
                "Your file is fine, but its result could not be saved: the place of the results does not "
                "answer. Send the same file again in a few minutes. If this one has arrived after all, the "
                "board says so then; nothing counts twice."
            ) from None
        header = [
            "F1 in percent",
            *(title for truth, title in TRUTH_NAMES.items() if truth in record["signatures"]),
        ]
        rows = [[title, *self._cells(record, key)] for key, title in AVERAGES.items()]
        done = space.message_box(f"{record['name']} is on the {track} board.")
        table = space.html_table(header, rows, name="submitted", caption=f"Scores of {record['name']}")
        return space.Page(f'{done}<div class="nyt-page">{table}</div>')

    def _cells(self, record: dict[str, Any], key: str) -> list[space.SafeHtml]:
        cells = []
        for truth in record["signatures"]:
            name = f"{truth}_{key}"
            value = space.percent(record["scores"][name], record["sd"].get(name), digits=self.digits)
            cells.append(space.SafeHtml(f"{value} {bounds_html(record, truth, key)}".strip()))
        return cells


def write_templates(gold: GoldData, folder: Path) -> dict[str, Path]:
    """Write for each track a file with every id that a submission must have; return the paths."""
    paths = {track: folder / f"template-{track}.jsonl" for track in TRACKS}
    for track, path in paths.items():
        key = unit_id_key(track)
        write_predictions(path, [{key: unit, "pred": NEGATIVE_RELATION} for unit in gold.unit_ids(track)])
    return paths


def build(board: Board, templates: Mapping[str, Path], *, can_login: bool = False) -> gr.Blocks:
    """Return the page; with `can_login` who submits is known, and must be for a hidden test set."""

    def view(track: str, truth: str, sort_by: str) -> tuple[str, str]:
        page = space.in_page(board.view)(track, truth, sort_by)
        return page.html, board.drawn(page)

    def submit(name: str, link: str, track: str, files: list[str] | None) -> str:
        return space.in_page(board.submit)(name or "", link or "", track, files).html

    def submit_as(
        name: str, link: str, track: str, files: list[str] | None, profile: gr.OAuthProfile | None
    ) -> str:
        if profile is None and board.gold.is_hidden:
            return space.message_box("Log in first: submissions to this test set are counted.", error=True)
        login = "" if profile is None else profile.username
        page = space.in_page(partial(board.submit, login=login))
        return page(name or "", link or "", track, files).html

    with gr.Blocks(title="Leaderboard of relation classification", analytics_enabled=False,
                   delete_cache=(600, 1800)) as page:  # fmt: skip
        gr.Markdown(
            "# Leaderboard of relation classification\nModels by measures: which one is best depends on the "
            f"average and on the truth. {TRUTH_LINES}\n\n{board.about()}"
            + (
                "\n\n*This is the made-up example; no test set is configured.*"
                if board.gold.is_example
                else ""
            )
        )
        with gr.Tab("Board"):
            chosen, shown = _board_tab()
        with gr.Tab("Submit"):
            if can_login:
                gr.LoginButton()
            sent, send, answer = _submit_tab(templates)
        for control in chosen:
            control.change(view, chosen, shown, api_visibility="private")
        page.load(view, chosen, shown, api_name="board")
        send.click(submit_as if can_login else submit, sent, answer, api_name="submit").then(
            view, chosen, shown, api_visibility="private"
        )
    return page


def _board_tab() -> tuple[list[Any], list[Any]]:
    with gr.Row():
        track = gr.Dropdown(list(TRACKS), value="bag2bag", label="Track", min_width=140, elem_id="track")
        truth = gr.Dropdown(
            [(title, key) for key, title in TRUTH_NAMES.items()], value="magt", label="Truth",
            min_width=140, elem_id="truth",
        )  # fmt: skip
        order = gr.Dropdown(
            [(title, key) for key, title in MEASURES.items()], value="micro_f1", label="Sort by",
            min_width=140, elem_id="sort_by",
        )  # fmt: skip
    return [track, truth, order], [gr.HTML(elem_id="board"), gr.HTML(elem_id="ranks")]


def _submit_tab(templates: Mapping[str, Path]) -> tuple[list[Any], Any, Any]:
    with gr.Row():
        name = gr.Textbox(label="Name of the model", max_length=60, min_width=200, elem_id="name")
        link = gr.Textbox(label="Link (optional)", placeholder="https://", min_width=200, elem_id="link")
        track = gr.Dropdown(
            list(TRACKS), value="bag2bag", label="Track of the predictions", min_width=140,
            elem_id="own_track",
        )  # fmt: skip
    files = gr.File(
        label="Predictions (JSON lines), a file for each seed", height=150, elem_id="file",
        file_count="multiple",
    )  # fmt: skip
    send = gr.Button("Score and submit", variant="primary", elem_id="send")
    answer = gr.HTML(elem_id="answer")
    gr.Markdown(FORMAT)
    with gr.Row():
        for own, path in templates.items():
            gr.DownloadButton(f"Template of {own}", value=str(path), size="sm", min_width=140)
    return [name, link, track, files], send, answer


def main() -> None:
    """Serve the page; host and port as Gradio reads them from the environment."""
    repo_id = os.environ.get("LEADERBOARD_RESULTS_REPO")
    folder = os.environ.get("LEADERBOARD_RESULTS_DIR", "leaderboard-results")
    test_folder = os.environ.get("LEADERBOARD_TEST_DIR")
    gold = read_gold_data()
    quota = int(os.environ.get("LEADERBOARD_QUOTA", QUOTA)) if gold.is_hidden else None
    results = HubResults(repo_id, quota=quota) if repo_id else LocalResults(folder, quota=quota)
    with tempfile.TemporaryDirectory(prefix="templates-") as place:
        # The Hub sets this where the card says hf_oauth.
        can_login = bool(os.environ.get("OAUTH_CLIENT_ID"))
        page = build(Board(gold, results), write_templates(gold, Path(place)), can_login=can_login)
        page.queue(default_concurrency_limit=NUM_AT_A_TIME, max_size=NUM_WAITING)
        page.launch(
            css=space.PAGE_CSS,
            head=space.PAGE_SCRIPT,
            theme=space.page_theme(),
            max_file_size=LIMITS.num_bytes,
            state_session_capacity=space.MAX_SESSIONS,
            allowed_paths=[place],
            blocked_paths=[str(Path(own).resolve()) for own in (folder, test_folder) if own],
            show_error=False,
            footer_links=["api", "gradio"],
            run_history=False,
            ssr_mode=False,
            app_kwargs={
                "middleware": [Middleware(space.RequestLimit, num_bytes=LIMITS.num_bytes + 1_000_000)]
            },
        )


if __name__ == "__main__":
    main()
