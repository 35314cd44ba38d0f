"""A folder pushed to the loopback Hub: one commit, repeated safely; and what a Hub may say against it."""

import os
import socket

import pytest
from huggingface_hub import CommitOperationAdd, HfApi

from hub_cards import HubError, check_folder, check_repo_id, folder_files, listing, push_folder
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
    assert set(files) == {".gitattributes", "README.md", "bag/test.parquet", "notes.txt"}
    assert files["README.md"].decode() == CARD
    assert [commit.title for commit in hub.history("datasets", REPO)] == ["Rows", "initial commit"]
    assert (done.private, done.changed, done.deleted) == (True, True, ())
    assert done.url == f"{hub.url}/datasets/{REPO}"
    assert done.commit == hub.history("datasets", REPO)[0].sha


def test_the_same_again_is_no_commit(hub, folder):
    first = push(hub, folder)
    again = push(hub, folder)
    assert (again.changed, again.commit) == (False, first.commit)
    assert len(hub.history("datasets", REPO)) == 2


def test_what_an_earlier_push_wrote_is_replaced_and_the_rest_stays(hub, folder):
    push(hub, folder)
    hub.api().upload_file(
        path_or_fileobj=b"by hand", path_in_repo="LICENSE", repo_id=REPO, repo_type="dataset"
    )
    (folder / "bag/test.parquet").rename(folder / "bag/test-00000.parquet")
    done = push(hub, folder, replaced=("bag/*",))
    assert done.deleted == ("bag/test.parquet",)
    files = set(hub.files("datasets", REPO))
    assert files == {".gitattributes", "LICENSE", "README.md", "bag/test-00000.parquet", "notes.txt"}
    assert len(hub.history("datasets", REPO)) == 4


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
    done = push(hub, folder, replaced=("*.txt",))
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
        ("---\n- a\n---\n", r"the metadata of .*README.md must be a mapping; got list"),
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


def test_the_listing_for_people(folder):
    assert listing(folder, repo_id=REPO, repo_type="dataset", public=False) == (
        "To the dataset tester/rows (private), in one commit: 3 files, 79 bytes\n"
        "28  README.md\n"
        "50  bag/test.parquet\n"
        " 1  notes.txt\n"
        "\n" + CARD
    )
