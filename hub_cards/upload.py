"""A folder that was looked at -> a repository on the Hub, in one commit."""

from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, constants
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

from .cards import front_matter
from .hub import REPO_TYPES, check_folder, check_repo_id

Result = TypeVar("Result")
# Seconds before each further try when the Hub does not answer or answers with a fault of its own.
WAITS = (1.0, 3.0, 9.0)


class HubError(OSError):
    """The Hub cannot be reached, does not answer properly, or does not let this account do what was asked."""


@dataclass(frozen=True)
class Pushed:
    """What `push_folder` did.

    Attributes:
        url: Address of the repository.
        commit: Id of the commit that now holds the folder.
        files: Paths in the folder.
        deleted: Paths of an earlier push that this one took away.
        private: Whether only the owner sees the repository.
        changed: False when the repository held exactly these files already.
    """

    url: str
    commit: str
    files: tuple[str, ...]
    deleted: tuple[str, ...]
    private: bool
    changed: bool

    def sentence(self) -> str:
        """What was done, for people."""
        state = "private" if self.private else "public"
        if not self.changed:
            return f"Nothing to do: {self.url} ({state}) holds these {len(self.files)} files already."
        gone = f", {len(self.deleted)} files of an earlier push deleted" if self.deleted else ""
        return f"Pushed {len(self.files)} files to {self.url} ({state}), commit {self.commit[:8]}{gone}."


def push_folder(
    folder: str | os.PathLike[str],
    *,
    repo_id: str,
    repo_type: str,
    message: str,
    public: bool = False,
    replaced: Sequence[str] = (),
    api: HfApi | None = None,
    waits: Sequence[float] = WAITS,
) -> Pushed:
    """Make the repository hold the files of `folder`, by one commit, and return what was done.

    The repository is created when it is not there. Nothing is half done: the commit is made on the state
    that was read, so one by somebody else in between is refused; after a failure the same call goes on, and
    when the files are there already nothing is committed.

    Args:
        folder: the staged folder, with its README.md; see `check_folder`.
        repo_id: owner/name.
        repo_type: "dataset", "model" or "space".
        message: the title of the commit.
        public: whether strangers may see it. A repository that exists keeps its visibility; one that is
            public is written to only when this says so.
        replaced: patterns (fnmatch) of paths that an earlier push wrote: those that the folder has no more
            are deleted in the same commit. Everything else in the repository stays.
        api: the client; default: one with the address and token of the environment.
        waits: seconds before each further try after a fault of the Hub (status 5xx, 429, no answer).

    Raises:
        FileNotFoundError, ValueError: as `check_repo_id` and `check_folder`; a repository of another type, or
            a public one without `public`.
        HubError: no network, no permission, a commit in between, or the Hub kept failing.
    """
    check_repo_id(repo_id)
    paths = tuple(check_folder(folder, repo_type=repo_type))
    api = api or HfApi()

    def ask(what: str, call: Callable[[], Result]) -> Result:
        return _tried(call, what=f"{what} {repo_type} {repo_id}", api=api, waits=waits)

    metadata = front_matter((Path(folder) / "README.md").read_text(encoding="utf-8"))
    info = ask("look at", lambda: _repository(api, repo_id, repo_type))
    if info is None:
        ask("look for", lambda: _refuse_other_type(api, repo_id, repo_type))
        sdk = str(metadata["sdk"]) if repo_type == "space" else None
        ask("create", lambda: _create(api, repo_id, repo_type, sdk=sdk, public=public))
        info = ask("look at", lambda: api.repo_info(repo_id, repo_type=repo_type))
    if not info.private and not public:
        raise ValueError(
            f"the {repo_type} {repo_id} is public on the Hub; say --public if everybody may see what is "
            "pushed, or make it private first."
        )
    if repo_type == "space" and getattr(info, "sdk", None) not in (None, metadata["sdk"]):
        raise ValueError(
            f"the Space {repo_id} was made for {info.sdk}, not for {metadata['sdk']}; give another --repo_id."
        )
    there = {sibling.rfilename for sibling in info.siblings or ()}
    gone = sorted(
        path for path in there - set(paths) if any(fnmatch.fnmatch(path, pattern) for pattern in replaced)
    )
    # Each try starts from the same parent: when an earlier one arrived and only its answer was lost, there is
    # nothing left to commit; when somebody else was faster, the Hub refuses the parent.
    commit = ask(
        "upload to", lambda: _commit(api, folder, repo_id, repo_type, paths, gone, message, info.sha)
    )
    prefix = constants.REPO_TYPES_URL_PREFIXES.get(repo_type, "")
    return Pushed(
        url=f"{api.endpoint}/{prefix}{repo_id}",
        commit=commit,
        files=paths,
        deleted=tuple(gone),
        private=bool(info.private),
        changed=commit != info.sha,
    )


def _repository(api: HfApi, repo_id: str, repo_type: str) -> Any:
    """What the Hub says of the repository; None when there is none that this account sees."""
    try:
        return api.repo_info(repo_id, repo_type=repo_type)
    except RepositoryNotFoundError as error:
        if error.response.status_code == 401:
            raise
        return None


def _refuse_other_type(api: HfApi, repo_id: str, repo_type: str) -> None:
    for other in REPO_TYPES:
        if other != repo_type and _repository(api, repo_id, other) is not None:
            raise ValueError(
                f"{repo_id} is a {other} on the Hub, not a {repo_type}. Give another --repo_id; if both are "
                f"to have this name, create the {repo_type} on the Hub first."
            )


def _create(api: HfApi, repo_id: str, repo_type: str, *, sdk: str | None, public: bool) -> None:
    options: dict[str, Any] = {} if sdk is None else {"space_sdk": sdk}
    api.create_repo(repo_id, repo_type=repo_type, private=not public, exist_ok=True, **options)


def _commit(
    api: HfApi,
    folder: str | os.PathLike[str],
    repo_id: str,
    repo_type: str,
    paths: Sequence[str],
    gone: Sequence[str],
    message: str,
    parent: str,
) -> str:
    # `upload_folder` would make several commits of a large folder.
    there = set(api.list_repo_files(repo_id, repo_type=repo_type)) if gone else set()
    operations: list[Any] = [CommitOperationDelete(path, is_folder=False) for path in gone if path in there]
    operations += [CommitOperationAdd(path, Path(folder) / path) for path in paths]
    info = api.create_commit(
        repo_id, operations, commit_message=message, repo_type=repo_type, parent_commit=parent
    )
    return info.oid


def _tried(call: Callable[[], Result], *, what: str, api: HfApi, waits: Sequence[float]) -> Result:
    """The result of `call`, tried again after faults of the Hub; what stays wrong becomes a HubError."""
    import httpx2  # comes with huggingface_hub since version 2; staging and cards work without

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
        except (ConnectionError, httpx2.ConnectError) as error:
            raise HubError(
                f"cannot {what}: the Hub at {api.endpoint} cannot be reached ({error}). Look at the network, "
                "HF_ENDPOINT and HF_HUB_OFFLINE."
            ) from error
        except httpx2.TransportError as error:
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
        412: "somebody else has changed the repository meanwhile; look at it, then run the same command "
        "again",
    }
    said = f" (the Hub says: {' '.join(told.split())})" if told else ""
    return f"cannot {what}: {answers.get(status, f'the Hub at {api.endpoint} answered {status}')}{said}."
