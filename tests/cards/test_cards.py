"""Cards: the whole text from plain values, YAML that comes back, text from data that stays text."""

import numpy as np
import pytest
from huggingface_hub import DatasetCard

from hub_cards import as_code, as_text, dataset_card, markdown_table

METADATA = {
    "pretty_name": "Two: rows",
    "language": ["en"],
    "license": "other",
    "task_categories": ["text-classification"],
    "configs": [{"config_name": "a", "data_files": [{"split": "test", "path": "a/test-*.parquet"}]}],
    "dataset_info": [
        {
            "config_name": "a",
            "features": [{"name": "no", "dtype": "string"}],
            "splits": [{"name": "test", "num_bytes": 10, "num_examples": 2}],
        }
    ],
}
VALUES = {
    "title": "Two: rows_",
    "synthetic": False,
    "description": "A *description*.",
    "where": "user/two",
    "sections": [{"title": "Rows", "body": "Two."}],
    "licence": "Ask.",
    "homepage": "https://example.org",
    "citation": "@misc{x}",
}
CARD = """\
---
pretty_name: 'Two: rows'
language:
- en
license: other
task_categories:
- text-classification
configs:
- config_name: a
  data_files:
  - split: test
    path: a/test-*.parquet
dataset_info:
- config_name: a
  features:
  - name: 'no'
    dtype: string
  splits:
  - name: test
    num_bytes: 10
    num_examples: 2
---

# Two: rows\\_

A *description*.

```python
from datasets import load_dataset

bags = load_dataset("user/two", "bag")
sentences = load_dataset("user/two", "sentence", split="train", streaming=True)
```

Parquet and this card only, no code: the same rows on every version of `datasets`.

## Rows

Two.

## Licence and source

Ask.

Source: <https://example.org>

## Citation

```bibtex
@misc{x}
```
"""


def test_the_whole_card():
    assert dataset_card(metadata=METADATA, values=VALUES) == CARD
    assert DatasetCard(CARD).data.to_dict() == METADATA


def test_synthetic_data_are_announced_first():
    text = dataset_card(metadata=METADATA, values=VALUES | {"synthetic": True})
    body = text.split("---\n", 2)[2].split("\n\n")
    assert body[1].startswith("> **Synthetic data.** Every sentence")


@pytest.mark.parametrize(
    "key", ["language", "license", "pretty_name", "task_categories", "configs", "dataset_info"]
)
def test_a_missing_key_is_named(key):
    with pytest.raises(ValueError, match=f"`metadata` lacks {key}; the card of a dataset needs"):
        dataset_card(metadata={name: value for name, value in METADATA.items() if name != key}, values=VALUES)


@pytest.mark.parametrize(("value", "shown"), [(np.float64(1.5), "1.5"), ({1, 2}.__iter__(), "iterator")])
def test_a_value_that_yaml_cannot_say_is_refused(value, shown):
    with pytest.raises(ValueError, match=f"plain values only; got .*{shown}"):
        dataset_card(metadata=METADATA | {"extra": value}, values=VALUES)


def test_a_value_that_yaml_changes_is_refused():
    with pytest.raises(ValueError, match="does not come back from YAML as it is"):
        dataset_card(metadata=METADATA | {"extra": float("nan")}, values=VALUES)


def test_configs_and_dataset_info_must_fit():
    other = [METADATA["dataset_info"][0] | {"config_name": "b"}]
    with pytest.raises(ValueError, match="do not name the same splits"):
        dataset_card(metadata=METADATA | {"dataset_info": other}, values=VALUES)
    with pytest.raises(ValueError, match="an entry of `configs` lacks data_files"):
        dataset_card(metadata=METADATA | {"configs": [{"config_name": "a"}]}, values=VALUES)
    one = METADATA["dataset_info"][0]
    assert dataset_card(metadata=METADATA | {"dataset_info": one}, values=VALUES)


def test_a_value_that_the_template_needs_is_named():
    with pytest.raises(ValueError, match=r"`values` lacks something that dataset_card.md shows: .*'licence'"):
        dataset_card(
            metadata=METADATA, values={name: value for name, value in VALUES.items() if name != "licence"}
        )


def test_text_is_never_a_template():
    """A name such as {{ 7 * 7 }} is shown, not computed."""
    text = dataset_card(metadata=METADATA, values=VALUES | {"title": "{{ 7 * 7 }} {% raw %}"})
    assert "# {{ 7 \\* 7 }} {% raw %}" in text


@pytest.mark.parametrize(
    ("raw", "text", "code"),
    [
        ("plain", "plain", "`plain`"),
        ("a_b", "a\\_b", "`a_b`"),
        ("x\n\n# y", "x \\# y", "`x # y`"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;", "`<b>&amp;`"),
        ("[a](b)", "\\[a\\](b)", "`[a](b)`"),
        ("a``b", "a\\`\\`b", "``` a``b ```"),
        ("a|b", "a\\|b", "`a\\|b`"),
        ("", "", ""),
        (7, "7", "`7`"),
    ],
)
def test_escapes(raw, text, code):
    assert as_text(raw) == text
    assert as_code(raw) == code


def test_tables_keep_names_left_and_numbers_right():
    assert markdown_table(["a", "b", "c"], [["1", "2", "3"]], left=2).splitlines() == [
        "| a | b | c |",
        "| --- | --- | ---: |",
        "| 1 | 2 | 3 |",
    ]
