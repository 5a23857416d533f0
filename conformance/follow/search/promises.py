"""Judges the promises of the model in single states, and on the path that explains a recording.

The model also has behaviours that violate its promises, so a path that explains a recording may violate them.

A kernel, the compiled model, only counts the failures in a range of states, and names the first failure; so small
ranges are judged, and after each failure the rest of the range is judged again. Promises about transitions are judged
only on whole paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.results.kernel_results import KernelResults
from isrcheck.conformance.follow.recorded.recording import Recording
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import spell_element
from isrcheck.traces.format.certify import judgements
from isrcheck.traces.format.trace import PERMITTED, VIOLATED, Trace
from isrcheck.traces.kafka import failures as attribution

PROMISE = "acked_not_lost"
"""The promise that no acknowledged record is lost."""

RANGE = 32
"""The number of states that are judged together."""


class Keeping:
    """Judges whether states keep all promises of an instance, or only the promise with the name `only`."""

    def __init__(self, instance: Instance, kernel: Kernel, only: str | None = None) -> None:
        self.kernel = kernel
        promises = {
            prop.name
            for prop in instance.properties
            if prop.kind is Kind.ALWAYS and not prop.of_steps and only in (None, prop.name)
        }
        self.numbers = np.array([at for at, prop in enumerate(instance.model.properties) if prop.name in promises])
        self.active = np.zeros(len(instance.model.properties) + 1, np.int8)
        self.active[self.numbers] = 1
        self.buffer = kernel.layout.buffer(instance)
        self.results = KernelResults(len(instance.model.properties))

    def keep(self, states: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """For each of these states, whether it keeps all promises."""
        states = np.ascontiguousarray(states)
        kept: NDArray[np.bool_] = np.ones(len(states), bool)
        for first in range(0, len(states), RANGE):
            last = min(first + RANGE, len(states))
            failing = self._first_failing(states, first, last)
            while failing is not None:
                kept[failing] = False
                failing = self._first_failing(states, failing + 1, last)
        return kept

    def _first_failing(self, states: NDArray[np.uint64], first: int, last: int) -> int | None:
        """The first row of `first` to `last` - 1 whose state violates a promise (permitted failures aside), or None."""
        self.results.clear()
        buffer, active = self.buffer.ctypes.data, self.active.ctypes.data
        self.kernel.check(states.ctypes.data, first, last, buffer, active, self.results.address)
        return self.results.first_found(self.numbers)


@dataclass(frozen=True)
class Failure:
    """A failed property: VIOLATED or PERMITTED, and the part of the trace up to its first failure. `loss` describes the
    lost record, if the property failed because a record was lost."""

    name: str
    verdict: str
    until: Trace
    loss: attribution.Loss | None

    @property
    def step(self) -> int:
        """The number of the step after which the property fails."""
        return self.until.length


def failures_of(trace: Trace) -> list[Failure]:
    """The failure of each property that fails in the trace, in the model's order: its first violation or, if it has
    none, its first permitted failure."""
    failures = []
    for prop in trace.instance.properties:
        judged = [] if prop.kind is Kind.SOMETIMES else judgements(trace.instance, prop, trace.states, trace.steps)
        verdict = next((word for word in (VIOLATED, PERMITTED) if word in judged), None)
        if verdict is not None:
            at = judged.index(verdict)
            states, steps = trace.states[: at + 1], trace.steps[:at]
            until = replace(trace, states=states, steps=steps, property_name=prop.name, verdict=verdict)
            failures.append(Failure(prop.name, verdict, until, attribution.find_loss(until)))
    return failures


def summary(failures: Sequence[Failure], recording: Recording) -> str:
    """The failures in one line: each with its step, and a lost record by its name in the recording."""
    return "; ".join(_summary(failure, recording) for failure in failures)


def _summary(failure: Failure, recording: Recording) -> str:
    verdict, loss = f"{failure.verdict} {failure.name} at step {failure.step}", failure.loss
    return verdict if loss is None else f"{verdict}: {recording.values[loss.record]} is {loss.outcome}"


def failure_lines(failure: Failure, recording: Recording, passed: Sequence[int]) -> list[str]:
    """The report on a failure: the line of the recording after which it occurs, and the responsible steps.

    In the lines about a lost record, the recording's name of the record is added.
    """
    count = passed[failure.step - 1] if failure.step else 0
    after = f", after {recording.lines[count - 1].spot}" if count else ""
    report = [f"{_summary(failure, recording)}{after}"]
    for line in attribution.lines(failure.until):
        if failure.loss is not None:
            letter = f"record {spell_element(failure.loss.record)}"
            line = line.replace(f"{letter}:", f"{letter} ({recording.values[failure.loss.record]}):", 1)
        report.append(f"  {line}")
    return report
