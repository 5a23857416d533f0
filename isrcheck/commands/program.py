"""A command as a program: its version, its start, its streams, Ctrl-C, its errors and its end.

Ctrl-C ends a command with a message of one line. While `run` imports the command's code, which takes a second, Ctrl-C
ends the process immediately, because no work has begun. Until `run` has installed its signal handler, Ctrl-C prints a
traceback, so this module imports almost nothing at its top: its functions import what they need.
"""

from __future__ import annotations

import os
import signal
import sys
import time

TYPE_CHECKING = False  # during every import here, Ctrl-C is not handled yet
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType
    from typing import Any, NoReturn

INTERRUPTED = 130

MOST_MESSAGE = 2000
"""The most characters of a message that are printed, because a file can contain names of any length."""


def version() -> str:
    """Return the installed version of isrcheck, or "unknown"."""
    from importlib import metadata  # here, because a command needs it rarely and it takes a while to import

    try:
        return metadata.version("isrcheck")
    except metadata.PackageNotFoundError:
        return "unknown"


def product() -> str:
    """Return the name and the version of the product."""
    return f"isrcheck {version()}"


def run(name: str, module: str) -> int:
    """Import `module`, run the command `name` by calling the function `main(words, began)` of the module, and return
    its exit code. `words` is None, which stands for sys.argv[1:], and `began` is the time of the start by
    time.monotonic()."""
    began = time.monotonic()

    def leave(_number: int = 0, _frame: FrameType | None = None) -> NoReturn:
        try:
            os.write(2, f"{name}: interrupted\n".encode())
        finally:
            os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, leave)
    open_streams()
    if sys.argv[1:] == ["--version"]:
        import contextlib  # and nothing else

        with contextlib.suppress(OSError):  # the reader may have closed the pipe
            os.write(1, f"{product()}\n".encode())
        return 0
    import importlib

    main = importlib.import_module(module).main
    sys.unraisablehook = _quiet(sys.unraisablehook)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code: int = main(None, began)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command is done; Python only cleans up after this
    except KeyboardInterrupt:
        leave()
    except RuntimeError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps what `__set_name__` raises
            leave()
        raise
    return code


def _quiet(hook: Callable[[Any], object]) -> Callable[[Any], object]:
    """Wrap `hook`, which prints the exceptions raised in callbacks from C, so that it leaves KeyboardInterrupt out."""

    def tell(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, Exception):
            hook(unraisable)

    return tell


def open_streams() -> None:
    """Replace closed standard streams by the null device."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # otherwise files opened later would get their numbers
        pass
    os.close(number)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _replace_what_cannot_be_encoded() -> None:
    """Print `.` for `·` (an unchanged cell of a table), and `?` for other characters that a stream cannot encode."""
    import codecs

    def plain(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        signs = error.object[error.start : error.end]
        return "".join("." if sign == "\u00b7" else "?" for sign in signs), error.end

    codecs.register_error("isrcheck", plain)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="isrcheck")


def give_up_stdout() -> None:
    """Discard all further output on stdout, whose reader has closed the pipe. The exit code does not change."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)


def print_lines(lines: list[str]) -> bool:
    """Print lines on stdout; their characters must be safe to print. If the reader has closed the output, discard the
    rest, keep the exit code, and return False. Raises UsageError if the output cannot be written."""
    try:
        print("".join(f"{line}\n" for line in lines), end="", flush=True)
        return True
    except BrokenPipeError:
        give_up_stdout()
        return False
    except OSError as error:
        from isrcheck.models.messages import UsageError

        give_up_stdout()
        raise UsageError(f"the output cannot be written: {error.strerror}; send it elsewhere") from None


def say(*lines: str) -> None:
    """Print lines on stdout, with unsafe characters escaped."""
    from isrcheck.models.messages import escaped_lines

    print_lines([escaped_lines(line) for line in lines])


def complain(command: str, message: str) -> int:
    """Print the error message of a command on stderr as one escaped line, and return the exit code for bad input."""
    from isrcheck.commands.exit_codes import USAGE
    from isrcheck.models.messages import escaped

    print(f"{command}: {escaped(message)[:MOST_MESSAGE]}", file=sys.stderr)
    return USAGE


class interrupts:  # noqa: N801 - used like a function, as in `with interrupts() as signals`
    """Within this context, Ctrl-C raises KeyboardInterrupt and appends the signal's number to the list that the context
    yields. The list is needed because Python drops an exception that is raised in a callback from LLVM, and because
    NumPy reports an interrupted import as an ImportError of its own."""

    def __enter__(self) -> list[int]:
        self.signals: list[int] = []
        self.before: Any = None

        def note(number: int, _frame: FrameType | None) -> None:
            self.signals.append(number)
            raise KeyboardInterrupt

        import contextlib

        with contextlib.suppress(ValueError):  # not the main thread; only that thread receives signals
            self.before = signal.signal(signal.SIGINT, note)
        return self.signals

    def __exit__(self, _kind: type | None, error: BaseException | None, _traceback: TracebackType | None) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
        was_interrupted = bool(self.signals)
        self.signals.clear()
        if was_interrupted and isinstance(error, ImportError):
            raise KeyboardInterrupt from error


def guarded(
    name: str,
    work: Callable[[list[int]], int],
    *,
    bad_input: tuple[type[Exception], ...] = (),
    interrupted: str = "interrupted",
) -> int:
    """Run the work of the command `name`, and return its exit code. Every failure becomes one line on stderr and an
    exit code.

    `work` gets a list that is not empty after Ctrl-C. `bad_input` are errors that are reported like UsageError, and
    `interrupted` is the message after Ctrl-C.
    """
    from isrcheck.commands.exit_codes import UNDECIDED, UndecidedError
    from isrcheck.models.messages import UsageError

    reported: tuple[type[Exception], ...] = (UsageError, *bad_input)
    open_streams()
    _replace_what_cannot_be_encoded()
    with interrupts() as signals:  # even if a shell that starts it in the background ignores Ctrl-C
        try:
            code = work(signals)
            sys.stdout.flush()
            return code
        except SystemExit as end:  # --help, --version
            return int(end.code or 0)
        except reported as error:
            return complain(name, str(error))
        except UndecidedError as error:
            complain(name, str(error))
            return UNDECIDED
        except KeyboardInterrupt:
            print(f"{name}: {interrupted}", file=sys.stderr)
            return INTERRUPTED
        except MemoryError:
            return complain(name, "this machine does not have enough memory; give a smaller --memory")
        except OSError as error:
            give_up_stdout()
            return complain(name, f"{error.filename or 'output'}: {error.strerror}; make room, or write elsewhere")
