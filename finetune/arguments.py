"""The command's own flags, with their help texts; importing this does not import torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from .model.entity_inputs import OLD_HEADS, SENTENCE, check_combination, check_head

if TYPE_CHECKING:
    from .trainer_arguments import RelationTrainingArguments


def check_values(arguments: object) -> None:
    """Raise ValueError for a value of the wrong kind: a settings file can hold any."""
    hints = get_type_hints(type(arguments))
    for item in fields(arguments):  # type: ignore[arg-type]
        kinds = get_args(hints[item.name]) or (hints[item.name],)
        value = getattr(arguments, item.name)
        # A choice that may be left open is a Literal beside None.
        choices = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), None)
        if get_origin(hints[item.name]) is Literal:
            choices = kinds
        if choices is not None:
            if value not in choices and not (value is None and type(None) in kinds):
                raise ValueError(
                    f"`{item.name}` must be one of {', '.join(map(repr, choices))}; got {value!r}."
                )
        elif type(value) is int and float in kinds:
            setattr(arguments, item.name, float(value))
        elif type(value) is float and value.is_integer() and int in kinds and float not in kinds:
            setattr(arguments, item.name, int(value))  # 1e3, as YAML reads it
        elif type(value) not in {get_origin(kind) or kind for kind in kinds}:
            expected = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
            raise ValueError(f"`{item.name}` must be {expected}; got {value!r}.")


Representation = Literal["cls", "mention_pooling", "entity_start", "last_token", "sentence", "masks"]


@dataclass
class DataArguments:
    """What is read."""

    data: Literal["nyt_h", "semeval2010", "tacred", "opennre", "hub"] = field(
        default="nyt_h",
        metadata={
            "help": "Which reader: nyt_h (the authors' release), semeval2010 (TRAIN_FILE.TXT, "
            "TEST_FILE_FULL.TXT), tacred (train.json, dev.json, test.json), opennre (*_train.txt, *_val.txt, "
            "*_test.txt, *_rel2id.json), or hub (whatever load_dataset takes, see --dataset_name)."
        },
    )
    data_dir: str | None = field(
        default=None, metadata={"help": "The folder with the data files (for hub see --dataset_name)."}
    )
    dataset_name: str | None = field(
        default=None,
        metadata={
            "help": "With --data hub: the name of a dataset on the Hugging Face Hub, or a local folder such "
            "as one written by `nyt_h_dataset export`."
        },
    )
    dataset_config: str | None = field(
        default=None, metadata={"help": "With --data hub: which configuration of the dataset."}
    )
    dataset_revision: str | None = field(
        default=None, metadata={"help": "With --data hub: the branch, tag or commit."}
    )
    columns: list[str] | None = field(
        default=None,
        metadata={
            "help": "With --data hub, where the columns have other names: ours=theirs, for example head=subj "
            "tail=obj sentence=text, or head_start=subj_start. A sentence may be a list of tokens; ends are "
            "exclusive."
        },
    )
    negative_relation: str | None = field(
        default=None,
        metadata={
            "help": "The name of the negative relation, needed with --data hub; `none` if the data have no "
            "such class. Default: no_relation for tacred, for opennre NA, no_relation or Other, whichever "
            "there is."
        },
    )
    equal_spans: Literal["error", "keep"] | None = field(
        default=None,
        metadata={
            "help": "Rows of tacred, opennre or hub whose head and tail are the same characters: error (the "
            "default), or keep."
        },
    )
    validation_fraction: float | None = field(
        default=None,
        metadata={
            "help": "Where the data have no validation split: the share of train that becomes one, by entity "
            "pair. Default 0.1; 0 makes none, so that nothing is selected and all rows are trained on."
        },
    )
    validation_seed: int = field(
        default=0, metadata={"help": "Which entity pairs go to such a validation split follows from it."}
    )
    evaluate_na: int = field(
        default=0,
        metadata={
            "help": "Also predict this many rows of the `na` split (nyt_h, hub) that training has not, and "
            "report the share of false alarms by relation; test and dev of NYT-H hold no NA rows."
        },
    )
    track: Literal["sent2sent", "bag2sent", "bag2bag"] = field(
        default="sent2sent",
        metadata={
            "help": "What is trained on and scored: sent2sent trains on sentences and scores sentences; "
            "bag2sent trains and selects on bags (all sentences of an entity pair) and scores each test "
            "sentence as a bag of one; bag2bag trains on bags and scores bags."
        },
    )

    def __post_init__(self) -> None:
        """Raise ValueError for a value of the wrong kind."""
        check_values(self)


@dataclass
class ModelArguments:
    """What is trained."""

    encoder: Literal["pretrained", "cnn", "pcnn", "crcnn", "att_blstm"] = field(
        default="pretrained",
        metadata={
            "help": "What reads a sentence: pretrained (see --model_name_or_path), or a network on word "
            "vectors: cnn, pcnn (three pieces), crcnn (cnn with ranked relations), att_blstm (LSTM with "
            "attention). These need no other model, and come with their own values, unless given, of "
            "--representation, --input, --classifier_head, --max_length (150), --learning_rate (1e-3, "
            "constant), --num_train_epochs (50) and --per_device_train_batch_size (64)."
        },
    )
    word_vectors: str | None = field(
        default=None,
        metadata={
            "help": "Word vectors for the networks on words: a text file in GloVe's format. Its words are "
            "known besides those of training. Default: random vectors of 50 numbers."
        },
    )
    model_name_or_path: str | None = field(
        default=None,
        metadata={
            "help": "The pretrained encoder: a folder (config.json, weights, tokenizer.json) or a name on "
            "the Hugging Face Hub. A classifier trained here (OUT/seed-N) goes on with its own head, on data "
            "with the same labels."
        },
    )
    representation: Representation = field(
        default="entity_start",
        metadata={
            "help": "How a sentence becomes one vector: cls takes the state at the first token, "
            "mention_pooling the maximum over each entity's own tokens, entity_start the states at the two "
            "start markers (or masks), last_token the state at the last token, for encoders that read from "
            "left to right (GPT-2, Llama); sentence is the vector that a network on word vectors makes; "
            "masks are the states at the masks of a prompt."
        },
    )
    input: Literal[
        "plain",
        "positions",
        "markers",
        "typed_markers",
        "markers_punct",
        "typed_markers_punct",
        "entity_mask",
        "prompt",
    ] = field(
        default="markers",
        metadata={
            "help": "How the entities are shown: plain (not at all), positions (segment embeddings), markers "
            "([E1] head [/E1], [E2] tail [/E2]), typed_markers (<S:TYPE> head </S:TYPE>, <O:TYPE> tail "
            "</O:TYPE>), markers_punct (@ head @, # tail #), typed_markers_punct (@ * type * head @, # ^ "
            "type ^ tail #), entity_mask ([SUBJ-TYPE], [OBJ-TYPE] in their place), prompt (PTR: "
            "behind the sentence stands 'the [MASK] head [MASK] [MASK] [MASK] the [MASK] tail', see "
            "--label_words; the encoder must be a masked language model, and --representation masks "
            "--classifier_head label_words come with it). cls goes with plain and "
            "markers; mention_pooling with plain, positions and markers; entity_start and last_token with "
            "all but plain, positions and prompt."
        },
    )
    classifier_head: Literal["linear", "mlp", "crcnn", "type_restriction", "label_words", "ranking"] = field(
        default="linear",
        metadata={
            "help": "From the vector to the scores: linear is one layer, mlp is Linear-ReLU-Dropout-Linear, "
            "crcnn (earlier called ranking) is one layer and CR-CNN's loss, with the negative relation where "
            "every other score is below 0; type_restriction (RECENT) is a detector of any relation, followed "
            "by a choice among those that training has for the types of head and tail; label_words are the "
            "language model's scores of a relation's words at the masks."
        },
    )
    label_words: str | None = field(
        default=None,
        metadata={
            "help": "The words at the masks, for --input prompt: a JSON object, relation -> five words (what "
            "the head is, three between head and tail, what the tail is); `python -m finetune.label_words` "
            "makes one from the relations' names. Default: the package's own for nyt_h, semeval2010 and "
            "tacred."
        },
    )
    classifier_dropout: float | None = field(
        default=None,
        metadata={
            "help": "Dropout in front of the scores (in the head mlp, between its layers); 0 is none. "
            "Default: that of the encoder's own classifiers."
        },
    )
    freeze_layers: int = field(
        default=0,
        metadata={
            "help": "Train neither the embeddings nor the first so many layers of a pretrained encoder; 0 "
            "trains all. Tokens that are new to the encoder, such as markers, keep the random vectors that "
            "they begin with."
        },
    )
    lora_r: int | None = field(
        default=None,
        metadata={
            "help": "Train low-rank adapters of this rank (LoRA) in the place of the encoder's weights, and "
            "the vectors of tokens that are new to it; they are merged into the weights before anything is "
            "scored or saved. They want a higher learning rate, 1e-4 to 1e-3. Needs the extra peft."
        },
    )
    lora_alpha: int | None = field(
        default=None, metadata={"help": "An adapter's change counts alpha / r. Default: twice --lora_r."}
    )
    lora_dropout: float = field(default=0.0, metadata={"help": "Dropout in front of the adapters."})
    lora_target_modules: list[str] | None = field(
        default=None,
        metadata={
            "help": "The linear layers that get adapters, by the end of their names (query key value dense). "
            "Default: what peft knows of the encoder, most often query and value."
        },
    )
    max_length: int | None = field(
        default=None,
        metadata={
            "help": "Most tokens per sentence; longer ones are cut to a window around both entities. "
            "Default: what the encoder reads, at most 512."
        },
    )

    bag_pooling: Literal["one", "att", "avg", "max"] | None = field(
        default=None,
        metadata={
            "help": "How the sentences of a bag become one decision, needed for the bag tracks: one (the "
            "sentence that says it best), att (attention by the relation), avg (the mean), max (the highest "
            "score of each relation)."
        },
    )
    train_on: Literal["bags", "sentences"] = field(
        default="bags",
        metadata={
            "help": "What the bag tracks train on: bags, an example for each bag and relation; or, with "
            "bag2bag, sentences: the baseline, a sentence model whose bags are pooled in validation and test."
        },
    )
    bag_size: int = field(
        default=0,
        metadata={
            "help": "Most sentences of a bag in a training step, drawn anew in each epoch; 0 is all. "
            "Validation and test always use all."
        },
    )
    tokens_per_chunk: int = field(
        default=8192,
        metadata={
            "help": "Most tokens of bags that are encoded at once: it sets the memory that bags need, "
            "however large they are, and not the result."
        },
    )
    multi_label: bool = field(
        default=False,
        metadata={
            "help": "Predict relations separately, by a sigmoid each: bags are trained on with all of their "
            "relations, and predictions are lists, by one threshold that is chosen on validation (0.5 "
            "without)."
        },
    )

    def __post_init__(self) -> None:
        """Raise ValueError for a value of the wrong kind, or values that do not go together."""
        check_values(self)
        self.classifier_head = OLD_HEADS.get(self.classifier_head, self.classifier_head)  # type: ignore[assignment]
        if self.classifier_dropout is not None and not 0 <= self.classifier_dropout < 1:
            raise ValueError(f"`classifier_dropout` must be in [0, 1); got {self.classifier_dropout}.")
        if self.freeze_layers < 0:
            raise ValueError(f"`freeze_layers` must be 0 (none) or positive; got {self.freeze_layers}.")
        if self.freeze_layers and self.encoder != "pretrained":
            raise ValueError(f"`--freeze_layers` is for pretrained encoders, not `--encoder {self.encoder}`.")
        if self.lora_r is not None and (self.lora_r < 1 or self.encoder != "pretrained"):
            raise ValueError(
                f"`--lora_r` must be positive, and the encoder a pretrained one; got {self.lora_r} and "
                f"`--encoder {self.encoder}`."
            )
        given = (self.lora_alpha, self.lora_dropout or None, self.lora_target_modules)
        if self.lora_r is None and given != (None, None, None):
            raise ValueError("`--lora_alpha`, `--lora_dropout`, `--lora_target_modules` go with `--lora_r`.")
        if not 0 <= self.lora_dropout < 1:
            raise ValueError(f"`lora_dropout` must be in [0, 1); got {self.lora_dropout}.")
        if self.bag_size < 0:
            raise ValueError(f"`bag_size` must be 0 (all sentences) or positive; got {self.bag_size}.")
        if self.tokens_per_chunk < 1:
            raise ValueError(f"`tokens_per_chunk` must be a positive integer; got {self.tokens_per_chunk}.")
        check_combination(input_format=self.input, representation=self.representation)
        on_words = self.encoder != "pretrained"
        if on_words and self.model_name_or_path is not None:
            raise ValueError(
                f"`--encoder {self.encoder}` needs no `--model_name_or_path`: it is made from the training "
                "words; leave one of the two out."
            )
        if self.word_vectors is not None and not on_words:
            raise ValueError("`--word_vectors` is for the networks on words; give `--encoder` too.")
        check_head(self.classifier_head, representation=self.representation, multi_label=self.multi_label)
        if self.label_words is not None and self.input != "prompt":
            raise ValueError("`--label_words` are the words of `--input prompt`; give that too.")
        if on_words and self.representation != SENTENCE:
            raise ValueError(
                f"`--representation {self.representation}` does not go with `--encoder {self.encoder}`, "
                f"which makes the vector of a sentence itself ({SENTENCE}); leave it out."
            )


@dataclass
class RunArguments:
    """How often, and where the results go."""

    seeds: list[int] | None = field(
        default=None, metadata={"help": "Seeds that are run one after another, e.g. 9 148 378."}
    )
    select_by: str | None = field(
        default=None,
        metadata={
            "help": "The validation measure that chooses among the epochs. Default: dsgt_macro_all_f1 for "
            "data with bag_label, macro_f1 otherwise. Without a validation split nothing is chosen and the "
            "final weights are used."
        },
    )
    loss_weighting: Literal["none", "weighted", "dodrans", "entropy", "macro"] = field(
        default="none",
        metadata={
            "help": "How much an example of class i counts in the loss: w_i / n_i with the class weights w "
            "of this average and n_i training examples, scaled to mean 1 over positive examples; one of the "
            "negative relation counts 1. weighted is the unweighted loss."
        },
    )
    early_stopping_patience: int | None = field(
        default=None,
        metadata={
            "help": "Stop a seed after so many evaluations in a row without a better validation measure. "
            "Default: never."
        },
    )
    early_stopping_threshold: float | None = field(
        default=None,
        metadata={"help": "How much better counts as better, with --early_stopping_patience. Default: 0."},
    )
    reference_lines: bool = field(
        default=False,
        metadata={
            "help": "Also report what the majority relation and the entity types alone score, and train the "
            "same model, with the same seeds, on sentences whose entities are blanks and on the entities "
            "without a sentence (folders reference-*): three trainings for each seed instead of one."
        },
    )
    figures: bool = field(
        default=True,
        metadata={
            "help": "Draw figures/*.png: averages, precision against recall, F1 by support. Needs "
            "matplotlib; without it the run says so and goes on."
        },
    )
    overwrite: bool = field(
        default=False,
        metadata={
            "help": "Delete the run that the output folder holds. Without it the same command goes on where "
            "the run stopped."
        },
    )

    def __post_init__(self) -> None:
        """Raise ValueError for values out of range, and for seeds that are not distinct."""
        check_values(self)
        patience, threshold = self.early_stopping_patience, self.early_stopping_threshold
        if patience is not None and patience < 1:
            raise ValueError(f"`early_stopping_patience` must be a positive integer; got {patience}.")
        if threshold is not None and patience is None:
            raise ValueError("`early_stopping_threshold` needs `early_stopping_patience`; give both.")
        if threshold is not None and not 0 <= threshold < float("inf"):
            raise ValueError(f"`early_stopping_threshold` must be a number from 0 on; got {threshold}.")
        if self.seeds is not None:
            check_seeds(self.seeds)


def check_track(data: DataArguments, model: ModelArguments) -> None:
    """Raise ValueError for flags of bags that do not go with the track."""
    if data.track == "sent2sent":
        given = [
            f"--{name}"
            for name, plain in (("bag_pooling", None), ("train_on", "bags"), ("bag_size", 0))
            if getattr(model, name) != plain
        ]
        if given:
            raise ValueError(
                f"`{given[0]}` belongs to the bag tracks, and `--track sent2sent` has no bags; leave it out, "
                "or use `--track bag2sent` or `--track bag2bag`."
            )
        return
    if model.bag_pooling is None:
        raise ValueError(
            f"`--track {data.track}` needs `--bag_pooling`, one of 'one', 'att', 'avg', 'max': how the "
            "sentences of a bag become one decision."
        )
    if model.train_on == "sentences" and data.track == "bag2sent":
        raise ValueError(
            "`--train_on sentences` goes with `--track bag2bag`; a sentence model that scores sentences is "
            "`--track sent2sent`."
        )
    if model.train_on == "sentences" and model.bag_size:
        raise ValueError(
            "`--bag_size` limits the bags of training, and with `--train_on sentences` there are none; leave "
            "one of them out."
        )


def check_seeds(seeds: Sequence[int]) -> None:
    """Raise ValueError unless the seeds are distinct integers from 0 on, at least one of them."""
    wrong = [
        seed for seed in seeds if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32
    ]
    if wrong:
        raise ValueError(f"`seeds` must be integers from 0 to 2**32 - 1; got {wrong[0]!r}.")
    if not seeds:
        raise ValueError("`seeds` must name at least one seed; got none.")
    twice = sorted({seed for seed in seeds if list(seeds).count(seed) > 1})
    if twice:
        raise ValueError(
            f"`seeds` must be distinct: {twice[0]} is given more than once ({len(twice)} such seeds)."
        )


OWN_GROUPS = (DataArguments, ModelArguments, RunArguments)


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
    """Return flags that have another value by default with this encoder, or with a pretrained one and this
    input.

    >>> preset_flags("crcnn")["classifier_head"], preset_flags("pretrained", "markers")
    ('crcnn', {})
    >>> preset_flags(None, "prompt")
    {'representation': 'masks', 'classifier_head': 'label_words'}
    """
    if encoder not in WORD_SYSTEMS:
        return dict(PROMPT_FLAGS) if input_format == "prompt" else {}
    return {**SHARED_FLAGS, "classifier_head": "crcnn" if encoder == "crcnn" else "linear"}


@dataclass(frozen=True)
class Settings:
    """Everything that a run was asked for, made once from the words or the file and handed down.

    Attributes:
        data: What is read.
        model: What is trained.
        run: How it is trained beyond the Trainer's own flags, and what is reported.
        training: The Trainer's flags.
    """

    data: DataArguments
    model: ModelArguments
    run: RunArguments
    training: RelationTrainingArguments
