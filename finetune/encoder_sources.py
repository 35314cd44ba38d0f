"""Where the encoder of every seed comes from, and the tokenizer that goes with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .arguments import ModelArguments
from .configuration import RelationClassifierConfig
from .encoders import load_config, load_encoder, load_tokenizer, load_trained, max_sequence_length
from .entity_inputs import SENTENCE
from .relation_rows import RelationRows
from .trained_source import check_flags
from .word_encoders import WordEncoderConfig
from .word_presets import WORD_SIZE, WORD_SYSTEMS
from .word_vectors import read_word_vectors
from .word_vocabulary import build_word_encoder, word_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


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
    """The encoder that `model_name_or_path` names, loaded once to see that it can be.

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
        max_length = arguments.max_length or config.max_length
        max_sequence_length(tokenizer=tokenizer, config=config.encoder, requested=max_length)  # type: ignore[arg-type]
        return EncoderSource(tokenizer=tokenizer, max_length=max_length, build=None, trained=config)
    if arguments.representation == SENTENCE:
        raise ValueError(
            f"`--representation {SENTENCE}` is the vector of a network on words (`--encoder cnn` and "
            f"others), and {name!r} is an encoder without one; use another representation."
        )
    with_head = arguments.classifier_head == "label_words"
    load_encoder(name, language_model=with_head)
    return EncoderSource(
        tokenizer=tokenizer,
        max_length=max_sequence_length(tokenizer=tokenizer, config=config, requested=arguments.max_length),
        build=lambda: load_encoder(name, tokenizer=tokenizer, language_model=with_head),
    )


def word_source(arguments: ModelArguments, train: RelationRows) -> EncoderSource:
    """An encoder on the words of the training rows and of the vectors file.

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
