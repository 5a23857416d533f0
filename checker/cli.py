"""The command `check`: runs the chosen form of the command and prints its result.

In:  the command-line arguments. Out: text or JSON on stdout, progress and errors on stderr, an exit code.
"""

from __future__ import annotations

import importlib
import json
import shlex
import sys
import time
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from isrcheck.checker.command.console import give_up_stdout, interrupts, prepare_streams
from isrcheck.checker.command.form import Form, OpenSession, Options
from isrcheck.checker.command.option import Option
from isrcheck.checker.command.options import parser_of, read_options
from isrcheck.checker.doctor.command import FORMS as OF_A_CLUSTER
from isrcheck.checker.forms.table import FORMS
from isrcheck.checker.outcome.exit_codes import DISAGREE, INTERRUPTED, UNDECIDED, USAGE
from isrcheck.checker.resources.limits import Memory
from isrcheck.checker.spark.faults import SparkLostError
from isrcheck.models.messages import UsageError, escaped, escaped_lines

if TYPE_CHECKING:
    from isrcheck.checker.session.command_result import CommandResult
    from isrcheck.checker.session.session import SearchSession
    from isrcheck.models.command_line import Parser

OTHER_FORMS = {
    "graph": "graph",
    "sweep": "sweep",
    "failures": "failures",
    "family": "family",
    "compare-schemes": "schemes",
    "atlas": "atlas.pages",
}
"""The words of forms in optional packages below checker/, with the package, whose module `command` declares `FORM`."""

REPORTS = "reports"
"""The optional package below checker/ that implements `--report`."""


def _room(name: str) -> ModuleType | None:
    """Return the module `command` of a package below checker/, or None if that package is not installed."""
    module = f"isrcheck.checker.{name}.command"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        return None


def forms() -> tuple[Form, ...]:
    """Return the forms of the command that are installed."""
    others = [found.FORM for found in map(_room, OTHER_FORMS.values()) if found is not None]
    return (*FORMS, *others, *OF_A_CLUSTER)


def _more_options() -> tuple[Option, ...]:
    reports = _room(REPORTS)
    return () if reports is None else (reports.OPTION,)


def parser(word: str = "") -> Parser:
    """Return the parser with all options of `check`, or of the form that a word selects, for shell completion."""
    return parser_of(forms(), _more_options(), word)


def main(words: Sequence[str] | None = None, began: float | None = None) -> int:
    """Run `check` and return its exit code. `began` is the start of the command by time.monotonic() (default: now)."""
    began = time.monotonic() if began is None else began
    prepare_streams()
    with interrupts() as seen:
        return _guarded(sys.argv[1:] if words is None else words, seen, began)


def _guarded(words: Sequence[str], seen: list[int], began: float) -> int:
    """Run `check`; report every error as one line, and return the exit code. `seen` is not empty after Ctrl-C."""
    try:
        code = _run(options_of(words), seen, began)
        sys.stdout.flush()
        return code
    except SystemExit as end:  # --help: its output may not have been flushed yet
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            give_up_stdout()
        return int(end.code or 0)
    except UsageError as error:
        return _complain(str(error))
    except SparkLostError as error:
        _complain(str(error))
        return UNDECIDED
    except KeyboardInterrupt:
        print("check: interrupted before anything was found", file=sys.stderr)
        return INTERRUPTED
    except MemoryError:
        return _complain("this machine does not have enough memory; give a smaller --memory")
    except OSError as error:
        give_up_stdout()
        return _complain(f"{error.filename or 'output'}: {error.strerror}; make room, or write elsewhere")
    except AssertionError as error:
        print(f"check: {_wrong_engine(error, words)}", file=sys.stderr)
        return DISAGREE


def _wrong_engine(error: AssertionError, words: Sequence[str]) -> str:
    """What to say if the engines disagree, plain Python does not confirm a path, or an engine contradicts itself."""
    # Here, because no other command needs them, and they take a while to import.
    from isrcheck.models.version import product
    from isrcheck.traces.format.certify import NotCertifiedError

    fault = escaped(str(error)) or type(error).__name__
    if not isinstance(error, NotCertifiedError):
        fault = f"the engines disagree: {fault}"
    if "reproduce: " not in fault:
        fault += f" (reproduce: {escaped(shlex.join(['check', *words]))})"
    send = f"send the command, the files of the model, and the version ({product()})"
    return f"{fault}; an engine is wrong, which is an error in isrcheck, so no verdict is given: to report it, {send}"


def _complain(message: str) -> int:
    print(f"check: {escaped(message)}", file=sys.stderr)
    return USAGE


def options_of(words: Sequence[str]) -> Options:
    """Read the command-line arguments. Raises UsageError."""
    word = next(iter(words), "")
    if word in OTHER_FORMS and _room(OTHER_FORMS[word]) is None:
        folder = f"checker/{OTHER_FORMS[word].replace('.', '/')}"
        raise UsageError(f"{word}: this form of check is not installed; install the folder {folder} as well")
    return read_options(words, forms(), _more_options())


def _run(options: Options, seen: list[int], began: float) -> int:
    reports = _room(REPORTS)
    if reports is not None and (failure := reports.begin(options)):
        _complain(failure)
        reports = None
    form = importlib.import_module(options.form.module)

    def opened(**more: Any) -> SearchSession:
        from isrcheck.checker.resources.limits import Budget
        from isrcheck.checker.session.session import SearchSession

        limits = options.limits
        budget = Budget(options.form.seconds if limits.seconds is None else limits.seconds, limits.memory, began)
        return SearchSession(limits, budget, seen, count_all=options.count_all, spark=options.spark, **more)

    try:
        result: CommandResult = form.run(options, opened() if options.form.opens else OpenSession(opened, began))
    finally:
        Memory.lift()
    return _finish(options, result, reports)


def _finish(options: Options, result: CommandResult, reports: ModuleType | None) -> int:
    try:
        print(json.dumps(result.content, indent=2) if options.as_json else escaped_lines(result.text), flush=True)
    except BrokenPipeError:
        give_up_stdout()
    if result.is_interrupted:
        print("check: interrupted; this is what was found so far", file=sys.stderr)
    stands = "; the answer stands" if options.form.answer_stands else ""
    if result.failure:
        _complain(result.failure + stands)
    code = INTERRUPTED if result.is_interrupted else USAGE if result.failure and not stands else result.code
    if reports is None:
        return code
    try:
        failure = reports.finish(options, result, code)
    except KeyboardInterrupt as interrupt:
        _complain(str(interrupt))
        return INTERRUPTED
    if failure:
        _complain(failure + stands)
        return code if result.is_interrupted or stands else USAGE
    return code
