"""The routes of the loopback Hub: a request in, status, body and headers out."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote

from tests.hub_repositories import PREFIX, SDKS, Account, HubFault, Repository, StoredFile, check_card

LFS_SUFFIXES = (".safetensors", ".parquet", ".arrow", ".bin", ".png")
KINDS = "models|datasets|spaces"
REPOSITORY = r"[^/]+/[^/]+"


@dataclass(frozen=True)
class Request:
    """What a client asks."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass
class HubState:
    """Everything that the Hub keeps, and its address."""

    url: str
    accounts: dict[str, Account]
    repositories: dict[tuple[str, str], Repository] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def repository(self, kind: str, repo_id: str) -> Repository:
        """The repository; `kind` is models, datasets or spaces."""
        if (kind, repo_id) not in self.repositories:
            raise HubFault(404, "Repository not found", "RepoNotFound")
        return self.repositories[kind, repo_id]


class Routes:
    """The answer to one request."""

    def __init__(self, hub: HubState, request: Request) -> None:
        self.hub, self.request = hub, request

    def account(self) -> Account | None:
        """Who asks; None without a token."""
        token = (self.request.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token and token not in self.hub.accounts:
            raise HubFault(401, "Invalid credentials in Authorization header")
        return self.hub.accounts.get(token)

    def writer(self, repo_id: str) -> Account:
        """Who asks, if they may write there."""
        account = self.account()
        if account is None:
            raise HubFault(401, "Invalid username or password.")
        if account.role != "write" or not account.owns(repo_id):
            raise HubFault(403, f"You don't have the rights to write to {repo_id} as {account.name}")
        return account

    def visible(self, kind: str, repo_id: str, *, content: bool = False) -> Repository:
        """The repository, if the client may see it; `content`: and read its files."""
        account = self.account()
        try:
            repository = self.hub.repository(kind, repo_id)
            if repository.private and not (account and account.owns(repo_id)):
                raise HubFault(404, "Repository not found", "RepoNotFound")
        except HubFault as fault:
            if account is None:
                raise HubFault(401, "Invalid username or password.", fault.code) from fault
            raise
        if content and repository.gated and not (account and account.owns(repo_id)):
            raise HubFault(403, f"Access to {repo_id} is restricted: ask for it", "GatedRepo")
        return repository

    def answer(self) -> tuple[Any, ...]:
        """Status, body and headers."""
        hub, path, body = self.hub, self.request.path, self.request.body
        if path == "/api/whoami-v2":
            account = self.account()
            if account is None:
                raise HubFault(401, "Invalid username or password.")
            token = {"accessToken": {"displayName": "test", "role": account.role}}
            own = {"name": account.name, "fullname": account.name, "avatarUrl": ""}
            return 200, {"type": "user", **own, "orgs": [], "auth": token}
        if path == "/api/validate-yaml":
            check_card(StoredFile(json.loads(body)["content"].encode()))
            return 200, {"errors": [], "warnings": []}
        if match := re.fullmatch(r"/api/repos/(create|delete)", path):
            return self.create_or_delete(match[1], json.loads(body))
        if match := re.fullmatch(r"/lfs/(\w+)", path):
            if hashlib.sha256(body).hexdigest() != match[1]:
                raise HubFault(400, "the content does not have this SHA-256")
            hub.blobs[match[1]] = body
            return 200, {}
        if match := re.fullmatch(rf"/(?:datasets/|spaces/|)({REPOSITORY})\.git/info/lfs/objects/batch", path):
            self.writer(match[1])
            return 200, {"transfer": "basic", "objects": [self.lfs(o) for o in json.loads(body)["objects"]]}
        if match := re.fullmatch(rf"/(?:(datasets|spaces)/)?({REPOSITORY})/resolve/([^/]+)/(.+)", path):
            return self.content(match[1] or "models", *map(unquote, match.groups()[1:]))
        if match := re.fullmatch(rf"/api/({KINDS})", path):
            return 200, self.listing(match[1])
        if match := re.fullmatch(
            rf"/api/({KINDS})/({REPOSITORY})(?:/([\w-]+)(?:/([^/]+)(?:/(.*))?)?)?", path
        ):
            kind, repo_id, verb, revision, rest = (unquote(part or "") for part in match.groups())
            if verb in ("commit", "branch", "tag", "settings", "preupload"):
                return self.change(self.visible(kind, repo_id), verb, revision)
            return self.show(self.visible(kind, repo_id), verb, revision or "main", rest)
        raise HubFault(404, f"this Hub has no route {self.request.method} {path}", "RepoNotFound")

    def create_or_delete(self, verb: str, asked: dict[str, Any]) -> tuple[Any, ...]:
        hub, kind = self.hub, f"{asked.get('type') or 'model'}s"
        owner = asked.get("organization") or getattr(self.account(), "name", "")
        repo_id = f"{owner}/{asked['name']}"
        account = self.writer(repo_id)
        with hub.lock:
            if verb == "delete":
                hub.repository(kind, repo_id)
                del hub.repositories[kind, repo_id]
                return 200, {}
            url = f"{hub.url}/{PREFIX[kind]}{repo_id}"
            if (kind, repo_id) in hub.repositories:
                raise HubFault(409, "You already created this repo", url=url)
            if kind == "spaces" and asked.get("sdk") not in SDKS:
                raise HubFault(400, f"`sdk` must be one of {', '.join(SDKS)}")
            private = asked.get("visibility") == "private" or bool(asked.get("private"))
            repository = Repository(kind, repo_id, private=private, sdk=asked.get("sdk"))
            hub.repositories[kind, repo_id] = repository.start(account.name)
        return 200, {"url": url, "name": repo_id, "id": repo_id}

    def lfs(self, asked: dict[str, Any]) -> dict[str, Any]:
        shown = {"oid": asked["oid"], "size": asked["size"]}
        if asked["oid"] in self.hub.blobs:
            return shown
        return shown | {"actions": {"upload": {"href": f"{self.hub.url}/lfs/{asked['oid']}"}}}

    def content(self, kind: str, repo_id: str, revision: str, path: str) -> tuple[Any, ...]:
        commit = self.visible(kind, repo_id, content=True).at(revision)
        if path not in commit.files:
            raise HubFault(404, "Entry not found", "EntryNotFound")
        file = commit.files[path]
        headers = {
            "X-Repo-Commit": commit.sha,
            "ETag": f'"{file.sha256 or file.oid}"',
            "Accept-Ranges": "bytes",
        }
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.request.headers.get("Range") or ""):
            start, size = int(match[1]), len(file.data)
            end = min(int(match[2] or size - 1), size - 1)
            if start >= size:
                raise HubFault(416, "Range Not Satisfiable")
            return 206, file.data[start : end + 1], headers | {"Content-Range": f"bytes {start}-{end}/{size}"}
        return 200, file.data, headers

    def listing(self, kind: str) -> list[dict[str, Any]]:
        account = self.account()
        shown = [
            repository.description("main")
            for (of_kind, repo_id), repository in self.hub.repositories.items()
            if of_kind == kind and (not repository.private or (account and account.owns(repo_id)))
        ]
        author, tag = self.request.query.get("author"), self.request.query.get("filter")
        return [row for row in shown if author in (None, row["author"]) and (not tag or tag in row["tags"])]

    def change(self, repository: Repository, verb: str, name: str) -> tuple[Any, ...]:
        body = self.request.body
        account = self.writer(repository.repo_id)
        if verb == "preupload":
            files = repository.at(name).files
            return 200, {"files": [self.upload_mode(file, files) for file in json.loads(body)["files"]]}
        if verb == "commit":
            lines = [json.loads(line) for line in body.split(b"\n") if line]
            commit = repository.commit(name, lines, self.hub.blobs, account.name)
            url = f"{self.hub.url}/{PREFIX[repository.kind]}{repository.repo_id}/commit/{commit.sha}"
            return 200, {"success": True, "commitOid": commit.sha, "commitUrl": url, "hookOutput": ""}
        asked = json.loads(body or b"{}")
        if verb == "settings":
            visibility = asked.get("visibility")
            repository.private = asked.get(
                "private", repository.private if visibility is None else visibility == "private"
            )
            repository.gated = bool(asked.get("gated", repository.gated))
        elif self.request.method == "DELETE":
            (repository.branches if verb == "branch" else repository.tags).pop(name, None)
        elif verb == "branch":
            start = asked.get("startingPoint") or "main"
            repository.point(repository.branches, name, start, overwrite=bool(asked.get("overwrite")))
        else:
            repository.point(repository.tags, asked["tag"], name)
        return 200, {}

    @staticmethod
    def upload_mode(asked: dict[str, Any], files: Any) -> dict[str, Any]:
        path = asked["path"]
        there = {"oid": files[path].sha256 or files[path].oid} if path in files else {}
        mode = "lfs" if path.endswith(LFS_SUFFIXES) else "regular"
        return {"path": path, "shouldIgnore": False, "uploadMode": mode, **there}

    def show(self, repository: Repository, verb: str, revision: str, rest: str) -> tuple[Any, ...]:
        body = self.request.body
        if verb in ("", "revision"):
            return 200, repository.description(revision)
        if verb == "auth-check":
            self.visible(repository.kind, repository.repo_id, content=True)
            return 200, {}
        if verb == "refs":
            shown = {
                key: [
                    {"name": name, "ref": f"{place}/{name}", "targetCommit": sha}
                    for name, sha in refs.items()
                ]
                for key, place, refs in (
                    ("branches", "refs/heads", repository.branches),
                    ("tags", "refs/tags", repository.tags),
                )
            }
            return 200, {**shown, "converts": []}
        if verb == "commits":
            keys = {"message": "", "date": "2026-01-01T00:00:00.000Z"}
            return 200, [
                {"id": commit.sha, "title": commit.title, "authors": [{"user": commit.author}], **keys}
                for commit in repository.history(revision)
            ]
        rows = repository.entries(revision)
        if verb == "paths-info":
            asked = json.loads(body)["paths"] if body[:1] == b"{" else parse_qs(body.decode())["paths"]
            return 200, [row for row in rows if row["path"] in {path.strip("/") for path in asked}]
        if verb != "tree":
            raise HubFault(404, f"this Hub has no route {self.request.method} .../{verb}")
        base = rest.strip("/")
        if base and base not in {row["path"] for row in rows if row["type"] == "directory"}:
            raise HubFault(404, f"{base} does not exist on {revision}", "EntryNotFound")
        start = f"{base}/" if base else ""
        rows = [row for row in rows if row["path"].startswith(start)]
        if self.request.query.get("recursive", "false").lower() not in ("true", "1"):
            rows = [row for row in rows if "/" not in row["path"][len(start) :]]
        return 200, rows
