"""The interface of a system on which traces can be replayed: a driver with three methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from runpy import run_path
from typing import Any, Protocol

from isrcheck.models.language.model import Step
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.trace import ReadableTrace, Trace


class StepRefusedError(Exception):
    """The system, in its present state, cannot take the model's step; the message says why."""


class Steps(Protocol):
    """The methods that are called after `begin`. A driver acts on its system only from outside: it sends, delivers,
    drops and delays messages, crashes and restarts nodes, and requests elections."""

    def take(self, step: Step) -> None:
        """Take the next step: `step.action` with the arguments `step.ordinals`. Raises StepRefusedError."""

    def observe(self) -> Mapping[str, Any]:
        """The observed values of the model's variables by name, as nested lists by index; NONE stands for no broker.

        A set is a set of numbers, and a queue a list of numbers, the oldest first. Instead of nested lists, a tuple may
        list all values of a variable in a row. Missing variables, and None in place of a value or a list, are not
        compared; but at least one value has to be observed during a trace.
        """


class UserSystem(Steps, Protocol):
    """A user's driver of the user's own system: the class `Driver` in the user's file."""

    def begin(self, trace: ReadableTrace) -> None:
        """Set the system up as in `trace.configuration` and `trace.states[0]`. The driver may read the whole trace."""


class System(Steps, Protocol):
    """A driver as `replay` calls it: the driver of the executable cluster, or a user's driver wrapped in `Guarded`."""

    def begin(self, trace: Trace) -> None:
        """Set the system up in the trace's first state. The driver may read the whole trace."""


def load_driver(path: Path) -> Callable[[], UserSystem]:
    """Execute a user's file and return its class `Driver`. Raises UsageError."""
    try:
        driver = run_path(str(path)).get("Driver")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give the file with your driver") from None
    except (Exception, SystemExit) as error:  # a driver that exits during a trace has not replayed it
        raise UsageError(f"{path}: it cannot be loaded: {type(error).__name__}: {error}") from None
    missing = [name for name in ("begin", "take", "observe") if not callable(getattr(driver, name, None))]
    if not isinstance(driver, type) or missing:
        raise UsageError(
            f"{path}: it needs a class Driver with begin, take and observe; see conformance/examples/own_broker.py"
        )
    return driver


class Guarded:
    """Wraps a user's driver: an unexpected exception in a method becomes a UsageError with the file and the method."""

    def __init__(self, path: Path, driver: Callable[[], UserSystem]) -> None:
        self.path = path
        self.system: UserSystem = self._asked("__init__", driver)

    def begin(self, trace: Trace) -> None:
        self._asked("begin", self.system.begin, ReadableTrace(trace))

    def take(self, step: Step) -> None:
        self._asked("take", self.system.take, step)

    def observe(self) -> Mapping[str, Any]:
        observed = self._asked("observe", self.system.observe)
        if not isinstance(observed, Mapping):
            raise UsageError(
                f"{self.path}: observe gives {observed!r}; give a dict that maps the names of variables to their values"
            )
        return observed

    def _asked(self, name: str, method: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return method(*arguments)
        except (StepRefusedError, UsageError):
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(f"{self.path}: {name} fails: {type(error).__name__}: {error}") from None
