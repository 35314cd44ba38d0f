"""Fine-tuning of entity-marker relation classifiers: `python -m finetune`.

Importing the package is light; its classes come when they are asked for. `from finetune import
RelationClassifier` registers the saved models of this command with the Auto classes of transformers, and the
pipeline "relation-classification".
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "FinetuneError": "model.prediction_records",
    "RowError": "data.relation_rows",
    "SavingError": "training.relation_trainer",
    "TrainingDivergedError": "model.prediction_records",
    "MarkerTokens": "model.markers",
    "RelationClassifier": "model.modeling",
    "RelationClassifierConfig": "model.configuration",
    "RelationPipeline": "model.relation_pipeline",
}

__all__ = [
    "FinetuneError",
    "MarkerTokens",
    "RelationClassifier",
    "RelationClassifierConfig",
    "RelationPipeline",
    "RowError",
    "SavingError",
    "TrainingDivergedError",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
