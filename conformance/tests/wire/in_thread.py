"""Runs what a test talks to, a server or a proxy, in the loop of another thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, TypeVar

Opened = TypeVar("Opened")


@contextmanager
def in_thread(open_in_loop: Callable[[], AbstractAsyncContextManager[Opened]], seconds: float) -> Iterator[Opened]:
    """Open it in another thread, and close it at the end of the block, both within so many seconds."""
    ready, found = threading.Event(), dict[str, Any]()

    async def run() -> None:
        async with open_in_loop() as opened:
            stopped = asyncio.Event()
            loop = asyncio.get_running_loop()
            found.update(opened=opened, stop=lambda: loop.call_soon_threadsafe(stopped.set))
            ready.set()
            await stopped.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert ready.wait(seconds)
    try:
        yield found["opened"]
    finally:
        found["stop"]()
        thread.join(seconds)
    assert not thread.is_alive()
