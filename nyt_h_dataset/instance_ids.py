"""Instance ids are unique over all data files: the registry that notices one that comes twice (pure)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from .record_lines import RecordError
from .records import Block


class IdRegistry:
    """Remembers where each `instance_id` was read; one that comes twice is an error, across files too.

    Reading the same place again (a second pass over a stream, a file that serves two splits) is no duplicate.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        """Start with nothing seen; `paths` are all data files, for the message."""
        self._paths = paths
        self._places: dict[str, int] = {}

    def add(self, block: Block) -> None:
        """Note the ids of `block`.

        Raises:
            RecordError: an id was already read at another place; the message names both and the total.
        """
        ids = block.columns["instance_id"].to_pylist()
        # A number per record, the same whenever that record is read: a record has at least one byte.
        base = (block.shard.number << 48) + block.offset
        remember = self._places.setdefault
        for place, instance_id in enumerate(ids, start=base):
            if remember(instance_id, place) != place:
                raise RecordError(self._message(instance_id))

    def _message(self, instance_id: str) -> str:
        first_at: dict[str, str] = {}
        both, total = "", 0
        for place, found in _ids_of(self._paths):
            if found in first_at:
                total += 1
                if found == instance_id and not both:
                    both = f"{place}, first at {first_at[found]}"
            else:
                first_at[found] = place
        return (
            f"duplicate `instance_id` {instance_id!r}: {both} ({total} records in all repeat an id). Ids "
            "must be unique over all files; remove or rename the repeated records."
        )


def _ids_of(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """``file:line`` and id of every record that has one; broken lines are somebody else's matter."""
    for path in paths:
        with open(path, encoding="utf-8-sig", errors="replace", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                try:
                    found = json.loads(line)["instance_id"]
                except (ValueError, KeyError, TypeError):
                    continue
                if isinstance(found, str):
                    yield f"{path}:{number}", found
