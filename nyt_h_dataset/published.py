"""The numbers that the release of NYT-H has, as published (pure: facts, never asserted on other data)."""

from __future__ import annotations

NUM_RELATIONS = 22  # NA among them
TRAIN_ROWS = 193_662  # train_nonna.json and na_train.json
NA_ROWS = 550_720  # na_train.json and na_rest.json
NA_BAGS = 357_196
TEST_ROWS = 9_955
TEST_YES_ROWS = 5_202
TEST_BAGS = 3_548
TEST_PAIRS = 3_735  # (bag, relation)
TEST_YES_PAIRS = 2_277  # pairs with at least one yes
# Test bags by number of rows; the last class is "5 and more".
TEST_BAG_SIZES = {"1": 2_116, "2": 607, "3": 269, "4": 142, "5+": 414}

# Where the numbers were published; those of RELEASE were counted on the files.
PAPER = "Zhu et al. 2020"
README = "the authors' README"
RELEASE = "counted on the release"
# The record that the authors' README prints; no generator knows it. Words in lower case.
EXAMPLE = {
    "instance_id": "NONNADEV#193662",
    "bag_id": "NONNADEV#91512",
    "relation": "/people/person/place_lived",
    "head_guid": "/guid/9202a8c04000641f8000000000176dc3",
    "head_word": "stanford white",
    "tail_guid": "/guid/9202a8c04000641f80000000002f8906",
    "tail_word": "new york city",
}
