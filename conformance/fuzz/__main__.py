"""`python -m isrcheck.conformance.fuzz`: compares all engines with a plain search on random programs.

In:  --seconds or --programs, --seed, --out; or --again FILE, a saved program.
Out: one line per failure, with the command that reproduces it, and a closing line. Exit code 0, 1 if engines differ,
     2 for bad usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from isrcheck.conformance.fuzz.campaign import MOST_FAILURES, fresh_cache, run
from isrcheck.conformance.fuzz.compare import compare
from isrcheck.conformance.fuzz.program import read_program

DIFFERENT, USAGE = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzer and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m isrcheck.conformance.fuzz", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--seconds", type=float, help="time limit (default: 120, unless --programs is given)")
    parser.add_argument("--programs", type=int, help="number of programs")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the programs (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first program (default: %(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path("fuzz-failures"), help="folder for failures (default: %(default)s)"
    )
    parser.add_argument("--again", type=Path, metavar="FILE", help="compare only this saved program")
    parser.add_argument("--as-found", action="store_true", help="stop at the first failure, and do not shrink it")
    options = parser.parse_args(arguments)
    if options.again is not None:
        return compare_saved(options.again)
    seconds = options.seconds
    if seconds is None and options.programs is None:
        seconds = 120.0
    campaign = run(
        options.seed,
        options.out,
        seconds=seconds,
        programs=options.programs,
        first=options.first,
        most_failures=1 if options.as_found else MOST_FAILURES,
        shrinks=not options.as_found,
        report=lambda line: print(line, flush=True),
    )
    print(campaign.line)
    return DIFFERENT if campaign.failures else 0


def compare_saved(path: Path) -> int:
    """Compare the engines on one saved program, print the result, and return the exit code."""
    try:
        program = read_program(path)
    except (OSError, SyntaxError, ValueError) as error:
        print(
            f"{path}: not a program that can be read: {error}; name a saved failure",
            file=sys.stderr,
        )
        return USAGE
    with fresh_cache():
        comparison = compare(program)
    for difference in comparison.differences:
        print(f"{difference.kind}: {difference.details}")
    outcome = "differs" if comparison.differences else "no differences"
    print(f"{path}: {outcome}, {comparison.states:,} states, {comparison.proofs:,} proofs")
    return DIFFERENT if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main())
