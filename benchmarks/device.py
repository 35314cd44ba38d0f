"""Training and prediction of a BERT-base-sized encoder on an accelerator: tokens a second, share of its peak.

    bash benchmarks/device.sh            # or: python -m benchmarks.device [--small] [--seconds 4]

Random weights and random tokens, in bfloat16 by autocast as in training. Rows have the lengths of marked
newswire sentences (log-normal, median 40 tokens, at most 128). "padded" puts them in random order and pads
to 128; "grouped" is ours: rows of similar length together in training, batches by tokens in prediction.
Each line is one combination of batching, attention kernel and torch.compile; kernels that this installation
does not have are named and left out. "real" tokens are those that are no padding. The share of the peak is
that of the matrix products which real tokens need (6 N a token in training, 2 N in prediction, N the
encoder's weights without embeddings) in the rate of one large bfloat16 product measured here.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

import numpy as np
import torch
from transformers import BertConfig, BertModel

from finetune.model.configuration import RelationClassifierConfig
from finetune.model.modeling import RelationClassifier
from finetune.training.relation_trainer import batch_plan

MAX_TOKENS = 128
SIZES = {
    "base": {
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
    },
    "small": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128},
}
KERNELS = ("eager", "sdpa", "flash_attention_2")


def lengths_of(num_rows: int) -> np.ndarray:
    """Tokens per row, shape (num_rows,)."""
    drawn = np.random.default_rng(0).lognormal(np.log(40), 0.45, num_rows)
    return drawn.astype(np.int64).clip(12, MAX_TOKENS)


def batch_of(lengths: np.ndarray, width: int, device: torch.device) -> dict[str, torch.Tensor]:
    """Random rows of these lengths, padded to the width."""
    columns = torch.arange(width)
    return {
        "input_ids": torch.randint(5, 30_000, (len(lengths), width)).to(device),
        "attention_mask": (columns < torch.from_numpy(lengths)[:, None]).long().to(device),
        "entity_starts": torch.tensor([[1, 6]]).repeat(len(lengths), 1).to(device),
        "entity_spans": torch.tensor([[2, 4, 7, 9]]).repeat(len(lengths), 1).to(device),
        "labels": torch.randint(20, (len(lengths),)).to(device),
    }


def batches(lengths: np.ndarray, batching: str, *, rows: int, by_tokens: bool) -> Iterator[np.ndarray]:
    """Lengths of the rows of each batch, `rows` rows each or as many tokens as these have when padded."""
    if batching == "padded":
        order = np.random.default_rng(0).permutation(len(lengths))
        yield from (lengths[order[at : at + rows]] for at in range(0, len(order) - rows, rows))
    elif by_tokens:
        ordered, at = -np.sort(-lengths), 0
        while at < len(ordered):
            size = max(1, rows * MAX_TOKENS // int(ordered[at]))
            yield ordered[at : at + size]
            at += size
    else:
        plan = batch_plan(lengths=lengths, seed=0, epoch=0, batch_size=rows)
        yield from (lengths[plan[at : at + rows]] for at in range(0, len(plan) - rows, rows))


def build(size: str, kernel: str, device: torch.device) -> RelationClassifier:
    """A classifier with random weights."""
    torch.manual_seed(0)
    config = BertConfig(vocab_size=30_522, max_position_embeddings=512, **SIZES[size])
    encoder = BertModel._from_config(config, attn_implementation=kernel, add_pooling_layer=False)
    labels = {number: "NA" if number == 0 else f"r{number}" for number in range(20)}
    return RelationClassifier(RelationClassifierConfig(encoder=config, id2label=labels), encoder=encoder).to(
        device
    )


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def peak_rate(device: torch.device, seconds: float, size: int) -> float:
    """Floating point operations per second of a large product in bfloat16."""
    left, right = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    left @ right
    wait(device)
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds / 4:
        for _ in range(10):
            left @ right
        wait(device)
        done += 10
    return done * 2 * size**3 / (time.perf_counter() - began)


def trainer_step(model: RelationClassifier) -> Callable[[dict[str, torch.Tensor]], None]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    model.train()

    def step(batch: dict[str, torch.Tensor]) -> None:
        with torch.autocast(batch["input_ids"].device.type, torch.bfloat16):
            loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def prediction_step(model: RelationClassifier) -> Callable[[dict[str, torch.Tensor]], None]:
    model.eval().cast_encoder()

    def step(batch: dict[str, torch.Tensor]) -> None:
        with torch.inference_mode():
            model(**{name: value for name, value in batch.items() if name != "labels"})

    return step


# Job -> what makes its step, and operations a weight and token that it needs.
JOBS = {"training": (trainer_step, 6), "prediction": (prediction_step, 2)}


def rate(step: Callable, made: Sequence[tuple[dict, int]], seconds: float, device: torch.device) -> float:
    """Real tokens per second; every shape has been seen before the clock starts."""
    for batch, _ in made:
        step(batch)
    wait(device)
    began, tokens = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        for batch, real in made:
            step(batch)
            tokens += real
        wait(device)
    return tokens / (time.perf_counter() - began)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="a tiny model and few rows, for the processor")
    parser.add_argument("--seconds", type=float, help="of each line (default 4, small 0.1)")
    parser.add_argument("--rows", type=int, help="rows of a training batch (default 64, small 4)")
    options = parser.parse_args(argv)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    seconds = options.seconds or (0.1 if options.small else 4.0)
    rows = options.rows or (4 if options.small else 64)
    lengths = lengths_of(8 * rows)
    peak = peak_rate(device, seconds, 256 if options.small else 8192)
    name = torch.cuda.get_device_name() if device.type == "cuda" else "processor"
    print(f"{name}, torch {torch.__version__}; one large bfloat16 product: {peak / 1e12:.2f} TFLOP/s")
    print("| job | batching | attention | compile | real tokens/s | share of the peak | memory, MiB |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: |")
    compiled = (False, True) if device.type == "cuda" else (False,)
    for job, kernel, is_compiled, batching in product(JOBS, KERNELS, compiled, ("padded", "grouped")):
        cells = f"| {job} | {batching} | {kernel} | {'yes' if is_compiled else 'no'} |"
        try:
            model = build("small" if options.small else "base", kernel, device)
        except (ImportError, ValueError) as error:
            print(f"{cells} {' '.join(str(error).split())[:60]} | - | - |", flush=True)
            continue
        make_step, needed = JOBS[job]
        groups = batches(lengths, batching, rows=rows, by_tokens=job == "prediction")
        found, memory = measured(
            model, make_step, groups, compiled=is_compiled, padded=batching == "padded", seconds=seconds
        )
        weights = sum(part.numel() for part in model.encoder.encoder.parameters())
        print(f"{cells} {found:,.0f} | {needed * weights * found / peak:.1%} | {memory} |", flush=True)


def measured(
    model: RelationClassifier,
    make_step: Callable,
    groups: Iterable[np.ndarray],
    *,
    compiled: bool,
    padded: bool,
    seconds: float,
) -> tuple[float, str]:
    """Real tokens per second, and the peak of memory in MiB ("-" on the processor)."""
    device = model.device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    step = make_step(model)
    if compiled:
        model.encoder.forward = torch.compile(model.encoder.forward, dynamic=True)
    made = [
        (batch_of(own, MAX_TOKENS if padded else int(own.max()), device), int(own.sum())) for own in groups
    ]
    found = rate(step, made, seconds, device)
    return found, f"{torch.cuda.max_memory_allocated() / 2**20:,.0f}" if device.type == "cuda" else "-"


if __name__ == "__main__":
    main()
