"""Values -> the text of a card: YAML that was checked, a body from a template, data escaped (pure)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import yaml
from huggingface_hub import RepoCard

_MARKDOWN = re.compile(r"([\\`*_\[\]#|~$])")
_REQUIRED = ("language", "license", "pretty_name", "task_categories", "configs", "dataset_info")


def as_text(value: object) -> str:
    r"""Return `value` as Markdown that shows exactly its characters: no markup, no HTML, one line.

    >>> as_text("<b> a_b | *c*")
    '&lt;b&gt; a\\_b \\| \\*c\\*'
    """
    line = " ".join(str(value).split())
    escaped = _MARKDOWN.sub(r"\\\1", line.replace("&", "&amp;"))
    return escaped.replace("<", "&lt;").replace(">", "&gt;")


def as_code(value: object, *, in_table: bool = True) -> str:
    r"""Return `value` as a Markdown code span: fenced, one line; `in_table`: bars escaped, as a table needs.

    >>> as_code("/people/person"), as_code("a`b|c"), as_code("a|b", in_table=False)
    ('`/people/person`', '`` a`b\\|c ``', '`a|b`')
    """
    line = " ".join(str(value).split())
    line = line.replace("|", "\\|") if in_table else line
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    if not longest:
        return f"`{line}`" if line else ""
    fence = "`" * (longest + 1)
    return f"{fence} {line} {fence}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a Markdown table; the first `left` columns are aligned left, the others right.

    Cells are taken as they are: escape what comes from data.

    >>> print(markdown_table(["a", "n"], [["x", "1"]]))
    | a | n |
    | --- | ---: |
    | x | 1 |
    """
    rule = ["---" if index < left else "---:" for index in range(len(header))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))


def front_matter(text: str, *, name: str = "README.md") -> dict[str, Any]:
    """Return the metadata in front of a card; `name` is where it stands, for errors.

    Raises:
        ValueError: there are none, or they are no YAML mapping.

    >>> front_matter("---\\nlicense: mit\\n---\\n# Title")
    {'license': 'mit'}
    """
    return _parsed(text, name).data.to_dict()


def with_metadata(text: str, changes: Mapping[str, Any]) -> str:
    r"""Return the card with `changes` in its metadata; a key whose value is None is taken out.

    >>> with_metadata("---\nlicense: mit\ntags: [a]\n---\n# Title", {"license": "gpl-3.0", "tags": None})
    '---\nlicense: gpl-3.0\n---\n# Title'
    """
    card = _parsed(text, "the card")
    kept = {**card.data.to_dict(), **changes}
    header = _dump({key: value for key, value in kept.items() if value is not None})
    return f"---\n{header}---\n{card.text}"


def _parsed(text: str, name: str) -> RepoCard:
    if not text.lstrip().startswith("---"):
        raise ValueError(f"{name} has no metadata: it must begin with YAML between two lines of ---.")
    try:
        card = RepoCard(text)
    except yaml.YAMLError as error:
        raise ValueError(f"the metadata of {name} are not YAML: {' '.join(str(error).split())}.") from error
    except ValueError as error:
        raise ValueError(f"the metadata of {name} must be a mapping ({error}).") from error
    if not card.data.to_dict():
        raise ValueError(f"{name} has no metadata between its lines of ---.")
    return card


def dataset_card(*, metadata: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Return the README of a dataset repository: `metadata` as YAML, then dataset_card.md with `values`.

    Titles are escaped; `description`, `licence` and the bodies of `sections` are the caller's own Markdown,
    in which text from data goes through `as_text` or `as_code`.

    Args:
        metadata: plain values (str, int, float, bool, None, lists, mappings with str keys), among them
            language, license, pretty_name, task_categories, configs and dataset_info.
        values: what the template names; see dataset_card.md. A missing one is an error.

    Raises:
        ValueError: a missing key, a value that YAML would not give back as it is, or `configs` and
            `dataset_info` that do not fit each other.
    """
    _check_metadata(metadata)
    return _card("dataset_card.md", metadata, values)


def metric_card(*, metadata: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Return the README of a metric's Space: `metadata` as YAML, then metric_card.md with `values`.

    Args:
        metadata: as `metric_space.space_metadata`.
        values: title, description, repo_id, version (text), citation (BibTeX).

    Raises:
        ValueError: a missing key or value, or a value that YAML would not give back as it is.
    """
    _require(metadata, ("title", "sdk", "sdk_version", "app_file", "tags"), "Space")
    return _card("metric_card.md", metadata, values)


def model_card(*, metadata: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Return the README of a model repository: `metadata` as YAML, then model_card.md with `values`.

    The title is escaped; everything else is the caller's own Markdown, as in `dataset_card`.

    Args:
        metadata: plain values, among them library_name, pipeline_tag, tags and model-index.
        values: title, description, usage, sections (each a title and a body),
            citation.

    Raises:
        ValueError: a missing key or value, or a value that YAML would not give back as it is.
    """
    _require(metadata, ("library_name", "pipeline_tag", "tags", "model-index"), "model")
    return _card("model_card.md", metadata, values)


def _card(name: str, metadata: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """`metadata` as YAML, then the template of that name with `values`."""
    header = _dump(metadata)
    if yaml.safe_load(header) != dict(metadata):
        raise ValueError("`metadata` does not come back from YAML as it is; use plain values only.")
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["text"] = as_text
    environment.filters["code"] = as_code
    template = environment.from_string(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    try:
        body = template.render(values)
    except jinja2.UndefinedError as error:
        raise ValueError(f"`values` lacks something that {name} shows: {error.message}.") from error
    return f"---\n{header}---\n\n{body}"


def _dump(metadata: Mapping[str, Any]) -> str:
    """Return `metadata` as YAML, in its own order.

    Not `CardData.to_yaml` of huggingface_hub: it drops keys without value and writes any Python object as a
    tag that no reader takes (a numpy float as `!!python/object`).
    """
    try:
        return yaml.safe_dump(dict(metadata), sort_keys=False, allow_unicode=True, width=100)
    except yaml.representer.RepresenterError as error:
        raise ValueError(f"`metadata` may hold plain values only; got {error.args[-1]!r}.") from error


def _require(metadata: Mapping[str, Any], keys: Sequence[str], card: str) -> None:
    missing = [key for key in keys if not metadata.get(key)]
    if missing:
        raise ValueError(
            f"`metadata` lacks {', '.join(missing)}; the card of a {card} needs {', '.join(keys)}."
        )


def _check_metadata(metadata: Mapping[str, Any]) -> None:
    _require(metadata, _REQUIRED, "dataset")
    for config in metadata["configs"]:
        absent = [key for key in ("config_name", "data_files") if key not in config]
        if absent:
            raise ValueError(f"an entry of `configs` lacks {', '.join(absent)}; got {config!r}.")
    splits = {c["config_name"]: [f["split"] for f in c["data_files"]] for c in metadata["configs"]}
    infos = metadata["dataset_info"]
    infos = [infos] if isinstance(infos, Mapping) else infos
    described = {info.get("config_name"): [s["name"] for s in info.get("splits", [])] for info in infos}
    if described != splits:
        raise ValueError(
            f"`configs` and `dataset_info` do not name the same splits: {splits} against {described}."
        )
