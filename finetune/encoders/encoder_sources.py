"""Where the encoder of every seed comes from, and the tokenizer that goes with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from transformers import AutoConfig, AutoTokenizer
from transformers.utils import logging

from weighted_f1_metric import write_text

from ..arguments import WORD_SIZE, WORD_SYSTEMS, ModelArguments
from ..data.relation_rows import RelationRows
from ..model.bag_pooling import TOKENS_PER_CHUNK
from ..model.configuration import RelationClassifierConfig
from ..model.entity_inputs import LAST_TOKEN, SENTENCE, EntityInput
from ..model.modeling import RelationClassifier, make_encoder
from ..model.prompt import check_language_model
from ..model.word_encoders import WordEncoderConfig
from .word_vectors import build_word_encoder, read_word_vectors, word_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase


# The longest row by default; longer ones only when `max_length` says so.
DEFAULT_MAX_LENGTH = 512


def load_tokenizer(name_or_path: str) -> PreTrainedTokenizerBase:
    """Return the fast tokenizer of an encoder folder or Hub name.

    Raises:
        ValueError: It does not load, is not a fast tokenizer, or has no words.
    """
    tokenizer = _load(AutoTokenizer.from_pretrained, name_or_path, "tokenizer")
    require_fast(tokenizer)
    if tokenizer.pad_token is None:  # GPT-2 and others; what fills up a batch is masked, so any token will do
        tokenizer.pad_token = tokenizer.eos_token
    # Without tokenizer files transformers makes an empty tokenizer, to which every word is unknown.
    if set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        raise ValueError(
            f"`model_name_or_path` {name_or_path!r}: its tokenizer has no words, only {len(tokenizer)} "
            "special tokens; the folder must hold the encoder's tokenizer.json."
        )
    return tokenizer


def load_config(name_or_path: str) -> PretrainedConfig:
    """Return the config of an encoder folder or Hub name, or of a trained classifier.

    Raises:
        ValueError: It does not load.
    """
    return _load(AutoConfig.from_pretrained, name_or_path, "config")


def load_trained(name_or_path: str, **values: Any) -> RelationClassifier:
    """Return the classifier that was trained and saved, in float32.

    Args:
        name_or_path: Its folder, or its name on the Hub.
        **values: Values of its config in the place of the saved ones.

    Raises:
        ValueError: It does not load.
    """
    load = partial(RelationClassifier.from_pretrained, dtype=torch.float32, **values)
    model = _load(load, name_or_path, "weights")
    if Path(name_or_path).is_dir():
        model.config.name_or_path = ""  # a saved model must not tell where it was made
    return model


def load_encoder(
    name_or_path: str, *, tokenizer: PreTrainedTokenizerBase | None = None, language_model: bool = False
) -> PreTrainedModel:
    """Return the pretrained encoder in float32, without a pooling layer where it can be left away.

    Of a pair of encoder and decoder it is the encoder.

    With `language_model` it has the head that predicts words at masks.

    With a tokenizer it gets a row for every token. The rows of new tokens are draws from the encoder's own
    initial distribution (mean 0, its `initializer_range`), so that they differ from the first step on.

    Raises:
        ValueError: It does not load, its file lacks weights of the encoder or of the head, or the head is of
            a kind that cannot be used.
    """

    def load(path: str) -> tuple[PreTrainedModel, dict]:
        def make(auto: Any, **more: Any) -> tuple[PreTrainedModel, dict]:
            return auto.from_pretrained(path, dtype=torch.float32, output_loading_info=True, **more)

        return make_encoder(AutoConfig.from_pretrained(path), make, language_model=language_model)

    # The loader's own report lists heads that are in the file and not needed; what is lacking is an error
    # here.
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        encoder, report = _load(load, name_or_path, "weights")
    finally:
        logging.set_verbosity(verbosity)
    lacking = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if lacking:
        whose = "masked language model" if language_model else "encoder"
        raise ValueError(
            f"`model_name_or_path` {name_or_path!r}: the file lacks {len(lacking)} of the {whose}'s weights "
            f"(first: {lacking[0]}), which would start at random values."
        )
    if language_model:
        check_language_model(encoder)
    if Path(name_or_path).is_dir():
        encoder.config.name_or_path = ""  # a saved model must not tell where it was made
    if tokenizer is not None and len(tokenizer) > len(encoder.get_input_embeddings().weight):  # type: ignore
        encoder.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    return encoder


@torch.no_grad()
def sees_what_follows(encoder: PreTrainedModel) -> bool:
    """Return whether the state of a token changes when a later token does."""
    words = torch.arange(8).remainder(len(encoder.get_input_embeddings().weight)).unsqueeze(0)  # type: ignore
    other = words.clone()
    other[0, 6] = words[0, 1]
    was_training = encoder.training
    encoder.eval()
    mask = torch.ones_like(words)
    before, after = (
        encoder.base_model(input_ids=ids, attention_mask=mask).last_hidden_state[0, 2]
        for ids in (words, other)
    )
    encoder.train(was_training)
    return not torch.equal(before, after)


def check_reading(encoder: PreTrainedModel, *, representation: str, name: str) -> None:
    """Raise ValueError where the representation's state has not seen the whole sentence."""
    if representation != LAST_TOKEN and not sees_what_follows(encoder):
        raise ValueError(
            f"`model_name_or_path` {name!r} reads from left to right ({encoder.config.model_type}): the "
            f"states that `--representation {representation}` takes do not change with the words that "
            f"follow, so they cannot know the whole sentence. Use `--representation {LAST_TOKEN}`, or an "
            "encoder that reads both ways."
        )


def freeze(model: RelationClassifier, num_layers: int) -> None:
    """Let training change neither the encoder's embeddings nor its first layers.

    Raises:
        ValueError: It has fewer layers, or none that can be told apart.
    """
    encoder: Any = model.encoder.base_model
    total = encoder.config.num_hidden_layers
    stacks = [
        part for part in encoder.modules() if isinstance(part, torch.nn.ModuleList) and len(part) == total
    ]
    if not stacks or num_layers > total:
        raise ValueError(
            f"`freeze_layers` is {num_layers}, and the encoder has "
            + (f"{total} layers." if stacks else "no layers of its own to tell apart; leave it out.")
        )
    layers = stacks[0]
    for part in (encoder.get_input_embeddings(), *layers[:num_layers]):
        part.requires_grad_(False)
    # Beside the layers stand what comes before them (positions, their norm) and, in some, a last norm.
    for name, part in encoder.named_children():
        if "embed" in name or name in ("wpe", "wte"):
            part.requires_grad_(False)


def _load(load: Callable, name_or_path: str, part: str):
    """Call one of transformers' loaders and say in one line what is wrong with the encoder folder."""
    try:
        return load(name_or_path)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, TypeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        folder = Path(name_or_path)
        here = "" if folder.is_dir() else " (no folder of that name is here)"
        if part == "tokenizer" and any(folder.glob("*.model")) and not (folder / "tokenizer.json").is_file():
            # Without these libraries transformers speaks of tiktoken.
            reason = (
                "it is a SentencePiece model, which needs sentencepiece and a protobuf that is as new: pip "
            )
            reason += "install -U sentencepiece protobuf."
        raise ValueError(
            f"`model_name_or_path` {name_or_path!r}{here}: the encoder's {part} did not load: {reason} It "
            "must be a folder with config.json, weights and tokenizer.json, or a name on the Hugging Face "
            "Hub."
        ) from error


def require_fast(tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise ValueError when the tokenizer gives no character offsets."""
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"the tokenizer {type(tokenizer).__name__} is not a fast one, so it gives no character offsets "
            "and the entities cannot be marked; use an encoder that has a tokenizer.json."
        )


def add_entity_tokens(tokenizer: PreTrainedTokenizerBase, entity_input: EntityInput) -> int:
    """Return number of tokens that were new to the tokenizer; afterwards every one has an id of its own.

    Raises:
        ValueError: The tokenizer is not a fast one, or two tokens share an id, or one is the unknown token.
    """
    require_fast(tokenizer)
    new = list(entity_input.new_tokens)
    if not new:
        return 0
    # Not under a name in the tokenizer's config: transformers 4 and 5 do not read each other's.
    added = tokenizer.add_tokens(new, special_tokens=True)  # type: ignore[arg-type]
    ids = token_ids(tokenizer, new)
    shared = [
        token
        for token, number in zip(new, ids, strict=True)
        if number in (None, tokenizer.unk_token_id) or ids.count(number) > 1
    ]
    if shared:
        raise ValueError(
            f"{len(shared)} of the {len(new)} tokens that show the entities got no id of their own (first: "
            f"{shared[0]!r}); the ids must be distinct and none may be that of the unknown token "
            f"({tokenizer.unk_token_id})."
        )
    return int(added)


def save_tokenizer(tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write the tokenizer so that transformers 4 reads it too, to which the newer class name is unknown."""
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    if config.get("tokenizer_class") == "TokenizersBackend":
        write_text(path, json.dumps(config | {"tokenizer_class": "PreTrainedTokenizerFast"}, indent=2) + "\n")


def token_ids(tokenizer: PreTrainedTokenizerBase, tokens: Sequence[str]) -> list[int]:
    """Return the ids of tokens that the tokenizer has, in their order."""
    return cast("list[int]", tokenizer.convert_tokens_to_ids(list(tokens)))


def max_sequence_length(
    *, tokenizer: PreTrainedTokenizerBase, config: PretrainedConfig, requested: int | None
) -> int:
    """Return the number of tokens a row may have: `requested`, or what encoder and tokenizer can read, at
    most 512.

    Raises:
        ValueError: `requested` is more than the encoder can read.
    """
    positions = getattr(config, "max_position_embeddings", None) or -1
    if positions < 0:  # without a limit, as in XLNet and T5
        positions = tokenizer.model_max_length
    if "roberta" in config.model_type or config.model_type == "camembert":
        positions -= (config.pad_token_id or 0) + 1  # RoBERTa counts positions from the padding id on
    limit = int(min(positions, tokenizer.model_max_length))
    if requested is None:
        return min(limit, DEFAULT_MAX_LENGTH)
    if requested > limit:
        raise ValueError(f"`max_length` is {requested}, but this encoder reads at most {limit} tokens.")
    return requested


def build_classifier(
    *,
    encoder: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    entity_input: EntityInput,
    label_names: Sequence[str],
    negative_relation: str,
    representation: str = "entity_start",
    classifier_head: str = "linear",
    label_word_ids: list[list[int]] | None = None,
    type_relations: list[list] | None = None,
    classifier_dropout: float | None = None,
    max_row_tokens: int = DEFAULT_MAX_LENGTH,
    bag_pooling: str | None = None,
    multi_label: bool = False,
    tokens_per_chunk: int = TOKENS_PER_CHUNK,
) -> RelationClassifier:
    """Return a classifier on the encoder, which has a row for every token; its head depends on torch's seed
    only.

    Raises:
        ValueError: The representation does not go with the input or the encoder, or the pooling is unknown.
    """
    config = RelationClassifierConfig(
        encoder=encoder.config,
        id2label=dict(enumerate(label_names)),
        negative_relation=negative_relation,
        representation=representation,
        input_format=entity_input.name,
        entity_types=[list(entity_input.head_types), list(entity_input.tail_types)],
        marker_ids=token_ids(tokenizer, entity_input.new_tokens),
        classifier_head=classifier_head,
        label_word_ids=label_word_ids,
        mask_id=None if label_word_ids is None else tokenizer.mask_token_id,
        type_relations=type_relations,
        classifier_dropout=classifier_dropout,
        max_row_tokens=max_row_tokens,
        bag_pooling=bag_pooling,
        multi_label=multi_label,
        tokens_per_chunk=tokens_per_chunk,
    )
    model = RelationClassifier(config, encoder=encoder)
    if model.segments is not None:
        # A token outside the entities starts as the pretrained encoder knows it.
        torch.nn.init.zeros_(model.segments.weight[0])
    return model


MAX_LISTED = 5  # names in a message


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
        f"only {side} has {', '.join(sorted(names)[:MAX_LISTED])}"
        + (f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else "")
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


@dataclass(frozen=True)
class EncoderSource:
    """A checked encoder.

    Attributes:
        tokenizer: Its tokenizer, which can get new tokens before `build` is called.
        max_length: Most tokens per row.
        build: Makes the encoder with a row for every token; random values follow from torch's seed. None
            where training goes on from a classifier.
        trained: The config of that classifier, else None.
    """

    tokenizer: PreTrainedTokenizerBase
    max_length: int
    build: Callable[[], PreTrainedModel] | None
    trained: RelationClassifierConfig | None = None


def pretrained_source(arguments: ModelArguments) -> EncoderSource:
    """Return the encoder that `model_name_or_path` names, loaded once to see that it can be.

    Raises:
        ValueError: No name, a flag of the other encoders, or an encoder that does not load.
    """
    if arguments.model_name_or_path is None:
        raise ValueError("`--model_name_or_path` is needed; see `python -m finetune --help`.")
    name = str(arguments.model_name_or_path)
    config = load_config(name)
    tokenizer = load_tokenizer(name)
    if isinstance(config, RelationClassifierConfig):
        check_flags(config, arguments)
        load_trained(name)
        max_length = arguments.max_length or config.max_row_tokens
        max_sequence_length(tokenizer=tokenizer, config=config.encoder, requested=max_length)  # type: ignore[arg-type]
        return EncoderSource(tokenizer=tokenizer, max_length=max_length, build=None, trained=config)
    if arguments.representation == SENTENCE:
        raise ValueError(
            f"`--representation {SENTENCE}` is the vector of a network on words (`--encoder cnn` and "
            f"others), and {name!r} is an encoder without one; use another representation."
        )
    with_head = arguments.classifier_head == "label_words"
    check_reading(
        load_encoder(name, language_model=with_head), representation=arguments.representation, name=name
    )
    return EncoderSource(
        tokenizer=tokenizer,
        max_length=max_sequence_length(tokenizer=tokenizer, config=config, requested=arguments.max_length),
        build=lambda: load_encoder(name, tokenizer=tokenizer, language_model=with_head),
    )


def word_source(arguments: ModelArguments, train: RelationRows) -> EncoderSource:
    """Return an encoder on the words of the training rows and of the vectors file.

    Raises:
        FileNotFoundError: The vectors file is not there.
        ValueError: It is broken.
    """
    vectors = None if arguments.word_vectors is None else read_word_vectors(arguments.word_vectors)
    tokenizer, num_fixed = word_tokenizer(sentences=train.sentences, spans=train.spans, vectors=vectors)
    shape = {
        **WORD_SYSTEMS[arguments.encoder],
        "word_size": WORD_SIZE if vectors is None else vectors.values.shape[1],
        "num_fixed_words": num_fixed,
    }
    return EncoderSource(
        tokenizer=tokenizer,
        max_length=max_sequence_length(
            tokenizer=tokenizer, config=WordEncoderConfig(**shape), requested=arguments.max_length
        ),
        build=lambda: build_word_encoder(tokenizer=tokenizer, vectors=vectors, shape=shape),
    )
