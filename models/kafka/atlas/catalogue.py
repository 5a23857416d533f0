"""Reads the record of the atlas.

In:  record.jsonl beside this module; README.md beside it describes its lines.
Out: a `Record`: its header; for a question and settings the searches that answer it, as plain objects.

Lines are decoded when they are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parent / "record.jsonl"


class Record:
    """The record in a file. Raises OSError if there is none, and ValueError if a line is damaged."""

    def __init__(self, path: Path = RECORD) -> None:
        self._lines = path.read_text(encoding="utf-8").splitlines()
        self.header: Mapping[str, Any] = json.loads(self._lines[0])
        self._first_search = 1 + int(self.header["groups"])

    def searches(self, group: str, settings: str) -> Sequence[Mapping[str, Any]] | str | None:
        """The searches that answer a question with these settings, in their order, or the reason why no model has what
        is asked; None if it is not recorded.

        `group` is the question with what belongs to a release, `settings` are the values of the other settings.
        """
        line = self._group_lines.get(group)
        if line is None:
            return None
        numbers = json.loads(line)["cells"].get(settings)
        if numbers is None or isinstance(numbers, str):
            return numbers
        return [json.loads(self._lines[self._first_search + one]) for one in numbers]

    @cached_property
    def _group_lines(self) -> Mapping[str, str]:
        # A group line begins with its name, so that the others need not be decoded.
        begin = '{"group": '
        found = {}
        for line in self._lines[1 : self._first_search]:
            name, _ = json.JSONDecoder().raw_decode(line, len(begin))
            found[name] = line
        return found

    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """Every group with its content: the names of its `settings`, and its `cells`."""
        return {name: json.loads(line) for name, line in self._group_lines.items()}

    def every_search(self) -> Sequence[Mapping[str, Any]]:
        """Every search, in the order of their numbers."""
        return [json.loads(line) for line in self._lines[self._first_search :]]
