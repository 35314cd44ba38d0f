"""Word vectors to measure with: an encoder's input embeddings of whole words, as a text file.

The networks on word vectors read GloVe's format (`--word_vectors FILE`). Where GloVe itself is not at hand,
the input embeddings of a pretrained encoder are vectors of real words too: this writes one line for every
token of its vocabulary that is a whole word. All numbers are divided by their standard deviation, since the
encoder itself normalises them, and the position vectors of the networks start with a deviation of 1.
Nothing of the file belongs in the repository.

    python -m benchmarks.word_vectors --model_name_or_path ENCODER --output_file vectors.txt
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from transformers import AutoModel, AutoTokenizer


def whole_words(tokens: Sequence[str], *, special: Sequence[str]) -> list[int]:
    """Positions of the tokens that are whole words of a WordPiece vocabulary.

    >>> whole_words(["[PAD]", "the", "##s", "[unused1]", "new"], special=["[PAD]"])
    [1, 4]
    """
    left_out = set(special)
    return [
        position
        for position, token in enumerate(tokens)
        if token not in left_out and not token.startswith("##") and not (token[0] == "[" and token[1:])
    ]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model_name_or_path", required=True, help="a BERT-like encoder (WordPiece)")
    parser.add_argument("--output_file", required=True, type=Path)
    options = parser.parse_args(argv)
    tokenizer = AutoTokenizer.from_pretrained(options.model_name_or_path)
    table = AutoModel.from_pretrained(options.model_name_or_path).get_input_embeddings().weight
    ids = tokenizer.get_vocab()
    tokens = sorted(ids, key=ids.__getitem__)
    if not any(token.startswith("##") for token in tokens):
        parser.error(f"the tokenizer of {options.model_name_or_path} has no WordPiece vocabulary")
    chosen = whole_words(tokens, special=tokenizer.all_special_tokens)
    vectors = table.detach().float().numpy()
    vectors /= vectors[[ids[tokens[position]] for position in chosen]].std()
    beside = options.output_file.with_name(f".{options.output_file.name}.part")
    with beside.open("w", encoding="utf-8", newline="\n") as lines:
        for position in chosen:
            numbers = " ".join(
                np.format_float_positional(x, precision=5) for x in vectors[ids[tokens[position]]]
            )
            lines.write(f"{tokens[position]} {numbers}\n")
    os.replace(beside, options.output_file)
    print(f"{len(chosen):,} words of {vectors.shape[1]} numbers: {options.output_file}")


if __name__ == "__main__":
    main()
