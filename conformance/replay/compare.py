"""Replay of a trace on a cluster: after each step, what can be seen of the cluster has to be what the model says.

In:  a trace of `kafka`.
Out: the first `Divergence`, or None: the cluster did all of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from conformance.cluster.settings import ClusterError
from conformance.replay.driver import Driver, cells_of
from conformance.replay.projection import Witnessed, project
from traces.trace import Trace


@dataclass(frozen=True)
class Divergence:
    """Where a cluster goes another way: after which step (0: at the start), in which variable, and what each has.

    `why` is told where the step could not be taken; then there is no variable.
    """

    position: int
    variable: str | None = None
    model: tuple[int, ...] = ()
    cluster: tuple[int, ...] = ()
    why: str = ""


def replay(trace: Trace, bug: str | None = None) -> Divergence | None:
    """Take a cluster through a trace; with `bug`, one that has a seeded bug (conformance/cluster/bugs.py)."""
    driver = Driver(trace, bug)
    seen = Witnessed(common=max(cells_of(trace.instance, trace.states[0], "log_end_offset")))
    for position in range(trace.length + 1):
        if position:
            try:
                driver.step()
            except ClusterError as error:
                return Divergence(position, why=str(error))
        view = driver.cluster.observe()
        seen.note(view)
        for name, cells in project(trace.instance, view, seen).items():
            if cells != (expected := cells_of(trace.instance, trace.states[position], name)):
                return Divergence(position, name, expected, cells)
    return None
