"""Exhaustive searches of models, in which tests look for failures at known depths.

A search is run once for all tests that look at it; they ask what fails in it, and at which depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.verdict import verdicts
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance, Model, Step
from isrcheck.models.run import Cells, State, successors
from isrcheck.traces.format.certify import from_steps

Values = Mapping[str, int]
SEARCHES: dict[tuple[str, str], Exploration] = {}
"""The searches, by the digest of the instance and its protocol."""


def searched(model: Model, protocol: str, values: Values) -> Exploration:
    """The exhaustive search of this configuration, which is run once."""
    instance = model.instance(protocol, values)
    key = instance.digest, protocol
    if key not in SEARCHES:
        SEARCHES[key] = explore(instance, Limits(memory=1 << 30), count_all=True)
        assert SEARCHES[key].exhausted
    return SEARCHES[key]


def promises(model: Model) -> set[str]:
    """The properties of a model that are not goals."""
    return {prop.name for prop in model.properties if prop.kind is not Kind.SOMETIMES}


def failures(found: Exploration) -> dict[str, int]:
    """The depth of each failure: of promises, not of goals."""
    judged = {*promises(found.instance.model), "in_range"}
    paths = {name: one.found.path for name, one in found.findings.items() if name in judged}
    return {name: path.depth for name, path in paths.items() if path is not None}


def goals(instance: Instance) -> set[str]:
    """The properties that have to be reachable under a configuration."""
    return {prop.name for prop in instance.properties if prop.kind is Kind.SOMETIMES}


def reached(found: Exploration) -> set[str]:
    """The goals that a search has reached."""
    return {goal for goal in goals(found.instance) if found.findings[goal].found.count}


def steps_to(instance: Instance, name: str) -> list[str]:
    """The steps of the shortest counterexample, or permitted failure, of a property, certified in plain Python."""
    findings = explore(instance, Limits(), only=[name]).findings[name]
    path, word = (findings.found.path, "VIOLATED") if findings.found.path else (findings.permitted.path, "PERMITTED")
    assert path is not None
    return [instance.spell_step(step) for step in from_steps(instance, path.initial, path.steps, name, "", word).steps]


def certified(instance: Instance) -> tuple[int, dict[str, str]]:
    """The number of states of an exhaustive search, and the verdict on each property as text. Every failing path is
    taken again in plain Python."""
    found = explore(instance, Limits(memory=1 << 30))
    assert found.exhausted
    judged = verdicts(found)
    for verdict in judged:
        for _, path, word in verdict.failing_paths:
            from_steps(instance, path.initial, path.steps, verdict.prop.name, "", word, path.loop)
    return found.distinct, {verdict.prop.name: verdict.text for verdict in judged}


def transitions(instance: Instance) -> Iterator[tuple[State, Step, Cells]]:
    """Every step from every reachable state, computed in plain Python: the state, the step, the state after it."""
    reached = set(instance.initial_states)
    waiting = list(reached)
    while waiting:
        cells = waiting.pop()
        for step, after in successors(instance, cells):
            yield State(instance, cells), step, after
            if after not in reached:
                reached.add(after)
                waiting.append(after)


def spelled(values: object) -> str:
    """A parameter in the name of a test."""
    if not isinstance(values, dict):
        return str(values)
    return " ".join(f"{entry}={value}" for entry, value in sorted(values.items()))
