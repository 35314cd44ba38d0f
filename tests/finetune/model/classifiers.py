"""What the suites of all classifiers share: sentences as a batch, and saved models in a fresh process."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from finetune import RelationClassifier
from finetune.model.batching import RowBatches
from finetune.model.encoding import RowEncoder
from finetune.model.entity_inputs import EntityInput

Batch = dict[str, torch.Tensor]
Classifier = tuple[RelationClassifier, Any, Batch]
# Written to the folder of each model: what both Auto classes compute, and the tokens of a text.
FRESH = """
import sys, torch
from finetune import RelationClassifier
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer
for folder in sys.argv[1:]:
    batch = torch.load(folder + "/batch.pt", weights_only=True)
    for auto in (AutoModelForSequenceClassification, AutoModel):
        model = auto.from_pretrained(folder).eval()
        assert type(model) is RelationClassifier
        with torch.no_grad():
            torch.save(model(**batch).logits, f"{folder}/{auto.__name__}.pt")
    print(AutoTokenizer.from_pretrained(folder)("Obama isn't in [E1] Zürich[/E1]")["input_ids"])
"""


def batch_of(
    tokenizer: Any,
    *,
    sentences: Sequence[str],
    spans: np.ndarray,
    labels: Sequence[int],
    entity_input: EntityInput,
    rows: Sequence[int] | None = None,
    types: Sequence[tuple[str, str]] | None = None,
    max_length: int = 64,
) -> Batch:
    """Return the rows (all, where none are named) as the batch that a model takes."""
    encoded = RowEncoder(tokenizer, entity_input=entity_input, max_length=max_length).encode(
        sentences=sentences, spans=spans, row_names=[str(row) for row in range(len(sentences))], types=types
    )
    batches = RowBatches(
        rows=encoded,
        labels=np.array(labels),
        row_ids=np.arange(len(sentences)),
        pad_id=tokenizer.pad_token_id,
    )
    batch = batches.__getitems__(list(range(len(sentences)) if rows is None else rows))
    del batch["row_ids"]
    return batch


def check_in_a_fresh_process(python: Path, folder: Path, classifiers: Mapping[str, Classifier]) -> None:
    """Save the models below the folder; a process that loads them must have their logits and tokens."""
    folders, logits, tokens = [], [], []
    for name, (model, tokenizer, batch) in classifiers.items():
        folders.append(folder / name)
        model.save_pretrained(folders[-1])
        tokenizer.save_pretrained(folders[-1])
        torch.save(batch, folders[-1] / "batch.pt")
        with torch.no_grad():
            logits.append(model(**batch).logits)
        assert logits[-1].isfinite().all()
        tokens.append(str(tokenizer("Obama isn't in [E1] Zürich[/E1]")["input_ids"]))
    words = [str(python), "-c", FRESH, *map(str, folders)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == tokens
    for place, expected in zip(folders, logits, strict=True):
        for auto in ("AutoModelForSequenceClassification", "AutoModel"):
            found = torch.load(place / f"{auto}.pt", weights_only=True)
            # Where the weights lie in memory changes the order of sums.
            torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
