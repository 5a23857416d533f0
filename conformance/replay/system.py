"""What can be taken through a trace: a system of which a driver has three methods.

In:  nothing; it is implemented by the driver of the cluster (driver.py), and by whoever checks a broker of their own.
Out: `System`, and how a driver from a person's own file is loaded.
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
    """The system cannot do what the model does here; the message says why."""


class System(Protocol):
    """A driver does only what the outside world can: send, deliver, drop, delay, crash, restart, ask for elections."""

    def begin(self, trace: Trace) -> None:
        """Set the system up as the trace begins: configuration and first state. The whole trace may be looked at."""

    def take(self, step: Step) -> None:
        """Do what the next step says: `step.action`, and the ordinals of its arguments. Raises StepRefusedError."""

    def observe(self) -> Mapping[str, Any]:
        """What can be seen: a variable of the model -> its value, lists in lists for its indices, NONE for nobody.

        A tuple gives all its cells in a row. What is left out is not compared, nor is a part that is given as None; but
        something has to be shown in the course of a trace.
        """


def load_driver(path: Path) -> Callable[[], System]:
    """The class `Driver` of a person's file, which is run by this. Raises UsageError."""
    try:
        found = run_path(str(path)).get("Driver")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give the file with your driver") from None
    except (Exception, SystemExit) as error:  # whoever leaves while a trace is replayed has not replayed it
        raise UsageError(f"{path}: it cannot be loaded: {type(error).__name__}: {error}") from None
    missing = [name for name in ("begin", "take", "observe") if not callable(getattr(found, name, None))]
    if not isinstance(found, type) or missing:
        raise UsageError(
            f"{path}: it needs a class Driver with begin, take and observe; see conformance/examples/own_broker.py"
        )
    return found


class Guarded:
    """A person's driver, of which an error is told as theirs: one UsageError with the file and the method."""

    def __init__(self, path: Path, driver: Callable[[], System]) -> None:
        self.path = path
        self.system: System = self._asked("__init__", driver)

    def begin(self, trace: Trace) -> None:
        """As the driver does."""
        self._asked("begin", self.system.begin, trace)

    def take(self, step: Step) -> None:
        """As the driver does."""
        self._asked("take", self.system.take, step)

    def observe(self) -> Mapping[str, Any]:
        """As the driver does."""
        found = self._asked("observe", self.system.observe)
        if not isinstance(found, Mapping):
            raise UsageError(f"{self.path}: observe gives {found!r}; give a dict: name of a variable -> its value")
        return found

    def _asked(self, name: str, method: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return method(*arguments)
        except (StepRefusedError, UsageError):
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(f"{self.path}: {name} fails: {type(error).__name__}: {error}") from None
