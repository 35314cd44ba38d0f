"""Memory and time of one bag, by its size: a training step and a prediction, each in a process of its own.

The encoder has random weights and, unless flags say otherwise, the shape of a six-layer MiniLM; all sentences
have the same number of tokens. Memory is the most that the process held (VmHWM), and what of it came
after the model was built. Seconds are those of the second of two steps, so that nothing is measured that
happens once.

    python -m benchmarks.bags
    python -m benchmarks.bags --pooling one --gradient_checkpointing --bf16 --tokens_per_chunk 4096
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .memory import peak_mebibytes

SIZES = (1, 10, 100, 1000, 5000)
ROOT = Path(__file__).parents[1]


def one_bag(options: argparse.Namespace, size: int) -> dict[str, Any]:
    """A batch with one bag of random tokens."""
    import numpy as np

    from finetune.data.bag_units import BagBatches, pair_bags
    from finetune.model.batching import RowBatches
    from finetune.model.encoding import EncodedRows

    labels = np.ones(size, dtype=np.int64)
    rows = EncodedRows(
        token_ids=np.random.default_rng(0).integers(1000, options.vocab_size, size * options.tokens),
        row_starts=np.arange(size + 1) * options.tokens,
        entity_starts=np.tile([1, 4], (size, 1)),
        entity_spans=np.tile([2, 3, 5, 6], (size, 1)),
        status=np.zeros(size, dtype=np.int8),
        num_tokens_cut=0,
    )
    every = RowBatches(rows=rows, labels=labels, row_ids=np.arange(size), pad_id=0)
    bags = pair_bags(pair_names=["pair"] * size, labels=labels)
    batch = BagBatches(rows=every, bags=bags, row_ids=np.arange(1)).__getitems__([0])
    return {name: value for name, value in batch.items() if name != "row_ids"}


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Peak memory in MiB, the part of it that came after the model, and seconds."""
    import torch
    from transformers import BertConfig

    from finetune.model.modeling import RelationClassifier, RelationClassifierConfig

    size = options.sizes[0]
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    encoder = BertConfig(
        vocab_size=options.vocab_size,
        hidden_size=options.hidden_size,
        num_hidden_layers=options.layers,
        num_attention_heads=options.heads,
        intermediate_size=4 * options.hidden_size,
        max_position_embeddings=max(512, options.tokens),
    )
    names = ["NA", *(f"relation_{number}" for number in range(1, 22))]
    model = RelationClassifier(
        RelationClassifierConfig(
            encoder=encoder,
            id2label=dict(enumerate(names)),
            bag_pooling=options.pooling,
            tokens_per_chunk=options.tokens_per_chunk,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    if options.gradient_checkpointing:
        model.gradient_checkpointing_enable()
    # A bag of one first: what weights, gradients and optimizer need is there before the bag that is measured.
    before, seconds = 0.0, 0.0
    for number in (1, size, size):
        batch = one_bag(options, number)
        began = time.perf_counter()
        model.train(options.measure == "training")
        with (
            torch.set_grad_enabled(model.training),
            torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.bf16),
        ):
            loss = model(**batch).loss
        if model.training:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
        seconds = time.perf_counter() - began
        before = before or peak_mebibytes()
    return {"peak": peak_mebibytes(), "of_the_bag": peak_mebibytes() - before, "seconds": seconds}


def measured_apart(words: Sequence[str], what: str, size: int) -> dict[str, float]:
    """What `measure` gives in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.bags", *words, "--measure", what, "--sizes", str(size)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main(argv: Sequence[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else list(argv)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pooling", default="att", choices=("one", "att", "avg", "max"))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="sentences in the bag")
    parser.add_argument("--tokens", type=int, default=40, help="tokens of a sentence")
    parser.add_argument("--tokens_per_chunk", type=int, default=8192)
    parser.add_argument("--hidden_size", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--vocab_size", type=int, default=30522)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--gradient_checkpointing", action="store_true")
    parser.add_argument("--measure", choices=("training", "prediction"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.measure:
        print(json.dumps(measure(options)))
        return
    print(
        f"{options.pooling}, {options.tokens} tokens a sentence, {options.tokens_per_chunk:,} tokens a chunk"
    )
    print("| step | sentences | peak MiB | of the bag, MiB | seconds | sentences per second |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for what in ("training", "prediction"):
        for size in options.sizes:
            found = measured_apart(argv, what, size)
            print(
                f"| {what} | {size:,} | {found['peak']:,.0f} | "
                f"{found['of_the_bag']:,.0f} | {found['seconds']:.2f} | "
                f"{size / found['seconds']:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
