"""Turns values of trees into settings. A value that only the running system knows is unknown, and is never guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from isrcheck.checker.cluster.client_files import key_of_variable, without_prefix
from isrcheck.checker.cluster.formats.tree import Tree
from isrcheck.checker.cluster.property_files import PropertiesError, Property, printable, properties_of, quoted
from isrcheck.checker.cluster.settings import affects_the_answer

LOST_AT_RESTART = (
    "so each restart of a pod loses its disk: the line Disk of the answer says what a lost disk does to your topics"
)
_FILLED_IN = re.compile(r"\$\{.*?\}|\{\{.*?\}\}|\{%.*?%\}|\$\(\w+\)|<<?[A-Z_]+>?>", re.DOTALL)
"""What a shell, a template or a provider of configurations replaces: ${MIN_ISR}, {{ min_isr }}, $(POD_NAME)."""


def setting(key: str, value: Tree) -> Property | None:
    """Return a setting; None if nothing is written there, or if an unknown value does not count for the answer. Raises
    PropertiesError for an unknown value that counts."""
    text = value.text
    if value.items and all(item.text is not None and not item.unknown for item in value.items):
        text = ",".join(item.text or "" for item in value.items)
    if why := unknown(value):
        # acks for producer.acks, and for the variable CONNECT_PRODUCER_ACKS
        if affects_the_answer(without_prefix(key) or without_prefix(key_of_variable(key)) or key):
            raise PropertiesError(
                f"{value.place}: {printable(key)} is {why}, so its value is unknown; write the value, or give what the"
                " running cluster has (kafka-configs --describe --all)"
            )
        return None
    return None if text is None else Property(key, text, value.path, value.line)


def unknown(value: Tree) -> str:
    """Return what stands in place of a value that the file does not give; empty if the file gives the value."""
    if value.unknown:
        return value.unknown
    if value.text is not None and (found := _FILLED_IN.search(value.text)):
        return f"filled in from {printable(found.group()[:40])}"
    return "no single value" if value.entries else ""


def settings_of(entries: Tree) -> list[Property]:
    """Return the settings that a mapping gives, KEY: VALUE. Raises PropertiesError as `setting` does, and if something
    unknown stands in place of the mapping: any setting can be in it."""
    if not entries.entries and (why := unknown(entries)):
        raise PropertiesError(
            f"{entries.place}: the settings here are {why}, so they are unknown; write them, or give what the running"
            " cluster has (kafka-configs --describe --all)"
        )
    return settings_from(entries.entries.items())


def settings_from(pairs: Iterable[tuple[str, Tree]]) -> list[Property]:
    """Return the settings that pairs of a key and a value give. Raises PropertiesError as `setting` does."""
    return [line for key, value in pairs if (line := setting(key, value)) is not None]


def text_of_properties(value: Tree) -> Sequence[Property]:
    """Return the settings in the text of a property file that is a value in another file, with their places there."""
    first = value.line + 1 if value.is_block else value.line
    is_below = value.is_block or "\n" not in (value.text or "")
    lines = properties_of(value.path, value.text or "")
    settings = [replace(line, line=first + line.line - 1 if is_below else value.line) for line in lines]
    return settings_from((one.key, Tree(one.path, one.line, one.value)) for one in settings)


def number(value: Tree, what: str) -> int:
    """Return a whole number of at least 1; 0 if nothing is written there, or if it is unknown. Raises PropertiesError
    for another text."""
    if unknown(value) or value.text is None:
        return 0
    if re.fullmatch(r"[1-9]\d{0,8}", value.text, re.ASCII) is None:
        raise PropertiesError(
            f"{value.place}: {what} {quoted(value.text)} is not a whole number of at least 1; correct it"
        )
    return int(value.text)
