"""A run of the fuzzer: program after program, with every failure shrunk and saved.

In:  a seed, a time limit or a number of programs, a folder for failures.
Out: a `Campaign`: the numbers of compared programs, states and proofs, and the failures with their files.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from isrcheck.conformance.fuzz.collisions.programs import collisions
from isrcheck.conformance.fuzz.compare import Comparison, Difference, compare, compare_dead_cells, compare_symmetry
from isrcheck.conformance.fuzz.program import Program
from isrcheck.conformance.fuzz.programs import random_program
from isrcheck.conformance.fuzz.roles.programs import roles
from isrcheck.conformance.fuzz.shrink import shrink

COMMAND = "python -m isrcheck.conformance.fuzz --again {path}"

ROLES = 40
"""The number of small models with dead cells that are compared beside each program, in less time than the program."""

COLLISIONS, SYMMETRIES = 4, 20
"""The numbers of programs with colliding names that are compared beside each program: by all engines; and in permuted
states only, which takes a fifth of the time."""

MOST_FAILURES = 5
"""The number of failures after which a run ends."""


Compare = Callable[[Program], Comparison]


@dataclass(frozen=True)
class Failure:
    """A program on which an engine disagrees with the plain search, and its file."""

    program: Program
    difference: Difference
    path: Path

    @property
    def line(self) -> str:
        """One line with the command that reproduces the failure."""
        command = COMMAND.format(path=self.path)
        return f"{self.difference.kind}: {self.difference.details}; reproduce it with: {command}"


@dataclass
class Campaign:
    """The result of a run of the fuzzer."""

    seed: int
    """The seed, from which all programs follow."""
    programs: int = 0
    """The number of random programs that were compared."""
    small: int = 0
    """The number of small programs compared with them: with dead cells, or with names that collide."""
    states: int = 0
    """The states that the plain searches reached."""
    proofs: int = 0
    """The proofs that were compared with a search."""
    with_errors: int = 0
    """The programs that leave a declared range."""
    seconds: float = 0.0
    """The seconds of the run."""
    failures: list[Failure] = field(default_factory=list)
    """The programs on which an engine differs."""

    @property
    def line(self) -> str:
        """The closing line."""
        count = len(self.failures)
        return (
            f"seed {self.seed}: {self.programs:,} programs, {self.small:,} small ones, {self.states:,} states,"
            f" {self.proofs:,} proofs,"
            f" {self.with_errors:,} programs that leave a declared range; {self.seconds:.0f} s,"
            f" {self.programs / max(self.seconds, 0.001):.1f} programs a second; "
            + ("no differences" if not count else f"{count} difference{'s' * (count > 1)}")
        )


def run(
    seed: int,
    folder: Path,
    *,
    seconds: float | None = None,
    programs: int | None = None,
    first: int = 0,
    most_failures: int = MOST_FAILURES,
    shrinks: bool = True,
    report: Callable[[str], None] = lambda line: None,
) -> Campaign:
    """Compare the programs of a seed, from number `first` on, until a limit (time, programs or failures) is reached."""
    campaign = Campaign(seed)
    began = time.monotonic()
    with fresh_cache():
        while programs is None or campaign.programs < programs:
            campaign.seconds = time.monotonic() - began
            if seconds is not None and campaign.seconds >= seconds:
                break
            number = first + campaign.programs
            compared: list[tuple[Program, Compare]] = [
                *((roles(seed, ROLES * number + one), compare_dead_cells) for one in range(ROLES)),
                *small_with_collisions(seed, number),
                (random_program(seed, number), compare),
            ]
            campaign.programs += 1
            campaign.small += len(compared) - 1
            for program, how in compared:
                comparison = how(program)
                campaign.states += comparison.states
                campaign.proofs += comparison.proofs
                campaign.with_errors += comparison.has_errors
                if comparison.differences and len(campaign.failures) < most_failures:
                    failure = written(program, comparison, folder, how if shrinks else None)
                    campaign.failures.append(failure)
                    report(failure.line)
            if len(campaign.failures) >= most_failures:
                break
    campaign.seconds = time.monotonic() - began
    return campaign


def small_with_collisions(seed: int, number: int) -> Iterator[tuple[Program, Compare]]:
    """The programs with colliding names that are compared beside this program of a seed, each with its comparison."""
    count = COLLISIONS + SYMMETRIES
    for one in range(count):
        yield collisions(seed, count * number + one), compare if one < COLLISIONS else compare_symmetry


def written(program: Program, comparison: Comparison, folder: Path, how: Compare | None = compare) -> Failure:
    """Shrink a failing program as long as this comparison still fails (None: leave it as it is), and save it to the
    folder; return the failure."""
    difference = comparison.differences[0]
    folder.mkdir(parents=True, exist_ok=True)
    if how is None:
        return Failure(program, difference, program.save(folder))
    small = shrink(program, lambda one: difference.kind in [other.kind for other in how(one).differences])
    return Failure(small, (how(small).differences or [difference])[0], small.save(folder))


@contextlib.contextmanager
def fresh_cache() -> Iterator[None]:
    """Use a temporary cache for compiled kernels inside this context."""
    before = os.environ.get("ISRCHECK_CACHE")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["ISRCHECK_CACHE"] = cache
        try:
            yield
        finally:
            if before is None:
                del os.environ["ISRCHECK_CACHE"]
            else:
                os.environ["ISRCHECK_CACHE"] = before
