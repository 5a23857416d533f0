"""Reads YAML and JSON into trees of values that know their places, FILE:LINE.

A name that a mapping gives twice is refused: parsers take the later value, and people may mean the earlier one.

The texts of values stay as they are written (`03`, `1e3`, `'2'`), except those that YAML gives a meaning of their own:
the words for true and false become `true` and `false`, and the words for nothing become None. A value with a tag of an
application (`!vault`), and a template in place of a value (`{{ replicas }}`), are kept as text, and marked as unknown.

An alias repeats the values of its anchor. A file of a kilobyte can thus stand for a gigabyte of values, so the values
that aliases repeat are counted before they are repeated, and too many are refused. The parser's events are read without
recursion, because a file can be nested more deeply than Python's stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from isrcheck.checker.cluster.formats.tree import MOST_CHARACTERS, Tree, too_long
from isrcheck.checker.cluster.property_files import PropertiesError, printable

MOST_REPEATED = 100_000
"""The most values that the aliases of a file may repeat."""

MOST_NESTED = 100
"""The most values within each other."""

MOST_MEMBERS = 100_000
"""The most values of a list, or names of a mapping: a file lists the topics of a cluster, usually fewer than 10,000."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C, if PyYAML has it: it is ten times as fast."""

_WORDS = {
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), "true"),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), "false"),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
"""The plain words to which YAML 1.1 gives a meaning."""

_OWN_TAGS = ("tag:yaml.org,2002:", "!")
_MERGE = "<<"
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


_TOO_DEEP = f"is nested more than {MOST_NESTED} values deep, which no file of Kafka is; give the part that has settings"


@dataclass
class _Open:
    """A list or a mapping whose end has not come yet."""

    line: int
    begins: int
    """The index of its first character in the text."""
    is_list: bool
    anchor: str | None
    tag: str
    items: list[Tree] = field(default_factory=list)
    """The values so far; in a mapping, names and values alternate."""


def read_trees(path: Path, text: str) -> Sequence[Tree]:
    """Return the documents of a YAML or JSON text that are lists or have entries: a plain text is YAML, too. Raises
    PropertiesError if the text is neither, or is too large."""
    if len(text) > MOST_CHARACTERS:
        raise PropertiesError(too_long(path))
    try:
        return [document for document in _Reading(path, text).documents() if document.items or document.entries]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        problem = printable(getattr(error, "problem", None) or "a character that YAML does not allow")
        if "nesting depth" in problem:  # libyaml has a limit of its own
            raise PropertiesError(f"{place}: {_TOO_DEEP}") from None
        cure = "correct it there"
        if _TEMPLATE.search(text):
            cure = "it seems to be a template; give what it renders (helm template, ansible-inventory --host)"
        raise PropertiesError(f"{place}: is neither YAML nor JSON ({problem}); {cure}") from None


class _Reading:
    """Builds the trees of a text from the parser's events."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.anchors: dict[str, Tree] = {}
        self.open: list[_Open] = []
        self.repeated = 0

    def documents(self) -> Iterator[Tree]:
        for event in yaml.parse(self.text, Loader=_LOADER):
            start, end = event.start_mark, event.end_mark
            assert start is not None, "the parser of a text gives each event its marks"
            assert end is not None, "as above"
            line = start.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors.clear()
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                if len(self.open) == MOST_NESTED:
                    raise PropertiesError(f"{self.path}:{line}: {_TOO_DEEP}")
                is_list = isinstance(event, yaml.SequenceStartEvent)
                self.open.append(_Open(line, start.index, is_list, event.anchor, event.tag or ""))
                continue
            if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                ended = self.open.pop()
                tree = self._ended(ended, end.index)
                anchor = ended.anchor
            elif isinstance(event, yaml.ScalarEvent):
                tree, anchor = self._scalar(event, line), event.anchor
            elif isinstance(event, yaml.AliasEvent):
                tree, anchor = self._repeated(event.anchor or "", line), None
            else:
                continue
            if anchor:
                self.anchors[anchor] = tree
            if self.open:
                self._add(tree, line)
            else:
                yield tree

    def _add(self, tree: Tree, line: int) -> None:
        """Add a value to the innermost list or mapping."""
        around = self.open[-1]
        around.items.append(tree)
        if len(around.items) > MOST_MEMBERS * (1 if around.is_list else 2):
            kind = "list" if around.is_list else "mapping"
            raise PropertiesError(
                f"{self.path}:{line}: a {kind} of more than {MOST_MEMBERS:,} values, which no description of Kafka has;"
                " give a file that docs/your_cluster.md lists"
            )

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Tree:
        value: str | None = event.value
        is_name = bool(self.open) and not self.open[-1].is_list and len(self.open[-1].items) % 2 == 0
        if not event.style and event.tag is None and not is_name:
            value = _WORDS.get(event.value, event.value)
        unknown = _tagged(event.tag or "") or ("a template" if _TEMPLATE.search(event.value) else "")
        return Tree(self.path, line, value, unknown=unknown, is_block=event.style in ("|", ">"))

    def _repeated(self, anchor: str, line: int) -> Tree:
        if anchor not in self.anchors:
            raise PropertiesError(f"{self.path}:{line}: *{printable(anchor)} repeats no value that has ended above it")
        tree = self.anchors[anchor]
        self.repeated += tree.size
        if self.repeated > MOST_REPEATED:
            raise PropertiesError(
                f"{self.path}:{line}: the aliases (*{printable(anchor)}) repeat more than {MOST_REPEATED:,} values;"
                " write the values that count without aliases"
            )
        return tree

    def _ended(self, ended: _Open, end: int) -> Tree:
        size = 1 + sum(item.size for item in ended.items)
        unknown = _tagged(ended.tag)
        if ended.is_list:
            return Tree(self.path, ended.line, items=tuple(ended.items), unknown=unknown, size=size)
        names, values = ended.items[::2], ended.items[1::2]
        if any(name.items or name.entries or name.unknown for name in names):
            # {{ replicas }} without quotes is a mapping within a mapping to YAML.
            return Tree(self.path, ended.line, self.text[ended.begins : end], unknown="a template")
        entries: dict[str, Tree] = {}
        lines: dict[str, int] = {}
        for name, value in zip(names, values, strict=True):
            text = name.text or ""
            if text == _MERGE:
                for merged in value.items or (value,):
                    entries = {**merged.entries, **entries}
            elif text in lines:
                raise PropertiesError(
                    f"{self.path}:{name.line}: {printable(text)} is given twice, first in line {lines[text]}; keep one"
                )
            else:
                lines[text], entries[text] = name.line, value
        return Tree(self.path, ended.line, entries=entries, unknown=unknown, size=size)


def _tagged(tag: str) -> str:
    return "" if tag.startswith(_OWN_TAGS[0]) or tag in ("", "!") else f"a value with the tag {printable(tag)}"
