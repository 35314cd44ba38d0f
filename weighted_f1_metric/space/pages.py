"""Plain values -> safe pieces of a page: tables, messages, pictures and downloads; everything is escaped."""

from __future__ import annotations

import base64
import csv
import html
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Sessions whose state Gradio keeps (60 kB each); it would keep 10,000.
MAX_SESSIONS = 200

PAGE_CSS = """
.dark { --color-accent: var(--primary-300); }
.prose pre, .prose pre code { white-space: pre-wrap !important; overflow-wrap: anywhere !important;
  word-break: break-word !important; overflow: visible !important; }
body:not(.dark) .prose .token.string { color: #3d5c00; }
body:not(.dark) .prose .token { color: #1f2937; }
/* Gradio's button for more files nests an input and has no name; Clear, and choose all files at once. */
.icon-button[title="common.upload"] { display: none; }
.nyt-page .scroll { overflow-x: auto; max-width: 100%; margin: .4rem 0 1rem; }
.nyt-page table { border-collapse: collapse; margin: 0; width: auto; font-variant-numeric: tabular-nums; }
.nyt-page table, .nyt-page thead, .nyt-page tr { border: 0 !important; }
.nyt-page caption { text-align: left; font-weight: 600; padding: .3rem 0; }
.nyt-page th, .nyt-page td { padding: .3rem .7rem; text-align: right; white-space: nowrap;
  border: 0 !important; border-bottom: 1px solid var(--border-color-primary) !important; }
.nyt-page th:first-child, .nyt-page td:first-child { text-align: left; white-space: normal; min-width: 8rem;
  max-width: 26rem; overflow-wrap: anywhere; padding-left: .2rem; position: sticky; left: 0;
  background: var(--body-background-fill); }
@media (max-width: 480px) {
  .nyt-page th, .nyt-page td { padding: .3rem .4rem; font-size: .85rem; }
  .nyt-page th:first-child, .nyt-page td:first-child { min-width: 6rem; }
  .nyt-page table[data-name="classes"] tr > :first-child { min-width: 10rem; }
}
.nyt-page.board th, .nyt-page.board td { padding: .3rem .5rem; }
.nyt-page tbody th { font-weight: inherit; }
.nyt-page tbody tr:hover { background: var(--background-fill-secondary); }
.nyt-page h2 { margin: 1rem 0 .2rem; font-size: 1.05rem; }
.nyt-page p.lead { font-size: 1.1rem; font-weight: 600; }
.nyt-page p { margin: .3rem 0; overflow-wrap: anywhere; }
.nyt-page summary { cursor: pointer; padding: .35rem 0; font-weight: 600; }
.nyt-page pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem; padding: .5rem .7rem;
  border-radius: 6px; background: var(--background-fill-secondary); margin: .2rem 0 .8rem; }
.nyt-page .message { border-left: 4px solid #0072B2; background: var(--background-fill-secondary);
  padding: .6rem .9rem; border-radius: 4px; overflow-wrap: anywhere; margin: .4rem 0; }
.nyt-page .message.error { border-color: #D55E00; }
.nyt-page .figures { display: grid; gap: .8rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
.nyt-page figure { margin: 0; max-width: 46rem; }
.nyt-page figure img { width: 100%; border-radius: 6px; background: #fff; }
.nyt-page figcaption { font-size: .85rem; opacity: .85; padding: .2rem 0; }
.dark .nyt-page figure img { filter: invert(.9) hue-rotate(180deg); }
.nyt-page a.download { display: inline-block; padding: .45rem .9rem; margin: .2rem .5rem .2rem 0;
  border: 1px solid var(--border-color-primary); border-radius: 6px; text-decoration: none;
  color: var(--body-text-color); background: var(--button-secondary-background-fill); }
.nyt-page th button { font: inherit; color: inherit; background: none; border: 0; padding: 0;
  cursor: pointer; white-space: nowrap; box-shadow: none; }
.nyt-page th button:focus-visible, .nyt-page .scroll:focus-visible { outline: 2px solid #0072B2; }
.nyt-page tr.reference > * { font-style: italic; border-top: 2px solid var(--body-text-color) !important; }
.nyt-page .more { display: block; font-size: .8em; }
.nyt-page label.search { display: block; margin: .4rem 0; }
.nyt-page input.search { border: 1px solid var(--border-color-primary); border-radius: 6px;
  padding: .3rem .5rem; background: var(--input-background-fill); color: var(--body-text-color);
  max-width: 16rem; }
.nyt-page .mark { color: #B24700; font-size: .8em; } .dark .nyt-page .mark { color: #F0A050; }
"""

# Sorting by a click on a head, and searching, within the page.
PAGE_SCRIPT = """<script>
document.addEventListener("click", (event) => {
  const button = event.target.closest(".nyt-page th button");
  if (!button) return;
  const head = button.closest("th"), heads = [...head.parentNode.children], column = heads.indexOf(head);
  const order = head.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
  heads.forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", order);
  const body = head.closest("table").tBodies[0], reference = body.querySelector(".reference");
  const key = (row) => {
    const text = row.children[column].innerText.trim(), value = parseFloat(text);
    return column && !isNaN(value) ? value : text.toLowerCase();
  };
  const compare = (a, b) =>
    typeof a !== typeof b ? (typeof a === "number" ? 1 : -1) : a < b ? -1 : +(a > b);
  const sign = order === "ascending" ? 1 : -1;
  [...body.rows].filter((row) => row !== reference).sort((a, b) => sign * compare(key(a), key(b)))
    .forEach((row) => body.insertBefore(row, reference));
});
document.addEventListener("input", (event) => {
  if (!event.target.matches(".nyt-page input.search")) return;
  const wanted = event.target.value.toLowerCase();
  for (const row of event.target.closest(".nyt-page").querySelectorAll("tbody tr:not(.reference)"))
    row.hidden = !row.children[0].innerText.toLowerCase().includes(wanted);
});
</script>"""

# What a spreadsheet would run as a formula.
_FORMULA_START = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Page:
    """What a request shows: the text at once, the pictures when they are drawn.

    Attributes:
        html: safe HTML.
        figures: draws the pictures, caption -> figure.
    """

    html: str
    figures: Callable[[], Mapping[str, Figure]] = dict


class SafeHtml(str):
    """HTML that was made safe already; tables take it as it is."""


def _cell(value: object) -> str:
    return value if isinstance(value, SafeHtml) else html.escape(str(value))


def html_table(
    header: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: str = "",
    name: str = "",
    sortable: bool = False,
    reference: Iterable[Sequence[object]] = (),
) -> str:
    """Return a table that scrolls sideways on a narrow screen; cells are escaped.

    Args:
        header: The heads of the columns.
        rows: The cells of each row; the first one is its head.
        caption: What the table shows, above it.
        name: Its `data-name`.
        sortable: A click on a head sorts the rows (see `PAGE_SCRIPT`).
        reference: Rows that stand below the others however these are sorted.

    >>> html_table(["class", "F1"], [["<b>", "50.00"]], name="t")[62:]
    '<table data-name="t"><thead><tr><th scope="col">class</th><th scope="col">F1</th></tr></thead><tbody><tr><th scope="row">&lt;b&gt;</th><td>50.00</td></tr></tbody></table></div>'
    """  # noqa: E501
    names = (html.escape(str(cell)) for cell in header)
    heads = (f'<button type="button">{cell}</button>' if sortable else cell for cell in names)
    head = "".join(f'<th scope="col">{cell}</th>' for cell in heads)
    body = "".join(_row(row) for row in rows)
    body += "".join(_row(row, "reference") for row in reference)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    mark = f' data-name="{html.escape(name)}"' if name else ""
    # A part that scrolls must be reached by the keyboard.
    label = html.escape(caption or name or "table")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f"<table{mark}>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(cells: Sequence[object], kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    first, *rest = map(_cell, cells)
    return f'<tr{mark}><th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>"


def table_html(table: Table, *, name: str = "", caption: str = "") -> str:
    """Return a table of the metric as HTML, its notes below as paragraphs.

    >>> table_html(Table(["F1", "<a>"], [["a|b", "1"]], ["X & Y."]), name="t")[-78:]
    '<th scope="row">a|b</th><td>1</td></tr></tbody></table></div><p>X &amp; Y.</p>'
    """
    return html_table(table.header, table.rows, name=name, caption=caption) + lines_html(table.notes)


def lines_html(lines: Iterable[str]) -> str:
    """Return each line as a paragraph, escaped.

    >>> lines_html(["X & Y *differ*."])
    '<p>X &amp; Y *differ*.</p>'
    """
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def message_box(text: str, *, error: bool = False) -> str:
    """Return a message in a box; an error is announced to screen readers.

    >>> message_box("a < b", error=True)
    '<div class="nyt-page"><div class="message error" role="alert">a &lt; b</div></div>'
    """
    kind = 'message error" role="alert' if error else 'message" role="status'
    return f'<div class="nyt-page"><div class="{kind}">{html.escape(text)}</div></div>'


def csv_text(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    r"""Return CSV in which no text is a formula: such texts get an apostrophe in front, as spreadsheets read
    it.

    >>> csv_text(["name", "f1"], [["=1+1", -0.5], ["a,b", None]])
    'name,f1\n\'=1+1,-0.5\n"a,b",\n'
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in (header, *rows):
        writer.writerow(
            [
                "'" + cell if isinstance(cell, str) and cell.startswith(_FORMULA_START) else cell
                for cell in row
            ]
        )
    return buffer.getvalue()


def download_link(text: str, file_name: str, kind: str) -> str:
    """Return a link that saves `text`; the file travels in the page, so that nothing is left on the server.

    >>> download_link("{}", "scores.json", "application/json")
    '<a class="download" download="scores.json" href="data:application/json;base64,e30=">scores.json</a>'
    """
    data = base64.b64encode(text.encode("utf-8")).decode("ascii")
    shown = html.escape(file_name)
    return f'<a class="download" download="{shown}" href="data:{kind};base64,{data}">{shown}</a>'


def figure_html(figure: Figure, caption: str) -> str:
    """Return a figure as a picture in the page, with its caption as the text for those who cannot see it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    shown = html.escape(caption)
    image = f'<img src="data:image/png;base64,{data}" alt="{shown}">'
    return f"<figure>{image}<figcaption>{shown}</figcaption></figure>"


def page_theme() -> Any:
    """Return the theme of both Spaces: fonts of the machine, and labels with the contrast that WCAG AA asks
    for.
    """
    import gradio as gr

    theme = gr.themes.Soft(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])
    return theme.set(
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_300",
        color_accent="*primary_700",
        link_text_color="*primary_700",
        link_text_color_dark="*primary_300",
        checkbox_label_background_fill_selected="*primary_700",
        checkbox_label_background_fill_selected_dark="*primary_700",
        block_label_text_color="*neutral_700",
        block_label_text_color_dark="*neutral_200",
        block_title_text_color="*neutral_700",
        block_title_text_color_dark="*neutral_200",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_300",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_dark="*primary_700",
        button_primary_background_fill_hover_dark="*primary_800",
        button_primary_text_color="white",
        button_primary_text_color_dark="white",
    )
