"""Runs the proxy until it is interrupted.

In:  the nodes, the rules, an open file; commands on standard input.
Out: the addresses; one line per event; the recording.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from isrcheck.conformance.wire.recording.connection import Shared
from isrcheck.conformance.wire.recording.holding import Holding
from isrcheck.conformance.wire.recording.messages import Broker
from isrcheck.conformance.wire.recording.proxy import Node, PortError, Proxy
from isrcheck.conformance.wire.recording.recorder import Recorder
from isrcheck.conformance.wire.recording.rules import Rule
from isrcheck.conformance.wire.recording.typed import Typed
from isrcheck.conformance.wire.standard_input import commands


class WritingError(Exception):
    """The recording could not be written; the process that writes it has said why."""


async def record(
    nodes: Sequence[Node],
    rules: Sequence[Rule],
    path: Path,
    tell: Callable[[str], None],
    answer: Callable[[str], None],
    started: Callable[[Mapping[Broker, int]], None],
    seconds: float | None,
) -> bool:
    """Pass on and record until Ctrl-C, or for so many seconds; returns whether it was interrupted.

    `path` must not exist. `tell` takes a line for each event, `answer` what is wrong with a command,
    and `started` takes the ports by node. Raises PortError, FileExistsError, WritingError.
    """
    interrupted = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted.set)
    loop.add_signal_handler(signal.SIGTERM, interrupted.set)
    path.open("x").close()
    recorder = Recorder(path, time.monotonic())
    holding = Holding(rules, recorder, tell, answer)
    typed = Typed([node.name for node in nodes], holding, recorder, answer)
    try:
        # The connections end before the recorder, so that what is dropped at the end is still recorded.
        async with recorder, Proxy(nodes, Shared(recorder, holding, tell)) as proxy:
            holding.start()
            with commands(typed.obey):
                started(proxy.ports)
                waiting = asyncio.create_task(interrupted.wait())
                failing = asyncio.create_task(recorder.failed())
                await asyncio.wait({waiting, failing}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                has_failed = failing.done()
                waiting.cancel()
                failing.cancel()
    except PortError:
        path.unlink()  # nothing has passed
        raise
    if has_failed:
        raise WritingError
    return interrupted.is_set()
