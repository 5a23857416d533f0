"""The content of a report: the facts on its first screen, the parts below, and the commands that replay everything."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

from isrcheck.commands.settings import words_of_name, words_of_values
from isrcheck.conformance.implemented import MissingMechanismError, switches_of
from isrcheck.conformance.report.blocks import Files, Items, Listing, Part, Rows, Text
from isrcheck.models.kafka.failures.catalogue import Failure, History, pairs
from isrcheck.models.kafka.failures.report import Report
from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.model import Instance, spell
from isrcheck.traces.explaining.presentation import headline, steps_in_words
from isrcheck.traces.format.trace import Trace

DRAWING, STEPS, TRACE, SCRIPT = "history.svg", "history.html", "history.itf.json", "replay.sh"
"""The files beside the page, the text of the issue and the test."""

RECORDINGS = "conformance/recordings"
IN_KAFKA = re.compile(r"(?<!\()Kafka: (.+?)(?:[.:](?= |$)|[()])")
"""Finds the methods of Kafka in an action's docstring; methods in brackets are not what the action stands for."""

SETTINGS = {"replicas": "{} replicas", "acks": "acks={}", "min_insync_replicas": "min.insync.replicas={}"}
"""The entries of a model that a report states, and the words for each."""


def facts(failure: Failure, report: Report, trace: Trace) -> list[tuple[str, str]]:
    """Return the facts on the first screen of the page, each as a heading and its text."""
    return [
        ("What breaks", f"{headline(trace)}. {failure.story}"),
        ("Since when", f"Releases: {failure.releases}. {report.present}"),
        ("What an operator sees", report.sees),
        ("Severity", report.severity),
        ("Until it is repaired", failure.advice),
    ]


def parts(failure: Failure, report: Report, trace: Trace) -> list[Part]:
    """Return the parts of the report that follow the first screen."""
    return [
        Part("What it takes", [Items(report.conditions)]),
        Part(f"A shortest history: {trace.length} steps", list(_history(report, trace))),
        Part("A test that fails today", list(_test(report))),
        Part("The smallest change", [Text(report.change)]),
        Part("What was searched with the change", list(_searched(report))),
        Part("On real clusters", list(_evidence(report))),
        Part("Replay all of it", [Text(f"Also in the file `{SCRIPT}`."), Listing(script(failure, report), "bash")]),
    ]


def methods(instance: Instance, action: str) -> str:
    """Return the methods of Kafka that an action of the model stands for; empty for a fault, which has no method."""
    for declared, alternative in zip(instance.model.actions, instance.alternatives, strict=True):
        if declared.name == action and alternative is not None:
            documentation = " ".join(declared.alternatives[alternative].documentation.split())
            return ", ".join(name.strip() for name in IN_KAFKA.findall(documentation))
    return ""


def _history(report: Report, trace: Trace) -> Iterator[Text | Rows | Files]:
    yield Text(_rules(report.history, trace.instance))
    code = [methods(trace.instance, step.action) for step in trace.steps]
    places = [f"`{names}`" if names else "a fault" for names in code]
    numbers = map(str, range(1, len(places) + 1))
    yield Rows(("", "what happens", "in Kafka"), [*zip(numbers, steps_in_words(trace)[1:], places, strict=True)])
    yield Text(report.cause)
    yield Files(
        {
            DRAWING: "the same history, drawn",
            STEPS: "each step with the state of all brokers after it",
            TRACE: "the same history for `trace show` and `conform replay`",
        }
    )


def _rules(history: History, instance: Instance) -> str:
    """The settings of the cluster in the history, and the rules of Kafka that its brokers follow."""
    entries = instance.model.entries
    values = {name: getattr(instance.configuration, name) for name in entries}
    settings = [words.format(spell(entries[name], values[name])) for name, words in SETTINGS.items() if name in entries]
    if "unclean_elections" in entries:
        settings.append("unclean elections" if values["unclean_elections"] else "only clean elections")
    switches = [
        f"`{name}={spell(entries[name], values[name])}` (the switch means: {entries[name].says})"
        for name in pairs(history.configuration)
        if name.isupper()
    ]
    rules = f"Kafka {history.protocol}" + (f", but with {' and '.join(switches)}" if switches else "")
    return f"{', '.join(settings)}. The rules are those of {rules}. It was found by isrcheck, a model checker."


def _test(report: Report) -> Iterator[Text | Listing]:
    yield Text(
        f"A sketch against the helpers of `{report.sketch.file}` in trunk of 2026-08-22. It was written by reading; it"
        " has not been compiled."
    )
    yield Listing(report.sketch.text.strip("\n"), report.sketch.file.rpartition(".")[2])


def _searched(report: Report) -> Iterator[Text | Rows]:
    yield Text(
        "Every behaviour of the model within the bounds was searched, and none breaks a promise that the table does not"
        " name. `exhausted`: no state is left, so longer behaviours do not break one either."
    )
    rows = [
        (
            search.what + (f"; breaks {', '.join(f'`{name}`' for name in search.breaks)}" if search.breaks else ""),
            search.protocol,
            f"{search.depth} steps, {'exhausted' if search.exhausted else 'not exhausted'}",
            f"{search.states:,}",
        )
        for search in report.searches
    ]
    yield Rows(("change and bounds", "rules of Kafka", "depth", "states"), rows)
    yield from (Text(text) for text in (report.unsearched, report.proved) if text)


def _evidence(report: Report) -> Iterator[Text | Rows]:
    if not report.evidence:
        yield Text("Not driven on a real cluster. A search found the failure, and its cause was read in the source.")
        return
    rows = []
    for runs in report.evidence:
        names = ", ".join(f"`{RECORDINGS}/{recording.name}`" for recording in runs.recordings)
        rows.append((runs.kafka, runs.what, names or "-"))
    yield Rows(("Kafka", "runs", "recordings, in the sources of isrcheck"), rows)


# ------------------------------------------------------------------------------------------------------ the commands


def script(failure: Failure, report: Report) -> str:
    """Return the shell script that replays the failure; a reader runs it in the folder of the report."""
    lines = ["# Finds the history, and every search that the library has of the failure:"]
    lines += [search_of(report.history), f"check failures {failure.number}"]
    if is_replayed(report.history.instance):
        lines.append("# Takes the steps of the history again, and replays them on an executable cluster:")
        lines += [f"trace show {TRACE}", f"conform replay {TRACE}"]
    else:
        lines.append("# Takes the steps of the history again. The executable cluster does not divide them so:")
        lines.append(f"trace show {TRACE}")
    if report.searches:
        lines.append("# The searches with the change:")
    for search in report.searches:
        changed = replace(report.history, protocol=search.protocol, configuration=search.configuration)
        lines.append(_command(changed, None if search.exhausted else search.depth))
    recordings = [recording for runs in report.evidence for recording in runs.recordings]
    if recordings:
        lines.append("# Explains the recordings of real clusters; ISRCHECK is the folder with the sources of isrcheck:")
    follow = f'conform follow "$ISRCHECK"/{RECORDINGS}'
    lines += [f"{follow}/{recording.name} --protocol {recording.protocol}" for recording in recordings]
    return "\n".join(lines)


def is_replayed(instance: Instance) -> bool:
    """Whether the executable cluster has all mechanisms of this instance of a model, and so can replay its traces."""
    try:
        switches_of(instance)
    except MissingMechanismError:
        return False
    return True


def search_of(history: History) -> str:
    """Return the `check` command that finds the failure of `history`; it has no bound if it must search every state."""
    kind = next(prop.kind for prop in history.instance.properties if prop.name == history.property_name)
    return _command(history, None if kind in WHOLE else history.depth)


def _command(history: History, bound: int | None) -> str:
    limit = [] if bound is None else ["--bound", str(bound)]
    name, values = words_of_name(history.model, history.instance), words_of_values(history.instance)
    return shlex.join(["check", *name, *limit, *values, "--details"])
