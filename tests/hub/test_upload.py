"""A folder pushed to the loopback Hub: one commit, repeated safely; and what a Hub may say against it."""

import os
import signal
import socket
import subprocess
import sys

import pytest
from huggingface_hub import CommitOperationAdd, HfApi

from hub_cards import HubError, check_folder, check_repo_id, folder_files, front_matter, preview, push_folder
from hub_cards.upload import MANIFEST
from tests.hub_server import OTHER, READER, TOKEN

REPO = "tester/rows"
COMMIT = "POST /api/datasets/.*/commit/"
CARD = "---\nlicense: mit\n---\n# Rows\n"
NO_WAITS = (0.0, 0.0)


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "staged"
    for name, text in {
        "README.md": CARD,
        "bag/test.parquet": "p" * 50,
        "notes.txt": "n",
        "__pycache__/x.pyc": "c",
        ".git/config": "g",
        ".mypy_cache/a/b": "m",
        ".env": "HF_TOKEN=secret",
        "bag/.notes.txt": "private",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def push(hub, folder, *, token=TOKEN, repo_type="dataset", **options):
    options = {"repo_id": REPO, "message": "Rows", "waits": NO_WAITS, **options}
    return push_folder(folder, repo_type=repo_type, api=hub.api(token), **options)


def test_one_commit_without_caches(hub, folder):
    done = push(hub, folder)
    files = hub.files("datasets", REPO)
    assert set(files) == {".gitattributes", MANIFEST, "README.md", "bag/test.parquet", "notes.txt"}
    assert files["README.md"].decode() == CARD
    assert [commit.title for commit in hub.history("datasets", REPO)] == ["Rows", "initial commit"]
    assert (done.private, done.changed, done.changes.deleted) == (True, True, ())
    assert done.changes.added == ("README.md", "bag/test.parquet", "notes.txt")
    assert done.url == f"{hub.url}/datasets/{REPO}"
    assert done.commit == hub.history("datasets", REPO)[0].sha


def test_the_same_again_is_no_commit(hub, folder):
    first = push(hub, folder)
    again = push(hub, folder)
    assert (again.changed, again.commit) == (False, first.commit)
    assert len(hub.history("datasets", REPO)) == 2


def by_hand(hub, path, content, repo_type="dataset"):
    hub.api().upload_file(path_or_fileobj=content, path_in_repo=path, repo_id=REPO, repo_type=repo_type)


THEIRS = {
    "LICENSE.txt": b"mine",
    "bag/other.parquet": b"mine",
    "onnx/model.safetensors": b"mine",
    ".eval_results/theirs.yaml": b"- mine",
    "examples/a.py.txt": b"mine",
}


def test_what_an_earlier_push_wrote_is_replaced_and_the_rest_stays_byte_for_byte(hub, folder):
    push(hub, folder)
    for path, content in THEIRS.items():
        by_hand(hub, path, content)
    (folder / "bag/test.parquet").rename(folder / "bag/test-00000.parquet")
    done = push(hub, folder)
    assert done.changes.deleted == ("bag/test.parquet",)
    assert done.changes.added == ("bag/test-00000.parquet",)
    assert done.changes.changed == ()
    files = hub.files("datasets", REPO)
    assert files.items() >= THEIRS.items()
    ours = {".gitattributes", MANIFEST, "README.md", "bag/test-00000.parquet", "notes.txt"}
    assert set(files) == ours | set(THEIRS)
    assert len(hub.history("datasets", REPO)) == 3 + len(THEIRS)


@pytest.mark.parametrize("path", ["notes.txt", "bag/test.parquet"])  # one is a large file on the Hub
def test_what_somebody_edited_since_is_not_deleted(hub, folder, path):
    push(hub, folder)
    by_hand(hub, path, b"edited on the Hub")
    (folder / path).unlink()
    done = push(hub, folder)
    assert (done.changes.deleted, done.changes.edited) == ((), (path,))
    assert path in done.sentence()
    assert hub.files("datasets", REPO)[path] == b"edited on the Hub"


@pytest.mark.parametrize(
    "manifest", [None, b"{", b"[]", b'{"files": {"LICENSE.txt": ["x"]}, "metadata": {}}']
)
def test_without_a_record_of_ours_nothing_is_deleted(hub, folder, manifest):
    hub.api().create_repo(REPO, repo_type="dataset", private=True)
    by_hand(hub, "LICENSE.txt", b"mine")
    if manifest is not None:
        by_hand(hub, MANIFEST, manifest)
    assert push(hub, folder).changes.deleted == ()
    assert hub.files("datasets", REPO)["LICENSE.txt"] == b"mine"


def test_a_licence_that_the_owner_edited_stays_over_pushes(hub, folder):
    push(hub, folder)
    by_hand(hub, "README.md", b"---\nlicense: other\nlicense_name: ldc\n---\n# Mine\n")
    for text in (CARD, CARD + "more\n"):
        (folder / "README.md").write_text(text)
        push(hub, folder)
        card = hub.files("datasets", REPO)["README.md"].decode()
        assert front_matter(card) == {"license": "other", "license_name": "ldc"}
        assert card.endswith(text.split("---\n")[-1])
    push(hub, folder, keep_metadata=())
    assert front_matter(hub.files("datasets", REPO)["README.md"].decode()) == {"license": "mit"}


def test_our_own_licence_changes_with_the_card(hub, folder):
    push(hub, folder)
    (folder / "README.md").write_text(CARD.replace("mit", "apache-2.0"))
    push(hub, folder)
    assert b"apache-2.0" in hub.files("datasets", REPO)["README.md"]


@pytest.mark.parametrize("public", [False, True])
def test_visibility(hub, folder, public):
    assert push(hub, folder, public=public).private is not public
    assert hub.api().dataset_info(REPO).private is not public


def test_a_public_repository_is_written_to_only_when_that_is_said(hub, folder):
    hub.api().create_repo(REPO, repo_type="dataset")
    with pytest.raises(ValueError, match=r"the dataset tester/rows is public on the Hub; say --public"):
        push(hub, folder)
    assert len(hub.history("datasets", REPO)) == 1
    assert push(hub, folder, public=True).private is False


def test_a_hub_that_fails_once_is_asked_again(hub, folder):
    hub.fail("POST /api/repos/create", 500, times=1)
    hub.fail("GET /api/datasets/", 503, times=1)
    hub.fail(COMMIT, 500, times=1)
    assert push(hub, folder).changed
    assert len(hub.history("datasets", REPO)) == 2


def test_a_commit_whose_answer_was_lost_is_not_made_twice(hub, folder):
    push(hub, folder)
    (folder / "notes.txt").unlink()
    (folder / "more.txt").write_text("m")
    hub.fail(COMMIT, 500, times=1, applied=True)
    done = push(hub, folder)
    assert [commit.title for commit in hub.history("datasets", REPO)] == ["Rows", "Rows", "initial commit"]
    assert done.commit == hub.history("datasets", REPO)[0].sha
    assert "notes.txt" not in hub.files("datasets", REPO)


def test_a_hub_that_always_fails_is_named_and_the_push_can_be_repeated(hub, folder):
    hub.fail(COMMIT, 500)
    with pytest.raises(HubError, match=r"cannot upload to dataset tester/rows: .* answered 500 to 3 tries\."):
        push(hub, folder)
    assert len(hub.history("datasets", REPO)) == 1
    hub.failures.clear()
    hub.requests.clear()
    assert push(hub, folder).changed
    assert not [line for line in hub.requests if line.startswith("PUT /lfs")]  # the blob is there already


def test_somebody_else_was_faster(hub, folder, monkeypatch):
    push(hub, folder)
    (folder / "notes.txt").write_text("new")
    create_commit = HfApi.create_commit

    def overtaken(self, *arguments, **options):
        other = [CommitOperationAdd("theirs.txt", b"t")]
        create_commit(hub.api(), REPO, other, commit_message="theirs", repo_type="dataset")
        return create_commit(self, *arguments, **options)

    monkeypatch.setattr(HfApi, "create_commit", overtaken)
    with pytest.raises(HubError, match="somebody else has changed the repository meanwhile"):
        push(hub, folder)
    assert hub.files("datasets", REPO)["notes.txt"] == b"n"


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (READER, r"this account may not write there.*You don't have the rights to write to tester/rows"),
        (OTHER, r"this account may not write there"),
        (False, r"nobody is logged in, or the token is not valid: `hf auth login`, or set HF_TOKEN"),
        ("hf_wrong", r"nobody is logged in, or the token is not valid"),
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_without_the_right_to_write(hub, folder, token, message, there):
    if there:
        hub.api().create_repo(REPO, repo_type="dataset")
    with pytest.raises(HubError, match=message) as error:
        push(hub, folder, token=token, public=True)
    assert "hf_" not in str(error.value)
    assert "/staged" not in str(error.value)


def test_a_repository_of_another_type(hub, folder):
    push(hub, folder)
    with pytest.raises(ValueError, match=r"tester/rows is a dataset on the Hub, not a model\. Give another"):
        push(hub, folder, repo_type="model")
    hub.api().create_repo(REPO, private=True)  # both on purpose
    assert push(hub, folder, repo_type="model").changed


def test_a_space_of_another_kind(hub, folder):
    (folder / "README.md").write_text("---\nsdk: gradio\nsdk_version: 6.0.0\napp_file: notes.txt\n---\n")
    hub.api().create_repo(REPO, repo_type="space", space_sdk="docker", private=True)
    with pytest.raises(ValueError, match=r"the Space tester/rows was made for docker, not for gradio"):
        push(hub, folder, repo_type="space")
    push(hub, folder, repo_type="space", repo_id="tester/app")
    assert hub.api().space_info("tester/app").sdk == "gradio"


def test_no_network(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers
        api = HfApi(endpoint=f"http://127.0.0.1:{taken.getsockname()[1]}", token=TOKEN)
        with pytest.raises(
            HubError, match=r"the Hub at http://127.0.0.1:\d+ cannot be reached .*HF_ENDPOINT"
        ):
            push_folder(folder, repo_id=REPO, repo_type="dataset", message="m", api=api, waits=NO_WAITS)


def test_a_hub_that_hangs_up(hub, folder):
    hub.fail("GET /api/datasets", 0, times=1)
    assert push(hub, folder).changed
    hub.fail("GET /api/datasets", 0)
    with pytest.raises(HubError, match=r"did not answer 3 tries \(RemoteProtocolError\)"):
        push(hub, folder)


@pytest.mark.parametrize(
    "repo_id", ["rows", "a/b/c", "user/na me", "user/..", "", "user/" + "x" * 97, "üser/x"]
)
def test_ids_that_are_none(hub, folder, repo_id):
    with pytest.raises(ValueError, match=r"`repo_id` must be OWNER/NAME, e\.g\. user/nyt-h"):
        check_repo_id(repo_id)
    with pytest.raises(ValueError, match="`repo_id` must be OWNER/NAME"):
        push(hub, folder, repo_id=repo_id)
    assert hub.requests == []


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("# no metadata", r"README.md has no metadata: it must begin with YAML"),
        ("---\na: [\n---\n", r"the metadata of .*README.md are not YAML"),
        ("---\n- a\n---\n", r"the metadata of .*README.md must be a mapping"),
    ],
)
def test_a_card_that_the_hub_would_refuse(hub, folder, card, message):
    (folder / "README.md").write_text(card)
    with pytest.raises(ValueError, match=message):
        push(hub, folder)
    assert hub.requests == []


def test_folders_that_cannot_be_pushed(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none to push"):
        folder_files(tmp_path / "none")
    (tmp_path / "bare" / "__pycache__").mkdir(parents=True)
    with pytest.raises(ValueError, match="holds no file to push"):
        folder_files(tmp_path / "bare")
    with pytest.raises(
        ValueError, match="`repo_type` must be one of 'dataset', 'model', 'space'; got 'data'"
    ):
        check_folder(folder, repo_type="data")
    with pytest.raises(ValueError, match="lack sdk, sdk_version, app_file, which a Space needs"):
        check_folder(folder, repo_type="space")
    (folder / "README.md").write_text("---\nsdk: gradio\nsdk_version: 6.0.0\napp_file: app.py\n---\n")
    with pytest.raises(ValueError, match=r"names app_file 'app\.py', which is not in the folder"):
        check_folder(folder, repo_type="space")
    (folder / "load.py").write_text("1")
    with pytest.raises(ValueError, match=r"holds code \(load\.py, 1 in all\)"):
        check_folder(folder, repo_type="dataset")
    os.unlink(folder / "README.md")
    with pytest.raises(FileNotFoundError, match="every repository needs its card"):
        check_folder(folder, repo_type="dataset")


def test_the_preview_without_a_hub(folder):
    shown = preview(folder, repo_id=REPO, repo_type="dataset", api=HfApi(endpoint="http://127.0.0.1:9"))
    assert "3 files, 79 bytes" in shown
    assert [line.split()[-1] for line in shown.splitlines()[1:4]] == list(folder_files(folder))
    assert "127.0.0.1:9" in shown
    assert shown.endswith(CARD)


def previewed(hub, folder, **options):
    return preview(folder, repo_id=REPO, repo_type="dataset", api=hub.api(), **options)


def test_the_preview_lists_additions_changes_and_deletions_and_writes_nothing(hub, folder):
    assert {line[0] for line in previewed(hub, folder).splitlines()[1:4]} == {"+"}
    assert ("datasets", REPO) not in hub.state.repositories
    push(hub, folder)
    by_hand(hub, "LICENSE.txt", b"mine")
    (folder / "notes.txt").write_text("other")
    (folder / "bag/test.parquet").rename(folder / "bag/test-00000.parquet")
    before = len(hub.history("datasets", REPO))
    lines = previewed(hub, folder).splitlines()
    marks = {line.split()[-1]: line[0] for line in lines[1:4]}
    assert marks == {"README.md": " ", "bag/test-00000.parquet": "+", "notes.txt": "~"}
    assert [line for line in lines if line.startswith("- ")] == ["- bag/test.parquet (of an earlier push)"]
    assert "LICENSE.txt" not in "".join(lines)
    assert len(hub.history("datasets", REPO)) == before


def test_a_private_repository_stays_private_and_that_is_said(hub, folder):
    push(hub, folder)
    (folder / "notes.txt").write_text("more")
    assert "--public" in previewed(hub, folder, public=True)
    done = push(hub, folder, public=True)
    assert done.private
    assert "stays so in spite of --public" in done.sentence()


def test_a_link_is_refused_and_named(folder, tmp_path):
    (tmp_path / "secret").write_text("token")
    (folder / "more.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(ValueError, match=r"more\.txt"):
        folder_files(folder)


def test_a_conflict_has_a_remedy(hub, folder):
    hub.fail(COMMIT, 409)
    with pytest.raises(HubError, match="run the same command again"):
        push(hub, folder)


SLEEPER = """
import sys, tempfile, time
from hub_cards import run_command
def call():
    with tempfile.TemporaryDirectory(dir=sys.argv[1]):
        print("staged", flush=True)
        time.sleep(60)
sys.exit(run_command("push", call))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_push_that_is_ended_leaves_nothing_staged(number, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "staged\n"
    process.send_signal(number)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert list(tmp_path.iterdir()) == []
    assert complaint.count("\n") == (number == signal.SIGINT)  # Ctrl-C: one line, no traceback
