"""Makes random walks of the model, to be replayed.

In:  an `Instance` of kafka, a seed, a number of steps; optionally a function that gives the enabled steps.
Out: a `Trace` without a property.

Each next step is chosen uniformly among the enabled steps; steps that no timing allows (timing.py) are left
out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection

from isrcheck.conformance.replay.timing import SENDS, TIMED, UntimelyError, timing_of
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import Trace

Enabled = Callable[[Cells], Collection[int]]
"""The numbers of the steps that are enabled in a state."""


def walk(instance: Instance, seed: int, steps: int, enabled: Enabled | None = None) -> Trace:
    """A random walk of this many steps, or fewer if no further step is possible. The same seed gives the same walk.

    `enabled` gives the numbers of the enabled steps of a state. The walk is the same with and without it; with it,
    CPython does not try the steps that are not enabled.
    """
    chance = random.Random(seed)
    trace = Trace(instance, (chance.choice(instance.initial_states),), (), None, None, "")
    while trace.length < steps:
        candidates = chance.sample(instance.steps, len(instance.steps))
        if enabled is not None:
            numbers = enabled(trace.states[-1])
            candidates = [step for step in candidates if step.number in numbers]
        longer = next(filter(None, (with_step(trace, step) for step in candidates)), None)
        if longer is None:
            break
        trace = longer
    return trace


def with_step(trace: Trace, step: Step) -> Trace | None:
    """The trace with one more step, or None if the model or the timing does not allow it."""
    after = run.take(trace.instance, trace.states[-1], step)
    if after is None:
        return None
    longer = Trace(trace.instance, (*trace.states, after), (*trace.steps, step), None, None, "")
    if step.action in TIMED and (trace.instance.configuration.enable_idempotence or step.action not in SENDS):
        try:
            timing_of(longer)
        except UntimelyError:
            return None
    return longer
