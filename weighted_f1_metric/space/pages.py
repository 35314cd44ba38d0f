"""Plain values -> safe pieces of a page: tables, messages, pictures and downloads; everything is escaped."""

from __future__ import annotations

import base64
import csv
import html
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_CSS = """
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
  .nyt-page table[data-name="classes"] td:first-child { min-width: 10rem; }
}
.nyt-page.board th, .nyt-page.board td { padding: .3rem .5rem; }
.nyt-page tbody tr:hover { background: var(--background-fill-secondary); }
.nyt-page h3 { margin: 1rem 0 .2rem; font-size: 1.05rem; }
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
.nyt-page .mark { color: #B24700; font-size: .8em; } .dark .nyt-page .mark { color: #F0A050; }
"""

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
    header: Sequence[object], rows: Iterable[Sequence[object]], *, caption: str = "", name: str = ""
) -> str:
    """A table that scrolls sideways on a narrow screen; `name` becomes its `data-name`; cells are escaped.

    >>> html_table(["class", "F1"], [["<b>", "50.00"]], name="t")
    '<div class="scroll"><table data-name="t"><thead><tr><th>class</th><th>F1</th></tr></thead><tbody><tr><td>&lt;b&gt;</td><td>50.00</td></tr></tbody></table></div>'
    """  # noqa: E501
    head = "".join(f"<th>{html.escape(str(cell))}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    mark = f' data-name="{html.escape(name)}"' if name else ""
    return (
        f'<div class="scroll"><table{mark}>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>'
        "</table></div>"
    )


def table_html(table: Table, *, name: str = "") -> str:
    """A table of the metric as HTML, its notes below as paragraphs.

    >>> table_html(Table(["F1", "<a>"], [["a|b", "1"]], ["X & Y."]), name="t")[-76:]
    '<tbody><tr><td>a|b</td><td>1</td></tr></tbody></table></div><p>X &amp; Y.</p>'
    """
    return html_table(table.header, table.rows, name=name) + lines_html(table.notes)


def lines_html(lines: Iterable[str]) -> str:
    """Each line as a paragraph, escaped.

    >>> lines_html(["X & Y *differ*."])
    '<p>X &amp; Y *differ*.</p>'
    """
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def message_box(text: str, *, error: bool = False) -> str:
    """A message in a box; an error is announced to screen readers.

    >>> message_box("a < b", error=True)
    '<div class="nyt-page"><div class="message error" role="alert">a &lt; b</div></div>'
    """
    kind = 'message error" role="alert' if error else 'message" role="status'
    return f'<div class="nyt-page"><div class="{kind}">{html.escape(text)}</div></div>'


def csv_text(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    r"""CSV in which no text is a formula: such texts get an apostrophe in front, as spreadsheets read it.

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
    """A link that saves `text`; the file travels in the page, so that nothing is left on the server.

    >>> download_link("{}", "scores.json", "application/json")
    '<a class="download" download="scores.json" href="data:application/json;base64,e30=">scores.json</a>'
    """
    data = base64.b64encode(text.encode("utf-8")).decode("ascii")
    shown = html.escape(file_name)
    return f'<a class="download" download="{shown}" href="data:{kind};base64,{data}">{shown}</a>'


def figure_html(figure: Figure, caption: str) -> str:
    """A figure as a picture within the page, with its caption as the text for those who cannot see it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    shown = html.escape(caption)
    image = f'<img src="data:image/png;base64,{data}" alt="{shown}">'
    return f"<figure>{image}<figcaption>{shown}</figcaption></figure>"
