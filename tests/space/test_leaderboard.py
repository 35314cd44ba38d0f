"""The leaderboard without Gradio: scoring of submissions, the board, and results that all arrive."""

import html
import json
import re
import threading
import time

import pytest

from leaderboard import GoldData, LocalResults, board_html, rank_figure, read_gold_data, scored_record
from leaderboard.board import places, records_of
from leaderboard.hub_results import HubResults
from leaderboard.submission import check_new, parse_record, record_text
from weighted_f1_metric import score_track, space, write_predictions


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
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    return [
        [html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)]
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
        ("scores", {"magt_micro_f1": float("nan")}, "no numbers in"),
        ("scores", {"magt_micro_f1": float("inf")}, "no numbers in"),
        ("scores", {"magt_micro_f1": True}, "no numbers in"),
        ("scores", {"magt_micro_f1": 10**400}, "no numbers in"),
        ("scores", {"magt_micro_f1": "<b>"}, "no numbers in"),
        ("signatures", {"magt": 1}, "a signature that is no text"),
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
