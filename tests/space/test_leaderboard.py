"""The leaderboard without Gradio: scoring of submissions, the board, and results that all arrive."""

import html
import json
import re
import statistics
import tempfile
import threading
import time

import numpy as np
import pytest

from leaderboard import GoldData, LocalResults, board_html, rank_figure, read_gold_data, scored_record
from leaderboard.board import places, records_of
from leaderboard.cached_results import CachedResults
from leaderboard.hub_results import HubResults
from leaderboard.names import checked_name, skeleton
from leaderboard.submission import check_new, latest, parse_record, record_text, scored_submission
from weighted_f1_metric import score_track, space, track_statistics, write_predictions


@pytest.fixture(scope="module")
def gold():
    return GoldData(**space.example_track(), is_example=True)


@pytest.fixture(scope="module")
def submitted(tmp_path_factory, gold):
    """A function system -> the path of its predictions on bag2bag."""
    folder = tmp_path_factory.mktemp("submissions")
    for system in space.EXAMPLE_SYSTEMS:
        write_predictions(folder / f"{system}.jsonl", space.example_predictions(system))
    return lambda system: str(folder / f"{system}.jsonl")


def record_of(system, submitted, gold, **changed):
    arguments = {"name": system, "link": "", "track": "bag2bag", "predictions_file": submitted(system)}
    return scored_record(**{**arguments, **changed}, gold=gold)


def test_a_record_has_the_scores_of_python_and_their_signatures(submitted, gold):
    record = record_of("rare", submitted, gold, link="https://example.org/a?b=<c".replace("<", ""))
    scores = score_track(
        track="bag2bag", predictions=space.example_predictions("rare"), **space.example_track()
    )
    assert record["scores"]["magt_dodrans_f1"] == scores["magt_dodrans_f1"]
    assert record["signatures"] == scores["signatures"]
    assert "echo" not in record["scores"]


def made_up(name, **values):
    scores = {f"magt_{key}": value for key, value in values.items()}
    return {"name": name, "link": "", "track": "bag2bag", "scores": scores, "signatures": {}}


def shown_rows(page):
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", page)
    return [
        [
            html.unescape(re.sub(r"<[^>]+>", "", cell))
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
        ]
        for row in rows
    ]


def test_places_that_differ_by_more_than_two_are_marked():
    """By hand: a is 1st by micro and 4th by macro (marked); b 2nd and 1st; c 3rd and 2nd; d 4th and 3rd."""
    records = [
        made_up("a", micro_f1=0.9, macro_f1=0.1),
        made_up("b", micro_f1=0.8, macro_f1=0.9),
        made_up("c", micro_f1=0.7, macro_f1=0.8),
        made_up("d", micro_f1=0.6, macro_f1=0.7),
    ]
    rows = shown_rows(board_html(records, truth="magt", sort_by="micro_f1", echo={}))
    macro = rows[0].index("macro")
    assert [row[:2] for row in rows[1:5]] == [["a", "1"], ["b", "2"], ["c", "3"], ["d", "4"]]
    assert [row[macro] for row in rows[1:5]] == ["10.00 ▼3", "90.00", "80.00", "70.00"]
    by_macro = shown_rows(board_html(records, truth="magt", sort_by="macro_f1", echo={}))
    assert [row[0] for row in by_macro[1:5]] == ["b", "c", "d", "a"]
    assert by_macro[4][by_macro[0].index("micro")] == "90.00 ▲3"
    assert rows[5][0] == "copy of the distant labels"


def test_two_places_apart_are_not_marked():
    records = [
        made_up("a", micro_f1=0.9, macro_f1=0.1),
        made_up("b", micro_f1=0.8, macro_f1=0.9),
        made_up("c", micro_f1=0.7, macro_f1=0.8),
    ]
    rows = shown_rows(board_html(records, truth="magt", sort_by="micro_f1", echo={}))
    assert [row[rows[0].index("macro")] for row in rows[1:4]] == ["10.00", "90.00", "80.00"]


def test_a_board_has_one_track(submitted, gold):
    record = record_of("rare", submitted, gold)
    told = record["signatures"]["magt"]
    others = [record, record | {"track": "sent2sent"}]
    assert records_of(others, track="bag2bag", truth="magt", signature=told) == [record]


def test_equal_values_share_a_place_and_none_has_none():
    assert places([0.3, 0.3, None, 0.1]) == [1, 1, None, 3]


def test_names_and_links_are_text_in_the_board():
    record = made_up("<script>alert(1)</script>", micro_f1=0.5) | {"link": 'https://a.b/"onclick=x'}
    page = board_html([record], truth="magt", sort_by="micro_f1", echo={})
    assert "<script" not in page
    assert '"onclick' not in page


def test_the_picture_draws_every_name_as_text():
    values = {f"{key}_f1": 0.5 for key in ("micro", "weighted", "dodrans", "entropy", "macro", "macro_all")}
    records = [made_up("$\\frac{1$", **values), made_up("b", **values)]
    figure = rank_figure(records, truth="magt", sort_by="micro_f1")
    assert space.drawn(space.Page("", lambda: {"ranks": figure})).count("<img") == 1
    assert rank_figure(records[:1], truth="magt", sort_by="micro_f1") is None


def test_results_on_another_test_set_are_left_out(submitted, gold):
    record = record_of("rare", submitted, gold)
    line = record["signatures"]["magt"]
    chosen = {"track": "bag2bag", "truth": "magt"}
    assert records_of([record], signature=line, **chosen) == [record]
    other = re.sub(r"data:[0-9a-f]+", "data:0123456789ab", line)
    assert records_of([record], signature=other, **chosen) == []


def test_the_test_set_is_read_from_a_folder(tmp_path):
    data = space.example_track()
    write_predictions(tmp_path / "test.json", data["references"])
    ids = {name: number for number, name in enumerate(["NA", *data["relations"]])}
    (tmp_path / "rel2id.json").write_text(json.dumps(ids))
    read = read_gold_data({"LEADERBOARD_TEST_DIR": str(tmp_path)})
    assert (read.references, read.relations, read.is_example) == (
        data["references"],
        data["relations"],
        False,
    )
    assert read_gold_data({}).is_example


def append_at_once(stores, records):
    """Appends each record to the store at its place, all at the same moment."""
    barrier, failures = threading.Barrier(len(records)), []

    def append(store, record):
        barrier.wait()
        try:
            store.append(record)
        except (ValueError, OSError) as error:
            failures.append(error)

    threads = [threading.Thread(target=append, args=pair) for pair in zip(stores, records, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def test_submissions_to_a_folder_at_the_same_moment_all_arrive(tmp_path, submitted, gold):
    records = [record_of(system, submitted, gold) for system in space.EXAMPLE_SYSTEMS]
    assert append_at_once([LocalResults(tmp_path) for _ in records], records) == []
    assert sorted(record["name"] for record in LocalResults(tmp_path).records()) == sorted(
        space.EXAMPLE_SYSTEMS
    )


def test_of_one_name_at_the_same_moment_one_arrives(tmp_path, submitted, gold, monkeypatch):
    def slow_check(record, records):  # both have looked before either has written, unless they wait
        check_new(record, records)
        time.sleep(0.2)

    monkeypatch.setattr("leaderboard.local_results.check_new", slow_check)
    records = [record_of(system, submitted, gold, name="same") for system in ("rare", "plain")]
    failures = append_at_once([LocalResults(tmp_path) for _ in records], records)
    assert [str(error) for error in failures] == [
        "The name 'same' stands on the bag2bag board already; give this model a name of its own."
    ]
    assert len(LocalResults(tmp_path).records()) == 1


@pytest.fixture
def hub_stores(hub, tmp_path, monkeypatch):
    """A function -> results of a server of its own, all in one repository."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    return lambda: HubResults("tester/results", api=hub.api())


def test_submissions_to_the_hub_at_the_same_moment_all_arrive_in_a_commit_each(
    hub, hub_stores, submitted, gold
):
    records = [record_of(system, submitted, gold) for system in space.EXAMPLE_SYSTEMS]
    stores = [hub_stores() for _ in records]
    before = len(hub.history("datasets", "tester/results"))
    assert append_at_once(stores, records) == []
    assert sorted(r["name"] for r in hub_stores().records()) == sorted(space.EXAMPLE_SYSTEMS)
    assert len(hub.history("datasets", "tester/results")) == before + len(records)


def test_of_one_name_on_the_hub_at_the_same_moment_one_arrives(hub_stores, submitted, gold):
    records = [record_of(system, submitted, gold, name="same") for system in ("rare", "plain", "level")]
    failures = append_at_once([hub_stores() for _ in records], records)
    assert len(failures) == 2
    assert all("The name 'same' stands on the bag2bag board already" in str(error) for error in failures)
    assert len(hub_stores().records()) == 1


def test_a_stale_parent_is_read_again(hub, hub_stores, submitted, gold):
    store = hub_stores()
    hub.fail(r"POST .*/commit/", 412, times=2)
    store.append(record_of("rare", submitted, gold))
    assert [record["name"] for record in store.records()] == ["rare"]


def test_a_lost_answer_does_not_submit_twice(hub, hub_stores, submitted, gold):
    store = hub_stores()
    hub.fail(r"POST .*/commit/", 503, times=1, applied=True)
    store.append(record_of("rare", submitted, gold))
    assert [record["name"] for record in store.records()] == ["rare"]


def test_a_hub_that_refuses_is_an_error(hub, hub_stores, submitted, gold):
    from huggingface_hub.errors import HfHubHTTPError

    store = hub_stores()
    hub.fail(r"POST .*/commit/", 403)
    with pytest.raises(HfHubHTTPError):
        store.append(record_of("rare", submitted, gold))


def test_a_result_that_is_none_is_left_out(tmp_path, submitted, gold):
    store = LocalResults(tmp_path)
    store.append(record_of("rare", submitted, gold))
    (tmp_path / "results" / "broken.json").write_text('{"name": 1}')
    (tmp_path / "results" / "nan.json").write_text("no JSON")
    assert [record["name"] for record in store.records()] == ["rare"]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("scores", {"magt_micro_f1": float("nan")}, "NaN"),
        ("scores", {"magt_micro_f1": float("inf")}, "Infinity"),
        ("scores", {"magt_micro_f1": True}, "no numbers in"),
        ("scores", {"magt_micro_f1": 10**400}, "no numbers in"),
        ("scores", {"magt_micro_f1": "<b>"}, "no numbers in"),
        ("signatures", {"magt": 1}, "a signature that is no text"),
        ("id", "../theirs", "no name of a file"),
        ("track", "x" * 99, "the unknown track"),
        ("version", "v" * 1_000_001, "at most 1,000,000"),
    ],
)
def test_a_result_that_somebody_else_wrote_is_checked(key, value, message, tmp_path, submitted, gold):
    record = record_of("rare", submitted, gold)
    text = json.dumps({**record, key: value})
    with pytest.raises(ValueError, match=message):
        parse_record(text)
    store = LocalResults(tmp_path)
    store.append(record)
    (tmp_path / "results" / "theirs.json").write_text(text)
    (tmp_path / "results" / "deep.json").write_text("[" * 100_000)
    assert [other["name"] for other in store.records()] == ["rare"]


def test_what_is_kept_of_a_result_is_what_the_board_shows(submitted, gold):
    record = record_of("rare", submitted, gold)
    kept = parse_record(record_text({**record, "more": 1}))
    assert kept.keys() == record.keys()
    assert kept["scores"].items() <= record["scores"].items()
    assert {"dsgt_micro_f1", "magt_auc", "magt_ds_scope_macro_all_f1"} <= kept["scores"].keys()
    assert "magt_prevalence" in record["scores"].keys() - kept["scores"].keys()


def test_a_result_that_was_edited_is_read_again(tmp_path, submitted, gold):
    store = LocalResults(tmp_path)
    store.append(record_of("rare", submitted, gold))
    assert [record["name"] for record in store.records()] == ["rare"]
    (path,) = (tmp_path / "results").glob("*.json")
    path.write_text(path.read_text().replace('"rare"', '"edited"'))
    assert [record["name"] for record in store.records()] == ["edited"]
    path.unlink()
    assert store.records() == []


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The files of three runs of one system, and their predictions."""
    folder = tmp_path_factory.mktemp("runs")
    predictions = [space.example_predictions("rare", run=run) for run in range(3)]
    for run, rows in enumerate(predictions):
        write_predictions(folder / f"{run}.jsonl", rows)
    return [str(folder / f"{run}.jsonl") for run in range(3)], predictions


def test_several_runs_are_one_record_with_mean_sd_and_counts_per_bag(runs, gold):
    files, predictions = runs
    given = {"name": "a", "link": "", "track": "bag2bag", "gold": gold}
    record, counts = scored_submission(predictions_file=files, **given)
    scores = [
        score_track(track="bag2bag", predictions=rows, **space.example_track())["magt_macro_f1"]
        for rows in predictions
    ]
    assert record["num_runs"] == 3
    assert record["scores"]["magt_macro_f1"] == pytest.approx(statistics.fmean(scores))
    assert record["sd"]["magt_macro_f1"] == pytest.approx(statistics.stdev(scores))
    for run, rows in zip(counts["runs"], predictions, strict=True):
        expected = track_statistics(track="bag2bag", predictions=rows, **space.example_track())
        cells = np.array(run["magt"]["cells"])
        counted = expected.class_counts("magt")
        for column, values in ((2, counted.true_positives), (3, counted.predicted), (4, counted.support)):
            assert np.bincount(cells[:, 1], cells[:, column], len(values)).tolist() == values.tolist()
        assert sum(run["magt"]["total"]) == counted.total
    assert len(counts["bags"]) == len(counts["runs"][0]["magt"]["total"])
    page = board_html([record], truth="magt", sort_by="macro_f1", echo={})
    shown = f"{100 * statistics.fmean(scores):.2f} ± {100 * statistics.stdev(scores):.2f}"
    assert shown in page
    assert "3 runs" in page
    assert parse_record(record_text(record))["num_runs"] == 3


def test_the_same_file_twice_is_no_second_run(runs, gold):
    with pytest.raises(space.UploadError, match="same"):
        scored_record(name="a", link="", track="bag2bag", predictions_file=runs[0][:1] * 2, gold=gold)


def test_more_files_than_seeds_are_refused_before_they_are_read(gold):
    with pytest.raises(space.UploadError, match="11 files, at most 10"):
        scored_record(name="a", link="", track="bag2bag", predictions_file=["nowhere"] * 11, gold=gold)


def test_a_file_is_on_a_board_once(submitted, gold):
    record = record_of("rare", submitted, gold)
    again = {**record, "id": "again", "name": "another"}
    with pytest.raises(space.UploadError, match="'rare'"):
        check_new(again, [record])
    check_new({**again, "track": "bag2sent"}, [record])


def test_a_record_of_an_earlier_version_is_read(submitted, gold):
    record = record_of("rare", submitted, gold)
    old = {key: record[key] for key in record if key not in ("sd", "num_runs", "files", "login", "revision")}
    assert parse_record(json.dumps(old))["num_runs"] == 1


@pytest.mark.parametrize(
    "name", ["bert", "BERT", "ＢＥＲＴ", "b\u0435rt", "be\u0301rt", "ｂert", "ᏴᎬᎡᎢ", "\u0412ert", "\u0432ert"]
)
def test_names_that_look_alike_are_one_name(name):
    assert skeleton(name) == skeleton("bert")


@pytest.mark.parametrize(
    "name",
    [
        "echo",
        "ЕСHO",
        "MAGT",
        "Copy of the  distant labels",
        "example: careful",
        "a\u0302\u0303\u0304",
        "\u200b",
        "n" * 61,
        "",
    ],
)
def test_names_that_are_refused(name):
    with pytest.raises(space.UploadError):
        checked_name(name)


@pytest.mark.parametrize("name", ["naïve bert", "модель", "模型", "Việt", "bert_v1.2 (large)"])
def test_names_that_are_taken(name):
    assert checked_name(name) == name


def test_a_name_is_updated_by_its_owner_only(tmp_path, submitted, gold):
    store = LocalResults(tmp_path)
    store.append(record_of("rare", submitted, gold, name="mine", login="ann"))
    for login in ("", "bob"):
        with pytest.raises(space.UploadError, match="'mine'"):
            store.append(record_of("plain", submitted, gold, name="MINE", login=login))
    store.append(record_of("plain", submitted, gold, name="mine", login="ann"))
    records = store.records()
    assert sorted(record["revision"] for record in records) == [1, 2]
    assert [record["revision"] for record in latest(records)] == [2]
    assert "version 2" in board_html(latest(records), truth="magt", sort_by="micro_f1", echo={})


def test_the_quota_is_a_login_and_a_day(tmp_path, submitted, gold):
    store = LocalResults(tmp_path, quota=2)
    yesterday = record_of("strong", submitted, gold, login="ann")
    store.append(yesterday | {"submitted": "2026-01-01T00:00:00+00:00", "id": "old"})
    for system, login in (("rare", "ann"), ("plain", "ann"), ("level", "bob")):
        store.append(record_of(system, submitted, gold, login=login))
    with pytest.raises(space.UploadError, match="2 a day"):
        store.append(record_of("careful", submitted, gold, login="ann"))
    assert len(store.records()) == 4


def test_a_hidden_test_set_is_shown_with_one_decimal_and_ties_at_it():
    records = [made_up("a", micro_f1=0.50001), made_up("b", micro_f1=0.50003)]
    rows = shown_rows(board_html(records, truth="magt", sort_by="micro_f1", echo={}, digits=1))
    assert [row[1:3] for row in rows[1:3]] == [["1", "50.0"], ["1", "50.0"]]


def test_the_best_of_each_column_is_bold():
    records = [made_up("a", micro_f1=0.5, macro_f1=0.1), made_up("b", micro_f1=0.4, macro_f1=0.2)]
    page = board_html(records, truth="magt", sort_by="micro_f1", echo={})
    assert re.findall(r"<strong>(.*?)</strong>", page) == ["50.00", "20.00"]


class TestReadings:
    """The board while the Hub does not answer."""

    class Store:
        def __init__(self):
            self.fault, self.asked = None, 0

        def records(self):
            self.asked += 1
            if isinstance(self.fault, threading.Event):
                self.fault.wait(30)
            elif self.fault:
                raise self.fault
            return [self.asked]

        def append(self, record, counts=None):
            raise OSError

    def test_a_reading_is_kept_and_renewed(self):
        now = [0.0]
        store = self.Store()
        cached = CachedResults(store, max_age=15, clock=lambda: now[0])
        assert [cached.latest().records for _ in range(3)] == [[1]] * 3
        now[0] = 16
        assert cached.latest().records == [2]

    @pytest.mark.parametrize("fault", [OSError("429"), RuntimeError("odd")])
    def test_a_fault_leaves_the_last_reading_and_says_so(self, fault):
        now, store = [0.0], self.Store()
        cached = CachedResults(store, max_age=15, clock=lambda: now[0])
        assert cached.latest().is_current
        store.fault, now[0] = fault, 16
        assert [(cached.latest().records, cached.latest().is_current) for _ in range(3)] == [([1], False)] * 3
        assert store.asked == 2  # not at every visit
        store.fault, now[0] = None, 32
        assert (cached.latest().records, cached.latest().is_current) == ([3], True)

    def test_a_hub_that_hangs_does_not_hold_visitors(self):
        now, store = [0.0], self.Store()
        cached = CachedResults(store, max_age=15, patience=0.05, clock=lambda: now[0])
        cached.latest()
        store.fault, now[0] = threading.Event(), 16
        assert (cached.latest().records, cached.latest().is_current) == ([1], False)
        assert store.asked == 2
        store.fault.set()

    def test_nothing_was_ever_read(self):
        store = self.Store()
        store.fault = OSError("503")
        with pytest.raises(space.UploadError):
            CachedResults(store).latest()


@pytest.mark.parametrize("status", [429, 503])
def test_a_board_without_the_hub(hub, hub_stores, submitted, gold, status):
    store = hub_stores()
    store.append(record_of("rare", submitted, gold))
    cached = CachedResults(store, max_age=0.0)
    assert cached.latest().is_current
    hub.fail("GET /api/datasets/tester/results", status)
    reading = cached.latest()
    assert ([record["name"] for record in reading.records], reading.is_current) == (["rare"], False)


def test_nothing_is_kept_on_disk_of_a_repository(hub_stores, submitted, gold, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    store, reader = hub_stores(), hub_stores()
    for number, system in enumerate(space.EXAMPLE_SYSTEMS):
        store.append(record_of(system, submitted, gold))
        assert len(reader.records()) == number + 1
        left = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix == ".json"]
        assert left == []


def test_counts_arrive_with_their_record(hub, hub_stores, runs, gold):
    record, counts = scored_submission(
        name="a", link="", track="bag2bag", predictions_file=runs[0], gold=gold
    )
    before = len(hub.history("datasets", "tester/results")) if hub_stores() else 0
    hub_stores().append(record, counts)
    files = hub.files("datasets", "tester/results")
    assert json.loads(files[f"counts/{record['id']}.json"]) == counts
    assert len(hub.history("datasets", "tester/results")) == before + 1
