"""Which promises the history that explains a recording breaks: a history of the model need not be a good one.

In:  the history of a recording, with how many lines are passed after each of its states.
Out: for each promise that fails in it, where it fails first, and the lines that say it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from isrcheck.conformance.follow.observations.recording import Recording
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.model import Property, spell_element
from isrcheck.traces.explaining import attribution
from isrcheck.traces.format.certify import judgements
from isrcheck.traces.format.trace import PERMITTED, VIOLATED, Trace


@dataclass(frozen=True)
class Failure:
    """A promise that fails: VIOLATED or PERMITTED, and the part of the history that ends where it fails first.

    `loss` says what is lost, where the failure is a loss.
    """

    name: str
    verdict: str
    until: Trace
    loss: attribution.Loss | None

    @property
    def step(self) -> int:
        """The number of the step that breaks it."""
        return self.until.length


def failures_of(history: Trace) -> list[Failure]:
    """Every promise that the history breaks, in the order of the model; a violation counts before a permitted one."""
    promises = [prop for prop in history.instance.properties if prop.kind is not Kind.SOMETIMES]
    return [failure for prop in promises if (failure := _failure(history, prop)) is not None]


def _failure(history: Trace, prop: Property) -> Failure | None:
    found = judgements(history.instance, prop, history.states, history.steps)
    verdict = next((word for word in (VIOLATED, PERMITTED) if word in found), None)
    if verdict is None:
        return None
    at = found.index(verdict)
    until = replace(
        history,
        states=history.states[: at + 1],
        steps=history.steps[:at],
        property_name=prop.name,
        verdict=verdict,
    )
    return Failure(prop.name, verdict, until, attribution.find_loss(until))


def summary(failures: Sequence[Failure], recording: Recording) -> str:
    """The failures in one line: each with its step, and what is lost by the name that the recording has for it."""
    return "; ".join(_summary(failure, recording) for failure in failures)


def _summary(failure: Failure, recording: Recording) -> str:
    told = f"{failure.verdict} {failure.name} at step {failure.step}"
    loss = failure.loss
    return told if loss is None else f"{told}: {recording.values[loss.record]} is {loss.outcome}"


def lines(failure: Failure, recording: Recording, passed: Sequence[int]) -> list[str]:
    """A failure at length: behind which line of the recording it happens, and which steps did it."""
    seen = passed[failure.step - 1] if failure.step else 0
    after = f", after line {recording.lines[seen - 1].number}" if seen else ""
    head = f"{_summary(failure, recording)}{after}"
    named = [_named(line, failure, recording) for line in attribution.lines(failure.until)]
    return [head, *(f"  {line}" for line in named)]


def _named(line: str, failure: Failure, recording: Recording) -> str:
    """The record by the recording's own name as well."""
    if failure.loss is None:
        return line
    letter = f"record {spell_element(failure.loss.record)}:"
    return line.replace(letter, f"{letter[:-1]} ({recording.values[failure.loss.record]}):", 1)
