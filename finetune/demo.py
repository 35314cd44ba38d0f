"""`python -m finetune demo`: a run on a synthetic sample, offline, with an encoder made here."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .training.processes import print_error

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

VOCABULARY_SIZE = 3000
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SEED = 9
# A small encoder with random weights needs larger steps and more epochs than a pretrained one.
TRAINING = {"num_train_epochs": "8", "learning_rate": "1e-3", "warmup_steps": "0.1", "logging_strategy": "no"}
NEXT = """
The data are synthetic and the encoder is tiny: the numbers show that the command works, not how good it is.
The echo columns are what copying the distant labels scores. On the real data, with a real encoder:

    python -m finetune --data nyt_h --data_dir DIR --model_name_or_path bert-base-uncased \\
        --output_dir OUT --seeds 9 148 378"""


def build_encoder(*, sentences: Sequence[str], folder: Path, seed: int = SEED) -> None:
    """Write a small BERT folder: a WordPiece tokenizer trained on the sentences, and random weights.

    It has the head of a masked language model, and the package's label words as tokens, so that it can be
    prompted. The same sentences, in any order, and the same seed give the same files.
    """
    import torch
    from transformers import BertConfig, BertForMaskedLM

    from .encoders.label_words import ready_vocabulary

    vocabulary = train_vocabulary(sentences)
    for word in ready_vocabulary("nyt_h"):
        vocabulary.setdefault(word, len(vocabulary))
    tokenizer = wordpiece_tokenizer(vocabulary, folder=folder, lowercase=False, max_length=256)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=256,
        pad_token_id=tokenizer.pad_token_id,
    )
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def wordpiece_tokenizer(
    vocabulary: Mapping[str, int], *, folder: Path, lowercase: bool, max_length: int
) -> PreTrainedTokenizerBase:
    """Return BERT's tokenizer with these tokens (token -> id from 0 on); `folder` then has its vocab.txt."""
    from transformers import BertTokenizerFast  # type: ignore[attr-defined]

    # Loaded from a file: what a constructor takes differs between transformers 4 and 5.
    folder.mkdir(parents=True, exist_ok=True)
    tokens = sorted(vocabulary, key=lambda token: vocabulary[token])
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    return BertTokenizerFast.from_pretrained(folder, do_lower_case=lowercase, model_max_length=max_length)


def train_vocabulary(sentences: Sequence[str]) -> dict[str, int]:
    """Return a WordPiece vocabulary of at most VOCABULARY_SIZE tokens: token -> id."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # The trainer numbers characters inside words in the order in which it happens to meet them, and breaks
    # ties by number. Named in front they have fixed numbers, and the vocabulary is the same each time.
    inside = [f"##{character}" for character in sorted(set("".join(sentences)))]
    trainer = trainers.WordPieceTrainer(
        vocab_size=VOCABULARY_SIZE, special_tokens=[*SPECIAL_TOKENS, *inside], show_progress=False
    )
    tokenizer.train_from_iterator(sorted(set(sentences)), trainer)
    return tokenizer.get_vocab()


def demo_main(argv: Sequence[str]) -> int:
    """Run the demo and return the exit status: 0, or 2 when the folder cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m finetune demo", description=__doc__)
    parser.add_argument(
        "--output_dir", default="demo-output", help="The folder for everything that is written."
    )
    parser.add_argument("--overwrite", action="store_true", help="Delete the demo that the folder holds.")
    options = parser.parse_args(argv)

    from nyt_h_dataset import load_nyt_h, write_sample

    from .command_line import train_command

    out = Path(options.output_dir)
    sample, encoder, run = out / "sample", out / "encoder", out / "run"
    if out.exists() and not (out.is_dir() and options.overwrite) and (out.is_file() or any(out.iterdir())):
        print_error(f"{out} is there already; give another --output_dir, or --overwrite.")
        return 2
    try:
        info = write_sample(sample)
    except (ValueError, OSError) as error:
        print_error(str(error))
        return 2
    print(f"synthetic sample, {sum(info.num_rows.values()):,} rows: {sample}")
    build_encoder(sentences=load_nyt_h(sample, split="train")["sentence"][:], folder=encoder)
    print(f"small encoder with random weights: {encoder}")
    flags = {
        "data": "nyt_h",
        "data_dir": str(sample),
        "model_name_or_path": str(encoder),
        "output_dir": str(run),
        "seed": str(SEED),
        "overwrite": "true",
        **TRAINING,
    }
    status = train_command([word for name, value in flags.items() for word in (f"--{name}", value)])
    if status == 0:
        print(NEXT)
    return status
