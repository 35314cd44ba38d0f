"""The parts of the web pages that have no need of Gradio: safe HTML, checked uploads, an example.

`app.py` beside this file is the Space; the leaderboard uses these parts too.
"""

from ..table import percent
from .example import EXAMPLE_SYSTEMS, example_predictions, example_track
from .pages import (
    PAGE_CSS,
    Page,
    SafeHtml,
    csv_text,
    download_link,
    html_table,
    lines_html,
    message_box,
    table_html,
)
from .uploads import NEUTRAL_MESSAGE, RequestLimit, UploadError, UploadLimits, checked_upload, drawn, in_page

__all__ = [
    "EXAMPLE_SYSTEMS",
    "NEUTRAL_MESSAGE",
    "PAGE_CSS",
    "Page",
    "RequestLimit",
    "SafeHtml",
    "UploadError",
    "UploadLimits",
    "checked_upload",
    "csv_text",
    "download_link",
    "drawn",
    "example_predictions",
    "example_track",
    "html_table",
    "in_page",
    "lines_html",
    "message_box",
    "percent",
    "table_html",
]
