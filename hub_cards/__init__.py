"""Cards for the Hub, folders staged for it, and their upload: plain values in, text and files out.

Leaf: imports nothing else of this project.
"""

from .cards import as_code, as_text, dataset_card, front_matter, markdown_table, metric_card, model_card
from .hub import check_folder, check_repo_id, folder_files, listing, staged_folder
from .metric_space import pinned_version, space_metadata, stage_metric
from .model_results import ModelScore, eval_results_yaml, model_index
from .upload import HubError, Pushed, push_folder

__all__ = [
    "HubError",
    "ModelScore",
    "Pushed",
    "as_code",
    "as_text",
    "check_folder",
    "check_repo_id",
    "dataset_card",
    "eval_results_yaml",
    "folder_files",
    "front_matter",
    "listing",
    "markdown_table",
    "metric_card",
    "model_card",
    "model_index",
    "pinned_version",
    "push_folder",
    "space_metadata",
    "stage_metric",
    "staged_folder",
]
