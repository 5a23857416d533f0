"""The command `check`: runs the chosen form, such as `check sweep`, and prints its result.

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

from isrcheck.checker.command.forms import FORMS
from isrcheck.checker.command.options import CHECKER, Form, OpenSession, Options, parser_of, read_options
from isrcheck.checker.resources.limits import Memory
from isrcheck.commands.exit_codes import DISAGREE, INTERRUPTED, USAGE
from isrcheck.commands.program import (
    complain,
    guarded,
    print_lines,
    product,
)
from isrcheck.models.messages import UsageError, escaped, escaped_lines

if TYPE_CHECKING:
    from isrcheck.checker.results.run import CommandResult
    from isrcheck.checker.running.session import SearchSession
    from isrcheck.commands.declarations import Parser


def forms() -> tuple[Form, ...]:
    """Return the installed forms, such as `check sweep`; a form whose folder is absent is not installed."""
    return tuple(form for form in FORMS if form.folder.is_dir())


def parser(word: str = "") -> Parser:
    """Return the parser with all options of `check`, or of one form (as `sweep`), for shell completion."""
    return parser_of(forms(), word)


def main(words: Sequence[str] | None = None, began: float | None = None) -> int:
    """Run `check` and return its exit code. `began` is the start of the command by time.monotonic() (default: now)."""
    began = time.monotonic() if began is None else began
    typed = sys.argv[1:] if words is None else words

    def work(signals: list[int]) -> int:
        try:
            return _run(options_of(typed), signals, began)
        except AssertionError as error:
            print(f"check: {_wrong_engine(error, typed)}", file=sys.stderr)
            return DISAGREE

    return guarded("check", work, interrupted="interrupted before anything was found")


def _wrong_engine(error: AssertionError, words: Sequence[str]) -> str:
    """The message for an error in isrcheck: an engine contradicts itself, another engine, or the replay of its path."""
    from isrcheck.traces.format.certify import NotCertifiedError  # here, because its import takes a while

    fault = escaped(str(error)) or type(error).__name__
    if not isinstance(error, NotCertifiedError):
        fault = f"the engines disagree: {fault}"
    if "reproduce: " not in fault:
        fault += f" (reproduce: {escaped(shlex.join(['check', *words]))})"
    send = f"send the command, the files of the model, and the version ({product()})"
    return f"{fault}; an engine is wrong, which is an error in isrcheck, so no verdict is given: to report it, {send}"


def options_of(words: Sequence[str]) -> Options:
    """Read the command-line arguments. Raises UsageError."""
    installed = forms()
    for form in FORMS:
        if form.word and form.word == next(iter(words), "") and form not in installed:
            folder = form.folder.relative_to(CHECKER.parent).as_posix()
            raise UsageError(
                f"check {form.word} is not installed, because the folder {folder} of isrcheck is missing;"
                " install isrcheck again, with that folder"
            )
    return read_options(words, installed)


def _run(options: Options, signals: list[int], began: float) -> int:
    reports: ModuleType | None = None
    if options.own.get("report") is not None:
        reports = importlib.import_module("isrcheck.checker.reports.folder")
        if failure := reports.begin(options):
            complain("check", failure)
            reports = None
    form = importlib.import_module(options.form.module)

    def opened(**more: Any) -> SearchSession:
        from isrcheck.checker.resources.limits import Budget
        from isrcheck.checker.running.session import SearchSession

        limits, search = options.limits, options.search
        budget = Budget(limits.seconds, limits.memory, began)
        return SearchSession(limits, budget, signals, count_all=search.count_all, spark=search.spark, **more)

    try:
        result: CommandResult = form.run(options, opened() if options.form.opens else OpenSession(opened, began))
    finally:
        Memory.lift()
    return _finish(options, result, reports)


def _finish(options: Options, result: CommandResult, reports: ModuleType | None) -> int:
    if options.output.as_json:
        content = result.content() if callable(result.content) else result.content
        print_lines([json.dumps(content, indent=2)])
    else:
        print_lines([escaped_lines(result.text)])
    if result.is_interrupted:
        print("check: interrupted; this is what was found so far", file=sys.stderr)
    stands = "; the answer stands" if options.form.answer_stands else ""
    if result.failure:
        complain("check", result.failure + stands)
    code = INTERRUPTED if result.is_interrupted else USAGE if result.failure and not stands else result.code
    if reports is None:
        return code
    try:
        failure = reports.finish(options, result, code)
    except KeyboardInterrupt as interrupt:
        complain("check", str(interrupt))
        return INTERRUPTED
    if failure:
        complain("check", failure + stands)
        return code if result.is_interrupted or stands else USAGE
    return code
