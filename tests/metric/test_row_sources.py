"""Every form in which rows come gives the same numbers: splits of `load_nyt_h`, records, columns, tables.

Both configs, cached, streamed, exported and loaded again; with class ids and with names; on `nyt_h_shaped`
and on the embedded sample.
"""

import json

import pytest

pytest.importorskip("datasets", reason="the extra `dataset` is not installed")
import datasets
import numpy as np
import pandas as pd
import pyarrow as pa

from nyt_h_dataset import load_nyt_h, sample
from weighted_f1_metric import (
    bootstrap_interval,
    label_statistics,
    make_compute_metrics,
    randomization_test,
    score_track,
    track_statistics,
    unit_id_key,
)
from weighted_f1_metric.row_sources import read_columns

KEYS = ("instance_id", "bag_id", "relation", "bag_label", "sentence")


def records_of(folder):
    lines = (folder / "test.json").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
