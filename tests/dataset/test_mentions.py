"""Where entities are mentioned: examples for each rule, and the real positions."""

import importlib.util

import pytest

from nyt_h_dataset.instances import locate_rows
from nyt_h_dataset.mentions import (
    AMBIGUOUS,
    MISSING,
    OVERLAPPING,
    STATUSES,
    UNIQUE,
    folded_mentions,
    locate,
    written_mentions,
)
from tests.folders import ROOT


def words_at(sentence, spans):
    return [sentence[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("sentence", "word", "starts"),
    [
        ("at 312 and 12 .", "12", [11]),
        ("12,000 or 12.5 or 12:30 or 12", "12", [27]),
        ("Yorkshire , York", "York", [12]),
        ("(Bonn) \"Bonn\" 'Bonn' [Bonn] ``Bonn''", "Bonn", [1, 8, 15, 22, 30]),
        ("-LRB-Bonn-RRB-", "Bonn", [5]),
        ("Bonn, Bonn. Bonn; Bonn", "Bonn", [0, 6, 12, 18]),
        ("India's tea , Indians", "India", [0]),
        ("India’s tea", "India", [0]),
        ("O'Brien met Brien", "Brien", [12]),
        ("D'Or and d'or", "D", []),
        ("the Giants' field", "Giants", [4]),
        ("Bonn-based , Cologne/Bonn , Köln–Bonn", "Bonn", [0, 21, 33]),
        ("U.S.A. and U.S. and U.S.-led", "U.S.", [11, 20]),
        ("AT&T", "AT", []),
        ("a@Bonn", "Bonn", []),
        ("in Bonn.The end", "Bonn", [3]),
        ("Amazon.com", "Amazon", []),
        ("Amazon.com Inc.", "Amazon.com", [0]),
        ("Yahoo! and Yahoo!", "Yahoo!", [0, 11]),
        ("New_York", "York", []),
        ("U.S", "U", []),
        ("Cafe\u0301 Cafe", "Cafe", [6]),
        ("A B A B A", "A B A", [0, 4]),
        ("Bonn", " Bonn ", [0]),
        ("Bonn", "", []),
        ("Bonn", "  ", []),
        ("in 5,Paris", "Paris", [5]),
    ],
)
def test_written_mentions_stand_at_token_boundaries(sentence, word, starts):
    assert [start for start, _ in written_mentions(sentence, word)] == starts


@pytest.mark.parametrize(
    ("sentence", "word", "found"),
    [
        ("in SAO PAULO", "São Paulo", ["SAO PAULO"]),
        ("in Sa\u0303o Paulo .", "São Paulo", ["Sa\u0303o Paulo"]),
        ("São_Paulo", "Sao Paulo", ["São_Paulo"]),
        ("New York", "New_York", ["New York"]),
        ("Acme -LRB- Ohio -RRB- said", "Acme (Ohio)", ["Acme -LRB- Ohio -RRB-"]),
        ("Acme (Ohio) said", "Acme -LRB- Ohio -RRB-", ["Acme (Ohio)"]),
        ("Acme -lsb-x-rsb-", "acme [X]", ["Acme -lsb-x-rsb-"]),
        ("die Straße", "STRASSE", ["Straße"]),
        ("Straße", "STRAS", []),
        ("Maß", "mas", []),
        ("ßa", "SA", []),
        ("Lodz and Łódź", "lódz", ["Lodz", "Łódź"]),
        ("O’Brien", "O'BRIEN", ["O’Brien"]),
        ("al–Assad", "al-assad", ["al–Assad"]),
        ("New   York", "new york", ["New   York"]),
        ("New\u00a0York", "New York", ["New\u00a0York"]),
        ("the 12TH", "12th", ["12TH"]),
        ("BONNER", "Bonn", []),
        ("\u0301Bonn", "bonn", []),
        ("Bonn", "\u0301", []),
        ("HA HA HA", "ha ha", ["HA HA", "HA HA"]),
    ],
)
def test_folded_mentions_map_back_to_the_sentence(sentence, word, found):
    assert words_at(sentence, folded_mentions(sentence, word)) == found


@pytest.mark.parametrize(
    ("sentence", "head", "tail", "spans", "status"),
    [
        ("Ann left Bonn", "Ann", "Bonn", ("Ann", "Bonn"), UNIQUE),
        ("New York City and York", "York", "New York City", ((18, 22), (0, 13)), AMBIGUOUS),
        ("New York City and york", "York", "New York City", ((18, 22), (0, 13)), AMBIGUOUS),
        ("in New York City", "York", "New York City", ((7, 11), (3, 16)), OVERLAPPING),
        ("New York City", "New York", "York City", ((0, 8), (4, 13)), OVERLAPPING),
        ("New York City , New York City", "York", "New York City", ((20, 24), (0, 13)), AMBIGUOUS),
        ("New York City , New York City , York", "York", "New York City", ((32, 36), (0, 13)), AMBIGUOUS),
        ("a b c x a b y b c", "a b", "b c", ((8, 11), (2, 5)), AMBIGUOUS),
        ("Yahoo!Bonn", "Yahoo!", "Bonn", ((0, 6), (6, 10)), UNIQUE),
        ("Bonn", "Bonn", "Bonn!", ((0, 4), (-1, -1)), MISSING),
        ("312 Ann", "12", "Ann", ((-1, -1), (4, 7)), MISSING),
        ("Ann 312", "Ann", "12", ((0, 3), (-1, -1)), MISSING),
        ("123 Ann", "12", "Ann", ((-1, -1), (4, 7)), MISSING),
        ("Ann 123", "Ann", "12", ((0, 3), (-1, -1)), MISSING),
        ("Bonn and Bonn", "Bonn", "Bonn", ((0, 4), (9, 13)), AMBIGUOUS),
        ("only Bonn", "Bonn", "Bonn", ((5, 9), (5, 9)), OVERLAPPING),
        ("Ann left", "Ann", "Bonn", ((0, 3), (-1, -1)), MISSING),
        ("Ann left", "Bo", "Bonn", ((-1, -1), (-1, -1)), MISSING),
        ("", "Ann", "Bonn", ((-1, -1), (-1, -1)), MISSING),
        ("Ann left bonn for BONN", "Ann", "Bonn", ((0, 3), (9, 13)), AMBIGUOUS),
        ("Ann left bonn for Bonn", "Ann", "Bonn", ((0, 3), (18, 22)), UNIQUE),
    ],
)
def test_the_pair_and_its_status(sentence, head, tail, spans, status):
    found = locate(sentence, head, tail)
    if isinstance(spans[0], str):
        assert (sentence[slice(*found.head)], sentence[slice(*found.tail)]) == spans
    else:
        assert (found.head, found.tail) == spans
    assert STATUSES[found.status] == STATUSES[status]
    (row,) = zip(*locate_rows([sentence], [head], [tail]), strict=True)
    assert row == (*found.head, *found.tail, found.status)


def test_the_policies_differ():
    sentence = "Bonn , Ann , x , Ann Bonn"
    assert locate(sentence, "Ann", "Bonn")[:2] == ((7, 10), (0, 4))
    assert locate(sentence, "Ann", "Bonn", policy="closest")[:2] == ((17, 20), (21, 25))
    with pytest.raises(ValueError, match="`mention_policy` must be one of 'first', 'closest'; got 'nearest'"):
        locate(sentence, "Ann", "Bonn", policy="nearest")
    with pytest.raises(ValueError, match="`mention_policy` must be one of"):
        locate_rows([sentence], ["Ann"], ["Bonn"], policy="nearest")


def overlap(one, other):
    return one[0] < other[1] and other[0] < one[1]


def test_the_real_positions_are_met_wherever_there_is_one_mention_of_each(real_data):
    """USER_REPORTS 18: entities are given by character span, so that nobody has to search or replace."""
    path = ROOT / "benchmarks" / "mentions.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_mentions", path)
    benchmarks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmarks)
    cases = benchmarks.read_cases(real_data, real_data / "gold_positions.jsonl", in_tokens=True)
    results = benchmarks.measure(cases)
    assert results["one mention of each"] == (2333, 2333)
    assert results["status unique"] == (2333, 2333)
    assert results["policy first"] == (2567, 2595)
    # The others are the rows whose published positions overlap though a separate pair exists.
    for case in cases:
        found = locate(*case[:3])
        if (found.head, found.tail) != case.true:
            assert overlap(*case.true)
            assert not overlap(found.head, found.tail)


@pytest.mark.parametrize(
    ("sentence", "head", "tail", "spans"),
    [
        ("北京是中国的首都。", "北京", "中国", ((0, 2), (3, 5))),
        ("ソニーは東京にある", "ソニー", "東京", ((0, 3), (4, 6))),
        ("Sonyは東京", "Sony", "東京", ((0, 4), (5, 7))),
        ("กรุงเทพเป็นเมืองหลวงของประเทศไทย", "กรุงเทพ", "ประเทศไทย", ((0, 7), (23, 32))),
        ("서울은 대한민국의 수도이다", "서울", "대한민국", ((0, 2), (4, 8))),
        ("삼성전자와 LG는", "LG", "삼성전자", ((6, 8), (0, 4))),
        # A Korean name does not begin inside a word, nor end before what is no particle.
        ("이은하는 서울에 은하수", "은하", "서울", ((-1, -1), (5, 7))),
    ],
)
def test_text_without_blanks_and_with_glued_particles(sentence, head, tail, spans):
    """USER_REPORTS 57."""
    found = locate(sentence, head, tail)
    assert (found.head, found.tail) == spans
    assert found.status == (3 if (-1, -1) in spans else 0)


@pytest.mark.parametrize(
    ("sentence", "head", "tail", "spans"),
    [
        ("J. K. Rowling left Bonn .", "J.K. Rowling", "Bonn", ((0, 13), (19, 23))),
        ("J.K. Rowling left Bonn .", "J. K. Rowling", "Bonn", ((0, 12), (18, 22))),
        ("Ann joined Hewlett Packard .", "Ann", "Hewlett-Packard", ((0, 3), (11, 26))),
        ("Ann joined HEWLETT - PACKARD .", "Ann", "Hewlett Packard", ((0, 3), (11, 28))),
    ],
)
def test_hyphens_and_blanks_are_overlooked_last_and_that_is_a_guess(sentence, head, tail, spans):
    assert locate(sentence, head, tail) == (*spans, 1)


def test_what_can_be_found_with_its_hyphen_is_not_guessed():
    assert locate("Hewlett Packard and Hewlett-Packard by Ann", "Hewlett-Packard", "Ann").head == (20, 35)
    assert locate("in New Jersey , J.K. left", "J. Ken", "Jersey").status == 3
