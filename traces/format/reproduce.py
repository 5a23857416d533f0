"""The command that reproduces a trace, as far as what a file says of it can be shown to somebody who may copy it.

In:  the command that a trace file gives, which anybody may have written, and the trace's configuration.
Out: that command if it is one of ours, in words that a shell takes as they are; else the search for the trace, made
     of the configuration.

A command is one of ours if each of its programs is, with options that read, search or show, and if it names no other
model file than that of the trace. Nothing in it is left to the shell.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from isrcheck.models.language.model import Instance
from isrcheck.models.settings import words_of_name, words_of_values
from isrcheck.traces.format.trace import NOT_INDUCTIVE

AND = "&&"
PROGRAMS = ("check", "trace", "conform")
OPTIONS = frozenset(
    {"--bound", "--protocol", "--set", "--switch", "--swap", "--engine", "--prove", "--counterexamples", "--model"}
    | {"--walks", "--seed", "--steps", "--bug"}
)
"""The options of ours that a trace is made with; none of them writes a file that it names, or runs one."""


def reproduction(
    command: str, instance: Instance, file: str | None, property_name: str | None, verdict: str | None, length: int
) -> str:
    """The command of a trace file, or what stands in for it. `file` is the model that a person wrote, if it is one."""
    options = OPTIONS | {entry.option for entry in instance.model.entries.values() if entry.option is not None}
    if not command or is_ours(command, options, file):
        return command
    if property_name is None:
        return ""
    name = file or _name_of(instance)
    how = ["--prove"] if verdict == NOT_INDUCTIVE else ["--bound", str(length)]
    return shlex.join(["check", *words_of_name(name, instance), *how, *words_of_values(instance)])


def is_ours(command: str, options: Collection[str], file: str | None) -> bool:
    """Whether a command consists of programs of ours with such options, and of nothing else that a shell knows."""
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
    """How a model that the project brings along is named on the command line."""
    name, protocol = instance.model.name, instance.protocol.name
    return f"{name}/{protocol}" if name == "published" else name
