"""The command's own flags, with their help texts; importing this does not import torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Literal, get_args, get_origin, get_type_hints

from .entity_inputs import check_combination


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
        elif type(value) not in {get_origin(kind) or kind for kind in kinds}:
            expected = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
            raise ValueError(f"`{item.name}` must be {expected}; got {value!r}.")


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
    track: Literal["sent2sent"] = field(
        default="sent2sent",
        metadata={
            "help": "What is trained on and scored: sent2sent trains on sentences and scores sentences."
        },
    )

    def __post_init__(self) -> None:
        """Raise ValueError for a value of the wrong kind."""
        check_values(self)


@dataclass
class ModelArguments:
    """What is trained."""

    model_name_or_path: str | None = field(
        default=None,
        metadata={
            "help": "The pretrained encoder: a folder (config.json, weights, tokenizer.json) or a name on "
            "the Hugging Face Hub."
        },
    )
    representation: Literal["cls", "mention_pooling", "entity_start"] = field(
        default="entity_start",
        metadata={
            "help": "How a sentence becomes one vector: cls takes the state at the first token, "
            "mention_pooling the maximum over each entity's own tokens, entity_start the states at the two "
            "start markers (or masks)."
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
    ] = field(
        default="markers",
        metadata={
            "help": "How the entities are shown: plain (not at all), positions (segment embeddings), markers "
            "([E1] head [/E1], [E2] tail [/E2]), typed_markers (<S:TYPE> head </S:TYPE>, <O:TYPE> tail "
            "</O:TYPE>), markers_punct (@ head @, # tail #), typed_markers_punct (@ * type * head @, # ^ "
            "type ^ tail #), entity_mask ([SUBJ-TYPE], [OBJ-TYPE] in their place). cls goes with plain and "
            "markers; mention_pooling with plain, positions and markers; entity_start with all but plain and "
            "positions."
        },
    )
    classifier_head: Literal["linear", "mlp"] = field(
        default="linear",
        metadata={
            "help": "From the vector to the scores: linear is one layer, mlp is Linear-ReLU-Dropout-Linear."
        },
    )
    max_length: int | None = field(
        default=None,
        metadata={
            "help": "Most tokens per sentence; longer ones are cut to a window around both entities. "
            "Default: what the encoder reads, at most 512."
        },
    )

    def __post_init__(self) -> None:
        """Raise ValueError for a value of the wrong kind, or a representation that the input has not."""
        check_values(self)
        check_combination(input_format=self.input, representation=self.representation)


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
