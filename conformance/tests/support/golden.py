"""Golden traces: notable counterexamples, as commented text.

In:  a file of conformance/tests/golden: comments on the importance of the trace; a header of `key: value` lines;
     an empty line; and the view of `trace show`, of which only the steps are read (a new file may contain only steps).
Out: the certified trace of these steps, and the expected text of the file.

`gone: protocol=2.0` (or switches and settings with their values) names what removes the counterexample: with it, and
with the same bounds otherwise, the property has no such failure. Several such changes are separated by `; `; each of
them suffices.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from conformance.tests.support.places import GOLDEN_FOLDER
from isrcheck.models import registry
from isrcheck.models.kafka.failures.catalogue import History, bounds_of, pairs
from isrcheck.models.language.model import Instance, parse
from isrcheck.traces.format.certify import behaviour, step_named
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.terminal.show import view

FOLDER = GOLDEN_FOLDER
KEYS = ("model", "protocol", "configuration", "swaps", "start", "property", "verdict", "command", "gone")
STEP = re.compile(r"^\s*(\d+)  (\S+(?: \S+)*)", re.ASCII)
"""A line of the table: the number and the step, which ends where two spaces follow."""


@dataclass(frozen=True)
class Golden:
    """A golden file: its comment, its header, and its steps, all as text."""

    comment: list[str]
    header: dict[str, str]
    steps: list[str]


def read(text: str) -> Golden:
    """Parse a golden file."""
    lines = text.splitlines()
    comment = [line for line in lines if line.startswith("#")]
    header: dict[str, str] = {}
    start = len(comment)
    for line in lines[start:]:
        key, colon, value = line.partition(": ")
        if not colon or key not in KEYS:
            break
        header[key] = value
    steps: list[str] = []
    for line in lines[start + len(header) :]:
        found = STEP.match(line)
        if found and found[1] != "0":
            assert int(found[1]) == len(steps) + 1, f"step {found[1]} follows step {len(steps)}"
            steps.append(found[2])
    assert comment, "a golden trace starts with a comment on its importance"
    return Golden(comment, header, steps)


def derive(golden: Golden) -> Trace:
    """The certified trace of the steps in a golden file."""
    header = golden.header
    instance = _instance(header, {})
    return behaviour(
        instance,
        int(header.get("start", "0")),
        [read_step(instance, text) for text in golden.steps],
        header["property"],
        header["command"],
        header.get("verdict"),
    )


def steps_of(history: History) -> Trace:
    """The certified trace of a known failure. Raises UsageError if it does not fail as the library says."""
    steps = [read_step(history.instance, text) for text in history.steps]
    about = history.property_name, "check failures", history.verdict, history.loop
    return behaviour(history.instance, history.start, steps, *about)


def repairs(golden: Golden) -> list[str]:
    """The changes of which each removes the counterexample."""
    return golden.header["gone"].split("; ") if "gone" in golden.header else []


def protocols(golden: Golden) -> set[tuple[str, str]]:
    """The pairs of the generation that has the counterexample and one that does not have it."""
    others = {pairs(change).get("protocol") for change in repairs(golden)}
    return {(golden.header["protocol"], other) for other in others if other}


def repaired(golden: Golden, change: str) -> Instance:
    """The instance in which the counterexample should not exist: the same bounds, with one of the `repairs`.

    A generation has bounds of its own; they do not count here.
    """
    return _instance(golden.header, bounds_of(_instance(golden.header, {})) | pairs(change))


def _instance(header: dict[str, str], changed: dict[str, str]) -> Instance:
    model, protocol = registry.load(header["model"])
    texts = pairs(header.get("configuration", "")) | changed
    protocol = texts.pop("protocol", header.get("protocol", protocol))
    values = {name: parse(name, model.entries[name], text) for name, text in texts.items()}
    return model.instance(protocol, values, pairs(header.get("swaps", "")))


read_step = step_named
"""The step with this text."""


def render(golden: Golden, trace: Trace) -> str:
    """The expected text of the file."""
    header = [f"{key}: {value}" for key, value in golden.header.items()]
    return "\n".join([*golden.comment, *header, "", *view(trace)]) + "\n"
