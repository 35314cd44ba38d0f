"""A leaderboard with more than one column: prediction files scored on the server, models by measures.

`app.py` is the Space; the other files need no Gradio.
"""

from .board import board_html, rank_figure
from .gold_data import GoldData, read_gold_data
from .local_results import LocalResults
from .submission import scored_record

__all__ = ["GoldData", "LocalResults", "board_html", "rank_figure", "read_gold_data", "scored_record"]
