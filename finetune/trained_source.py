"""Training that goes on from a trained classifier: what must agree between it and the run."""

from __future__ import annotations

from collections.abc import Sequence

from .arguments import ModelArguments
from .configuration import RelationClassifierConfig

NAMED = 5


def check_labels(
    config: RelationClassifierConfig, *, name: str, label_names: Sequence[str], negative_relation: str
) -> None:
    """Return None when the classifier has the labels of the data, in the same order.

    Args:
        config: The trained classifier's.
        name: What it is called, for the message.
        label_names: The data's labels by id.
        negative_relation: The data's.

    Raises:
        ValueError: They differ; the message names what only one of the two has.
    """
    own = list(dict(config.id2label or {}).values())
    if own == list(label_names) and config.negative_relation == negative_relation:
        return
    sides = {"the checkpoint": set(own) - set(label_names), "the data": set(label_names) - set(own)}
    differences = [
        f"only {side} has {', '.join(sorted(names)[:NAMED])}"
        + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
        for side, names in sides.items()
        if names
    ]
    if not differences:
        differences = [
            "they are the same in another order"
            if config.negative_relation == negative_relation
            else f"the negative relation is {config.negative_relation!r} in the checkpoint and "
            f"{negative_relation!r} in the data"
        ]
    raise ValueError(
        f"`model_name_or_path` {name!r} is a classifier whose {len(own)} labels differ from the "
        f"{len(label_names)} of the data: {'; '.join(differences)}. Give an encoder, or the data that it was "
        "trained on."
    )


def check_label_words(
    config: RelationClassifierConfig, *, name: str, label_word_ids: Sequence[Sequence[int]] | None
) -> None:
    """Raise ValueError when the classifier was trained with other words at the masks."""
    if config.label_word_ids != label_word_ids:
        raise ValueError(
            f"`model_name_or_path` {name!r} was trained with other label words; give the same as "
            "`--label_words`, or an encoder."
        )


def check_flags(config: RelationClassifierConfig, arguments: ModelArguments) -> None:
    """Raise ValueError for a flag that asks for another classifier than the trained one."""
    for flag, own in (
        ("representation", config.representation),
        ("input", config.input_format),
        ("classifier_head", config.classifier_head),
    ):
        if getattr(arguments, flag) != own:
            raise ValueError(
                f"`model_name_or_path` {arguments.model_name_or_path!r} was trained with `--{flag} {own}`, "
                f"and this run asks for {getattr(arguments, flag)}; give the same, or an encoder."
            )
