"""The interface of a system that can be taken through a trace: a driver with three methods.

In:  nothing; the driver of the cluster (driver.py) implements it, and so does the user's driver of their own broker.
Out: `System`, and the loader of a driver from a user's file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from runpy import run_path
from typing import Any, Protocol

from isrcheck.models.language.model import Step
from isrcheck.models.messages.errors import UsageError
from isrcheck.traces.format.trace import Trace


class StepRefusedError(Exception):
    """The system cannot take the model's step here; the message says why."""


class System(Protocol):
    """A driver does only what the outside world can do: send, deliver, drop, delay, crash, restart, ask for
    elections.
    """

    def begin(self, trace: Trace) -> None:
        """Set the system up in the trace's initial state: configuration and first state. The driver may read the whole
        trace.
        """

    def take(self, step: Step) -> None:
        """Take the next step: `step.action` with the ordinals of its arguments. Raises StepRefusedError."""

    def observe(self) -> Mapping[str, Any]:
        """What can be observed: a mapping from variables of the model to their values: nested lists by index, NONE for
        no broker.

        A tuple gives all its cells in a row. Variables that are left out, and parts that are None, are not compared;
        but something has to be observed in the course of a trace.
        """


def load_driver(path: Path) -> Callable[[], System]:
    """The class `Driver` in a user's file, which is executed. Raises UsageError."""
    try:
        found = run_path(str(path)).get("Driver")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give the file with your driver") from None
    except (Exception, SystemExit) as error:  # a driver that exits during a trace has not replayed it
        raise UsageError(f"{path}: it cannot be loaded: {type(error).__name__}: {error}") from None
    missing = [name for name in ("begin", "take", "observe") if not callable(getattr(found, name, None))]
    if not isinstance(found, type) or missing:
        raise UsageError(
            f"{path}: it needs a class Driver with begin, take and observe; see conformance/examples/own_broker.py"
        )
    return found


class Guarded:
    """A user's driver, whose errors are reported as one UsageError with the file and the method."""

    def __init__(self, path: Path, driver: Callable[[], System]) -> None:
        self.path = path
        self.system: System = self._asked("__init__", driver)

    def begin(self, trace: Trace) -> None:
        """Call the driver's method."""
        self._asked("begin", self.system.begin, trace)

    def take(self, step: Step) -> None:
        """Call the driver's method."""
        self._asked("take", self.system.take, step)

    def observe(self) -> Mapping[str, Any]:
        """Call the driver's method."""
        found = self._asked("observe", self.system.observe)
        if not isinstance(found, Mapping):
            raise UsageError(
                f"{self.path}: observe gives {found!r}; give a dict that maps the names of variables to their values"
            )
        return found

    def _asked(self, name: str, method: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return method(*arguments)
        except (StepRefusedError, UsageError):
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(f"{self.path}: {name} fails: {type(error).__name__}: {error}") from None
