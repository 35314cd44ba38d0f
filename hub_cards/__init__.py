"""Cards for the Hub, and folders staged for it: plain values in, text and files out.

Leaf: imports nothing else of this project.
"""

from .cards import as_code, as_text, dataset_card, markdown_table
from .hub import staged_folder

__all__ = ["as_code", "as_text", "dataset_card", "markdown_table", "staged_folder"]
