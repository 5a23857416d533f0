"""Tests of a system against a model, with Hypothesis; docs/api.md shows how to use it. Needs `isrcheck[testing]`.

strategies.py      configurations of a model, walks through it, and traces of a property
state_machine.py   a rule-based state machine: model and system take the same steps, and failures are shrunk

In:  instances of models, and the driver of a system: `begin`, `take`, `observe` (`System`).
Out: Hypothesis strategies and state machines. `isrcheck.conformance.replay` defines the interface of drivers.
"""

from isrcheck.conformance.replay.system import StepRefusedError, System
from isrcheck.testing.state_machine import Failure, ModelAndSystem, find, must_agree, state_machine
from isrcheck.testing.strategies import configurations, traces, walks

__all__ = [
    "Failure",
    "ModelAndSystem",
    "StepRefusedError",
    "System",
    "configurations",
    "find",
    "must_agree",
    "state_machine",
    "traces",
    "walks",
]
