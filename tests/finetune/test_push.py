"""`python -m finetune.push` and `--push_to_hub`: what arrives on the loopback Hub, and what cannot be."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries
from safetensors.numpy import load_file

from finetune.push import main, stage_run
from finetune.report.results import read_results
from nyt_h_dataset import load_nyt_h
from tests.forked_commands import forked_python
from tests.hub_clients import LOAD_MODEL, RUN_BLOCKS, run_client, run_command
from tests.hub_server import READER, TOKEN, HubServer

REPO = "tester/relations"
MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json", "metrics.json", "predictions.jsonl")


@pytest.fixture(scope="module")
def hub() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server


@pytest.fixture(scope="module")
def environment(hub: HubServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return hub.environment(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def python(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its libraries are imported once and know this Hub."""
    with forked_python(tmp_path_factory.mktemp("python"), environment) as program:
        yield str(program)


@pytest.fixture(scope="module")
def run(two_seeds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the run over two seeds, with a picture."""
    folder = tmp_path_factory.mktemp("copies") / "run"
    shutil.copytree(two_seeds, folder)
    (folder / "figures").mkdir(exist_ok=True)
    (folder / "figures" / "precision_recall.png").write_bytes(b"\x89PNG")
    (folder / "figures" / "of_mine.png").write_bytes(b"only mine")
    results = json.loads((folder / "results.json").read_text())
    (folder / "results.json").write_text(json.dumps(results | {"figures": ["precision_recall.png"]}))
    for name in (".env", "notes.md", "run.sh"):
        (folder / "seed-148" / name).write_text("only mine")
    return folder


def test_what_arrives_and_is_loaded_back(
    hub: HubServer, environment: dict[str, str], python: str, run: Path, sample: Path, tmp_path: Path
) -> None:
    words = ("--run", str(run), "--repo_id", REPO, "--seed", "148", "--dataset_repo_id", "tester/nyt-h")
    done = run_command("finetune.push", *words, environment=environment, python=python)
    assert done.returncode == 0, done.stderr
    assert f"to {hub.url}/{REPO} (private), commit " in done.stdout
    files = hub.files("models", REPO)
    assert TOKEN not in done.stdout + done.stderr
    assert len(hub.history("models", REPO)) == 2
    assert not [content for content in files.values() if b"only mine" in content]
    for name in MODEL_FILES:
        assert files[name] == (run / "seed-148" / name).read_bytes()
    assert files["figures/precision_recall.png"] == b"\x89PNG"

    results = json.loads(files["results.json"])
    ours = json.loads((run / "results.json").read_text())
    places = ("data_dir", "output_dir", "model_name_or_path")
    assert results["arguments"].pop("data_dir") == Path(ours["arguments"]["data_dir"]).name
    assert {**ours, "arguments": 0} == {**results, "arguments": 0}
    assert not [content for content in files.values() if str(run.parent).encode() in content]
    assert all(not str(results["arguments"].get(name, "")).startswith("/") for name in places)

    card = ModelCard(files["README.md"].decode())
    assert "The weights are those of seed 148." in card.content
    assert "![precision recall](figures/precision_recall.png)" in card.content
    assert card.data.datasets == ["tester/nyt-h"]
    assert card.data.base_model is None, "the encoder was a folder, whose name is none on the Hub"
    shown = {tuple(one.metric_name.split(", ")): one.metric_value for one in card.data.eval_results}
    scores = {name: value for (name, of), value in shown.items() if of == "mean of 2 seeds"}
    assert scores == {name: ours["mean"][name] for name in scores}
    own = {name: value for (name, of), value in shown.items() if of == "seed 148"}
    assert own == {name: ours["seeds"]["148"]["test"][name] for name in scores}
    assert card.data.license == "apache-2.0", "of the sample; the encoder has no name on the Hub"
    assert "synthetic" in card.data.tags
    for truth in ("dsgt", "magt", "magt_ds_scope"):
        for average in ("micro", "weighted", "dodrans", "entropy", "macro"):
            mean, sd = (ours[key][f"{truth}_{average}_f1"] for key in ("mean", "sd"))
            assert f"{truth}_{average}_f1" in scores
            # Behind MAGT stands what the open pairs leave possible: "(38.8 to 71.5)".
            shown = rf"{100 * mean:.2f} ± {100 * sd:.2f}(?: \([\d.]+ to [\d.]+\))?"
            assert re.search(rf"^\| {average} \|.* {shown} \|", card.content, re.M)
    entries = parse_eval_result_entries(yaml.safe_load(files[".eval_results/nyt-h.yaml"]))
    assert {entry.task_id: entry.value for entry in entries} == {
        f"sent2sent_{name}": scores[name]
        for name in ("magt_micro_f1", "magt_dodrans_f1", "magt_macro_all_f1")
    }

    again = run_command("finetune.push", *words, environment=environment, python=python)
    assert "Nothing to do" in again.stdout
    check_loaded_back(run, sample, card.content, environment=environment, folder=tmp_path, python=python)


def check_loaded_back(
    run: Path, sample: Path, card: str, *, environment: dict[str, str], folder: Path, python: str
) -> None:
    """Strangers get the weights, the predictions of the run, and the code in the card works for them."""
    rows = load_nyt_h(sample, split="test", cache_dir=folder / "cache")
    records = [{name: row[name] for name in ("instance_id", "sentence", "head", "tail")} for row in rows]
    blocks = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    asked = {"repo_id": REPO, "records": records, "blocks": blocks}
    found, printed = run_client(
        LOAD_MODEL + RUN_BLOCKS, asked, environment=environment, folder=folder, python=python
    )

    digest = hashlib.sha256()
    for name, weight in sorted(load_file(run / "seed-148" / "model.safetensors").items()):
        digest.update(name.encode() + weight.tobytes())
    assert found["weights"] == digest.hexdigest()
    expected = read_jsonl(run / "seed-148" / "predictions.jsonl")
    predictions = found["predictions"]
    assert [one["instance_id"] for one in predictions] == [one["instance_id"] for one in expected]
    assert len({one["pred"] for one in predictions}) > 1
    # The run may have predicted in bfloat16 (--bf16), strangers compute in float32.
    for one, other in zip(predictions, expected, strict=True):
        assert one["scores"] == pytest.approx(other["scores"], abs=5e-3)
        first, second = sorted(other["scores"].values())[:-3:-1]
        assert one["pred"] == other["pred"] or first - second < 1e-2
    labels = json.loads((run / "results.json").read_text())["data"]["label_names"]
    assert list(found["labels"].values()) == labels
    assert len(printed) == 1
    assert printed[0].endswith(" whole")
    assert printed[0].split()[0] in labels


def read_jsonl(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_push_at_the_end_of_a_run(
    hub: HubServer,
    environment: dict[str, str],
    python: str,
    sample: Path,
    tmp_path: Path,
    words_for: Callable[..., list[str]],
) -> None:
    out, repo = tmp_path / "run", "tester/at-the-end"
    words = [*words_for(sample, out, "--max_steps", "1"), "--push_to_hub", "--hub_model_id", repo]
    reader = environment | {"HF_TOKEN": READER}
    refused = run_command("finetune", *words, environment=reader, python=python)
    assert refused.returncode == 2
    assert "this account may not write there" in refused.stderr
    assert f"The run is finished; push it with `python -m finetune.push --run {out}" in refused.stderr
    assert (out / "results.json").is_file()
    assert ("models", repo) not in hub.state.repositories
    done = run_command("finetune", *words, environment=environment, python=python)
    assert done.returncode == 0, done.stderr
    assert "finished before" in done.stdout  # nothing is trained again for the sake of a push
    assert {*MODEL_FILES, "README.md", "results.json"} <= set(hub.files("models", repo))
    assert len(hub.history("models", repo)) == 2
    assert hub.api().model_info(repo).private
    assert not [path for path in out.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


def refused(run: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    assert main(["--run", str(run), "--repo_id", REPO, "--dry_run", *more]) == 2
    return capsys.readouterr().err


def test_a_dry_run_shows_files_and_card(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--run", str(run), "--repo_id", REPO, "--public", "--dry_run"]) == 0
    shown = capsys.readouterr().out
    assert "To the model tester/relations (public), in one commit" in shown
    assert "  model.safetensors\n" in shown
    assert "## How to use\n" in shown


def test_the_best_seed_on_validation_is_pushed(run: Path, tmp_path: Path) -> None:
    results = json.loads((run / "results.json").read_text())
    best = max(("9", "148"), key=lambda seed: results["seeds"][seed]["validation"]["dsgt_macro_all_f1"])
    stage_run(run, tmp_path, results=read_results(run), repo_id=REPO)
    weights = (run / f"seed-{best}" / "model.safetensors").read_bytes()
    assert (tmp_path / "model.safetensors").read_bytes() == weights
    assert not (tmp_path / ".eval_results").exists()  # no dataset on the Hub is known


def test_runs_that_cannot_be_pushed(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "`seed` must be one of 9, 148, the seeds of" in refused(run, capsys, "--seed", "7")
    assert "`repo_id` must be OWNER/NAME" in refused(run, capsys, "--dataset_repo_id", "nyt-h")
    assert f"{tmp_path} holds no finished run" in refused(tmp_path, capsys)
    (tmp_path / "results.json").write_text("{")
    assert "results.json is not JSON" in refused(tmp_path, capsys)
    (tmp_path / "results.json").write_text('{"seeds": {}}')
    assert "results.json lacks mean, sd, per_class" in refused(tmp_path, capsys)
    shutil.copyfile(run / "results.json", tmp_path / "results.json")
    assert "holds no model (config.json is not there)" in refused(tmp_path, capsys)
