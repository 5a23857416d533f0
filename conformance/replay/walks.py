"""Makes random walks of the model, to be replayed.

Each next step is chosen uniformly among the enabled steps; the actions in RELUCTANCE are chosen more rarely. Steps that
no timing allows (timing.py), or that no cluster can take (on_cluster.py), are left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection

from isrcheck.conformance.implemented import UntimelyError, system_of
from isrcheck.conformance.replay.kraft_timing import FETCH
from isrcheck.conformance.replay.on_cluster import FOLLOWED
from isrcheck.conformance.replay.projection import has_kraft
from isrcheck.conformance.replay.timing import SENDS, TIMED, timing_of
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import Trace

RELUCTANCE = {
    "application_stops": 0.95,
    "coordinator_fails_over": 0.8,
    "coordinator_handles_init_producer_id": 0.8,
    "coordinator_times_out_transaction": 0.8,
    "producer_aborts": 0.8,
}
"""How often a step that ends something is taken only if no other is enabled; otherwise few transactions get far."""

Enabled = Callable[[Cells], Collection[int]]
"""The numbers of the steps that are enabled in a state."""


def walk(instance: Instance, seed: int, steps: int, enabled: Enabled | None = None) -> Trace:
    """A random walk of this many steps, or fewer if no further step is possible. The same seed gives the same walk.

    `enabled` gives the numbers of the enabled steps of a state. The walk is the same with and without this function;
    the function only saves CPython from trying the steps that are not enabled.
    """
    chance = random.Random(seed)
    trace = Trace(instance, (chance.choice(instance.initial_states),), (), None, None, "")
    has_reluctance = any(step.action in RELUCTANCE for step in instance.steps)
    while trace.length < steps:
        candidates = chance.sample(instance.steps, len(instance.steps))
        if has_reluctance:
            candidates.sort(key=lambda step: step.action in RELUCTANCE and chance.random() < RELUCTANCE[step.action])
        if enabled is not None:
            numbers = enabled(trace.states[-1])
            candidates = [step for step in candidates if step.number in numbers]
        longer = next(filter(None, (with_step(trace, step) for step in candidates)), None)
        if longer is None:
            break
        trace = longer
    return trace


def with_step(trace: Trace, step: Step) -> Trace | None:
    """The trace extended by `step`; None if the model or the timing of a cluster does not allow the step."""
    after = run.take(trace.instance, trace.states[-1], step)
    if after is None:
        return None
    longer = Trace(trace.instance, (*trace.states, after), (*trace.steps, step), None, None, "")
    return longer if _is_timely(longer, step) else None


def _is_timely(trace: Trace, last: Step) -> bool:
    """Whether a cluster can take the last step of a trace."""
    if followed := FOLLOWED.get(system_of(trace.instance)):
        return last.action not in followed.decisive or followed.why_not(trace) is None
    if last.action == FETCH and not has_kraft(trace.instance.configuration):
        return True
    if last.action in TIMED and (trace.instance.configuration.enable_idempotence or last.action not in SENDS):
        try:
            timing_of(trace)
        except UntimelyError:
            return False
    return True
