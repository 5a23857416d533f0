"""Performs one run of the system of transactions under random acts, and records its events.

In:  a `TransactionsPlan`, and a `Writer`.
Out: the header and the events of the run, written.

The model is bounded, and so is each run: it ends when the application wants to begin more transactions than the model
has, and the next run begins with another system. An act after which nothing else is observed is no event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isrcheck.conformance.follow.format.events import Event, Header, Value
from isrcheck.conformance.follow.format.variables import Variables
from isrcheck.conformance.follow.format.writing import Writer
from isrcheck.conformance.follow.recorder.transactions.plan import TransactionsPlan
from isrcheck.conformance.follow.recorder.transactions.random_acts import LATE_MARKER, RandomActs
from isrcheck.conformance.replay.transactions.projection import project

MOST_IDLE = 100
"""The number of acts without an event after which a run ends."""

Observed = dict[str, list[int]]
"""The cells of what is observed, by log key."""


class TransactionsRun:
    """One run of one system, from the first instance of the producer until the bounds are reached."""

    def __init__(self, plan: TransactionsPlan, writer: Writer) -> None:
        self._plan = plan
        self._writer = writer
        self._name = f"{plan.seed}.{writer.runs + 1}"
        self._variables = Variables(plan.instance)
        self._acts = RandomActs(plan, f"transactions of {self._name}")
        self._events = 0

    def go(self) -> None:
        """Perform the run until it ends, or the plan's number of events is reached."""
        plan, before = self._plan, self._observed()
        assert before is not None
        note = f"bug: {plan.bug}" if plan.bug else ""
        entries, switches = plan.spelled(is_switch=False), plan.spelled(is_switch=True)
        spelled = {name: str(value) for name, value in switches.items()}
        state = self._spelled(before)
        self._writer.begin(Header(self._name, plan.protocol, entries, spelled, state, plan.seed, note, "transactions"))
        idle = 0
        while idle < MOST_IDLE and self._writer.events < plan.events:
            step = self._acts.act()
            after = self._observed()
            if self._acts.is_over or after is None:
                return
            idle += 1
            if any(before.get(key) != cells for key, cells in after.items()):
                idle = 0
                self._write(step, after)
            before = after

    def _write(self, step: tuple[str, tuple[int, ...]] | None, observed: Observed) -> None:
        """Write an event; without a step, it is one that only shows what changed."""
        self._events += 1
        action, ordinals = step or (None, ())
        names = [] if action is None else self._names_of(action)
        arguments = dict(zip(names, ordinals, strict=True))
        self._writer.write(Event(self._name, self._events, None, action, arguments, self._spelled(observed)))

    def _names_of(self, action: str) -> list[str]:
        """The names of an action's arguments."""
        instance = self._plan.instance
        index = [one.name for one in instance.model.actions].index(action)
        return [argument.parameter.name for argument in instance.argument_ranges[index]]

    def _spelled(self, observed: Observed) -> dict[str, Value]:
        return {key: self._variables.part(key).spell(cells) for key, cells in observed.items()}

    def _observed(self) -> Observed | None:
        """What is observed now, by log key; None if the model has no room for it."""
        acts, instance, found = self._acts, self._plan.instance, Observed()
        acts.seen.note(acts.system)
        for key, value in _by_key(project(acts.system, acts.seen, instance.configuration)):
            layout, cells = self._variables.part(key).layout, list(_flat(value))
            if not cells:  # of a mechanism that the bounds leave out
                continue
            if len(cells) > layout.count or min(cells) < layout.low or max(cells) > layout.high:
                return None
            if key not in acts.lost:
                found[key] = cells
        return found


def _by_key(variables: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The variables by their log keys: each as a whole, but those of a late marker for each partition."""
    for name, value in variables.items():
        if name in LATE_MARKER:
            yield from ((f"{name}[{partition}]", one) for partition, one in enumerate(value))
        else:
            yield name, value


def _flat(value: Any) -> Iterator[int]:
    """The cells of a value."""
    if isinstance(value, list):
        for one in value:
            yield from _flat(one)
    else:
        yield int(value)
