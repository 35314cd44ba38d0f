"""The parts of the web pages that have no need of Gradio: safe HTML, checked uploads, an example.

`app.py` beside this file is the Space; the leaderboard uses these parts too.
"""

from ..table import percent
from ..tables import interval
from .example import EXAMPLE_SYSTEMS, example_predictions, example_track
from .pages import (
    MAX_SESSIONS,
    PAGE_CSS,
    PAGE_SCRIPT,
    Page,
    SafeHtml,
    csv_text,
    download_link,
    html_table,
    lines_html,
    message_box,
    page_theme,
    table_html,
)
from .uploads import (
    NEUTRAL_MESSAGE,
    RequestLimit,
    SpaceError,
    UploadError,
    UploadLimits,
    checked_upload,
    drawn,
    in_page,
)

__all__ = [
    "EXAMPLE_SYSTEMS",
    "MAX_SESSIONS",
    "NEUTRAL_MESSAGE",
    "PAGE_CSS",
    "PAGE_SCRIPT",
    "Page",
    "RequestLimit",
    "SafeHtml",
    "SpaceError",
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
    "interval",
    "lines_html",
    "message_box",
    "page_theme",
    "percent",
    "table_html",
]
