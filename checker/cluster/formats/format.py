"""What a format is: how a part of a file is recognised by its content, and how it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from isrcheck.checker.cluster.contents import Contents
from isrcheck.checker.cluster.formats.tree import NO_TREE, Tree
from isrcheck.checker.cluster.releases import Role

MOST_LINES_OF_A_HEAD = 200
"""The number of lines that decide what a file is: a file may have a million lines."""

_LINE = re.compile(r"[^\r\n]*\S[^\r\n]*")


@dataclass(frozen=True)
class Part:
    """What a format reads: the whole text of a file or, in YAML and JSON, one of the documents of the file."""

    path: Path
    text: str
    """The text of the whole file."""
    role: Role | None = None
    """The role that the command line gives the file (--producer FILE); None if the content determines it."""
    tree: Tree = NO_TREE
    """The document, if the file is YAML or JSON; else an empty tree."""

    @cached_property
    def head(self) -> tuple[str, ...]:
        """The first lines of the text, without those that are blank or begin with # (a comment)."""
        lines = (line.group() for line in _LINE.finditer(self.text))
        return tuple(islice((line for line in lines if not line.lstrip().startswith("#")), MOST_LINES_OF_A_HEAD))

    @property
    def first(self) -> str:
        """The first line of the head, without white space around it; empty without a line."""
        return self.head[0].strip() if self.head else ""


@dataclass(frozen=True)
class Format:
    """A format of files. The registry asks them in order; the first that recognises a part reads it."""

    name: str
    """What a file of this format is, for messages: `a Kafka resource of Strimzi`."""
    recognises: Callable[[Part], bool]
    """Whether the part has this format, by its content and never by its name alone."""
    read: Callable[[Part, Contents], None]
    """Adds what the part says to the contents. Raises PropertiesError for a part that contradicts its own format."""


def resources(name: str, group: str, kinds: Sequence[str], read: Callable[[Part, Contents], None]) -> Format:
    """Return the format of resources of Kubernetes that have one of these kinds, in a group of APIs."""

    def recognises(part: Part) -> bool:
        return part.tree.text_at("kind") in kinds and part.tree.text_at("apiVersion").startswith(group)

    return Format(name, recognises, read)
