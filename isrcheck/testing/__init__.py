"""Tests of a system against a model, with Hypothesis; docs/api.md shows how to use it. Needs `isrcheck[testing]`.

strategies.py      configurations of a model, walks through it, and walks that are judged by a property
state_machine.py   a rule-based state machine: model and system take the same steps, and failures are shrunk

In:  instances of models, and the driver of a system: `begin`, `take`, `observe` (`System`).
Out: Hypothesis strategies and state machines. `isrcheck.conformance.replay` defines the interface of drivers.
"""

try:
    import hypothesis as _  # noqa: F401 - the modules below need it
except ModuleNotFoundError:
    raise ImportError(
        "isrcheck.testing needs Hypothesis, which is not installed; pip install 'isrcheck[testing]'"
    ) from None

from isrcheck.conformance.replay.system import StepRefusedError
from isrcheck.conformance.replay.system import UserSystem as System
from isrcheck.testing.state_machine import Failure, ModelAndSystem, find, must_agree, state_machine
from isrcheck.testing.strategies import configurations, judged_walks, walks

__all__ = [
    "Failure",
    "ModelAndSystem",
    "StepRefusedError",
    "System",
    "configurations",
    "find",
    "judged_walks",
    "must_agree",
    "state_machine",
    "walks",
]
