"""A value of a file of YAML, JSON or HCL, which knows its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MOST_CHARACTERS = 64 * 2**20
"""The longest text of YAML, JSON or HCL that is read: four times ten thousand topics as kubectl prints them."""


def too_long(path: Path) -> str:
    """Return the message for a text that is too long."""
    return f"{path}: is YAML, JSON or HCL of more than {MOST_CHARACTERS >> 20} MiB; give a part of it"


@dataclass(frozen=True)
class Tree:
    """A value of a YAML or JSON document: a text, nothing (all three fields are empty), a list or named entries."""

    path: Path
    line: int
    text: str | None = None
    """The text of a value that is neither a list nor has entries; None if nothing is written, or null."""
    items: tuple[Tree, ...] = ()
    entries: Mapping[str, Tree] = field(default_factory=dict)
    """The entries by name, in the order of the file."""
    unknown: str = ""
    """What stands in place of the value, such as `a value with the tag !vault`; empty if the value is known."""
    is_block: bool = False
    """Whether the text begins in the line below, as after | in YAML."""
    size: int = 1
    """The number of values in the tree, with those that aliases repeat."""

    @property
    def place(self) -> str:
        """The place at which the value begins, as FILE:LINE."""
        return f"{self.path}:{self.line}"

    def at(self, *names: str) -> Tree:
        """Return the entry to which these names lead, such as `at("spec", "kafka")`; an empty tree if it is missing."""
        found = self
        for name in names:
            found = found.entries.get(name) or Tree(self.path, found.line)
        return found

    def text_at(self, *names: str) -> str:
        """Return the text of the entry to which these names lead; empty if it is missing."""
        return self.at(*names).text or ""

    def __bool__(self) -> bool:
        return bool(self.text is not None or self.items or self.entries or self.unknown)


NO_TREE = Tree(Path(), 0)
"""A tree in which nothing is written."""
