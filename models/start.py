"""Starts a command: from the first instant, Ctrl-C ends it with one line, and closed streams do no harm.

In:  the name of a command, and a function that imports the command's code.
Out: the command's exit code.

Importing takes a second, in which no work has begun: during it, Ctrl-C ends the process at once.
"""

from __future__ import annotations

import os
import signal
import sys
import time

TYPE_CHECKING = False  # during every import here, Ctrl-C is not handled yet
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn

INTERRUPTED = 130


def run(name: str, load: Callable[[float], Callable[[], int]]) -> int:
    """Run a command and return its exit code. `load` receives the start time, and imports and returns the command."""
    began = time.monotonic()

    def leave(_number: int = 0, _frame: FrameType | None = None) -> NoReturn:
        try:
            os.write(2, f"{name}: interrupted\n".encode())
        finally:
            os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, leave)
    open_streams()
    if sys.argv[1:] == ["--version"]:
        return _show_version()
    main = load(began)
    sys.unraisablehook = _quiet(sys.unraisablehook)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = main()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command is done; Python only cleans up after this
    except KeyboardInterrupt:
        leave()
    except RuntimeError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps what `__set_name__` raises
            leave()
        raise
    return code


def _show_version() -> int:
    """Print the version without importing anything else first."""
    import contextlib

    from isrcheck.models.version import product

    with contextlib.suppress(OSError):  # the reader may have closed the pipe
        os.write(1, f"{product()}\n".encode())
    return 0


def open_streams() -> None:
    """Replace closed standard streams by the null device."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # otherwise files opened later would get their numbers
        pass
    os.close(number)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _quiet(hook: Callable[[Any], object]) -> Callable[[Any], object]:
    """Wrap Python's hook for exceptions raised in callbacks from C, so that it does not print KeyboardInterrupt."""

    def tell(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, Exception):
            hook(unraisable)

    return tell
