"""The systems on word vectors by name: their encoder, and the values their flags have unless given.

The values are those of [A]'s release (`run.sh`, `config.py` and `model.py`). Where the two differ: the
release's CR-CNN has neither the tanh of its paper nor dropout, ours has both; Adam is the Trainer's AdamW
without weight decay, here with a constant learning rate and unclipped gradients, as there.

Reference: [A] Zhu et al. (2020), "Towards Accurate and Consistent Evaluation: A Dataset for
Distantly-Supervised Relation Extraction".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WORD_SIZE = 50

# Name -> what its `WordEncoderConfig` has besides the defaults.
WORD_SYSTEMS: Mapping[str, Mapping[str, Any]] = {
    "cnn": {"architecture": "cnn"},
    "pcnn": {"architecture": "pcnn"},
    "crcnn": {"architecture": "cnn"},
    "att_blstm": {"architecture": "att_blstm", "embedding_dropout": 0.3, "lstm_dropout": 0.3},
}

SHARED_FLAGS = {
    "representation": "sentence",
    "input": "plain",
    "max_length": 150,
    "per_device_train_batch_size": 64,
    "num_train_epochs": 50.0,
    "learning_rate": 1e-3,
    "lr_scheduler_type": "constant",
    "max_grad_norm": 0.0,
}


# With `--input prompt`.
PROMPT_FLAGS = {"representation": "masks", "classifier_head": "label_words"}


def preset_flags(encoder: object, input_format: object = None) -> dict[str, Any]:
    """Flags that have another value by default with this encoder, or with a pretrained one and this input.

    >>> preset_flags("crcnn")["classifier_head"], preset_flags("pretrained", "markers")
    ('ranking', {})
    >>> preset_flags(None, "prompt")
    {'representation': 'masks', 'classifier_head': 'label_words'}
    """
    if encoder not in WORD_SYSTEMS:
        return dict(PROMPT_FLAGS) if input_format == "prompt" else {}
    return {**SHARED_FLAGS, "classifier_head": "ranking" if encoder == "crcnn" else "linear"}
