"""Chooses a command that reproduces a trace and is safe to show to a user who may copy it.

In:  the command in a trace file, which anybody may have written, and the configuration of the trace.
Out: that command, quoted for the shell, if it is one of isrcheck's; otherwise a command made from the configuration.

A command is one of isrcheck's if all of its programs are, its options only read, search or show, and it names no model
file except that of the trace. The shell interprets nothing in it.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.model import DEADLOCK, Instance
from isrcheck.models.settings import words_of_name, words_of_values
from isrcheck.traces.format.trace import NOT_INDUCTIVE

AND = "&&"
PROGRAMS = ("check", "trace", "conform")
OPTIONS = frozenset(
    {"--bound", "--protocol", "--set", "--switch", "--swap", "--engine", "--prove", "--counterexamples", "--model"}
    | {"--walks", "--seed", "--steps", "--bug", "--simulate", "--depth", "--no-deadlock"}
)
"""The options that affect which trace is found; none of them writes or executes a file."""


def reproduction(
    command: str, instance: Instance, file: str | None, property_name: str | None, verdict: str | None, length: int
) -> str:
    """Return `command` if it is one of isrcheck's; otherwise a search or proof of the instance, or nothing without a
    property. The search has the bound `length` (one more for a deadlock), unless the property needs every reachable
    state. `file` is the user's own model, if there is one."""
    options = OPTIONS | {entry.option for entry in instance.model.entries.values() if entry.option is not None}
    if not command or is_ours(command, options, file):
        return command
    if property_name is None:
        return ""
    name = file or _name_of(instance)
    whole = [prop.name for prop in instance.model.properties if prop.kind in WHOLE]
    bound = ["--bound", str(length + (property_name == DEADLOCK.name))]
    how = ["--prove"] if verdict == NOT_INDUCTIVE else [] if property_name in whole else bound
    return shlex.join(["check", *words_of_name(name, instance), *how, *words_of_values(instance)])


def is_ours(command: str, options: Collection[str], file: str | None) -> bool:
    """Whether a command consists only of isrcheck's programs with these options, and the shell interprets nothing."""
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    parts: list[list[str]] = [[]]
    for word in words:
        if word == AND:
            parts.append([])
        else:
            parts[-1].append(word)
    if f" {AND} ".join(map(shlex.join, parts)) != command:
        return False
    return all(_is_ours(part, options, file) for part in parts)


def _is_ours(words: Sequence[str], options: Collection[str], file: str | None) -> bool:
    if not words or words[0] not in PROGRAMS:
        return False
    named = (word.partition("=")[0] for word in words if word.startswith("-"))
    return all(name in options for name in named) and all(
        word == file for word in words if word.partition("=")[2].endswith(".py") or word.endswith(".py")
    )


def _name_of(instance: Instance) -> str:
    """The name of a built-in model on the command line."""
    name, protocol = instance.model.name, instance.protocol.name
    return f"{name}/{protocol}" if name == "published" else name
