"""Tiny encoders made in memory, and a small corpus: what the tests of this part share."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoConfig,
    AutoModel,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    BertTokenizer,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaModel,
)

from finetune.__main__ import main
from finetune.demo import wordpiece_tokenizer
from nyt_h_dataset import write_sample

MadeOnce = Callable[[str, Callable[[Path], object]], Path]
SENTENCES = [
    "The child was carefully wrapped and bound into the cradle by means of a cord.",
    "Barack Obama was born in Honolulu, not in New York City or New Jersey.",
    "The university's New York-based chairman John Smith (of Acme) resigned.",
    "Crème brûlée is made in Zürich; the recipe comes from Orléans.",
]


@pytest.fixture(scope="session")
def bert_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> BertTokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # Named in front, characters inside words have the same ids in each process, and so have the merges.
    inside = sorted(set(tokenizer.normalizer.normalize_str("".join(SENTENCES))))
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"##{character}" for character in inside)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=special, initial_alphabet=list("@#*^_"), show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES * 2, trainer)
    folder = tmp_path_factory.mktemp("vocabulary")
    return wordpiece_tokenizer(tokenizer.get_vocab(), folder=folder, lowercase=True, max_length=64)


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


# A finished run knows its encoder by its path: workers that share runs share encoders.
@pytest.fixture(scope="session")
def bert_folder(bert_tokenizer: BertTokenizer, made_once: MadeOnce) -> Path:
    def write(folder: Path) -> None:
        torch.manual_seed(1)
        config = BertConfig(vocab_size=len(bert_tokenizer), max_position_embeddings=64, **SHAPE)
        BertModel(config).save_pretrained(folder)
        bert_tokenizer.save_pretrained(folder)

    return made_once("bert", write)


@pytest.fixture(scope="session")
def roberta_folder(roberta_tokenizer: PreTrainedTokenizerFast, made_once: MadeOnce) -> Path:
    def write(folder: Path) -> None:
        torch.manual_seed(1)
        pad = roberta_tokenizer.pad_token_id
        sizes = {"vocab_size": len(roberta_tokenizer), "max_position_embeddings": 64 + pad + 1}
        RobertaModel(RobertaConfig(pad_token_id=pad, **sizes, **SHAPE)).save_pretrained(folder)
        roberta_tokenizer.save_pretrained(folder)

    return made_once("roberta", write)


@pytest.fixture(scope="session")
def unigram_tokenizer() -> PreTrainedTokenizerFast:
    """Pieces as those of SentencePiece, in which a blank is a part of the word that follows."""
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    # Not trained: the sums of its trainer, and with them the pieces, differ from process to process.
    words = [f"▁{word}" for word in " ".join(SENTENCES).split()]
    pieces = {piece for word in words for piece in (*"@#*^_", *word, word[:4], word[4:]) if piece}
    pieces = [*((token, 0.0) for token in special), *((piece, -8.0) for piece in sorted(pieces))]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=special.index("[UNK]")))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens(special)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)


@pytest.fixture(scope="session")
def bare_tokenizer(roberta_tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """As of GPT-2: nothing stands around a sentence, and there is no padding token."""
    tokenizer = Tokenizer.from_str(roberta_tokenizer.backend_tokenizer.to_str())
    tokenizer.post_processor = processors.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, eos_token="</s>")


@pytest.fixture(scope="session")
def xlnet_tokenizer(unigram_tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """The sentence token stands last."""
    tokenizer = Tokenizer.from_str(unigram_tokenizer.backend_tokenizer.to_str())
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="$A [SEP] [CLS]", special_tokens=ends)
    names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)


@pytest.fixture(scope="session")
def family_folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Model type -> the folder of a tiny encoder of that family, made on first use."""
    made: dict[str, Path] = {}
    tokenizers = {"electra": "bert", "deberta": "roberta", "modernbert": "roberta", "deberta-v2": "unigram"}
    tokenizers |= {"gpt2": "bare", "llama": "bare", "bart": "roberta", "t5": "unigram", "xlnet": "xlnet"}
    special = {
        "electra": {"embedding_size": 16},
        "deberta": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0},
        "deberta-v2": {"relative_attention": True, "position_buckets": 16, "pos_att_type": ["p2c", "c2p"]},
        "modernbert": {"global_attn_every_n_layers": 1, "local_attention": 16},
        "bart": {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64},
        "t5": {"d_kv": 16, "d_ff": 64, "decoder_start_token_id": 0},
        "xlnet": {"d_inner": 64, "d_head": 16},
    }

    def folder(family: str) -> Path:
        if family in ("bert", "roberta"):
            return request.getfixturevalue(f"{family}_folder")
        if family not in made:
            tokenizer = request.getfixturevalue(f"{tokenizers[family]}_tokenizer")
            made[family] = tmp_path_factory.mktemp(family)
            ends = {"pad_token_id": tokenizer.pad_token_id, "bos_token_id": None, "eos_token_id": None}
            if family == "modernbert":
                ends |= {"cls_token_id": tokenizer.cls_token_id, "sep_token_id": tokenizer.sep_token_id}
            limit = {} if family in ("t5", "xlnet") else {"max_position_embeddings": 64}
            config = AutoConfig.for_model(
                family, vocab_size=len(tokenizer), **limit, **SHAPE, **ends, **special.get(family, {})
            )
            torch.manual_seed(1)
            AutoModel.from_config(config).save_pretrained(made[family])
            tokenizer.save_pretrained(made[family])
        return made[family]

    return folder


@pytest.fixture(scope="session")
def still_encoder(bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small encoder without dropout, whose random numbers depend on the number of processes."""
    folder = tmp_path_factory.mktemp("still") / "bert"
    shutil.copytree(bert_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


FLAGS = [
    "--num_train_epochs=12",
    "--learning_rate=3e-3",
    "--disable_tqdm=true",
    "--figures=false",
]


@pytest.fixture(scope="session")
def sample(made_once: MadeOnce) -> Path:
    return made_once("tiny-sample", lambda folder: write_sample(folder, size="tiny"))


@pytest.fixture(scope="session")
def words_for(bert_folder: Path) -> Callable[..., list[str]]:
    """Folder of data, output folder, more flags -> the words of a small run."""

    def words(data: Path, out: Path, *more: str) -> list[str]:
        given = ["--data_dir", str(data), "--model_name_or_path", str(bert_folder), "--output_dir", str(out)]
        return [*given, *FLAGS, *more]

    return words


@pytest.fixture(scope="session")
def two_seeds(sample: Path, words_for: Callable[..., list[str]], made_once: MadeOnce) -> Path:
    """The output folder of a run over two seeds."""

    def train(out: Path) -> None:
        assert main(words_for(sample, out, "--seeds", "9", "148")) == 0

    return made_once("two-seeds", train)


@pytest.fixture(scope="session")
def results_of() -> Callable[[Path], dict]:
    """Output folder -> what its results.json holds."""
    return lambda out: json.loads((out / "results.json").read_text())


@pytest.fixture(scope="session")
def language_model_folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """ "bert" or "roberta" -> the folder of a tiny masked language model, made on first use."""
    made: dict[str, Path] = {}

    def folder(kind: str) -> Path:
        if kind in made:
            return made[kind]
        tokenizer = request.getfixturevalue(f"{kind}_tokenizer")
        torch.manual_seed(1)
        pad = tokenizer.pad_token_id
        shape = {"vocab_size": len(tokenizer), "pad_token_id": pad, **SHAPE}
        if kind == "bert":
            model = BertForMaskedLM(BertConfig(max_position_embeddings=64, **shape))
        else:
            model = RobertaForMaskedLM(RobertaConfig(max_position_embeddings=64 + pad + 1, **shape))
        torch.nn.init.normal_(model.get_output_embeddings().bias)  # zeros would hide that it counts
        made[kind] = tmp_path_factory.mktemp(f"{kind}_language_model")
        model.save_pretrained(made[kind])
        tokenizer.save_pretrained(made[kind])
        return made[kind]

    return folder
