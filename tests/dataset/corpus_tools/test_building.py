"""Building a data set of a distantly supervised corpus: what is dropped, drawn and counted."""

import json
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nyt_h_dataset import load_nyt_h
from nyt_h_dataset.__main__ import main
from nyt_h_dataset.corpus_tools.building import DroppedRelation, build_corpus

RECORD_FILES = ("train_nonna.json", "na_train.json", "na_rest.json", "dev.json", "test.json")


def records(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Corpus:
    """A corpus in NYT-H's files; `add` adds rows about an entity pair."""

    def __init__(self, root):
        self.root = root
        self.records = {name: [] for name in RECORD_FILES}
        self.count = 0

    def add(self, file, relation, pair=1, text="", label="unk", times=1):
        for _ in range(times):
            self.count += 1
            number = f"R#{self.count}"
            self.records[file].append(
                {
                    "instance_id": number,
                    "bag_id": f"{file}#{pair}",
                    "relation": relation,
                    "bag_label": label,
                    "sentence": f"Ann{pair} saw Bonn {text or number} .",
                    "head": {"guid": f"g{pair}", "word": f"Ann{pair}", "type": ""},
                    "tail": {"guid": "b", "word": "Bonn", "type": ""},
                }
            )
        return self

    def write(self):
        names = {r["relation"] for rows in self.records.values() for r in rows} - {"NA"}
        labels = {"rel2id.json": ["NA", *sorted(names)], "bag_label2id.json": ["no", "yes", "unk"]}
        path = self.root / "data"
        path.mkdir(exist_ok=True)
        for name, found in labels.items():
            (path / name).write_text(json.dumps({label: index for index, label in enumerate(found)}))
        for name, rows in self.records.items():
            (path / name).write_text("".join(json.dumps(r) + "\n" for r in rows))
        return path


@pytest.fixture
def corpus(tmp_path):
    """Twenty pairs with `good`, each with a NA row too; good has a yes in test."""
    corpus = Corpus(tmp_path)
    for pair in range(20):
        corpus.add("train_nonna.json", "good", pair, times=2).add("na_train.json", "NA", pair + 100, times=3)
    corpus.add("na_rest.json", "NA", 200, times=2).add("dev.json", "good", 300)
    return corpus.add("test.json", "good", 400, label="yes").add("test.json", "good", 400, label="no")


def build(corpus, cache, out="out", **options):
    path = corpus.write()
    return build_corpus(path, path.parent / out, **{"min_train": 3, "cache_dir": cache} | options)


def files(built):
    return {name: records(built.path / name) for name in RECORD_FILES}


def check_nothing_is_lost(built):
    dropped = built.duplicates_in_train + built.duplicates_in_test + built.duplicates_of_test
    assert sum(built.rows_in.values()) == sum(built.rows_out.values()) + dropped + built.na_repeats
    assert {name: len(rows) for name, rows in files(built).items()} == built.rows_out


def test_a_corpus_without_faults_is_only_drawn_anew(corpus, cache):
    built = build(corpus, cache)
    check_nothing_is_lost(built)
    # A tenth of 41 rows in pairs of two and, once, of one: never more.
    assert built.rows_out["dev.json"] in (3, 4)
    assert built.rows_out["train_nonna.json"] == 41 - built.rows_out["dev.json"]
    assert built.rows_out["na_train.json"] == built.rows_out["train_nonna.json"]
    assert built.rows_out["na_rest.json"] == 62 - built.rows_out["na_train.json"]
    assert built.relations == ("NA", "good")
    assert built.dropped_relations == {}
    data = load_nyt_h(built.path, cache_dir=cache)
    assert not set(data["validation"]["bag_id"][:]) & set(data["train"]["bag_id"][:])
    assert load_nyt_h(built.path, "bag", cache_dir=cache)["test"].num_rows == 1


def test_relations_become_na_for_the_first_reason_that_holds(corpus, cache):
    corpus.add("train_nonna.json", "only train", 1, times=5)
    corpus.add("test.json", "only test", 400, label="yes")
    corpus.add("train_nonna.json", "rare", 1, times=2).add("test.json", "rare", 400, label="yes")
    corpus.add("dev.json", "no yes", 1, times=3).add("test.json", "no yes", 400, label="no", times=2)
    built = build(corpus, cache, na_ratio=9.0)
    assert built.dropped_relations == {
        "no yes": DroppedRelation("no yes in test", 3, 2),
        "only test": DroppedRelation("missing in train", 0, 1),
        "only train": DroppedRelation("missing in test", 5, 0),
        "rare": DroppedRelation("fewer than 3 rows in train", 2, 1),
    }
    assert built.answers_lost == 4
    check_nothing_is_lost(built)
    written = files(built)
    by_id = {r["instance_id"]: (name, r) for name, rows in written.items() for r in rows}
    changed = [r["instance_id"] for rows in corpus.records.values() for r in rows]
    changed = [by_id[number] for number in changed if by_id[number][1]["relation"] == "NA"]
    assert len(changed) == 62 + 14
    assert {r["bag_label"] for _, r in changed} == {"unk"}
    # NA rows of test never get among the sampled ones, however many are wanted.
    assert {name for name, r in changed if r["head"]["guid"] == "g400"} == {"na_rest.json"}
    assert built.relations == ("NA", "good")
    assert Counter(r["relation"] for r in written["test.json"]) == {"good": 2}


def test_relations_without_a_yes_can_be_kept(corpus, cache):
    corpus.add("train_nonna.json", "open", times=3).add("test.json", "open", 400)
    assert "open" in build(corpus, cache, require_yes=False).relations
    assert "open" in build(corpus, cache, "other").dropped_relations


def test_repeated_rows_are_counted_where_they_are(corpus, cache):
    corpus.add("train_nonna.json", "good", 1, "again").add("dev.json", "good", 1, "again")
    # Outer blanks do not make another sentence.
    corpus.records["dev.json"][-1]["sentence"] += " "
    corpus.add("test.json", "good", 400, "twice", "yes").add("test.json", "good", 400, "twice", "no")
    corpus.add("train_nonna.json", "good", 400, "twice")
    corpus.add("na_train.json", "NA", 1, "again").add("na_train.json", "NA", 400, "twice")
    corpus.add("na_train.json", "NA", 7, "na").add("na_rest.json", "NA", 7, "na")
    # Another pair or relation with the same sentence is no repetition.
    corpus.add("train_nonna.json", "good", 2, "again").add("na_rest.json", "NA", 2, "na")
    built = build(corpus, cache)
    assert (built.duplicates_in_train, built.duplicates_in_test, built.duplicates_of_test) == (2, 1, 1)
    assert built.conflicting_answers == 1
    assert built.na_repeats == 2
    check_nothing_is_lost(built)
    assert [r["bag_label"] for r in files(built)["test.json"] if "twice" in r["sentence"]] == ["yes"]


def test_dropped_relations_of_one_sentence_make_one_na_row(corpus, cache):
    for relation in ("rare", "scarce"):
        corpus.add("train_nonna.json", relation, 50, "s").add("test.json", relation, 400, "t", "yes")
    corpus.add("train_nonna.json", "rare", 51, "u").add("train_nonna.json", "good", 51, "u")
    built = build(corpus, cache)
    assert built.na_repeats == 3
    check_nothing_is_lost(built)


@pytest.mark.parametrize("split_by", ["pair", "instance", "keep"])
def test_the_seed_draws(corpus, cache, split_by):
    def drawn(out, seed):
        built = build(corpus, cache, out, seed=seed, split_by=split_by, na_ratio=0.5)
        check_nothing_is_lost(built)
        assert built.rows_out["na_train.json"] == round(built.rows_out["train_nonna.json"] * 0.5)
        return {path.name: path.read_bytes() for path in built.path.iterdir()}

    first, second, other = drawn("a", 0), drawn("b", 0), drawn("c", 1)
    assert first == second
    assert first["na_train.json"] != other["na_train.json"]
    assert (first["dev.json"] == other["dev.json"]) == (split_by == "keep")
    assert first["test.json"] == other["test.json"]


def test_dev_by_instance_is_exact_and_shares_pairs_and_dev_by_pair_does_not(corpus, cache):
    corpus.add("na_train.json", "NA", 0, times=4).add("na_train.json", "NA", 300, times=4)

    def bags(*names):
        return {r["bag_id"] for name in names for r in written[name]}

    written = files(build(corpus, cache, "a", split_by="instance", dev_fraction=0.5))
    assert len(written["dev.json"]) == round(41 / 2)
    assert bags("dev.json") & bags("train_nonna.json")
    written = files(build(corpus, cache, "b", split_by="pair", dev_fraction=0.5))
    assert not bags("dev.json") & bags("train_nonna.json", "na_train.json")
    written = files(build(corpus, cache, "c", split_by="keep"))
    assert [r["head"]["guid"] for r in written["dev.json"]] == ["g300"]


def test_a_pair_has_one_bag_wherever_its_rows_came_from(corpus, cache):
    corpus.add("dev.json", "good", 5)
    built = build(corpus, cache, split_by="instance")
    pairs = {(r["head"]["guid"], r["bag_id"]) for rows in files(built).values() for r in rows}
    assert len({guid for guid, _ in pairs}) == len({bag for _, bag in pairs}) == len(pairs)


ROWS = st.tuples(
    st.sampled_from(RECORD_FILES),
    st.sampled_from(["good", "other", "NA"]),
    st.integers(0, 3),
    st.sampled_from(["x", "y"]),
    st.sampled_from(["yes", "no", "unk"]),
)


@settings(max_examples=15)
@given(st.lists(ROWS, max_size=15), st.sampled_from(["pair", "instance", "keep"]), st.integers(0, 9))
def test_no_row_is_lost(tmp_path_factory, rows, split_by, seed):
    root = tmp_path_factory.mktemp("lossless")
    corpus = Corpus(root)
    for pair in range(10):
        corpus.add("train_nonna.json", "good", pair).add("na_train.json", "NA", 50 + pair)
    corpus.add("dev.json", "good", 30).add("na_rest.json", "NA", 40).add("test.json", "good", 60, label="yes")
    for file, relation, pair, text, label in rows:
        corpus.add(file, relation, pair, text, label if file == "test.json" else "unk")
    built = build(corpus, root / "cache", split_by=split_by, seed=seed)
    check_nothing_is_lost(built)
    written = files(built)
    everything = [r for found in written.values() for r in found]
    assert len({r["instance_id"] for r in everything}) == len(everything)
    keys = Counter((r["head"]["guid"], r["sentence"], r["relation"]) for r in everything)
    assert max(keys.values()) == 1
    # Every (pair, sentence) that came in is still there.
    came = {(r["head"]["guid"], r["sentence"]) for found in corpus.records.values() for r in found}
    assert {(r["head"]["guid"], r["sentence"]) for r in everything} == came
    for name in ("train_nonna.json", "dev.json", "test.json"):
        assert all(r["relation"] in built.relations[1:] for r in written[name])


def test_the_sample_builds_and_counts_add_up(sample, tmp_path, cache):
    built = build_corpus(sample, tmp_path / "out", min_train=30, cache_dir=cache)
    check_nothing_is_lost(built)
    assert len(built.relations) > 3
    assert built.relations == ("NA", *sorted(built.relations[1:]))
    assert json.loads(json.dumps(built.to_json()))["rows_out"] == built.rows_out
    data = load_nyt_h(built.path, cache_dir=cache)
    assert data["train"].num_rows == built.rows_out["train_nonna.json"] + built.rows_out["na_train.json"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"seed": True}, TypeError, r"`seed` must be an int; got True"),
        ({"min_train": 1.5}, TypeError, r"`min_train` must be an int; got 1\.5"),
        ({"min_train": 0}, ValueError, r"`min_train` must be at least 1; got 0"),
        ({"split_by": "bag"}, ValueError, r"`split_by` must be one of 'pair', 'instance', 'keep'; got 'bag'"),
        ({"dev_fraction": 0}, ValueError, r"`dev_fraction` must lie between 0 and 1; got 0"),
        ({"na_ratio": 0}, ValueError, r"`na_ratio` must be greater than 0; got 0"),
        ({"na_ratio": float("nan")}, ValueError, r"`na_ratio` must be greater than 0; got nan"),
        (
            {"min_train": 99},
            ValueError,
            r"no relation is left \(1 dropped, for instance 'good': fewer than 99 rows",
        ),
        (
            {"dev_fraction": 0.001},
            ValueError,
            r"no rows are left for dev\.json; a larger `dev_fraction` puts",
        ),
    ],
)
def test_what_cannot_be_built(corpus, cache, options, error, message):
    with pytest.raises(error, match=message):
        build(corpus, cache, **options)
    assert not (corpus.root / "out").exists()


def test_a_test_set_without_answers(corpus, cache):
    for record in corpus.records["test.json"]:
        record["bag_label"] = "unk"
    with pytest.raises(
        ValueError, match=r"no row of test with a relation is judged yes or no, .* require_yes=False"
    ):
        build(corpus, cache)
    assert build(corpus, cache, require_yes=False).rows_out["test.json"] == 2


def test_too_few_na_rows(corpus, cache):
    for name in ("na_train.json", "na_rest.json"):
        corpus.records[name] = []
        corpus.add(name, "NA", 1, "same")
    with pytest.raises(
        ValueError, match=r"no rows are left for na_train\.json; the corpus needs at least two NA rows"
    ):
        build(corpus, cache)


def test_the_command_builds_and_reports(corpus, cache, capsys):
    corpus.add("train_nonna.json", "rare", 1).add("test.json", "rare", 400, label="yes")
    path = corpus.write()
    arguments = ["build", "--data_dir", str(path), "--out", str(path.parent / "out"), "--min_train", "3"]
    assert main([*arguments, "--cache_dir", str(cache), "--split_by", "instance"]) == 0
    shown = capsys.readouterr().out
    assert "now NA: rare (fewer than 3 rows in train; 1 rows in train, 1 in test)" in shown
    assert re.search(r"answers about dropped relations +1\n", shown)
    assert re.search(r"rows read +107\n", shown)
    assert load_nyt_h(path.parent / "out", cache_dir=cache)["validation"].num_rows == 4


def test_random_bags_of_train_move_to_test_to_be_judged(sample, cache, tmp_path):
    built = [
        build_corpus(sample, tmp_path / str(n), min_train=5, test_bags=n, cache_dir=cache) for n in (0, 20)
    ]
    assert built[0].moved_to_test == 0
    assert built[1].moved_to_test >= 20
    assert sum(built[1].rows_out.values()) <= sum(built[0].rows_out.values())
    before, after = (load_nyt_h(b.path, "bag", split="test", cache_dir=cache) for b in built)
    judged = after.filter(lambda bag: bag["annotated"])
    assert len(after) - len(judged) == 20
    pairs = {tuple(bag[e]["guid"] for e in ("head", "tail")) for bag in after}
    train = load_nyt_h(built[1].path, "bag", split="train", na="none", cache_dir=cache)
    moved = {tuple(bag[e]["guid"] for e in ("head", "tail")) for bag in after if not bag["annotated"]}
    assert not moved & {tuple(bag[e]["guid"] for e in ("head", "tail")) for bag in train}
    assert len(pairs) == len(after)
    assert len(before) <= len(after)
