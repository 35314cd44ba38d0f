"""Low-rank adapters on the encoder (LoRA): trained in the place of its weights, then merged into them.

Reference: Hu et al. 2022 (ICLR), "LoRA: Low-Rank Adaptation of Large Language Models", equation 3; the
adapters are those of the library peft.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.modeling import RelationClassifier

if TYPE_CHECKING:
    from ..arguments import ModelArguments

NAME = "default"


def check_lora(arguments: ModelArguments) -> None:
    """Raise ValueError where adapters are asked for and peft is not installed."""
    if arguments.lora_r is None:
        return
    try:
        import peft  # noqa: F401
    except ImportError as error:
        raise ValueError('`--lora_r` needs peft: pip install "nyt-h[peft]".') from error


def add_lora(model: RelationClassifier, arguments: Any) -> None:
    """Put adapters beside weights of the encoder; of the encoder only they, and new tokens, are trained then.

    The head and what else is new beside the encoder are trained as always. The vectors of tokens that are new
    to the encoder, such as markers, are trained too: they begin at random.

    Args:
        model: The classifier, with its encoder's weights.
        arguments: The `ModelArguments`: `lora_r` (the rank), `lora_alpha` (a change counts alpha / r),
            `lora_dropout` and `lora_target_modules`, ends of names of linear layers; None for what peft knows
            of the encoder.

    Raises:
        ValueError: No layer has such a name, or peft knows none for this kind of encoder.
    """
    from peft import LoraConfig, LoraModel

    config = LoraConfig(
        r=arguments.lora_r,
        lora_alpha=arguments.lora_alpha or 2 * arguments.lora_r,
        lora_dropout=arguments.lora_dropout,
        target_modules=arguments.lora_target_modules,
        trainable_token_indices=model.config.marker_ids or None,
    )
    try:
        LoraModel(model.encoder, config, NAME)
    except ValueError as error:
        kind = model.encoder.config.model_type
        raise ValueError(
            f"`--lora_target_modules` does not fit the encoder ({kind}): {' '.join(str(error).split())}"
        ) from error


def merge_lora(model: RelationClassifier) -> None:
    """Add the adapters to the weights that they stand beside, and remove them; without any, do nothing.

    The model is then one like others: it is saved, loaded and pushed without peft.
    """
    parts = dict(model.encoder.named_modules())
    wrappers = {name for name, part in parts.items() if hasattr(part, "unload_and_optionally_merge_module")}
    for name, part in parts.items():
        if name in wrappers:  # of the words: its adapter stands inside
            options = {"merge": True, "safe_merge": False, "adapter_names": None}
            _replace(model.encoder, name, part.unload_and_optionally_merge_module(**options))
        elif hasattr(part, "get_base_layer") and name.rpartition(".")[0] not in wrappers:
            part.merge()
            _replace(model.encoder, name, part.get_base_layer())
    model.encoder.requires_grad_(True)


def _replace(encoder: Any, name: str, part: Any) -> None:
    parent, _, last = name.rpartition(".")
    setattr(encoder.get_submodule(parent), last, part)


def num_trained(model: RelationClassifier) -> tuple[int, int]:
    """Return how many numbers of the model are trained, and how many it has."""
    sizes = [(value.numel(), value.requires_grad) for value in model.parameters()]
    return sum(size for size, is_trained in sizes if is_trained), sum(size for size, _ in sizes)
