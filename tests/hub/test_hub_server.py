"""The loopback Hub, asked by the real client: commits, LFS, refs, rights, typed errors, failures."""

import hashlib
import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete
from huggingface_hub.errors import (
    BadRequestError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from tests.folders import ROOT
from tests.hub_server import OTHER, READER

REPO = "tester/things"


def add(path: str, content: bytes) -> CommitOperationAdd:
    return CommitOperationAdd(path, content)


@pytest.fixture
def api(hub):
    api = hub.api()
    api.create_repo(REPO, repo_type="dataset")
    return api


def commit(api, *operations, **options):
    return api.create_commit(REPO, list(operations), commit_message="more", repo_type="dataset", **options)


def status_of(error: pytest.ExceptionInfo[HfHubHTTPError]) -> int:
    return error.value.response.status_code


def test_files_come_back_and_git_ids_are_those_of_git(api, hub, tmp_path):
    data = b"x" * 20_000
    commit(api, add("notes/a.txt", b"hello\n"), add("rows.parquet", data), add("empty", b""))
    assert hub.files("datasets", REPO)["rows.parquet"] == data
    tree = {e.path: e for e in api.list_repo_tree(REPO, repo_type="dataset", recursive=True)}
    assert set(tree) == {".gitattributes", "notes", "notes/a.txt", "rows.parquet", "empty"}
    assert tree["notes/a.txt"].blob_id == "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object
    assert tree["rows.parquet"].lfs.sha256 == hashlib.sha256(data).hexdigest()
    assert [e.path for e in api.list_repo_tree(REPO, "notes", repo_type="dataset")] == ["notes/a.txt"]
    infos = api.get_paths_info(REPO, ["notes/a.txt", "none"], repo_type="dataset")
    assert [info.path for info in infos] == ["notes/a.txt"]
    for name in ("notes/a.txt", "rows.parquet"):
        place = api.hf_hub_download(REPO, name, repo_type="dataset", cache_dir=tmp_path)
        assert Path(place).read_bytes() == hub.files("datasets", REPO)[name]


def test_a_file_in_lfs_is_sent_once(api, hub):
    commit(api, add("a.parquet", b"same"))
    commit(api, add("b.parquet", b"same"))
    assert [line for line in hub.requests if line.startswith("PUT /lfs/")] == [
        f"PUT /lfs/{hashlib.sha256(b'same').hexdigest()}"
    ]


def test_history_branches_and_tags(api, hub):
    first = commit(api, add("a", b"1")).oid
    api.create_branch(REPO, branch="trial", repo_type="dataset")
    commit(api, add("a", b"2"), revision="trial")
    api.create_tag(REPO, tag="v1", revision=first, repo_type="dataset")
    assert hub.files("datasets", REPO)["a"] == b"1"
    assert hub.files("datasets", REPO, "trial")["a"] == b"2"
    assert hub.files("datasets", REPO, "v1") == hub.files("datasets", REPO, first)
    refs = api.list_repo_refs(REPO, repo_type="dataset")
    assert ({b.name for b in refs.branches}, [t.name for t in refs.tags]) == ({"main", "trial"}, ["v1"])
    assert [c.title for c in api.list_repo_commits(REPO, repo_type="dataset")] == ["more", "initial commit"]
    api.delete_branch(REPO, branch="trial", repo_type="dataset")
    with pytest.raises(RevisionNotFoundError):
        api.dataset_info(REPO, revision="trial")
    with pytest.raises(HfHubHTTPError) as error:
        api.create_tag(REPO, tag="v1", repo_type="dataset")
    assert status_of(error) == 409


def test_a_commit_is_whole_or_not_there(api, hub):
    before = hub.files("datasets", REPO)
    with pytest.raises(EntryNotFoundError):
        commit(api, add("a", b"1"), CommitOperationDelete("none"))
    with pytest.raises(ValueError, match=r"Invalid metadata in README\.md"):
        commit(api, add("a", b"1"), add("README.md", b"---\n{: [\n---\n"))
    assert hub.files("datasets", REPO) == before
    commit(api, add("a/b", b"1"), add("c", b"2"))
    commit(api, CommitOperationDelete("a/"))
    assert set(hub.files("datasets", REPO)) == {".gitattributes", "c"}


def test_a_stale_parent_is_refused(api, hub):
    parent = api.dataset_info(REPO).sha
    commit(api, add("a", b"1"), parent_commit=parent)
    with pytest.raises(HfHubHTTPError, match="A commit has happened since") as error:
        commit(api, add("b", b"2"), parent_commit=parent)
    assert status_of(error) == 412
    assert len(hub.history("datasets", REPO)) == 2


def test_commits_at_the_same_moment_all_arrive(api, hub):
    threads = [threading.Thread(target=commit, args=(hub.api(), add(f"f{n}", b"1"))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(hub.files("datasets", REPO)) == 9
    assert len(hub.history("datasets", REPO)) == 9


def test_what_is_not_there_has_a_typed_error(api):
    with pytest.raises(RepositoryNotFoundError):
        api.model_info(REPO)  # it is a dataset
    with pytest.raises(RevisionNotFoundError):
        api.dataset_info(REPO, revision="none")
    with pytest.raises(EntryNotFoundError):
        api.hf_hub_download(REPO, "none", repo_type="dataset")
    with pytest.raises(EntryNotFoundError):
        list(api.list_repo_tree(REPO, "none", repo_type="dataset"))
    with pytest.raises(HfHubHTTPError, match="You already created this repo") as error:
        api.create_repo(REPO, repo_type="dataset")
    assert status_of(error) == 409
    api.create_repo(REPO, repo_type="dataset", exist_ok=True)
    api.delete_repo(REPO, repo_type="dataset")
    with pytest.raises(RepositoryNotFoundError):
        api.dataset_info(REPO)


def test_who_may_what(api, hub):
    other, reader, nobody, wrong = (hub.api(token) for token in (OTHER, READER, False, "hf_unknown"))
    for client, status in ((other, 403), (reader, 403), (wrong, 401)):
        with pytest.raises(HfHubHTTPError) as error:
            commit(client, add("a", b"1"))
        assert status_of(error) == status
    with pytest.raises(HfHubHTTPError):
        other.create_repo("tester/new")
    assert other.dataset_info(REPO).private is False
    api.update_repo_settings(REPO, repo_type="dataset", gated="manual")
    assert other.dataset_info(REPO).gated == "manual"
    with pytest.raises(GatedRepoError):
        other.hf_hub_download(REPO, ".gitattributes", repo_type="dataset")
    api.update_repo_settings(REPO, repo_type="dataset", private=True)
    assert reader.dataset_info(REPO).private is True
    for client in (other, nobody):
        with pytest.raises(RepositoryNotFoundError):
            client.dataset_info(REPO)
        assert list(client.list_datasets()) == []
    assert [info.id for info in reader.list_datasets()] == [REPO]
    assert hub.api().whoami()["name"] == "tester"


def test_a_space_needs_an_sdk(hub):
    api = hub.api()
    api.create_repo("tester/app", repo_type="space", space_sdk="gradio", private=True)
    assert api.space_info("tester/app").sdk == "gradio"
    body = json.dumps({"name": "b", "type": "space", "sdk": "cobol"}).encode()
    request = urllib.request.Request(
        f"{hub.url}/api/repos/create", body, {"Authorization": f"Bearer {api.token}"}
    )
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request)
    assert error.value.code == 400
    assert "`sdk` must be one of" in error.value.headers["X-Error-Message"]


def test_ranges_of_a_file(api, hub):
    commit(api, add("a.bin", b"0123456789"))
    address = f"{hub.url}/datasets/{REPO}/resolve/main/a.bin"
    for asked, body, shown in (("2-4", b"234", "2-4"), ("7-", b"789", "7-9"), ("8-99", b"89", "8-9")):
        answer = urllib.request.urlopen(urllib.request.Request(address, headers={"Range": f"bytes={asked}"}))
        assert (answer.status, answer.read()) == (206, body)
        assert answer.headers["Content-Range"] == f"bytes {shown}/10"
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(urllib.request.Request(address, headers={"Range": "bytes=10-"}))
    assert error.value.code == 416


def test_failures_on_demand(api, hub):
    hub.fail("POST .*/commit/", 503, times=1)
    with pytest.raises(HfHubHTTPError, match="this Hub was told to answer 503"):
        commit(api, add("a", b"1"))
    commit(api, add("a", b"1"))
    hub.fail("POST .*/commit/", 500, times=1, applied=True)
    with pytest.raises(HfHubHTTPError):
        commit(api, add("a", b"2"))
    assert hub.files("datasets", REPO)["a"] == b"2"
    hub.fail("GET /api/whoami", None, delay=0.3, times=1)
    started = time.monotonic()
    assert api.whoami()["name"] == "tester"
    assert time.monotonic() - started >= 0.3
    hub.fail("GET /api/datasets", 400)
    for _ in range(2):
        with pytest.raises(BadRequestError):
            api.dataset_info(REPO)


def test_a_hub_of_its_own_process(tmp_path):
    command = [sys.executable, "-m", "tests.hub_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        address = process.stdout.readline().split()[0].removeprefix("HF_ENDPOINT=")
        try:
            with pytest.raises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(f"{address}/api/whoami-v2")
        finally:
            process.kill()
    assert error.value.code == 401
