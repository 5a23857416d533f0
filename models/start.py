"""How a command starts: from its first instant on, Ctrl-C ends it in one line, and closed streams harm nothing.

In:  the name of a command, and a function that imports it. Out: its exit code.

Importing takes a second, in which nothing has begun yet: there Ctrl-C ends the process at once, wherever it is met.
"""

from __future__ import annotations

import os
import signal
import sys
import time

TYPE_CHECKING = False  # every import here is a moment in which Ctrl-C is not heard
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn

INTERRUPTED = 130


def run(name: str, load: Callable[[float], Callable[[], int]]) -> int:
    """Run a command; its exit code. `load` is given the time at which it was started, and imports what runs it."""
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
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is done; what Python still does is no work of its own
    except KeyboardInterrupt:
        leave()
    return code


def _show_version() -> int:
    """Print the version before anything else is imported."""
    import contextlib

    from isrcheck.models.version import product

    with contextlib.suppress(OSError):  # nobody may read it
        os.write(1, f"{product()}\n".encode())
    return 0


def open_streams() -> None:
    """Input, output and errors that whoever started the process has closed are empty, and go nowhere."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # files that are opened later must not take their place
        pass
    os.close(number)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _quiet(hook: Callable[[Any], object]) -> Callable[[Any], object]:
    """Python drops an exception that is raised while C calls it back, and says so at length. An interrupt is noted."""

    def tell(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, Exception):
            hook(unraisable)

    return tell
