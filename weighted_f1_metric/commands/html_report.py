"""`score --html`: one page with everything that is known of a score, to be sent around as a file.

The page needs no server and fetches nothing: styles, script and pictures (SVG) are in it. Everything that
comes from files is escaped.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..space.pages import PAGE_CSS, PAGE_SCRIPT, html_table, lines_html
from .track_sections import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What the styles of the Spaces take from Gradio's theme, in light and dark, and paper.
_COLOURS = """
:root { color-scheme: light dark; --body-background-fill: #fff; --body-text-color: #1f2937;
  --border-color-primary: #d4d8dd; --background-fill-secondary: #f3f4f6; }
@media (prefers-color-scheme: dark) {
  :root { --body-background-fill: #14181d; --body-text-color: #e8eaed; --border-color-primary: #3a4149;
    --background-fill-secondary: #20262d; }
  .nyt-page figure svg { filter: invert(.9) hue-rotate(180deg); }
}
body { margin: 0 auto; padding: 1rem; max-width: 72rem; font: 16px/1.5 system-ui, sans-serif;
  background: var(--body-background-fill); color: var(--body-text-color); }
.nyt-page h1 { font-size: 1.4rem; } .nyt-page h2 { font-size: 1.1rem; margin-top: 2rem; }
.nyt-page figure { margin: 1rem 0; } .nyt-page figure svg { width: 100%; height: auto; background: #fff; }
.nyt-page li { overflow-wrap: anywhere; }
@media print { .nyt-page .scroll { overflow: visible; }
  .nyt-page figure, .nyt-page tr { break-inside: avoid; }
  .nyt-page figure svg { filter: none; } body { max-width: none; } }
"""
_DECLARATION = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>", re.DOTALL)


def report_page(title: str, sections: Iterable[Section], figures: Mapping[str, Figure]) -> str:
    """Return the page.

    Args:
        title: Of the page.
        sections: In their order.
        figures: Caption -> figure; the caption is also what those hear who cannot see it.

    >>> page = report_page("A & B", [Section("One", lines=["<b>"])], {})
    >>> "<h1>A &amp; B</h1><section><h2>One</h2><p>&lt;b&gt;</p></section>" in page
    True
    """
    body = "".join(map(_section, sections))
    if figures:
        body += "<section><h2>Figures</h2>" + "".join(map(_figure, figures, figures.values())) + "</section>"
    name = html.escape(title)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{PAGE_CSS}{_COLOURS}</style></head>"
        f'<body><main class="nyt-page"><h1>{name}</h1>{body}</main>{PAGE_SCRIPT}</body></html>\n'
    )


def _section(section: Section) -> str:
    tables = "".join(
        html_table(table.header, table.rows, caption=caption, sortable=True)
        for caption, table in section.tables
    )
    examples = "".join(
        f"<p>{html.escape(why)}</p><ul>{''.join(f'<li>{html.escape(one)}</li>' for one in sentences)}</ul>"
        for why, sentences in section.examples
    )
    title = html.escape(section.title)
    return f"<section><h2>{title}</h2>{tables}{lines_html(section.lines)}{examples}</section>"


def _figure(caption: str, figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    # Ids are numbered anew in each figure; in one page they must differ.
    mark = re.sub(r"\W", "_", caption)
    drawn = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{mark}-", _DECLARATION.sub("", buffer.getvalue()))
    shown = html.escape(caption)
    drawn = drawn.replace("<svg ", f'<svg role="img" aria-label="{shown}" ', 1)
    return f"<figure>{drawn}<figcaption>{shown}</figcaption></figure>"
