"""`python -m finetune.predict`: the relations of the records in a file, by a saved classifier."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from weighted_f1_metric import atomic_file

from .data.json_records import RowError, json_lines, parsed_line
from .training.processes import limit_caches, print_error

DESCRIPTION = """Predict the relation between the two entities of each record.

A record is a line of JSON: {"sentence": "Ann was born in Bonn.", "head": [0, 3], "tail": [16, 20]}. An entity
is [start, end] in characters (half-open), or its words ("Bonn", which are searched for), or an object as in
the files of NYT-H ({"word": ..., "type": ...}). With a bag model a line may be a bag: "instances" holds its
sentences. A prediction is a line with the record's id (instance_id or bag_id; the line number where it has
none), pred, scores and status; `weighted-f1 score` reads it."""
EXPECTED = "a JSON object a line, with 'sentence', 'head' and 'tail'"


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield file and line, and the object, of every line that is not blank.

    Raises:
        FileNotFoundError: The file is not there.
        ValueError: A line is not UTF-8 or not one JSON object, or there is none.
    """
    if not path.is_file():
        raise FileNotFoundError(f"the input {path} is not there; it must hold {EXPECTED}.")
    for number, line in json_lines(path, shape=EXPECTED):
        where = f"{path}, line {number}"
        try:
            record = parsed_line(line)
        except RowError as error:
            raise ValueError(f"{where}: {error}; the input must hold {EXPECTED}.") from error
        record.setdefault("bag_id" if "instances" in record else "instance_id", str(number))
        yield where, record


def abstaining(records: Iterable[dict[str, Any]], below: float, negative: str) -> Iterator[dict[str, Any]]:
    """Yield each record, its relations with a score under `below` taken back.

    >>> record = {"pred": "born", "scores": {"NA": 0.4, "born": 0.6}}
    >>> [one["pred"] for below in (0.5, 0.7) for one in abstaining([record], below, "NA")]
    ['born', 'NA']

    Args:
        records: Predictions with `pred` (a relation or a list) and `scores`.
        below: The score that a relation must reach.
        negative: The negative relation, which needs no score.
    """
    for record in records:
        pred, scores = record["pred"], record["scores"]
        if isinstance(pred, str):
            kept: Any = pred if pred == negative or scores[pred] >= below else negative
        else:
            kept = [relation for relation in pred if scores[relation] >= below]
        yield {**record, "pred": kept}


def write_lines(records: Iterable[dict[str, Any]], output: Path | None) -> Counter[str]:
    """Write each record as it comes and return how many sentences had which status.

    Args:
        records: The predictions.
        output: The file, which is there when it is complete; None is the standard output.
    """
    statuses: Counter[str] = Counter()
    with nullcontext(sys.stdout) if output is None else atomic_file(output) as file:
        for record in records:
            status = record["status"]
            statuses.update(status if isinstance(status, dict) else {status: 1})
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
        file.flush()
    return statuses


def load_pipeline(name_or_path: str):
    """Return the pipeline on a saved classifier, with this package's code.

    Raises:
        ValueError: It does not load, or is no relation classifier.
    """
    from .encoders.encoder_sources import load_tokenizer
    from .model.modeling import RelationClassifier, RelationClassifierConfig
    from .model.relation_pipeline import RelationPipeline

    here = "" if Path(name_or_path).is_dir() else " (no folder of that name is here)"
    try:
        config = RelationClassifierConfig.get_config_dict(name_or_path)[0]
        if config.get("model_type") != RelationClassifierConfig.model_type:
            raise ValueError(f"its model_type is {config.get('model_type')!r}, not a relation classifier's.")
        model = RelationClassifier.from_pretrained(name_or_path)
    except (OSError, ValueError, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"`--model` {name_or_path!r}{here}: the classifier did not load: {reason} It must be a folder "
            "that `python -m finetune` wrote (OUT/seed-N), or a name on the Hugging Face Hub."
        ) from error
    return RelationPipeline(model=model, tokenizer=load_tokenizer(name_or_path))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 2 when what the user gave cannot be used."""
    parser = argparse.ArgumentParser(
        prog="python -m finetune.predict",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--model", required=True, help="The saved classifier: OUT/seed-N, or a name on the Hub."
    )
    parser.add_argument("--input", required=True, help="The file with the records, a JSON object a line.")
    parser.add_argument("--output", help="The file for the predictions. Default: the standard output.")
    parser.add_argument(
        "--abstain_below",
        type=float,
        metavar="T",
        help="Answer with the negative relation where the score of the relation is below T. Choose T on "
        "validation data: `weighted-f1 score` prints the threshold for 90%% precision.",
    )
    parser.add_argument(
        "--batch_size", type=int, help="Records at once. Default: as many as have 4,096 tokens."
    )
    parser.add_argument(
        "--bf16",
        choices=("auto", "true", "false"),
        default="auto",
        help="Compute in bfloat16. Default: where the processor has it built in, as in training.",
    )
    options = parser.parse_args(argv)
    output = None if options.output is None else Path(options.output)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    limit_caches()
    try:
        if not Path(options.input).is_file():
            raise FileNotFoundError(f"the input {options.input} is not there; it must hold {EXPECTED}.")
        if output is not None and not output.parent.is_dir():
            raise FileNotFoundError(f"`--output` {options.output}: the folder {output.parent} is not there.")
        from tqdm import tqdm
        from transformers.utils import logging

        logging.disable_progress_bar()  # that of loading
        from .trainer_arguments import computes_bf16

        pipeline = load_pipeline(options.model)
        device = pipeline.device.type
        native = options.bf16 == "auto" and computes_bf16(use_cpu=device == "cpu")
        named = tqdm(read_lines(Path(options.input)), disable=None, unit=" records")
        with pipeline.bfloat16() if native or options.bf16 == "true" else nullcontext():
            records = pipeline.stream(named, batch_size=options.batch_size)
            if options.abstain_below is not None:
                negative = pipeline.model.config.negative_relation
                records = abstaining(records, options.abstain_below, negative)
            statuses = write_lines(records, output)
    except (ValueError, FileNotFoundError) as error:
        print_error(str(error))
        return 2
    counted = ", ".join(f"{count:,} {status.replace('_', ' ')}" for status, count in statuses.items())
    print(f"{statuses.total():,} sentences: {counted}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
