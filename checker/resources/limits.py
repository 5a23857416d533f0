"""Limits of time and memory for a search, for a whole command and for the symbolic engine; and measurements of the
memory of the machine and of this process.

Stages that process states or queries check their limits themselves. Other Python code, such as the enumeration of a
model's initial states, runs under `Budget.kept`: a system timer interrupts it periodically and checks the budget.

Python builds formulas and translates them for Z3. Both can take more time and memory than Z3 itself, so every loop over
many nodes of a formula checks the `FormulaBudget`.

A process belongs to a control group (cgroup), which may be nested in other groups. Each group can have a memory limit;
the smallest limit applies. In version 1 of cgroups, memory has a tree of groups of its own. A container may see only
the part of the tree from its own group downwards.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path, PurePosixPath
from types import FrameType
from typing import Any

LIMITS = {"cgroup2": "memory.max", "cgroup": "memory.limit_in_bytes"}
"""For each kind of cgroup file system, the file with a group's limit."""

STATM = Path("/proc/self/statm")
"""The file whose second number is the resident memory of this process, in pages; the third counts pages of files."""


def machine_memory(root: Path = Path("/")) -> int:
    """The bytes of memory that this process may use: the machine's memory, but at most the smallest cgroup limit."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([whole, *_limits(root)])


def _limits(root: Path) -> Iterator[int]:
    """The memory limits, in bytes, of those control groups that contain this process and have a limit."""
    groups = dict(_groups(root))
    for kind, top, mounted in _mounts(root):
        if kind not in groups:
            continue
        group = PurePosixPath(groups[kind])
        inner = group.relative_to(top) if group.is_relative_to(top) else PurePosixPath()
        folder = root / mounted.lstrip("/")
        for each in (inner, *inner.parents):
            text = _read(folder / each / LIMITS[kind]).strip()
            if text.isdecimal():
                yield int(text)


def _groups(root: Path) -> Iterator[tuple[str, str]]:
    """For each cgroup hierarchy of memory, its kind and this process's group, from lines such as `4:memory:/a/b`."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, controllers_and_path = line.partition(":")
        controllers, _, path = controllers_and_path.partition(":")
        if number == "0" and not controllers:
            yield "cgroup2", path
        elif "memory" in controllers.split(","):
            yield "cgroup", path


def _mounts(root: Path) -> Iterator[tuple[str, str, str]]:
    """For each mounted cgroup hierarchy: its kind (`cgroup` or `cgroup2`), its topmost visible group, its folder."""
    for line in _read(root / "proc/self/mountinfo").splitlines():
        mount, _, system = line.partition(" - ")
        fields, (kind, *options) = mount.split(" "), system.split(" ")
        is_of_memory = kind == "cgroup2" or (kind == "cgroup" and options and "memory" in options[-1].split(","))
        if is_of_memory and len(fields) > 4:
            yield kind, _plain(fields[3]), _plain(fields[4])


def _plain(path: str) -> str:
    """A path from /proc without its octal escapes, such as `\\040` for a space."""
    for sign in (" ", "\t", "\n", "\\"):
        path = path.replace(f"\\{ord(sign):03o}", sign)
    return path


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def resident(*, with_files: bool = False) -> int:
    """How many bytes of memory this process uses; 0 if the system does not report it.

    Pages of files, such as those of libraries, count only with `with_files`: the system can drop them at any time.
    """
    try:
        _, pages, of_files, *_ = map(int, STATM.read_bytes().split())
    except OSError:
        return 0
    return (pages if with_files else pages - of_files) * os.sysconf("SC_PAGE_SIZE")


MOST_THREADS_FOR_A_CLUSTER = 8
"""The most threads of a command for a cluster, one for each core, if the command line gives no number."""

SECONDS_FOR_A_CLUSTER = 60.0
"""The time limit of a command for a cluster, if the command line gives none."""


@dataclass(frozen=True)
class Limits:
    """Limits of a search: `depth` in transitions, `memory` in bytes, `seconds` (None: no limit), and `threads`.

    Results do not depend on `threads` unless a limit stops the search. If `deadlock` is false, a state from which no
    step is possible does not count as a violation.
    """

    depth: int | None = None
    memory: int = 4 << 30
    seconds: float | None = None
    threads: int = 1
    deadlock: bool = True

    def after(self, seconds: float) -> Limits:
        """Limits like these, with `seconds` subtracted from the time limit."""
        return self if self.seconds is None else replace(self, seconds=max(0.0, self.seconds - seconds))


SECONDS_BETWEEN_LOOKS = 0.1

GRACE = 0.5
"""Seconds after the deadline during which a command still starts a stage, because the stage may be very short."""


class Spent(BaseException):
    """The command exceeds its time limit (`why` is `seconds`) or its memory limit (`memory`)."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Budget:
    """The time that a command has left, and the memory that each of its stages may use."""

    def __init__(self, seconds: float | None, memory: int, began: float | None = None) -> None:
        """`seconds` (None: no limit) count from `began`, a value of time.monotonic (default: now)."""
        self.memory = memory
        self.deadline = (time.monotonic() if began is None else began) + (float("inf") if seconds is None else seconds)

    @property
    def left(self) -> float | None:
        """The seconds until the deadline, at least 0; None if there is no time limit."""
        return None if self.deadline == float("inf") else max(0.0, self.deadline - time.monotonic())

    def limits(self, limits: Limits) -> Limits:
        """A copy of `limits` for a stage of the command; its `seconds` are at most those that the command has left."""
        seconds = [seconds for seconds in (limits.seconds, self.left) if seconds is not None]
        return replace(limits, seconds=min(seconds, default=None))

    def look(self, memory: int) -> None:
        """Raise Spent if the time is over, or if `memory` bytes exceed the memory limit."""
        if time.monotonic() > self.deadline:
            raise Spent("seconds")
        if memory > self.memory:
            raise Spent("memory")

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Check the budget every 0.1 s while the block runs, and raise Spent inside the block if the budget is used up.

        The memory that is checked is the growth of the process since the block began.
        """
        if time.monotonic() > self.deadline + GRACE:
            raise Spent("seconds")
        before = resident()

        def look(_number: int, frame: FrameType | None) -> None:
            if not _is_finalizing(frame):
                self.look(resident() - before)

        with _timer(look):
            yield


UNLIMITED = Budget(None, sys.maxsize)
"""A budget without a limit."""


def _is_finalizing(frame: FrameType | None) -> bool:
    """Whether a finalizer (`__del__`) is running. The caller then waits for the next signal of the timer to check the
    budget, because Python only prints an exception that a finalizer raises, and continues."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


@contextmanager
def _timer(look: Any) -> Iterator[None]:
    """Call `look` every 0.1 s during the block. Outside the main thread do nothing, because only the main thread
    receives signals. Blocks may be nested: after the inner block, the timer of the outer block continues."""
    try:
        handler = signal.signal(signal.SIGALRM, look)
    except ValueError:
        yield
        return
    outer = signal.setitimer(signal.ITIMER_REAL, SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_LOOKS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *outer)


class DeferredInterrupts:
    """Delays Ctrl-C in a `deferred` block until the program calls `look`, at a point where the data are consistent.

    A second Ctrl-C takes effect at once, wherever the program is (`is_at_once`).
    """

    def __init__(self) -> None:
        self.is_pending = False
        self.is_at_once = False
        self._handler: object = None

    def look(self) -> None:
        """If Ctrl-C was delayed, call the signal handler that `deferred` replaced, and raise KeyboardInterrupt."""
        if self.is_pending:
            self._pass_on(signal.SIGINT, None)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        if callable(self._handler):
            self._handler(number, frame)
        raise KeyboardInterrupt

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Delay the first Ctrl-C in the block. Outside the main thread, which alone gets signals, do nothing."""

        def note(number: int, frame: FrameType | None) -> None:
            if self.is_pending:
                self.is_at_once = True
                self._pass_on(number, frame)
            self.is_pending = True

        try:
            self._handler = signal.signal(signal.SIGINT, note)
        except ValueError:  # not the main thread
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, self._handler)


class Answer(Enum):
    """The answer of Z3: yes (satisfiable), no (unsatisfiable), or why there is no answer."""

    YES = "yes"
    NO = "no"
    SECONDS = "seconds"
    MEMORY = "memory"
    UNKNOWN = "unknown"

    @property
    def is_known(self) -> bool:
        """Whether the answer is yes or no."""
        return self in (Answer.YES, Answer.NO)

    @property
    def is_yes(self) -> bool:
        """Whether the answer is yes, not no. Raises UndecidedError if there is no answer."""
        if not self.is_known:
            raise UndecidedError(self)
        return self is Answer.YES


class UndecidedError(Exception):
    """Z3 did not answer a query, for the reason `why`, and the caller cannot continue without the answer."""

    def __init__(self, why: Answer) -> None:
        super().__init__(why.value)
        self.why = why


class Memory:
    """The memory limit of the symbolic engine, in bytes above the memory in use when the limit is set.

    isrcheck itself measures the memory of the whole process, including the memory of Python. It sets no limit in Z3,
    because Z3's hard limit can end the process, and Z3's soft limit looks like an interrupt.
    """

    most = float("inf")
    most_resident = float("inf")

    @classmethod
    def limit(cls, size: int) -> None:
        """Set the limit: from now on, the process may use at most `size` bytes in addition."""
        cls.most = size
        cls.most_resident = resident() + size

    @classmethod
    def lift(cls) -> None:
        """Remove the limit: a command that has ended must not limit later commands in the same process."""
        cls.most = cls.most_resident = float("inf")

    @classmethod
    def is_full(cls, more: int = 0) -> bool:
        """Whether the limit is reached, or would be reached with `more` additional bytes."""
        import z3  # here, because Memory is also limited where there are no queries, and the import takes long

        if z3.Z3_get_estimated_alloc_size() + more > cls.most:
            return True
        return cls.most_resident < float("inf") and resident() + more > cls.most_resident


class Interrupts:
    """Holds a list of the user's interrupts, `seen`, because Python can lose the exception that Ctrl-C raises."""

    seen: Sequence[int] = ()

    @classmethod
    def listen(cls, interrupts: Sequence[int]) -> None:
        """Use `interrupts` as the list `seen`; the caller's signal handler adds an entry to it at each interrupt."""
        cls.seen = interrupts


STEPS_BETWEEN_LOOKS = 4096
"""The number of small Python steps between two checks of the budget: a few milliseconds."""


class FormulaBudget:
    """The deadline (a value of time.monotonic) and the memory limit for building and translating formulas."""

    def __init__(self, deadline: float = float("inf")) -> None:
        self.deadline = deadline
        self._steps = 0

    def look(self, more: int = 0) -> None:
        """Raise UndecidedError if the budget is used up, or would be used up with `more` additional bytes."""
        if time.monotonic() >= self.deadline:
            raise UndecidedError(Answer.SECONDS)
        if Memory.is_full(more):
            raise UndecidedError(Answer.MEMORY)

    def step(self) -> None:
        """Count a small piece of work, such as a node; every STEPS_BETWEEN_LOOKS calls, check the budget."""
        self._steps += 1
        if self._steps >= STEPS_BETWEEN_LOOKS:
            self._steps = 0
            self.look()
