"""Tiny encoders made in memory, and a small corpus: what the tests of this part share."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizer,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
)

SENTENCES = [
    "The child was carefully wrapped and bound into the cradle by means of a cord.",
    "Barack Obama was born in Honolulu, not in New York City or New Jersey.",
    "The university's New York-based chairman John Smith (of Acme) resigned.",
    "Crème brûlée is made in Zürich; the recipe comes from Orléans.",
]


@pytest.fixture(scope="session")
def bert_tokenizer() -> BertTokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        SENTENCES * 2, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    )
    return BertTokenizer(vocab=tokenizer.get_vocab(), model_max_length=64)


@pytest.fixture(scope="session")
def roberta_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES * 2, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", tokenizer.token_to_id("</s>")), ("<s>", tokenizer.token_to_id("<s>")), add_prefix_space=False
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        mask_token="<mask>",
    )


SHAPE = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}


@pytest.fixture(scope="session")
def bert_folder(bert_tokenizer: BertTokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(1)
    BertModel(
        BertConfig(vocab_size=len(bert_tokenizer), max_position_embeddings=64, **SHAPE)
    ).save_pretrained(folder)
    bert_tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def roberta_folder(
    roberta_tokenizer: PreTrainedTokenizerFast, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("roberta")
    torch.manual_seed(1)
    pad = roberta_tokenizer.pad_token_id
    config = RobertaConfig(
        vocab_size=len(roberta_tokenizer), max_position_embeddings=64 + pad + 1, pad_token_id=pad, **SHAPE
    )
    RobertaModel(config).save_pretrained(folder)
    roberta_tokenizer.save_pretrained(folder)
    return folder
