"""The command `compare`: files, folders, several systems, and every error."""

import argparse
import json

import pytest

from weighted_f1_metric.commands.compare import add_compare_parser
from weighted_f1_metric.commands.run_files import read_systems

SIGNATURE = {"magt": "truth:magt|data:abc|v:0.1.0", "dsgt": "truth:dsgt|data:abc|v:0.1.0"}


def metrics(micro, macro, dsgt, **other):
    return {
        "magt_micro_f1": micro,
        "magt_macro_f1": macro,
        "dsgt_micro_f1": dsgt,
        "magt_precision_at_50": None,
        "num_units": 100,
        "echo": {"magt_micro_f1": 0.9},
        "undefined": [],
        "signature": SIGNATURE,
    } | other


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture
def systems(tmp_path):
    """Two systems that averages and truths rank differently, one run a file."""
    for i, z in enumerate((-0.01, 0.0, 0.01)):
        write(tmp_path / "ptr" / f"{i}.json", metrics(0.6 + z, 0.30 + z, 0.7 + z))
        write(tmp_path / "recent" / f"{i}.json", metrics(0.5 + z, 0.34 + z, 0.8 + z))
    return tmp_path


def compare(*words):
    parser = argparse.ArgumentParser()
    add_compare_parser(parser.add_subparsers())
    arguments = parser.parse_args(["compare", *map(str, words)])
    return arguments.run(arguments)


def files(folder):
    return sorted(folder.glob("*.json"))


def test_two_systems_get_the_tables_and_the_words(systems, capsys):
    assert compare(*files(systems / "ptr"), *files(systems / "recent"), "--json", systems / "out.json") == 0
    shown = capsys.readouterr().out
    assert "| MAGT F1 (%) | micro | macro |" in shown
    assert "| DSGT F1 (%) | micro |" in shown
    assert "| ptr (n = 3) | 60.0 ± 1.0 | 30.0 ± 1.0 |" in shown
    assert (
        "Under MAGT the averages disagree on who is better: ptr by micro (+10.0, significant); "
        "recent by macro (+4.0, significant)." in shown
    )
    assert "By micro F1 the truths disagree on who is better: ptr by MAGT" in shown
    assert "MAGT: truth:magt|data:abc|v:0.1.0" in shown
    written = json.loads((systems / "out.json").read_text())
    assert written["systems"] == ["ptr", "recent"]
    measures = written["comparisons"][0]["measures"]
    assert measures["magt_micro_f1"]["difference"] == pytest.approx(0.1)
    assert measures["magt_precision_at_50"]["reason"] == "run 0 of a has no value"
    assert written["kendall_tau"][0] == {"measures": ["magt_micro_f1", "magt_macro_f1"], "tau": -1.0}
    assert not list(systems.glob(".*"))


def test_folders_stand_for_their_files_and_names_can_be_given(systems, capsys):
    compare(systems / "ptr", systems / "recent", "--names", "PTR", "RECENT")
    assert "| RECENT (n = 3) | 50.0 ± 1.0 |" in capsys.readouterr().out


def test_what_was_asked_and_what_so_few_runs_can_show(systems, tmp_path, capsys):
    compare(systems / "ptr", systems / "recent")
    shown = capsys.readouterr().out
    assert "same test data, new seeds" in shown
    assert "below about 2.3 sds" in shown  # t(4) = 2.776 at 2.5 %, times sqrt(2 / 3)
    for name in ("x", "y", "z"):
        write(tmp_path / name / "run.0.json", metrics(0.4, 0.4, 0.4))
    compare(tmp_path / "x", tmp_path / "y")
    assert "One run has no spread" in capsys.readouterr().out
    compare(tmp_path / "x", tmp_path / "y", tmp_path / "z")
    assert "weighted-f1 rank" in capsys.readouterr().out


def test_systems_that_agree_are_said_to(tmp_path, capsys):
    for name, micro in (("x", 0.4), ("y", 0.6)):
        write(tmp_path / name / "run.0.json", metrics(micro, micro, micro))
    compare(tmp_path / "x", tmp_path / "y")
    shown = capsys.readouterr().out
    assert "Every F1 average of every truth that finds a difference prefers y." in shown
    assert "a single run of a and b has no standard deviation" in shown
    write(tmp_path / "y" / "run.0.json", metrics(0.4, 0.4, 0.4))
    compare(tmp_path / "x", tmp_path / "y")
    assert "No F1 average of any truth finds a difference." in capsys.readouterr().out


@pytest.mark.parametrize("how", ["folder", "metrics", "results", "glob"])
def test_output_folders_of_fine_tuning(tmp_path, how, capsys):
    """seed-<n>/metrics.json holds a run; results.json all seeds, and run.json beside it the arguments."""
    paths = []
    for name, micro in (("x", 0.4), ("y", 0.6)):
        folder = tmp_path / name
        runs = {seed: metrics(micro + seed / 1000, 0.3, 0.5) for seed in (9, 148)}
        for seed, run in runs.items():
            write(folder / f"seed-{seed}" / "metrics.json", run)
            write(folder / f"seed-{seed}" / "config.json", {"hidden": 3})
        for run in runs.values():
            del run["signature"]
        bare = {seed: {"test": run} for seed, run in runs.items()}
        write(folder / "results.json", {"n": 2, "mean": {}, "seeds": bare, "signature": SIGNATURE})
        write(folder / "run.json", {"arguments": {"seed": 3}})
        paths += {
            "folder": [folder],
            "metrics": [folder / f"seed-{seed}" / "metrics.json" for seed in runs],
            "results": [folder / "results.json"],
            "glob": sorted(folder.glob("*.json")),
        }[how]
    systems = read_systems(paths)
    assert {name: len(runs) for name, runs in systems.items()} == {"x": 2, "y": 2}
    assert [run["magt_micro_f1"] for run in systems["x"]] == pytest.approx([0.409, 0.548])
    assert systems["x"][0]["signature"] == SIGNATURE
    compare(*paths)
    assert "| x (n = 2) |" in capsys.readouterr().out


def test_folders_of_one_name_are_told_apart_by_their_path(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name / "out" / "0.json", metrics(0.4, 0.4, 0.4))
    names = list(read_systems([tmp_path / "a" / "out", tmp_path / "b" / "out"]))
    assert names == [str(tmp_path / "a" / "out"), str(tmp_path / "b" / "out")]


def test_several_systems_are_ranked(systems, capsys):
    write(systems / "third" / "0.json", metrics(0.55, 0.32, 0.75))
    compare(systems / "ptr", systems / "recent", systems / "third")
    shown = capsys.readouterr().out
    assert "| rank by | ptr | recent | third |" in shown
    assert "| magt_micro_f1 | 1 (60.0) | 3 (50.0) | 2 (55.0) |" in shown
    assert "magt_micro_f1 and magt_macro_f1 (tau = -1.00): ptr before recent" in shown


def test_several_systems_that_agree(tmp_path, capsys):
    for name, f1 in (("x", 0.4), ("y", 0.6), ("z", 0.5)):
        write(tmp_path / name / "0.json", metrics(f1, f1, f1))
    compare(tmp_path / "x", tmp_path / "y", tmp_path / "z")
    assert "All averages and truths rank the systems alike." in capsys.readouterr().out


def test_one_system_is_too_few(systems):
    with pytest.raises(ValueError, match=r"needs the runs of two systems; got one, 'ptr' \(3 runs\)"):
        compare(*files(systems / "ptr"))


def test_systems_that_are_not_comparable_are_refused(systems):
    other = {prefix: line.replace("abc", "xyz") for prefix, line in SIGNATURE.items()}
    write(systems / "recent" / "2.json", metrics(0.5, 0.3, 0.8, signature=other))
    with pytest.raises(ValueError, match=r"of ptr and run 2 of recent.* differ in 'data': 'abc' and 'xyz'"):
        compare(systems / "ptr", systems / "recent")


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["one"], "`--names` must give 2 different names, for ptr, recent; got one"),
        (["one", "one"], "`--names` must give 2 different names"),
        (["one", "two", "three"], "`--names` must give 2 different names"),
    ],
)
def test_names_must_fit(systems, names, match):
    with pytest.raises(ValueError, match=match):
        compare(systems / "ptr", systems / "recent", "--names", *names)


def test_files_that_hold_no_results_are_named(systems):
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        compare(systems / "ptr", systems / "nowhere")
    (systems / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"empty': it has neither seed-<n>/metrics.json nor \*.json"):
        compare(systems / "ptr", systems / "empty")
    (systems / "recent" / "2.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"recent/2.json, line 1: not valid JSON"):
        compare(systems / "ptr", systems / "recent")
    (systems / "recent" / "2.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(ValueError, match=r"2.json must hold a JSON object .* it holds a list"):
        compare(systems / "ptr", systems / "recent")


@pytest.mark.parametrize("key", ["magt_dodrans_f1", "micro_f1", "auc", "precision_at_50", "macro_recall"])
def test_percentages_are_no_fractions(systems, key):
    write(systems / "x" / "0.json", {"loss": 62.5, "micro_f1": 0.5, key: 1.0})
    assert read_systems([systems / "x"])["x"][0][key] == 1.0
    write(systems / "x" / "0.json", {"micro_f1": 0.5, key: 62.5})
    with pytest.raises(ValueError, match=rf"x/0.json.*{key}.*62\.5"):
        read_systems([systems / "x"])


@pytest.mark.parametrize("again", ["link", "ptr/../ptr", "ptr/0.json"])
def test_a_folder_given_twice_counts_once(systems, again, monkeypatch):
    (systems / "link").symlink_to(systems / "ptr")
    monkeypatch.chdir(systems)
    assert {name: len(runs) for name, runs in read_systems(["ptr", again]).items()} == {"ptr": 3}
