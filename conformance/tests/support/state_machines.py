"""The state machine of isrcheck.testing for the cluster: kafka and the cluster side by side.

In:  an `Instance` of kafka, and optionally a bug to seed in the cluster.
Out: a machine for `find` and `must_agree` that respects the timing of clusters, and names the command that replays a
     failure.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from isrcheck.conformance.replay.driver import Driver
from isrcheck.conformance.replay.timing import timing_of
from isrcheck.conformance.replay.walks import Enabled, with_step
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance, Step
from isrcheck.testing import ModelAndSystem, state_machine
from isrcheck.traces.format.trace import Trace


class ModelAndCluster(ModelAndSystem):
    """The state machine with the cluster as the system."""

    system: Driver

    def begin_system(self) -> None:
        """The cluster reads the trace as the engines do."""
        self.system.begin(self.trace)

    def with_step(self, step: Step) -> Trace | None:
        """Take a step, unless no timing allows it."""
        return with_step(self.trace, step)

    def take_in_system(self, step: Step) -> None:
        """Take a step in the system; replay the whole trace on a new cluster if time has to pass earlier."""
        if timing_of(self.trace) == self.system.timing:
            self.system.replay.trace = self.trace
            self.system.take(step)
            return
        self.system.begin(self.trace)
        self.system.observe()
        for again in self.trace.steps:
            self.system.take(again)
            self.system.observe()

    @classmethod
    def what_next(cls, path: Path) -> str:
        """The command that replays the trace."""
        return f"replay it: {replay_of(path, cls.new_system().bug)}"


def replay_of(path: Path, bug: str | None = None) -> str:
    """The command that replays a trace on the cluster."""
    return f"conform replay {shlex.quote(str(path))}{f' --bug {bug}' if bug else ''}"


def machine_of(
    instance: Instance,
    bug: str | None = None,
    promised: Sequence[str] | None = None,
    enabled: Enabled | None = None,
) -> type[ModelAndSystem]:
    """The machine for an instance. `promised` are the state properties to check; None: all of them."""
    states = [prop.name for prop in instance.properties if prop.kind is Kind.ALWAYS and not prop.of_steps]
    watched = states if promised is None else promised
    return state_machine(instance, lambda: Driver(bug), properties=watched, enabled=enabled, base=ModelAndCluster)
