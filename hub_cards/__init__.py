"""Cards for the Hub, folders staged for it, and their upload: plain values in, text and files out.

Leaf: imports nothing else of this project.
"""

from .cards import as_code, as_text, dataset_card, front_matter, markdown_table, metric_card, model_card
from .command import add_push_options, publish, run_command
from .metric_space import pinned_version, space_metadata, stage_metric
from .model_results import ModelScore, eval_results_yaml, model_index
from .staging import check_folder, check_repo_id, folder_files, staged_folder
from .upload import (
    OWNERS_METADATA,
    Changes,
    HubCardsError,
    HubError,
    Pushed,
    licence_of,
    preview,
    push_folder,
)

__all__ = [
    "OWNERS_METADATA",
    "Changes",
    "HubCardsError",
    "HubError",
    "ModelScore",
    "Pushed",
    "add_push_options",
    "as_code",
    "as_text",
    "check_folder",
    "check_repo_id",
    "dataset_card",
    "eval_results_yaml",
    "folder_files",
    "front_matter",
    "licence_of",
    "markdown_table",
    "metric_card",
    "model_card",
    "model_index",
    "pinned_version",
    "preview",
    "publish",
    "push_folder",
    "run_command",
    "space_metadata",
    "stage_metric",
    "staged_folder",
]
