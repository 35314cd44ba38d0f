"""`python -m finetune --encoder ...`: presets, vectors, and what the output folder then holds."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from finetune.__main__ import main
from finetune.command_line import help_text, parse_arguments
from finetune.encoders.word_vectors import WordVectors, build_word_encoder, word_tokenizer

QUICK = ["--disable_tqdm=true", "--logging_strategy=no", "--bf16=false", "--figures=false"]


@pytest.fixture
def vectors_file(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    words = ["born", "in", "zzyzx", "of"]
    path.write_text("".join(f"{word} {i} {i + 0.5} -1 2\n" for i, word in enumerate(words)))
    return path


@pytest.mark.parametrize("encoder", ["cnn", "pcnn", "crcnn", "att_blstm"])
def test_each_system_runs_from_one_flag(
    encoder: str, sample: Path, vectors_file: Path, tmp_path: Path, results_of: Callable[[Path], dict]
) -> None:
    out = tmp_path / "out"
    words = ["--data_dir", str(sample), "--output_dir", str(out), "--encoder", encoder, "--seed=5", *QUICK]
    assert main([*words, "--max_steps=2", "--word_vectors", str(vectors_file)]) == 0
    results = results_of(out)
    assert results["arguments"]["encoder"] == encoder
    title = encoder.replace("_", "\\_")
    assert f"\n# {title} on " in (out / "README.md").read_text()
    model = AutoModelForSequenceClassification.from_pretrained(out / "seed-5")
    config = model.config
    assert config.classifier_head == ("crcnn" if encoder == "crcnn" else "linear")
    assert (config.input_format, config.max_row_tokens) == ("plain", 150)
    assert config.encoder.word_size == 4
    tokenizer = AutoTokenizer.from_pretrained(out / "seed-5")
    assert config.encoder.num_fixed_words == 2 + 1, "padding, the unknown word, and zzyzx"
    known = tokenizer.convert_tokens_to_ids("zzyzx")
    assert model.get_input_embeddings()(torch.tensor([known])).tolist() == [[2.0, 2.5, -1.0, 2.0]]
    weights = load_file(out / "seed-5" / "model.safetensors")
    assert weights["encoder.words.trained"].shape == (len(tokenizer) - 3, 4)


@pytest.mark.parametrize("track", [[], ["--track=bag2bag", "--bag_pooling=att"]])
def test_the_crcnn_loss_is_trained_on(
    track: list[str], sample: Path, tmp_path: Path, results_of: Callable[[Path], dict]
) -> None:
    words = ["--data_dir", str(sample), "--encoder=crcnn", *QUICK, *track, "--eval_strategy=no"]
    loss = {}
    for steps in (1, 40):
        out = tmp_path / str(steps)
        assert main([*words, "--output_dir", str(out), f"--max_steps={steps}", "--learning_rate=1e-2"]) == 0
        loss[steps] = results_of(out)["seeds"]["42"]["training"]["mean_loss"]
    # Scores near 0 cost log(1 + e^5) + log(1 + e) = 6.3, and 1.3 where the relation is negative.
    assert loss[1] > 4
    assert loss[40] < 0.7 * loss[1]


@pytest.mark.parametrize("encoder", ["pcnn", "att_blstm"])
def test_a_batch_of_rows_without_entities_is_scored(
    encoder: str, sample: Path, tmp_path: Path, results_of: Callable[[Path], dict]
) -> None:
    words = ["--data_dir", str(sample), "--output_dir", str(tmp_path / "out"), f"--encoder={encoder}", *QUICK]
    words += ["--track=bag2sent", "--bag_pooling=one", "--max_steps=1"]
    assert main([*words, "--eval_strategy=no", "--per_device_eval_batch_size=1"]) == 0
    results = results_of(tmp_path / "out")
    assert results["data"]["splits"]["test"]["num_not_found"] == 1


def test_marker_words_are_trained_too(sample: Path, tmp_path: Path) -> None:
    words = ["--data_dir", str(sample), "--output_dir", str(tmp_path / "out"), "--encoder=att_blstm", *QUICK]
    assert main([*words, "--input=markers", "--max_steps=1", "--eval_strategy=no"]) == 0
    folder = tmp_path / "out" / "seed-42"
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    ids = AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids(["[E1]", "[/E1]", "[E2]", "[/E2]"])
    assert min(ids) >= model.config.encoder.num_fixed_words
    assert max(ids) < model.config.encoder.vocab_size
    assert model.config.input_format == "markers"


def test_training_goes_on_from_a_trained_network(
    sample: Path, tmp_path: Path, results_of: Callable[[Path], dict]
) -> None:
    words = ["--data_dir", str(sample), *QUICK, "--eval_strategy=no", "--max_steps=1", "--learning_rate=0"]
    assert main([*words, "--encoder=crcnn", "--output_dir", str(tmp_path / "first")]) == 0
    network = str(tmp_path / "first" / "seed-42")
    words += ["--representation=sentence", "--input=plain", "--classifier_head=ranking"]
    assert main([*words, "--model_name_or_path", network, "--output_dir", str(tmp_path / "second")]) == 0
    first, second = (results_of(tmp_path / name) for name in ("first", "second"))
    assert second["mean"] == first["mean"], "with a learning rate of 0 the network stays as it was"


def test_a_pretrained_encoder_has_no_vector_of_the_sentence(
    sample: Path, bert_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--data_dir", str(sample), "--output_dir", str(tmp_path / "out"), "--representation=sentence"]
    assert main([*words, "--model_name_or_path", str(bert_folder)]) == 2
    assert "`--representation sentence` is the vector of a network on words" in capsys.readouterr().err


def arguments_of(*words: str):
    settings = parse_arguments(["--data_dir=x", "--output_dir=y", *words])
    return settings.model, settings.training


def test_presets_are_defaults_that_flags_override() -> None:
    model, training = arguments_of("--encoder=crcnn")
    assert arguments_of("--encoder=crcnn", "--classifier_head=ranking")[0] == model, "its name before"
    assert (model.representation, model.input, model.classifier_head) == ("sentence", "plain", "crcnn")
    assert (model.max_length, training.num_train_epochs, training.learning_rate) == (150, 50, 1e-3)
    assert (training.per_device_train_batch_size, training.max_grad_norm) == (64, 0)
    assert training.lr_scheduler_type == "constant"
    model, training = arguments_of("--encoder", "pcnn", "--max_length=99", "--learning_rate", "0.5")
    assert (model.classifier_head, model.max_length, training.learning_rate) == ("linear", 99, 0.5)
    model, training = arguments_of("--model_name_or_path=z")
    assert (model.encoder, model.representation, model.max_length) == ("pretrained", "entity_start", None)
    assert (training.num_train_epochs, training.max_grad_norm) == (3, 1)


def test_a_settings_file_has_the_presets_too(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"data_dir": "x", "output_dir": "y", "encoder": "cnn", "max_length": 70}))
    given = parse_arguments([str(path)])
    model, training = given.model, given.training
    assert (model.representation, model.max_length, training.learning_rate) == ("sentence", 70, 1e-3)


def test_the_help_names_the_systems() -> None:
    assert "{pretrained,cnn,pcnn,crcnn,att_blstm}" in help_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--encoder=cnn", "--model_name_or_path=bert"], "`--encoder cnn` needs no `--model_name_or_path`"),
        (["--word_vectors=a.txt"], "`--word_vectors` is for the networks on words; give `--encoder` too"),
        (
            ["--encoder=cnn", "--representation=cls"],
            "`--representation cls` does not go with `--encoder cnn`",
        ),
        (["--encoder=rnn"], "invalid choice: 'rnn'"),
        (["--encoder"], "expected one argument"),
        (
            ["--encoder=crcnn", "--multi_label"],
            "'crcnn' ranks the relations of a unit against each other, so it does not go with",
        ),
    ],
)
def test_flags_that_do_not_go_together(words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        arguments_of(*words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "`word_vectors`: the file"),
        ("400000 50\nthe 1 2\n", "line 1: '400000 50' is a header"),
    ],
)
def test_a_vectors_file_that_cannot_be_used(
    text: str | None, message: str, sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "vectors.txt"
    if text is not None:
        path.write_text(text)
    words = ["--data_dir", str(sample), "--output_dir", str(tmp_path / "out"), "--encoder=cnn"]
    assert main([*words, "--word_vectors", str(path)]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_vectors_are_a_part_of_the_run_and_not_their_place(
    sample: Path, vectors_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--data_dir", str(sample), "--output_dir", str(tmp_path / "out"), "--encoder=cnn", *QUICK]
    words += ["--max_steps=1", "--eval_strategy=no", "--word_vectors"]
    assert main([*words, str(vectors_file)]) == 0
    moved = tmp_path / "moved.txt"
    moved.write_text(vectors_file.read_text())
    assert main([*words, str(moved)]) == 0
    assert "seed 42: finished before" in capsys.readouterr().out
    moved.write_text(vectors_file.read_text().replace("-1", "-3"))
    assert main([*words, str(moved)]) == 2
    assert re.search(
        r"holds a finished run that differs: `--word_vectors`: 'vectors \w{16}' then, 'vectors \w{16}' now",
        capsys.readouterr().err,
    )


def test_labels_are_not_smoothed_where_they_are_ranked(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--data_dir", str(sample), "--output_dir", str(tmp_path / "out"), "--encoder=crcnn"]
    assert main([*words, "--label_smoothing_factor=0.1"]) == 2
    assert "`--label_smoothing_factor` does not go with `--classifier_head crcnn`" in capsys.readouterr().err


def test_words_without_a_vector_are_drawn_like_those_that_have_one() -> None:
    random = np.random.default_rng(0)
    vectors = WordVectors(
        words=[f"w{i}" for i in range(400)], values=random.normal(3, 0.2, (400, 8)).astype(np.float32)
    )
    sentences = [" ".join(f"w{i} x{i}" for i in range(0, 400, 2))]
    tokenizer, num_fixed = word_tokenizer(sentences=sentences, spans=np.full((1, 4), -1), vectors=vectors)
    torch.manual_seed(0)
    shape = {"word_size": 8, "num_fixed_words": num_fixed}
    encoder = build_word_encoder(tokenizer=tokenizer, vectors=vectors, shape=shape)
    table = encoder.words(torch.arange(len(tokenizer)))
    ids = tokenizer.get_vocab()
    for word, value in zip(vectors.words, vectors.values, strict=True):
        np.testing.assert_array_equal(table[ids[word]].detach().numpy(), value)
    drawn = table[[number for word, number in ids.items() if word.startswith("x")]]
    assert len(drawn) == 200
    assert drawn.mean().item() == pytest.approx(3, abs=0.03)
    assert drawn.std().item() == pytest.approx(0.2, rel=0.1)
    np.testing.assert_allclose(table[1].detach().numpy(), vectors.values.mean(axis=0), rtol=1e-5)
