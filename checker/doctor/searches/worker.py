"""A process that makes searches, one after the other, as its parent asks for them.

In:  a pipe, on which `Request`s arrive.
Out: on the same pipe the `Result` of each, or the error that ended it.

A terminal sends Ctrl-C to all processes of a command. This one ignores it: its parent terminates it instead, once, and
the search that runs then ends with what it has found.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection
from types import FrameType

from isrcheck.checker.doctor.searches.early_answer import EarlyAnswer
from isrcheck.checker.doctor.searches.request import Request
from isrcheck.checker.questions.answering import Asked, Result
from isrcheck.checker.questions.history import instance_of
from isrcheck.checker.questions.scenarios import Scenario
from isrcheck.checker.questions.searching import InThisProcess
from isrcheck.checker.resources.limits import Budget, Limits
from isrcheck.checker.running.session import SearchSession


def scenario_of(asked: Asked) -> Scenario:
    """The search that is described. Raises UsageError if the model has no such entries."""
    return Scenario(
        says=asked.says,
        instance=instance_of(asked.model, asked.protocol, asked.configuration),
        prop=asked.prop,
        depth=asked.depth,
        initial=asked.initial,
        choices=asked.choices,
        is_permitted=asked.is_permitted,
        rule=asked.rule,
        is_witness=asked.is_witness,
    )


def serve(pipe: Connection) -> None:
    """Answer requests until the parent closes the pipe, or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seen: list[int] = []
    session = SearchSession(Limits(), Budget(None, Limits().memory), seen, progress_line=EarlyAnswer)
    search = InThisProcess(session)
    with contextlib.suppress(EOFError, OSError):
        while not seen:
            request = pipe.recv()
            session.budget = Budget(request.left, request.limits.memory)
            pipe.send(_answer(search, request, seen))


def _answer(search: InThisProcess, request: Request, seen: list[int]) -> Result | Exception:
    scenario = scenario_of(request.asked)
    try:
        with _interruptible(seen):
            return search(scenario, request.limits)
    except KeyboardInterrupt:
        return Result.not_begun(scenario.prop, "interrupt")
    except Exception as error:
        return error


@contextlib.contextmanager
def _interruptible(seen: list[int]) -> Iterator[None]:
    """Within this context, the first request to terminate raises KeyboardInterrupt, and later ones do nothing."""

    def note(number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        seen.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN if seen else before)
