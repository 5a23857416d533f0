"""Finds the properties that the path of a recording violates: a behaviour of the model can violate properties.

In:  the trace that explains a recording, and the number of lines passed after each of its states.
Out: for each violated property, its first failure, and the lines that report it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from isrcheck.conformance.follow.recorded.recording import Recording
from isrcheck.models.language.declarations.declare import Kind
from isrcheck.models.language.declarations.layouts import spell_element
from isrcheck.models.language.model import Property
from isrcheck.traces.format.certify import judgements
from isrcheck.traces.format.trace import PERMITTED, VIOLATED, Trace
from isrcheck.traces.kafka import failures as attribution


@dataclass(frozen=True)
class Failure:
    """A failed property: VIOLATED or PERMITTED, and the part of the trace up to its first failure.

    `loss` describes the lost record, if the property failed because a record was lost; otherwise it is None.
    """

    name: str
    verdict: str
    until: Trace
    loss: attribution.Loss | None

    @property
    def step(self) -> int:
        """The number of the step after which the property fails."""
        return self.until.length


def failures_of(trace: Trace) -> list[Failure]:
    """All properties that fail in the trace, in the order of the model; violated takes precedence over permitted."""
    promises = [prop for prop in trace.instance.properties if prop.kind is not Kind.SOMETIMES]
    return [failure for prop in promises if (failure := _failure(trace, prop)) is not None]


def _failure(trace: Trace, prop: Property) -> Failure | None:
    found = judgements(trace.instance, prop, trace.states, trace.steps)
    verdict = next((word for word in (VIOLATED, PERMITTED) if word in found), None)
    if verdict is None:
        return None
    at = found.index(verdict)
    until = replace(
        trace,
        states=trace.states[: at + 1],
        steps=trace.steps[:at],
        property_name=prop.name,
        verdict=verdict,
    )
    return Failure(prop.name, verdict, until, attribution.find_loss(until))


def summary(failures: Sequence[Failure], recording: Recording) -> str:
    """The failures in one line: each with its step, and a lost record by its name in the recording."""
    return "; ".join(_summary(failure, recording) for failure in failures)


def _summary(failure: Failure, recording: Recording) -> str:
    told = f"{failure.verdict} {failure.name} at step {failure.step}"
    loss = failure.loss
    return told if loss is None else f"{told}: {recording.values[loss.record]} is {loss.outcome}"


def lines(failure: Failure, recording: Recording, passed: Sequence[int]) -> list[str]:
    """The report on a failure: the line of the recording after which it occurs, and the responsible steps."""
    seen = passed[failure.step - 1] if failure.step else 0
    after = f", after {recording.lines[seen - 1].spot}" if seen else ""
    head = f"{_summary(failure, recording)}{after}"
    named = [_named(line, failure, recording) for line in attribution.lines(failure.until)]
    return [head, *(f"  {line}" for line in named)]


def _named(line: str, failure: Failure, recording: Recording) -> str:
    """A line about the failure, with the lost record's name in the recording added."""
    if failure.loss is None:
        return line
    letter = f"record {spell_element(failure.loss.record)}:"
    return line.replace(letter, f"{letter[:-1]} ({recording.values[failure.loss.record]}):", 1)
