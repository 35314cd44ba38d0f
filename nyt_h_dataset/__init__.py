"""NYT-H for relation extraction: `load_nyt_h` gives the data, `write_sample` a synthetic corpus like it.

Every row keeps both labels, the distant one and the human answer, and says where the two entities are
mentioned.
"""

from .about import is_synthetic, read_about
from .card.benchmark import BENCHMARK_TASKS
from .card.text import licence_metadata
from .corpus_tools.annotation import Agreement, Judged, cohen_kappa, merge_answers, write_sheet
from .corpus_tools.building import Built, build_corpus
from .corpus_tools.conversion import Conversion, convert_corpus
from .corpus_tools.formats import (
    check_word,
    joined_tokens,
    opennre_rows,
    semeval_blocks,
    semeval_row,
    tacred_row,
)
from .corpus_tools.judging import MergedJudgments, merge_judgments, write_pool_sheet, write_sample_sheet
from .corpus_tools.pool import Order, Pool, choose_pairs
from .folding import same_words
from .loading import load_nyt_h, mention_counts
from .mentions import Located, locate
from .nyt_h_dataset import DataError, NytH
from .record_lines import NytHError, RecordError
from .sample.sample import SampleInfo, write_sample
from .schema import BAG_LABELS, CITATION, NEGATIVE_RELATION

__all__ = [
    "BAG_LABELS",
    "BENCHMARK_TASKS",
    "CITATION",
    "NEGATIVE_RELATION",
    "Agreement",
    "Built",
    "Conversion",
    "DataError",
    "Judged",
    "Located",
    "MergedJudgments",
    "NytH",
    "NytHError",
    "Order",
    "Pool",
    "RecordError",
    "SampleInfo",
    "build_corpus",
    "check_word",
    "choose_pairs",
    "cohen_kappa",
    "convert_corpus",
    "is_synthetic",
    "joined_tokens",
    "licence_metadata",
    "load_nyt_h",
    "locate",
    "mention_counts",
    "merge_answers",
    "merge_judgments",
    "opennre_rows",
    "read_about",
    "same_words",
    "semeval_blocks",
    "semeval_row",
    "tacred_row",
    "write_pool_sheet",
    "write_sample",
    "write_sample_sheet",
    "write_sheet",
]
