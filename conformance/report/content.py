"""What a report says: the facts of its first screen, and the parts behind them.

In:  a known failure with its report, and the certified trace of its history.
Out: facts and parts (blocks.py); the commands that replay everything.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from isrcheck.commands.settings import words_of_name, words_of_values
from isrcheck.conformance.implemented import MissingMechanismError, switches_of
from isrcheck.conformance.report.blocks import Files, Items, Listing, Part, Rows, Text
from isrcheck.models.kafka.failures.catalogue import Failure, History, pairs
from isrcheck.models.kafka.failures.report import Report, Search
from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.model import Instance, spell
from isrcheck.traces.explaining.presentation import headline, steps_in_words
from isrcheck.traces.format.trace import Trace

DRAWING, STEPS, TRACE, SCRIPT = "history.svg", "history.html", "history.itf.json", "replay.sh"
"""The files beside the page, the text of the issue and the test."""

RECORDINGS = "conformance/recordings"
IN_KAFKA = re.compile(r"(?<!\()Kafka: (.+?)(?:[.:](?= |$)|[()])")
"""The methods that an action stands for, as the docstring of each action names them; in brackets it names others."""

SETTINGS = {"replicas": "{} replicas", "acks": "acks={}", "min_insync_replicas": "min.insync.replicas={}"}
"""Entries of a model that a reader has to know, and their words."""


def facts(failure: Failure, report: Report, trace: Trace) -> list[tuple[str, str]]:
    """Return the first screen: a word for each fact, and its text."""
    return [
        ("What breaks", f"{headline(trace)}. {failure.story}"),
        ("Since when", f"Releases: {failure.releases}. {report.present}"),
        ("What an operator sees", report.sees),
        ("Severity", report.severity),
        ("Until it is repaired", failure.advice),
    ]


def parts(failure: Failure, report: Report, trace: Trace) -> list[Part]:
    """Return the parts after the first screen."""
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
    """Return the methods of Kafka that an action of the model stands for; empty for a fault, which is not code."""
    for declared, alternative in zip(instance.model.actions, instance.alternatives, strict=True):
        if declared.name == action and alternative is not None:
            told = " ".join(declared.alternatives[alternative].documentation.split())
            return ", ".join(name.strip() for name in IN_KAFKA.findall(told))
    return ""


def _history(report: Report, trace: Trace) -> Iterator[Text | Rows | Files]:
    yield Text(_rules(report.history, trace.instance))
    told = steps_in_words(trace)[1:]
    steps = zip(trace.steps, told, strict=True)
    rows = [
        (str(number), words, _as_code(methods(trace.instance, step.action)))
        for number, (step, words) in enumerate(steps, 1)
    ]
    yield Rows(("", "what happens", "in Kafka"), rows)
    yield Text(report.cause)
    yield Files(
        [
            (DRAWING, "the same history, drawn"),
            (STEPS, "each step with the state of all brokers after it"),
            (TRACE, "the same history for `trace show` and `conform replay`"),
        ]
    )


def _rules(history: History, instance: Instance) -> str:
    """The settings of the cluster in the history, and the rules of Kafka that its brokers follow."""
    entries = instance.model.entries
    values = {name: getattr(instance.configuration, name) for name in entries}
    told = [says.format(spell(entries[name], values[name])) for name, says in SETTINGS.items() if name in entries]
    if "unclean_elections" in entries:
        told.append("unclean elections" if values["unclean_elections"] else "only clean elections")
    changed = [name for name in pairs(history.configuration) if name.isupper()]
    switches = [
        f"`{name}={spell(entries[name], values[name])}` (the switch means: {entries[name].says})" for name in changed
    ]
    rules = f"Kafka {history.protocol}" + (f", but with {' and '.join(switches)}" if switches else "")
    return f"{', '.join(told)}. The rules are those of {rules}. It was found by isrcheck, a model checker."


def _as_code(names: str) -> str:
    return f"`{names}`" if names else "a fault"


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
            one.what + (f"; breaks {', '.join(f'`{name}`' for name in one.breaks)}" if one.breaks else ""),
            one.protocol,
            f"{one.depth} steps, {'exhausted' if one.exhausted else 'not exhausted'}",
            f"{one.states:,}",
        )
        for one in report.searches
    ]
    yield Rows(("change and bounds", "rules of Kafka", "depth", "states"), rows)
    yield from (Text(text) for text in (report.unsearched, report.proved) if text)


def _evidence(report: Report) -> Iterator[Text | Rows]:
    if not report.evidence:
        yield Text("Not driven on a real cluster. A search found the failure, and its cause was read in the source.")
        return
    rows = [
        (one.kafka, one.what, ", ".join(f"`{RECORDINGS}/{recording.name}`" for recording in one.recordings) or "-")
        for one in report.evidence
    ]
    yield Rows(("Kafka", "runs", "recordings, in the sources of isrcheck"), rows)


# ------------------------------------------------------------------------------------------------------ the commands


def script(failure: Failure, report: Report) -> str:
    """Return the script that replays everything: it is run in the folder of the report."""
    return "\n".join(_script(failure, report))


def _script(failure: Failure, report: Report) -> Iterator[str]:
    yield "# Finds the history, and every search that the library has of the failure:"
    yield search_of(report.history)
    yield f"check failures {failure.number}"
    if is_replayed(report.history.instance):
        yield "# Takes the steps of the history again, and replays them on an executable cluster:"
        yield f"trace show {TRACE}"
        yield f"conform replay {TRACE}"
    else:
        yield "# Takes the steps of the history again. The executable cluster does not divide them so:"
        yield f"trace show {TRACE}"
    if report.searches:
        yield "# The searches with the change:"
    yield from (_search_with_change(report, one) for one in report.searches)
    recordings = [recording for one in report.evidence for recording in one.recordings]
    if recordings:
        yield "# Explains the recordings of real clusters; ISRCHECK is the folder with the sources of isrcheck:"
    for one in recordings:
        yield f'conform follow "$ISRCHECK"/{RECORDINGS}/{one.name} --protocol {one.protocol}'


def is_replayed(instance: Instance) -> bool:
    """Whether the executable cluster has the mechanisms of an instance, and so can replay its traces."""
    try:
        switches_of(instance)
    except MissingMechanismError:
        return False
    return True


def search_of(history: History) -> str:
    """Return the command that finds a history. A property of endless behaviours needs the whole state space."""
    kind = next(one.kind for one in history.instance.properties if one.name == history.property_name)
    return _command(history, None if kind in WHOLE else history.depth)


def _search_with_change(report: Report, search: Search) -> str:
    changed = replace(report.history, protocol=search.protocol, configuration=search.configuration)
    return _command(changed, None if search.exhausted else search.depth)


def _command(history: History, bound: int | None) -> str:
    limit: Sequence[str] = () if bound is None else ("--bound", str(bound))
    instance = history.instance
    words = words_of_name(history.model, instance), limit, words_of_values(instance)
    return shlex.join(["check", *(word for part in words for word in part), "--details"])
