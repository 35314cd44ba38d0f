"""A folder -> a repository on the Hub, in one commit that deletes only what an earlier push wrote."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import huggingface_hub
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, constants
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile

from .cards import front_matter, with_metadata
from .staging import CARD, MAX_LISTED, REPO_TYPES, check_folder, check_repo_id

Result = TypeVar("Result")
# Seconds before each further try when the Hub does not answer or answers with a fault of its own.
WAITS = (1.0, 3.0, 9.0)
# Which files of the repository a push wrote, with their hashes: a later push may delete these and no others.
MANIFEST = ".pushed_files.json"
# What the owner may have edited in the card on the Hub, and then stays.
OWNERS_METADATA = ("license", "license_name", "license_link")
MAX_MANIFEST_BYTES = 10_000_000


class HubCardsError(Exception):
    """The base of the errors of this package."""


class HubError(HubCardsError, OSError):
    """The Hub cannot be reached, does not answer properly, or does not let this account do what was asked."""


@dataclass(frozen=True)
class Changes:
    """What a push does to a repository; each attribute lists paths, sorted.

    Attributes:
        added: Not in the repository yet.
        changed: In the repository with another content.
        deleted: Written by an earlier push, and not in the folder any more.
        edited: As `deleted`, but somebody has changed them since: they stay.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pushed:
    """What `push_folder` did.

    Attributes:
        url: Address of the repository.
        commit: Id of the commit that now holds the folder.
        files: Paths in the folder.
        changes: What became of which file.
        private: Whether only the owner sees the repository.
        changed: False when the repository held exactly these files already.
        notes: What the caller should know, a sentence each.
    """

    url: str
    commit: str
    files: tuple[str, ...]
    changes: Changes
    private: bool
    changed: bool
    notes: tuple[str, ...] = ()

    def sentence(self) -> str:
        """Return what was done, for people."""
        state = "private" if self.private else "public"
        if not self.changed:
            done = f"Nothing to do: {self.url} ({state}) holds these {len(self.files)} files already."
        else:
            counts = [
                f"{len(paths)} {what}"
                for what, paths in (
                    ("added", self.changes.added),
                    ("changed", self.changes.changed),
                    ("files of an earlier push deleted", self.changes.deleted),
                )
                if paths
            ]
            done = (
                f"Pushed {len(self.files)} files to {self.url} ({state}), commit {self.commit[:8]}: "
                f"{', '.join(counts)}."
            )
        return " ".join([done, *self.notes])


def push_folder(
    folder: str | os.PathLike[str],
    *,
    repo_id: str,
    repo_type: str,
    message: str,
    public: bool = False,
    keep_metadata: Sequence[str] = OWNERS_METADATA,
    api: HfApi | None = None,
    waits: Sequence[float] = WAITS,
) -> Pushed:
    """Make the repository hold the files of `folder`, by one commit, and return what was done.

    The repository is created when it is not there. Nothing is half done: the commit is made on the state
    that was read, so one by somebody else in between is refused; after a failure the same call goes on, and
    when the files are there already nothing is committed. A file that an earlier push wrote and that the
    folder has no more is deleted, unless somebody has edited it since; every other file stays. What a push
    wrote stands in the repository, in `MANIFEST`.

    Args:
        folder: The staged folder, with its README.md; see `check_folder`.
        repo_id: owner/name.
        repo_type: "dataset", "model" or "space".
        message: The title of the commit.
        public: Whether strangers may see it. A repository that exists keeps its visibility; one that is
            public is written to only when this says so.
        keep_metadata: Keys of the card's metadata that stay as they are in the repository when its owner
            changed them there.
        api: The client; default: one with the address and token of the environment.
        waits: Seconds before each further try after a fault of the Hub (status 5xx, 429, no answer).

    Raises:
        FileNotFoundError, ValueError: As `check_repo_id` and `check_folder`; a repository of another type, or
            a public one without `public`.
        HubError: No network, no permission, a commit in between, or the Hub kept failing.
    """
    push = _Push(folder, repo_id=repo_id, repo_type=repo_type, api=api, waits=waits)
    info = push.repository()
    if info is None:
        push.create(public=public)
        info = push.repository()
    _check_repository(info, push, public=public)
    contents, changes = push.compared(info.sha, keep_metadata=keep_metadata)
    # Each try starts from the same parent: when an earlier one arrived and only its answer was lost, there is
    # nothing left to commit; when somebody else was faster, the Hub refuses the parent.
    commit = push.ask("upload to", lambda: push.commit(contents, changes.deleted, message, info.sha))
    prefix = constants.REPO_TYPES_URL_PREFIXES.get(repo_type, "")
    return Pushed(
        url=f"{push.api.endpoint}/{prefix}{repo_id}",
        commit=commit,
        files=tuple(push.files),
        changes=changes,
        private=bool(info.private),
        changed=commit != info.sha,
        notes=_notes(changes, private=bool(info.private), public=public),
    )


def preview(
    folder: str | os.PathLike[str],
    *,
    repo_id: str,
    repo_type: str,
    public: bool = False,
    keep_metadata: Sequence[str] = OWNERS_METADATA,
    api: HfApi | None = None,
) -> str:
    """Say what a push would send, change and delete, then show the card; nothing is written.

    The Hub is asked once; when it cannot be asked, the reason stands in place of the changes.

    Raises:
        FileNotFoundError, ValueError: As `push_folder`.
    """
    push = _Push(folder, repo_id=repo_id, repo_type=repo_type, api=api, waits=())
    sizes = push.files
    width = max(len(f"{size:,}") for size in sizes.values())
    marks = dict.fromkeys(sizes, " ")
    state, below = ("public" if public else "private"), []
    try:
        info = push.repository()
        if info is None:
            below.append("The repository is not there; it would be created.")
            marks = dict.fromkeys(sizes, "+")
        else:
            _check_repository(info, push, public=public)
            state = "private" if info.private else "public"
            _, changes = push.compared(info.sha, keep_metadata=keep_metadata)
            marks |= dict.fromkeys(changes.added, "+") | dict.fromkeys(changes.changed, "~")
            below += [f"- {path} (of an earlier push)" for path in changes.deleted]
            below += _notes(changes, private=bool(info.private), public=public)
            below.append("Every other file of the repository stays.")
    except HubError as error:
        below.append(f"Which of them are new, and what would be deleted, is not known: {error}")
    kind = "Space" if repo_type == "space" else repo_type
    total = f"{len(sizes)} files, {sum(sizes.values()):,} bytes"
    lines = [f"{marks[path]} {size:>{width},}  {path}" for path, size in sizes.items() if path in marks]
    card = (Path(folder) / CARD).read_text(encoding="utf-8")
    title = f"To the {kind} {repo_id} ({state}), in one commit: {total} (+ new, ~ changed, - deleted)"
    return "\n".join([title, *lines, *below, "", card])


def licence_of(repo_id: str, *, repo_type: str, api: HfApi | None = None) -> str | None:
    """Return the licence that the card of a repository names; None when it names none or cannot be read."""
    api = api or HfApi()
    try:
        info = _tried(
            lambda: api.repo_info(repo_id, repo_type=repo_type), what=f"look at {repo_id}", api=api, waits=()
        )
    except HubError:
        return None
    data = getattr(info, "card_data", None)
    return None if data is None else data.get("license_name") or data.get("license")


class _Push:
    """A checked folder, a repository, and how the Hub is asked about it."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        repo_id: str,
        repo_type: str,
        api: HfApi | None,
        waits: Sequence[float],
    ) -> None:
        self.repo_id, self.repo_type = check_repo_id(repo_id), repo_type
        self.folder, self.files = Path(folder), check_folder(folder, repo_type=repo_type)
        self.metadata = front_matter((self.folder / CARD).read_text(encoding="utf-8"))
        self.api, self.waits = api or HfApi(), waits

    def ask(self, what: str, call: Callable[[], Result]) -> Result:
        """Return the result of `call`, tried again after faults of the Hub."""
        return _tried(call, what=f"{what} {self.repo_type} {self.repo_id}", api=self.api, waits=self.waits)

    def repository(self) -> Any:
        """Return what the Hub says of the repository; None when there is none that this account sees.

        Raises:
            ValueError: There is none, and its name is that of a repository of another type.
        """
        info = self.ask("look at", lambda: _repository(self.api, self.repo_id, self.repo_type))
        for other in REPO_TYPES:
            if info is None and self.ask("look for", lambda: _repository(self.api, self.repo_id, other)):  # noqa: B023
                raise ValueError(
                    f"{self.repo_id} is a {other} on the Hub, not a {self.repo_type}. Give another "
                    f"--repo_id; if both are to have this name, create the {self.repo_type} on the Hub first."
                )
        return info

    def create(self, *, public: bool) -> None:
        """Make the repository."""
        options: dict[str, Any] = {"space_sdk": self.metadata["sdk"]} if self.repo_type == "space" else {}
        self.ask(
            "create",
            lambda: self.api.create_repo(
                self.repo_id, repo_type=self.repo_type, private=not public, exist_ok=True, **options
            ),
        )

    def compared(
        self, revision: str, *, keep_metadata: Sequence[str]
    ) -> tuple[dict[str, Path | bytes], Changes]:
        """Return path -> content of what is sent, the manifest too; and how the repository at `revision`
        differs.
        """
        there = self.ask("list the files of", lambda: self._listed(revision))
        before = self._manifest(revision) if MANIFEST in there else {}
        contents: dict[str, Path | bytes] = {path: self.folder / path for path in self.files}
        if CARD in there:
            old = self._text(CARD, revision)
            contents[CARD] = self._card(old, before.get("metadata", {}), keep_metadata)
        hashes = {path: _hashes(content) for path, content in contents.items()}
        written = {key: self.metadata[key] for key in OWNERS_METADATA if key in self.metadata}
        manifest = {"files": hashes, "metadata": written}
        contents[MANIFEST] = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode("utf-8")
        gone = {
            path: there[path] in (known if isinstance(known, list) else [])
            for path, known in before.get("files", {}).items()
            if path in there and path not in contents
        }
        return contents, Changes(
            added=tuple(sorted(hashes.keys() - there.keys())),
            changed=tuple(sorted(p for p, own in hashes.items() if p in there and there[p] not in own)),
            deleted=tuple(sorted(path for path, is_ours in gone.items() if is_ours)),
            edited=tuple(sorted(path for path, is_ours in gone.items() if not is_ours)),
        )

    def commit(
        self, contents: Mapping[str, Path | bytes], deleted: Sequence[str], message: str, parent: str
    ) -> str:
        """Return the id of the commit."""
        # `upload_folder` would make several commits of a large folder.
        there = set(self._listed("main")) if deleted else set()
        operations: list[Any] = [
            CommitOperationDelete(path, is_folder=False) for path in deleted if path in there
        ]
        operations += [CommitOperationAdd(path, content) for path, content in contents.items()]
        info = self.api.create_commit(
            self.repo_id, operations, commit_message=message, repo_type=self.repo_type, parent_commit=parent
        )
        return info.oid

    def _listed(self, revision: str) -> dict[str, str]:
        """Path -> hash of each file: SHA-256 where the Hub keeps it as a large file, else that of Git."""
        entries = self.api.list_repo_tree(
            self.repo_id, repo_type=self.repo_type, revision=revision, recursive=True
        )
        files = [entry for entry in entries if isinstance(entry, RepoFile)]
        return {file.path: file.lfs.sha256 if file.lfs else file.blob_id for file in files}

    def _text(self, path: str, revision: str) -> str:
        """The text of a small file; "" when it is not there."""

        def read() -> str:
            # A folder of its own: what was read is not kept in the cache.
            with tempfile.TemporaryDirectory(prefix="hub-") as place:
                try:
                    file = self.api.hf_hub_download(
                        self.repo_id, path, repo_type=self.repo_type, revision=revision, local_dir=place
                    )
                except EntryNotFoundError:
                    return ""
                with open(file, "rb") as stream:
                    return stream.read(MAX_MANIFEST_BYTES).decode("utf-8", errors="replace")

        return self.ask(f"read {path} of", read)

    def _manifest(self, revision: str) -> dict[str, Any]:
        """What the last push wrote; nothing where the file is not one of ours."""
        try:
            manifest = json.loads(self._text(MANIFEST, revision))
        except (ValueError, RecursionError):
            return {}
        parts = {"files", "metadata"}
        whole = isinstance(manifest, dict) and all(isinstance(manifest.get(part), dict) for part in parts)
        return manifest if whole else {}

    def _card(self, old: str, written: Mapping[str, Any], keys: Sequence[str]) -> bytes:
        """The card of the folder, with the metadata that the owner edited in the card `old`."""
        text = (self.folder / CARD).read_text(encoding="utf-8")
        try:
            theirs = {key: value for key, value in front_matter(old).items() if key in OWNERS_METADATA}
        except ValueError:  # whatever it is, it holds no metadata to keep
            theirs = {}
        if keys and theirs and theirs != dict(written):
            changed = {key: theirs.get(key) for key in keys}
            text = with_metadata(text, changed)
        return text.encode("utf-8")


def _hashes(content: Path | bytes) -> list[str]:
    """The hash of a file as Git makes it, and its SHA-256: the Hub tells one of them."""
    size = len(content) if isinstance(content, bytes) else content.stat().st_size
    git, sha256 = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False), hashlib.sha256()
    if isinstance(content, bytes):
        git.update(content)
        sha256.update(content)
    else:
        with content.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                git.update(chunk)
                sha256.update(chunk)
    return [git.hexdigest(), sha256.hexdigest()]


def _repository(api: HfApi, repo_id: str, repo_type: str) -> Any:
    try:
        return api.repo_info(repo_id, repo_type=repo_type)
    except RepositoryNotFoundError as error:
        if error.response.status_code == 401:
            raise
        return None


def _check_repository(info: Any, push: _Push, *, public: bool) -> None:
    if not info.private and not public:
        raise ValueError(
            f"the {push.repo_type} {push.repo_id} is public on the Hub; say --public if everybody may see "
            "what is pushed, or make it private first."
        )
    sdk = push.metadata.get("sdk")
    if push.repo_type == "space" and getattr(info, "sdk", None) not in (None, sdk):
        raise ValueError(
            f"the Space {push.repo_id} was made for {info.sdk}, not for {sdk}; give another --repo_id."
        )


def _notes(changes: Changes, *, private: bool, public: bool) -> tuple[str, ...]:
    notes = []
    if private and public:
        notes.append(
            "The repository is private and stays so in spite of --public: a push changes the visibility of "
            "no repository; its settings on the Hub do."
        )
    if changes.edited:
        listed = ", ".join(changes.edited[:MAX_LISTED])
        notes.append(
            f"Of an earlier push, not in the folder any more, edited since, and so kept: {listed} "
            f"({len(changes.edited)} in all)."
        )
    return tuple(notes)


def _http(what: str) -> Any:
    """Return the module that huggingface_hub speaks with: httpx2 since its version 2, httpx in version 1."""
    major = int(huggingface_hub.__version__.split(".")[0])
    if major < 1:
        raise HubError(
            f"cannot {what}: pushing needs huggingface_hub 1 or newer, and {huggingface_hub.__version__} is "
            'installed: pip install "nyt-h[hub]".'
        )
    return import_module("httpx" if major == 1 else "httpx2")


# HfApi repeats commits and uploads itself, not `create_repo` or `repo_info`; `http_backoff` takes no call.
def _tried(call: Callable[[], Result], *, what: str, api: HfApi, waits: Sequence[float]) -> Result:
    """The result of `call`, tried again after faults of the Hub; what stays wrong becomes a HubError."""
    http = _http(what)
    for wait in (*waits, None):
        try:
            return call()
        except HfHubHTTPError as error:
            status = error.response.status_code
            if status not in (408, 429) and status < 500:
                raise HubError(_refusal(what, status, error.server_message, api)) from error
            if wait is None:
                raise HubError(
                    f"cannot {what}: the Hub at {api.endpoint} answered {status} to {len(waits) + 1} tries. "
                    "Nothing was half done; run the same command again later."
                ) from error
        except (ConnectionError, http.ConnectError) as error:
            raise HubError(
                f"cannot {what}: the Hub at {api.endpoint} cannot be reached ({error}). Look at the network, "
                "HF_ENDPOINT and HF_HUB_OFFLINE."
            ) from error
        except http.TransportError as error:
            if wait is None:
                raise HubError(
                    f"cannot {what}: the Hub at {api.endpoint} did not answer {len(waits) + 1} tries "
                    f"({type(error).__name__}). Nothing was half done; run the same command again later."
                ) from error
        time.sleep(wait or 0.0)
    raise AssertionError("unreachable: the last try returns or raises")


def _refusal(what: str, status: int, told: str | None, api: HfApi) -> str:
    answers: Mapping[int, str] = {
        401: "nobody is logged in, or the token is not valid: `hf auth login`, or set HF_TOKEN to a token "
        "with the right to write",
        403: "this account may not write there: the owner in --repo_id must be you or an organization of "
        "yours, and the token needs the right to write",
        404: "the repository is not there any more, or this account may not see it; look at --repo_id and at "
        "who is logged in (`hf auth whoami`)",
        409: "another change of this repository is under way on the Hub, or its name was just taken; wait a "
        "minute and run the same command again, or give another --repo_id",
        412: "somebody else has changed the repository meanwhile; look at it, then run the same command "
        "again",
        413: "the Hub does not take so much at once, or the account has no space left; look at the sizes "
        "that --dry_run lists",
    }
    said = f" (the Hub says: {' '.join(told.split())})" if told else ""
    return f"cannot {what}: {answers.get(status, f'the Hub at {api.endpoint} answered {status}')}{said}."
