"""What the loopback Hub keeps, in memory: repositories, their commits and refs, who may do what."""

from __future__ import annotations

import base64
import hashlib
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

PREFIX = {"models": "", "datasets": "datasets/", "spaces": "spaces/"}
SDKS = ("docker", "gradio", "static", "streamlit")


class HubFault(Exception):
    """An answer that is no success: the HTTP status, the code of the header X-Error-Code, and a text."""

    def __init__(self, status: int, message: str, code: str | None = None, **body: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code
        self.body = {"error": message, **body}


@dataclass(frozen=True)
class Account:
    """Whom a token stands for; a role other than "write" may only read."""

    name: str
    role: str = "write"
    organizations: tuple[str, ...] = ()

    def owns(self, repo_id: str) -> bool:
        return repo_id.split("/")[0] in (self.name, *self.organizations)


@dataclass(frozen=True)
class StoredFile:
    """Bytes with their git id; a file in LFS also has the SHA-256 of its content."""

    data: bytes
    sha256: str | None = None

    @property
    def oid(self) -> str:
        content = self.data if self.sha256 is None else self.pointer
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()

    @property
    def pointer(self) -> bytes:
        head = b"version https://git-lfs.github.com/spec/v1\noid sha256:"
        return head + f"{self.sha256}\nsize {len(self.data)}\n".encode()

    def lfs(self, *, id_key: str) -> dict[str, Any]:
        """What the API adds for a file in LFS; its two places call the id differently."""
        if self.sha256 is None:
            return {}
        size = {"size": len(self.data), "pointerSize": len(self.pointer)}
        return {"lfs": {id_key: self.sha256, **size}}

    def entry(self, path: str) -> dict[str, Any]:
        """The file in a listing of a tree."""
        shown = {"type": "file", "path": path, "size": len(self.data), "oid": self.oid}
        return shown | self.lfs(id_key="oid")


@dataclass(frozen=True)
class Commit:
    """A whole tree, its parent, and what the author said."""

    sha: str
    files: Mapping[str, StoredFile]
    title: str
    author: str
    parent: str | None = None


@dataclass
class Repository:
    """One repository: every commit by its id, and the branches and tags that point at them."""

    kind: str
    repo_id: str
    private: bool = False
    gated: bool = False
    sdk: str | None = None
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, author: str) -> Repository:
        """Add the first commit, which on the Hub holds .gitattributes."""
        attributes = StoredFile(b"*.parquet filter=lfs diff=lfs merge=lfs -text\n")
        self._add("main", {".gitattributes": attributes}, "initial commit", author)
        return self

    def _add(self, branch: str, files: dict[str, StoredFile], title: str, author: str) -> Commit:
        parent = self.branches.get(branch)
        named = f"{self.kind} {self.repo_id} {len(self.commits)} {parent} {title}"
        commit = Commit(hashlib.sha1(named.encode()).hexdigest(), files, title, author, parent)
        self.commits[commit.sha] = commit
        self.branches[branch] = commit.sha
        return commit

    def at(self, revision: str) -> Commit:
        """The commit that a branch, a tag or an id names."""
        revision = revision.removeprefix("refs/heads/")
        sha = self.branches.get(revision) or self.tags.get(revision) or revision
        if sha not in self.commits:
            raise HubFault(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.commits[sha]

    def history(self, revision: str) -> Iterator[Commit]:
        """The commit and its ancestors, newest first."""
        commit: Commit | None = self.at(revision)
        while commit is not None:
            yield commit
            commit = self.commits.get(commit.parent or "")

    def commit(
        self, branch: str, lines: Sequence[Mapping[str, Any]], blobs: Mapping[str, bytes], author: str
    ) -> Commit:
        """Apply the lines of one commit request, all of them or none."""
        with self.lock:
            base = self.at(branch)
            header = next(line["value"] for line in lines if line["key"] == "header")
            if header.get("parentCommit", base.sha) != base.sha:
                raise HubFault(412, "A commit has happened since. Please refresh and try again.")
            files = dict(base.files)
            for line in lines:
                apply_operation(files, line["key"], line["value"], blobs)
            check_card(files.get("README.md"))
            return self._add(branch, files, header["summary"], author)

    def point(self, refs: dict[str, str], name: str, revision: str, *, overwrite: bool = False) -> None:
        """Let a branch or tag name point at a revision."""
        if name in refs and not overwrite:
            raise HubFault(409, f"Reference already exists: {name}")
        refs[name] = self.at(revision).sha

    def description(self, revision: str) -> dict[str, Any]:
        """What the API says about the repository at a revision."""
        commit = self.at(revision)
        card = card_metadata(commit.files.get("README.md"))
        siblings = [
            {"rfilename": path, "size": len(file.data), "blobId": file.oid, **file.lfs(id_key="sha256")}
            for path, file in sorted(commit.files.items())
        ]
        return {
            "_id": self.repo_id,
            "id": self.repo_id,
            "modelId": self.repo_id,
            "author": self.repo_id.split("/")[0],
            "sha": commit.sha,
            "private": self.private,
            "gated": "manual" if self.gated else False,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "tags": card.get("tags", []),
            "cardData": card,
            "sdk": self.sdk,
            "usedStorage": sum(len(file.data) for file in commit.files.values()),
            "lastModified": "2026-01-01T00:00:00.000Z",
            "createdAt": "2026-01-01T00:00:00.000Z",
            "siblings": siblings,
        }

    def entries(self, revision: str) -> list[dict[str, Any]]:
        """Every folder and file of a tree."""
        files = self.at(revision).files
        folders = {path[: match.start()] for path in files for match in re.finditer("/", path)}
        rows = [
            {"type": "directory", "path": path, "size": 0, "oid": hashlib.sha1(path.encode()).hexdigest()}
            for path in sorted(folders)
        ]
        return rows + [file.entry(path) for path, file in sorted(files.items())]


def apply_operation(
    files: dict[str, StoredFile], key: str, value: Mapping[str, Any], blobs: Mapping[str, bytes]
) -> None:
    """Change a tree by one line of a commit request."""
    if key == "file":
        files[value["path"]] = StoredFile(base64.b64decode(value["content"]))
    elif key == "lfsFile":
        if value["oid"] not in blobs:
            raise HubFault(400, f"Your push was rejected: LFS object {value['oid']} was not uploaded")
        files[value["path"]] = StoredFile(blobs[value["oid"]], value["oid"])
    elif key in ("deletedFile", "deletedFolder"):
        path = value["path"].rstrip("/")
        gone = [name for name in files if name == path or name.startswith(path + "/")]
        if not gone:
            raise HubFault(404, "A file with this name doesn't exist", "EntryNotFound")
        for name in gone:
            del files[name]
    elif key != "header":
        raise HubFault(400, f"this Hub knows no operation {key!r}")


def card_metadata(card: StoredFile | None) -> dict[str, Any]:
    """The YAML in front of a README, {} where there is none; raises what YAML or UTF-8 do."""
    text = "" if card is None else card.data.decode("utf-8")
    match = re.match(r"---\n(.*?\n)---(\n|$)", text, re.DOTALL)
    metadata = yaml.safe_load(match[1]) if match else {}
    if not isinstance(metadata, dict):
        raise yaml.YAMLError("the metadata are no mapping")
    return metadata


def check_card(card: StoredFile | None) -> None:
    """Refuse a README whose metadata are no YAML, as the Hub does."""
    try:
        card_metadata(card)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        message = " ".join(str(error).split())
        raise HubFault(
            400, f"Invalid metadata in README.md: {message}", errors=[{"message": message}]
        ) from error
