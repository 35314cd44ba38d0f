"""The card of a metric's Space, and the values that it is made from."""

import pytest
import yaml

from hub_cards import metric_card, model_card, pinned_version, space_metadata

METADATA = space_metadata(
    title="My metric",
    sdk_version="6.1.0",
    app_file="space/app.py",
    tags=["evaluate", "metric"],
    description="F1",
)
VALUES = {
    "title": "My_metric",
    "description": "Measures <b>things</b>.",
    "repo_id": "user/my_metric",
    "version": "0`1",
    "citation": "@misc{x}",
}


def test_the_metadata_come_back_from_yaml():
    text = metric_card(metadata=METADATA, values=VALUES)
    assert yaml.safe_load(text.split("---\n")[1]) == {
        "title": "My metric",
        "emoji": "📏",
        "colorFrom": "blue",
        "colorTo": "gray",
        "sdk": "gradio",
        "sdk_version": "6.1.0",
        "python_version": "3.11",
        "app_file": "space/app.py",
        "pinned": False,
        "license": "apache-2.0",
        "short_description": "F1",
        "tags": ["evaluate", "metric"],
    }


def test_every_value_is_in_its_place_and_is_text():
    text = metric_card(metadata=METADATA, values=VALUES)
    body = text.split("---\n", 2)[2].lstrip()
    assert body.startswith("# My\\_metric\n\nMeasures &lt;b&gt;things&lt;/b&gt;.\n\nThe average decides")
    assert 'metric = evaluate.load("user/my_metric")\n' in body
    assert 'bags = evaluate.load("user/my_metric", "bag2bag")\n' in body
    assert "(here `` 0`1 ``)" in body
    assert body.endswith("## Citation\n\n```bibtex\n@misc{x}\n```\n")
    titles = [line[3:] for line in body.splitlines() if line.startswith("## ")]
    assert titles == ["How to use", "Limits", "Citation"]


def test_what_is_missing_is_named():
    with pytest.raises(
        ValueError, match="lacks sdk_version; the card of a Space needs title, sdk, sdk_version"
    ):
        metric_card(metadata={**METADATA, "sdk_version": ""}, values=VALUES)
    with pytest.raises(ValueError, match=r"lacks something that metric_card.md shows: .*'version'"):
        metric_card(metadata=METADATA, values={k: v for k, v in VALUES.items() if k != "version"})
    with pytest.raises(
        ValueError, match="lacks library_name, pipeline_tag, tags, model-index; the card of a model"
    ):
        model_card(metadata={"license": "mit"}, values={})


@pytest.mark.parametrize(
    ("text", "found"), [("a\ngradio==6.1.0\n", "6.1.0"), ("gradio==6.1.0rc1  # why", "6.1.0rc1")]
)
def test_the_pinned_version(tmp_path, text, found):
    path = tmp_path / "requirements.txt"
    path.write_text(text)
    assert pinned_version(path, "gradio") == found
    with pytest.raises(ValueError, match="does not pin numpy; add a line numpy==VERSION"):
        pinned_version(path, "numpy")
