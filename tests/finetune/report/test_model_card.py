"""The card of a run: the whole text from plain values, and what machines read in it."""

import copy

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries

from finetune.push import inherited_licence
from finetune.report.model_card import (
    combined_licence,
    data_config,
    run_card,
    run_eval_results,
    task_scores,
)
from nyt_h_dataset.card.benchmark import eval_yaml

NAMES = ("micro", "weighted", "dodrans", "entropy", "macro", "macro_all")
HEADLINES = ("micro", "dodrans", "macro_all")
TRUTHS = ("dsgt", "magt", "magt_ds_scope")
MEAN = {f"{truth}_{name}_f1": 0.5 for truth in TRUTHS for name in NAMES} | {
    "dsgt_auc": 0.3,
    "dsgt_max_f1": 0.9,
}
MEAN["magt_dodrans_f1"] = 0.123456
CLASS = {"support": 1200, "precision": 0.5, "recall": 0.25, "f1": 1 / 3, "sd": 0.01}
RESULTS = {
    "figures": ["precision_recall.png"],
    "track": "sent2sent",
    "n": 2,
    "mean": MEAN,
    "sd": dict.fromkeys(MEAN, 0.01),
    "per_class": {truth: {"/a|b": {**CLASS, "support": 7}, "/people/*_x*": CLASS} for truth in TRUTHS},
    "echo": dict.fromkeys(MEAN, 1.0),
    "undefined": [],
    "signature": {truth: f"averages:micro|truth:{truth}" for truth in TRUTHS},
    "selected_by": "dsgt_macro_all_f1",
    "seeds": {"9": {"test": dict.fromkeys(MEAN, 0.45)}, "148": {"test": dict.fromkeys(MEAN, 0.55)}},
    "data": {
        "name": "nyt_h",
        "fingerprint": "0123456789abcdef",
        "label_names": ["NA", "/a|b", "/people/*_x*"],
        "negative_relation": "NA",
        "notes": ["validation is drawn by pair"],
        "splits": {
            "train": {"num_rows": 2000, "num_windowed": 3, "num_not_found": 2, "num_cannot_be_kept": 1}
        },
    },
    "max_length": 128,
    "arguments": {
        "model_name_or_path": "/home/me/models/mini_lm",
        "data_dir": "/home/me/nyt-h",
        "input": "markers",
        "representation": "entity_start",
        "seeds": [9, 148],
        "max_length": None,
        "overwrite": True,
        "learning_rate": 3e-05,
    },
    "versions": {"python": "3.11.0", "torch": "2.13.0"},
}
BODY = """\
# mini\\_lm on NYT-H, sent2sent

Relation classification: which of 2 relations a sentence expresses between two entities in it; `NA` \
means none of them. mini\\_lm, fine-tuned on NYT-H with the input `markers` and the representation \
`entity_start`. The weights are those of seed 9.

## How to use

Give the sentence and where its two entities are, as half-open character spans:

```python
from transformers import pipeline

classify = pipeline("relation-classification", model="user/re", trust_remote_code=True)
record = {"sentence": "Ann Lee left Bonn on Monday.",
          "head": [0, 7], "tail": [13, 17]}
prediction = classify(record)
print(prediction["pred"], prediction["status"])
```

A list of records gives a list. `trust_remote_code` runs the Python files of the model's folder; read \
them first. `AutoModelForSequenceClassification`, `AutoConfig` and `AutoTokenizer` load the parts.

## Results

On the test split, in percent, mean and standard deviation of 2 seeds (9, 148). The weights are those \
with the best dsgt_macro_all_f1 on validation; test selects nothing.

| F1 in percent | DSGT | MAGT | MAGT (DS scope) | DSGT of echo | MAGT of echo | MAGT (DS scope) of echo |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| micro | 50.00 ± 1.00 | 50.00 ± 1.00 | 50.00 ± 1.00 | 100.00 | 100.00 | 100.00 |
| weighted | 50.00 ± 1.00 | 50.00 ± 1.00 | 50.00 ± 1.00 | 100.00 | 100.00 | 100.00 |
| dodrans | 50.00 ± 1.00 | 12.35 ± 1.00 | 50.00 ± 1.00 | 100.00 | 100.00 | 100.00 |
| entropy | 50.00 ± 1.00 | 50.00 ± 1.00 | 50.00 ± 1.00 | 100.00 | 100.00 | 100.00 |
| macro | 50.00 ± 1.00 | 50.00 ± 1.00 | 50.00 ± 1.00 | 100.00 | 100.00 | 100.00 |
| macro, all relations | 50.00 ± 1.00 | 50.00 ± 1.00 | 50.00 ± 1.00 | 100.00 | 100.00 | 100.00 |

Seed 9 alone, whose weights are in this repository:

| F1 in percent | DSGT | MAGT | MAGT (DS scope) | DSGT of echo | MAGT of echo | MAGT (DS scope) of echo |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| micro | 45.00 | 45.00 | 45.00 | 100.00 | 100.00 | 100.00 |
| weighted | 45.00 | 45.00 | 45.00 | 100.00 | 100.00 | 100.00 |
| dodrans | 45.00 | 45.00 | 45.00 | 100.00 | 100.00 | 100.00 |
| entropy | 45.00 | 45.00 | 45.00 | 100.00 | 100.00 | 100.00 |
| macro | 45.00 | 45.00 | 45.00 | 100.00 | 100.00 | 100.00 |
| macro, all relations | 45.00 | 45.00 | 45.00 | 100.00 | 100.00 | 100.00 |

DSGT scores against the distant labels, MAGT against people; DS scope counts a prediction only on units \
that have the relation as distant label. The echo copies each unit's own distant labels: what they \
alone explain. `macro` is over the relations that have support under a truth, `macro, all relations` \
over all.

What the numbers mean, a line for each truth; two numbers are comparable when their lines agree in \
everything but `v`:

- dsgt: `averages:micro|truth:dsgt`
- magt: `averages:micro|truth:magt`
- magt_ds_scope: `averages:micro|truth:magt_ds_scope`

## Relations

In percent, the most frequent first.

DSGT: distant labels.

| relation | support | precision | recall | F1 | sd |
| --- | ---: | ---: | ---: | ---: | ---: |
| `/people/*_x*` | 1,200 | 50.00 | 25.00 | 33.33 | 1.00 |
| `/a\\|b` | 7 | 50.00 | 25.00 | 33.33 | 1.00 |

MAGT: human labels.

| relation | support | precision | recall | F1 | sd |
| --- | ---: | ---: | ---: | ---: | ---: |
| `/people/*_x*` | 1,200 | 50.00 | 25.00 | 33.33 | 1.00 |
| `/a\\|b` | 7 | 50.00 | 25.00 | 33.33 | 1.00 |

MAGT, DS scope: human labels, distant relations only.

| relation | support | precision | recall | F1 | sd |
| --- | ---: | ---: | ---: | ---: | ---: |
| `/people/*_x*` | 1,200 | 50.00 | 25.00 | 33.33 | 1.00 |
| `/a\\|b` | 7 | 50.00 | 25.00 | 33.33 | 1.00 |

## Pictures

![precision recall](figures/precision_recall.png)

## Data

`user/nyt-h` on the Hub, fingerprint `0123456789abcdef`.

| split | rows | cut to a window | entity not found | entities do not fit |
| --- | ---: | ---: | ---: | ---: |
| `train` | 2,000 | 3 | 2 | 1 |

Rows without both entities are left out of training and scored as `NA`. Validation is drawn by pair.

## Training

| argument | value |
| --- | --- |
| `--model_name_or_path` | `mini_lm` |
| `--data_dir` | `nyt-h` |
| `--input` | `markers` |
| `--representation` | `entity_start` |
| `--seeds` | `[9, 148]` |
| `--learning_rate` | `3e-05` |

At most 128 tokens a sentence. Versions: python 3.11.0, torch 2.13.0.
The model loads with transformers 4.57 and newer.

## Limits

- The model knows the relations of its training data only, and says `NA` for every other one.
- It is told where the two entities are; finding them is another task.
- It was trained on distant labels, which are often wrong: a sentence of a pair need not express the \
relation of the pair.
- A "no" of the annotators says that the distant relation is not expressed. Other relations were not \
judged and count as wrong under MAGT.
- It was trained on English text; names and facts are those of its sources and their time.

## Citation

```bibtex
@inproceedings{zhu-etal-2020-towards-accurate,
"""


@pytest.fixture
def card() -> str:
    return run_card(
        RESULTS,
        repo_id="user/re",
        seed="9",
        dataset_id="user/nyt-h",
    )


def test_the_whole_card(card: str) -> None:
    _, metadata, body = card.split("---\n", 2)
    assert body.lstrip("\n").startswith(BODY)
    cited = [line for line in body.splitlines() if line.startswith("@inproceedings")]
    assert [line.partition("{")[2] for line in cited] == [
        "zhu-etal-2020-towards-accurate,",
        "baldini-soares-etal-2019-matching,",
        "harbecke-etal-2022-micro,",
    ]
    read = yaml.safe_load(metadata)
    index = read.pop("model-index")
    assert read == {
        "language": ["en"],
        "library_name": "transformers",
        "pipeline_tag": "other",
        "tags": ["relation-classification", "relation-extraction"],
        "datasets": ["user/nyt-h"],
        "metrics": ["f1"],
    }
    assert index[0]["name"] == "re"
    assert index[0]["results"][0]["dataset"] == {
        "type": "user/nyt-h",
        "name": "NYT-H",
        "config": "sentence",
        "split": "test",
        "args": {"track": "sent2sent", "fingerprint": "0123456789abcdef"},
    }


def test_rows_without_entities_in_bags() -> None:
    body = run_card(
        {**RESULTS, "track": "bag2bag", "figures": []}, repo_id="user/re", seed="9", dataset_id=None
    )
    assert "have no say in their bags; a bag without others is scored as `NA`." in body


def test_machines_read_every_f1_with_its_signature(card: str) -> None:
    found = {result.metric_name: result for result in ModelCard(card).data.eval_results}
    names = {f"{truth}_{name}_f1" for truth in TRUTHS for name in NAMES}
    assert set(found) == {f"{name}, {of}" for name in names for of in ("mean of 2 seeds", "seed 9")}
    for name in names:
        truth = max((truth for truth in TRUTHS if name.startswith(truth)), key=len)
        signature = f"averages:micro|truth:{truth}"
        mean, own = found[f"{name}, mean of 2 seeds"], found[f"{name}, seed 9"]
        assert mean.metric_value == MEAN[name]
        assert mean.metric_args == {"signature": signature, "n": 2, "sd": 0.01}
        assert (own.metric_value, own.metric_args) == (0.45, {"signature": signature, "n": 1, "seed": "9"})


def eval_entries(results: dict, **options: str) -> list:
    text = run_eval_results(results, dataset_id="user/nyt-h", **options)
    return parse_eval_result_entries(yaml.safe_load(text))


def test_the_form_that_the_hub_shows_has_the_tasks_of_the_benchmark_and_no_others() -> None:
    tasks = {task["id"]: task for task in yaml.safe_load(eval_yaml(name="NYT-H"))["tasks"]}
    for track in ("sent2sent", "bag2sent", "bag2bag"):
        results = {**RESULTS, "track": track}
        entries = eval_entries(results, repo_id="user/re", seed="9", date="2026-01-31")
        assert {entry.task_id for entry in entries} == {task for task in tasks if task.startswith(track)}
        assert {tasks[entry.task_id]["config"] for entry in entries} == {data_config(results)}
    values = {entry.task_id: entry.value for entry in entries}
    assert values == {f"bag2bag_magt_{name}_f1": MEAN[f"magt_{name}_f1"] for name in HEADLINES}
    entry = entries[0]
    assert (entry.dataset_id, entry.date) == ("user/nyt-h", "2026-01-31")
    assert entry.source_url == "https://huggingface.co/user/re/blob/main/results.json"
    for part in ("mean of 2 seeds", "seed 9", "0.4500", "averages:micro|truth:magt"):
        assert part in entry.notes


def test_the_revision_of_the_data_stands_in_every_entry() -> None:
    results = {**RESULTS, "arguments": {**RESULTS["arguments"], "dataset_revision": "abc"}}
    assert {entry.dataset_revision for entry in eval_entries(results)} == {"abc"}


def test_data_without_manual_labels_have_no_task() -> None:
    assert task_scores({**RESULTS, "mean": {"dsgt_micro_f1": 0.5}}) == {}


def test_a_synthetic_run_says_so() -> None:
    results = {**RESULTS, "data": {**RESULTS["data"], "synthetic": True}}
    card = ModelCard(run_card(results))
    assert "synthetic" in card.data.tags
    assert "Synthetic data" in card.text
    assert "synthetic" in card.data.eval_results[0].dataset_name
    assert "synthetic" not in run_card(RESULTS).lower()


def test_the_licence_stands_in_the_card() -> None:
    held = combined_licence({"the data D": {"license": "mit"}, "the encoder E": {"license": "mit"}})
    card = ModelCard(run_card(RESULTS, licence=held))
    assert card.data.license == "mit"
    assert "the data D" in card.text
    assert ModelCard(run_card(RESULTS, licence=combined_licence({}))).data.license is None


def test_one_seed_of_data_without_human_labels_on_the_hub() -> None:
    results = copy.deepcopy(RESULTS)
    measures = {
        f"{name}_{measure}": 0.25
        for name in ("micro", "official_macro")
        for measure in ("precision", "recall", "f1")
    }
    results |= {"n": 1, "mean": measures, "sd": dict.fromkeys(measures), "echo": None, "seeds": {"9": {}}}
    results |= {
        "signature": {"f1_family": "averages:micro", "official": "averages:macro"},
        "undefined": ["x_f1"],
    }
    results["per_class"] = {"": {"a": {**CLASS, "sd": None}}, "official": {"b": {**CLASS, "sd": None}}}
    results["data"]["name"] = "hub"
    results["arguments"] |= {
        "model_name_or_path": "bert-base-uncased",
        "dataset_name": "user/rows",
        "dataset_revision": "v1",
        "input": "typed_markers",
        "bag_pooling": "att",
    }
    text = run_card(results)
    assert "# bert-base-uncased on a dataset of the Hub\n" in text
    assert "one seed (9)" in text
    assert "| micro | 25.00 | 25.00 | 25.00 |" in text
    assert "By group, without direction.\n\n| relation | support | precision | recall | F1 |" in text
    assert "`user/rows` on the Hub, revision `v1`, fingerprint" in text
    assert "Without support, and so 0 by definition: `x_f1`." in text
    assert '"type": "person"' in text
    assert 'classify({"instances": [record, record]})' in text
    assert 'model="PATH_OR_REPO_ID"' in text
    assert "zhu-etal" not in text
    data = ModelCard(text).data
    assert (data.base_model, data.datasets, data.model_name) == (
        "bert-base-uncased",
        ["user/rows"],
        "bert-base-uncased",
    )
    assert data.eval_results[0].dataset_revision == "v1"
    assert data.eval_results[1].metric_args == {"signature": "averages:macro", "n": 1}


def test_the_card_of_a_model_that_types_restrict() -> None:
    results = copy.deepcopy(RESULTS)
    assert '"type"' not in run_card(results)
    results["arguments"]["classifier_head"] = "type_restriction"
    text = run_card(results)
    assert "It says only relations that the training rows have for the types of the two entities" in text
    assert '"head": {"start": 0, "end": 7, "type": "person"}' in text
    assert "Types that have no relation there make `NA` certain." in text


ABOUT = {"name": "Reef", "licence": "cc-by-4.0", "citation": "@misc{reef}", "judged": "two divers, kappa 0.7"}
OWN = {**RESULTS["data"], "about": ABOUT | {"steps": ["converted from lines"], "validation": None}}


def test_a_model_of_ones_own_corpus_says_what_the_corpus_says_and_nothing_of_nyt_h() -> None:
    results = {**RESULTS, "data": OWN}
    text = run_card(results, licence=inherited_licence(results))
    card = ModelCard(text)
    assert "NYT-H" not in text
    assert "zhu-etal" not in text
    assert "@misc{reef}" in text
    assert "# mini\\_lm on Reef, sent2sent\n" in text
    assert "two divers, kappa 0.7" in text
    assert card.data.license == "cc-by-4.0"
    assert card.data.eval_results[0].dataset_name == "Reef"
    assert card.data.eval_results[0].dataset_type == "reef"
    assert card.data.language is None


def test_a_licence_that_nobody_named_is_not_that_of_the_newspaper() -> None:
    for licence, expected in ((None, None), ("Our terms, 2026", "other")):
        results = {**RESULTS, "data": OWN | {"about": OWN["about"] | {"licence": licence, "name": None}}}
        held = inherited_licence(results)
        assert held.metadata.get("license") == expected
        assert "nyt" not in str(held).lower()


def test_a_model_of_the_synthetic_sample_cites_no_corpus() -> None:
    text = run_card({**RESULTS, "data": {**RESULTS["data"], "synthetic": True}})
    assert "zhu-etal" not in text
    assert "# mini\\_lm on NYT-H (synthetic sample), sent2sent\n" in text
