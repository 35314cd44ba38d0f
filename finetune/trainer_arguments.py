"""The Trainer's flags as this command takes them: same names, some other defaults, some refused."""

from __future__ import annotations

import sys
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from typing import get_args, get_type_hints

import torch
import transformers
from transformers import Trainer, TrainingArguments
from transformers.integrations import get_reporting_integration_callbacks
from transformers.utils import is_liger_kernel_available

from hub_cards import check_repo_id

DEFAULT_SEED = 42

# Flags of the Trainer that this command decides itself, or does not have, with what to do instead.
REFUSED = {
    "batch_eval_metrics": "all rows of a split are scored together",
    "data_seed": "the order of the rows follows from the seed",
    "dataloader_drop_last": "every row is trained on and scored",
    "do_eval": "validation and test are always scored",
    "do_predict": "validation and test are always scored",
    "do_train": "the command always trains",
    "eval_do_concat_batches": "all rows of a split are scored together",
    "eval_on_start": "selection is among trained weights",
    "greater_is_better": "`--select_by` names the measure; more is better",
    "hub_always_push": "a run is pushed once, when its results are written",
    "hub_revision": "a run is pushed to the main branch",
    "hub_strategy": "a run is pushed once, when its results are written",
    "hub_token": "everybody on this machine sees it there; `hf auth login`, or set HF_TOKEN",
    "include_for_metrics": "the metric reads scores and row ids",
    "label_names": "labels and row ids are always passed on",
    "length_column_name": "rows are always grouped by length",
    "load_best_model_at_end": "the best epoch on validation is always used; see `--select_by`",
    "metric_for_best_model": "use `--select_by`",
    "prediction_loss_only": "scores are always needed",
    "remove_unused_columns": "batches hold only what is used",
    "ignore_data_skip": "a run that goes on sees the batches it would have had",
    "restore_callback_states_from_checkpoint": "a run that goes on always restores them",
    "resume_from_checkpoint": "the same command goes on where the run stopped",
    "save_only_model": "a checkpoint holds all that going on needs",
    "save_strategy": "a checkpoint is written at each evaluation, without one after each epoch; see "
    "`--save_steps`",
    "save_total_limit": "only the best and the last checkpoint are kept, until the seed is done",
    "train_sampling_strategy": "rows are always grouped by length",
}

# Flags that say where a run is pushed, and nothing about its numbers.
PUSHING = ("push_to_hub", "hub_model_id", "hub_private_repo")


# Flags that only a GPU can follow, with what to do instead.
NEEDS_GPU = {
    "fp16": "leave it out, or use `--bf16`",
    "fp16_full_eval": "leave it out, or use `--bf16_full_eval`",
    "tf32": "leave it out",
}

# Flags that do not touch the numbers: a run that goes on may have others. The data are compared by content.
NUMBERS_DO_NOT_DEPEND_ON = frozenset(
    (
        *(
            "data_dir",
            "dataset_name",
            "figures",
            "overwrite",
            "reference_lines",
            "push_to_hub",
            "save_steps",
            "ddp_timeout",
            "debug",
        ),
        *("dataloader_num_workers", "dataloader_persistent_workers", "dataloader_pin_memory"),
        *("dataloader_prefetch_factor", "disable_tqdm", "include_num_input_tokens_seen", "log_level"),
        *("log_level_replica", "log_on_each_node", "logging_first_step", "logging_nan_inf_filter"),
        *("logging_steps", "logging_strategy", "project", "report_to", "run_name", "skip_memory_metrics"),
        *("trackio_space_id", "hub_always_push", "hub_model_id", "hub_private_repo", "hub_revision"),
        "hub_strategy",
    )
)


@dataclass
class RelationTrainingArguments(TrainingArguments):
    """TrainingArguments with defaults for relation classification on the machine at hand."""

    output_dir: str | None = field(
        default=None, metadata={"help": "The folder for everything that is written."}
    )
    per_device_train_batch_size: int = field(
        default=32, metadata={"help": "Rows per step and device in training."}
    )
    per_device_eval_batch_size: int = field(
        default=64, metadata={"help": "Rows per step and device in evaluation."}
    )
    eval_strategy: str = field(
        default="epoch",
        metadata={
            "help": "When validation is scored: epoch, steps (see --eval_steps), or no (nothing is selected)."
        },
    )
    # Declared here as well, so that they mean the same in transformers 4: there the first is not known,
    # warming up for a share of the steps is another flag, and whatever is installed is reported to.
    train_sampling_strategy: str = field(default="group_by_length", metadata={"help": "Always so."})
    warmup_steps: float = field(
        default=0, metadata={"help": "Steps of warming up; below 1, their share of all steps."}
    )
    report_to: list[str] = field(  # type: ignore[assignment]
        default_factory=lambda: ["none"],
        metadata={"help": "Where losses and scores go: tensorboard, wandb, ...; all for what is installed."},
    )
    save_steps: int | None = field(  # type: ignore[assignment]
        default=None,
        metadata={
            "help": "Also write a checkpoint after every so many steps. Default: at each evaluation only, "
            "without evaluations after each epoch."
        },
    )
    logging_steps: float | None = field(  # type: ignore[assignment]
        default=None,
        metadata={
            "help": "Log the mean loss after every so many steps (a share of all steps below 1). Default: "
            "after each epoch."
        },
    )
    seed: int | None = field(  # type: ignore[assignment]
        default=None,
        metadata={"help": f"The seed of a single run (default {DEFAULT_SEED}); not with --seeds."},
    )
    bf16: bool | None = field(  # type: ignore[assignment]
        default=None,
        metadata={
            "help": "Compute in bfloat16; weights stay float32. Default: where the processor has it built "
            "in.",
            "nargs": "?",
            "const": True,
        },
    )

    def __post_init__(self) -> None:
        """Decide what was left open, then let the Trainer check.

        Raises:
            ValueError: No output folder, a refused flag, or a value the Trainer refuses.
        """
        for item in fields(self):
            default = item.default if item.default_factory is MISSING else item.default_factory()
            if item.name in REFUSED and getattr(self, item.name) != default:
                name, reason = item.name, REFUSED[item.name]
                raise ValueError(f"`--{name}` is not a flag of this command: {reason}.")
        self._check_kinds()
        if self.output_dir is None:
            raise ValueError("`--output_dir` is needed: the folder for everything that is written.")
        if self.save_steps is not None and (type(self.save_steps) is not int or self.save_steps < 1):
            raise ValueError(f"`--save_steps` must be a positive integer; got {self.save_steps!r}.")
        self._check_numbers()
        self.logging_decided_here = self.logging_steps is None
        if self.logging_steps is None:
            self.logging_steps = TrainingArguments.logging_steps
            if self.logging_strategy == TrainingArguments.logging_strategy:
                self.logging_strategy = "epoch"
        self.save_every, self.save_steps = self.save_steps, int(TrainingArguments.save_steps)
        if self.push_to_hub != (self.hub_model_id is not None):
            raise ValueError("`--push_to_hub` and `--hub_model_id OWNER/NAME` go together; give both.")
        if self.hub_model_id is not None:
            check_repo_id(self.hub_model_id)
        self.seed_given = self.seed is not None
        if self.seed is None:
            self.seed = DEFAULT_SEED
        self.use_cpu = self.use_cpu or not torch.accelerator.is_available()
        self.bf16_decided_here = self.bf16 is None
        if self.bf16 is None:
            self.bf16 = not self.fp16 and computes_bf16(use_cpu=self.use_cpu)
        if self.disable_tqdm is None:
            self.disable_tqdm = not sys.stderr.isatty()
        self._check_devices()
        if not has_transformers((5, 0)):
            if 0 < self.warmup_steps < 1:
                self.warmup_ratio, self.warmup_steps = self.warmup_steps, 0
            self.warmup_steps = int(self.warmup_steps)
        try:
            super().__post_init__()
        except ImportError as error:  # a flag for a package that is not installed
            raise ValueError(" ".join(str(error).split())) from error

    def _check_kinds(self) -> None:
        """Raise ValueError for a text or a list where a number, or true or false, belongs."""
        hints = get_type_hints(type(self))
        for item in fields(self):
            kinds = set(get_args(hints[item.name]) or (hints[item.name],)) - {type(None)}
            value = getattr(self, item.name)
            if not kinds <= {int, float, bool} or value is None or type(value) in kinds:
                continue
            if type(value) is int and float in kinds:
                continue
            if type(value) is float and value.is_integer() and int in kinds:
                setattr(self, item.name, int(value))  # 1e3, as YAML reads it
                continue
            expected = "true or false" if kinds == {bool} else "a number"
            raise ValueError(f"`--{item.name}` must be {expected}; got {value!r}.")

    def _check_numbers(self) -> None:
        for name in (
            "per_device_train_batch_size",
            "per_device_eval_batch_size",
            "gradient_accumulation_steps",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"`--{name}` must be a positive integer; got {getattr(self, name)}.")
        if not self.num_train_epochs > 0 and self.max_steps <= 0:
            raise ValueError(
                f"`--num_train_epochs` must be positive; got {self.num_train_epochs}. Nothing would be "
                "trained."
            )
        if not 0 <= self.learning_rate < float("inf"):
            raise ValueError(f"`--learning_rate` must be a number from 0 on; got {self.learning_rate}.")

    def _check_devices(self) -> None:
        if not self.use_cpu:
            return
        why = "`--use_cpu` is set" if torch.accelerator.is_available() else "none is there"
        for name, instead in NEEDS_GPU.items():
            if getattr(self, name):
                raise ValueError(f"`--{name}` needs a GPU, and {why}; {instead}.")
        if self.ddp_backend not in (None, "gloo", "mpi", "ccl"):
            raise ValueError(
                f"`--ddp_backend {self.ddp_backend}` needs a GPU, and {why}; leave it out, or use gloo."
            )


# On transformers before 5.17 a run that goes on draws other random numbers than one that was not stopped, and
# before 5.20 several processes cannot go on (or lose the last rows' share): `make test-old-transformers`.
GOES_ON_EXACTLY_FROM, SEVERAL_PROCESSES_FROM = (5, 17), (5, 20)


def has_transformers(least: tuple[int, int]) -> bool:
    """Return whether the installed transformers is this version or a newer one."""
    return tuple(int(part) for part in transformers.__version__.split(".")[:2]) >= least


def check_processes(arguments: TrainingArguments) -> None:
    """Raise ValueError when this process would train on several GPUs, or with others on an old library."""
    if arguments.world_size > 1 and not has_transformers(SEVERAL_PROCESSES_FROM):
        raise ValueError(
            f"several processes need transformers {'.'.join(map(str, SEVERAL_PROCESSES_FROM))} or newer, and "
            f"{transformers.__version__} is installed; start one, or install a newer one."
        )
    if arguments.n_gpu > 1:
        raise ValueError(
            f"one process sees {arguments.n_gpu} GPUs; start one process for each with `torchrun "
            f"--nproc_per_node={arguments.n_gpu} -m finetune ...`, or show it one with "
            "CUDA_VISIBLE_DEVICES=0."
        )


def check_installed(arguments: TrainingArguments) -> None:
    """Raise ValueError where a report backend, optimizer or kernels that the flags name are not installed."""
    try:
        for callback in get_reporting_integration_callbacks(arguments.report_to):
            callback()
        if arguments.use_liger_kernel and not is_liger_kernel_available():
            raise ImportError("`--use_liger_kernel` needs liger-kernel: pip install liger-kernel.")
        Trainer.get_optimizer_cls_and_kwargs(arguments)
    except (ImportError, RuntimeError) as error:
        raise ValueError(" ".join(str(error).split())) from error
    except ValueError as error:
        # Some optimizers want the model, which there is none of yet; the rest is about what is installed.
        if "install" in str(error) or "not supported" in str(error):
            raise


def computes_bf16(*, use_cpu: bool) -> bool:
    """Return whether the device multiplies bfloat16 natively, so that it is faster and not emulated."""
    if not use_cpu:
        return torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("amx_bf16", "avx512_bf16", "bf16", "sve_bf16"))


def global_batch_size(arguments: TrainingArguments) -> int:
    """Return units per optimizer step over all processes."""
    return arguments.train_batch_size * arguments.gradient_accumulation_steps * arguments.world_size


def given_values(arguments: RelationTrainingArguments) -> dict[str, object]:
    """Return the values that a reader needs to repeat the run: those that differ from the Trainer's defaults.

    Values are JSON types; `bf16` and `learning_rate` are always there, a token never.
    """
    plain = TrainingArguments(output_dir=str(arguments.output_dir), use_cpu=arguments.use_cpu)
    given: dict[str, object] = {"bf16": arguments.bf16, "learning_rate": arguments.learning_rate}
    for item in fields(TrainingArguments):
        value, default = getattr(arguments, item.name), getattr(plain, item.name)
        told = item.name not in (*PUSHING, "logging_dir") and not item.name.endswith("_token")
        told = told and not (item.name == "logging_strategy" and arguments.logging_decided_here)
        if item.init and value != default and told:
            value = value.value if isinstance(value, Enum) else value
            given[item.name] = value if isinstance(value, (bool, int, float, str, list)) else str(value)
    return given
