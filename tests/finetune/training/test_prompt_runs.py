"""Runs with `--input prompt`: they learn, their models are used again, flags that do not fit."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import AutoModelForSequenceClassification, pipeline

from finetune.__main__ import main

WORDS = {
    "born_in": ("university", "was", "born", "in", "York"),
    "NA": ("a", "is", "not", "of", "a"),
    "made_in": ("university", "is", "made", "in", "City"),
}


@pytest.fixture
def bert(language_model_folder: Callable[[str], Path]) -> Path:
    return language_model_folder("bert")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A small corpus in SemEval's format, and its label words."""
    folder = tmp_path / "data"
    folder.mkdir()
    patterns = {
        "Entity-Origin(e1,e2)": "<e1>{}</e1> was born in <e2>{}</e2>.",
        "Product-Producer(e1,e2)": "<e1>{}</e1> is made by the <e2>{}</e2>.",
        "Other": "The <e1>{}</e1> and the cradle of <e2>{}</e2>.",
    }
    names = ("Obama", "Smith", "John", "child", "university", "cord", "recipe", "York", "Acme", "Honolulu")
    pairs = [(head, tail) for head in names for tail in names if head != tail]
    for name, chosen in (("TRAIN_FILE.TXT", pairs[::2]), ("TEST_FILE_FULL.TXT", pairs[1::6])):
        records = [(*pair, *pattern) for pair in chosen for pattern in patterns.items()]
        texts = [
            f'{number}\t"{pattern.format(head, tail)}"\n{label}\nComment:\n\n'
            for number, (head, tail, label, pattern) in enumerate(records, start=1)
        ]
        (folder / name).write_text("".join(texts))
    words = dict(zip(patterns, (WORDS["born_in"], WORDS["made_in"], WORDS["NA"]), strict=True))
    (tmp_path / "words.json").write_text(json.dumps(words))
    return folder


def test_a_run_learns_and_its_label_words_belong_to_it(
    corpus: Path, bert: Path, results_of: Callable[[Path], dict], capsys, caplog
) -> None:
    out, file = corpus.parent / "out", corpus.parent / "words.json"
    words = ["--data=semeval2010", "--data_dir", str(corpus), "--model_name_or_path", str(bert)]
    words += ["--output_dir", str(out), "--input=prompt", "--label_words", str(file), "--seed=9"]
    words += ["--num_train_epochs=12", "--learning_rate=3e-3", "--disable_tqdm=true"]
    assert main([*words, "--logging_strategy=no"]) == 0, capsys.readouterr().err
    captured = capsys.readouterr()
    assert "missing keys" not in captured.err + caplog.text
    results = results_of(out)
    assert results["label_words"] == json.loads(file.read_text())
    assert results["arguments"]["representation"] == "masks"
    assert results["mean"]["macro_f1"] > 0.9
    model = AutoModelForSequenceClassification.from_pretrained(out / "seed-9")
    assert model.config.classifier_head == "label_words"
    classify = pipeline("relation-classification", model=str(out / "seed-9"))
    predictions = {
        record["instance_id"]: record for record in map(json.loads, (out / "seed-9/predictions.jsonl").open())
    }
    sentence = (corpus / "TEST_FILE_FULL.TXT").read_text().splitlines()[0].split('"')[1]
    head = sentence.index("<e1>"), sentence.index("</e1>") - 4
    tail = sentence.index("<e2>") - 9, sentence.index("</e2>") - 13
    plain = re.sub("</?e[12]>", "", sentence)
    found = classify({"sentence": plain, "head": list(head), "tail": list(tail)})
    assert found["pred"] == predictions["1"]["pred"]
    assert found["scores"] == pytest.approx(predictions["1"]["scores"], abs=0.02)  # training is in bf16
    file.write_text(file.read_text().replace("made", "means"))
    assert main([*words, "--logging_strategy=no"]) == 2
    assert "holds a finished run that differs: `--label_words`: 'words " in capsys.readouterr().err
    words[words.index(str(bert))], words[words.index(str(out))] = str(out / "seed-9"), str(out / "more")
    assert main([*words, "--logging_strategy=no"]) == 2
    assert "was trained with other label words; give the same as `--label_words`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--input", "prompt"], "label words are not one token of the encoder's vocabulary: 'entity' ('NA'"),
        (["--label_words", "x.json"], "`--label_words` are the words of `--input prompt`; give that too"),
        (["--input", "prompt", "--label_words", "x.json"], "label words x.json is not there"),
        (["--input", "prompt", "--classifier_head", "mlp"], "'mlp' does not go with the representation"),
        (["--input", "prompt", "--representation", "cls"], "'cls' does not go with the input 'prompt'"),
        (["--input", "prompt", "--encoder", "cnn"], "'sentence' does not go with the input 'prompt'"),
    ],
)
def test_flags_that_do_not_fit(
    more: list[str], message: str, sample: Path, bert: Path, tmp_path: Path, capsys
) -> None:
    words = ["--data_dir", str(sample), "--output_dir", str(tmp_path / "o"), *more]
    if "--encoder" not in more:
        words += ["--model_name_or_path", str(bert)]
    assert main(words) == 2
    assert message in capsys.readouterr().err
