"""`python -m conformance.tests.verify`: everything that is recorded, computed anew; takes hours.

In:  --sample N --seed S: only so many of these, drawn at random, with half a minute of fuzzing instead of an hour.
Out: a line for each, and where one differs what differs. Exit code 0, 1 where something differs, 2 for bad usage.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from isrcheck.checker.analyses.matrix import RecordedRun, recorded
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.declare import Kind

DIFFERENT, USAGE = 1, 2
CHECK = (sys.executable, "-m", "isrcheck.checker")
GOLDEN = (
    "conformance/tests/traces/format/test_golden.py",
    "conformance/tests/traces/drawing/test_drawing.py",
    "conformance/tests/checker/explicit/test_distinct_causes.py",
)


@dataclass(frozen=True)
class Record:
    """Something that is recorded, and what computes it anew: it gives what differs, nothing where all is the same."""

    what: str
    differences: Callable[[], str]


def of_command(*words: str) -> str:
    """A command that ends with 0 where everything is as recorded; its cache is new, so that proofs are made anew."""
    with tempfile.TemporaryDirectory(prefix="isrcheck-verify-") as cache:
        environment = os.environ | {"XDG_CACHE_HOME": cache}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    return f"exit code {done.returncode}\n{done.stdout}{done.stderr}" if done.returncode else ""


def of_run(run: RecordedRun) -> str:
    """A run of the matrix, as deep as it is recorded."""
    found = explore(run.instance, run.limits(Limits(), 1), only=run.judges, count_all=True)
    lines = []
    promises = [
        prop.name for prop in run.instance.properties if prop.kind is not Kind.SOMETIMES and prop.name in run.judges
    ]
    for name in promises:
        for what, recorded_depths, finding in (
            ("violated", run.violated, found.findings[name].found),
            ("permitted", run.permitted, found.findings[name].permitted),
        ):
            depth = finding.path.depth if finding.path else None
            if depth != recorded_depths.get(name):
                lines.append(f"{name}: {what} at step {depth}, recorded {recorded_depths.get(name)}")
    if run.states is not None and found.distinct != run.states:
        lines.append(f"{found.distinct} states, recorded {run.states}")
    return "\n".join(lines)


def records() -> list[Record]:
    """Everything that is recorded, but for what random programs show."""
    prove = ("kafka", "--protocol", "2.1", "--bound", "2", "--prove")
    commands = {
        "the proofs of the matrix": (*CHECK, "--bound", "2"),
        "every promise of 2.1, proved": (*CHECK, *prove),
        "the published models, counted by TLC": (*CHECK, "published"),
        "golden histories and drawings": (sys.executable, "-m", "pytest", "-q", *GOLDEN),
    }
    return [
        *(Record(f"the matrix, {run.title}", partial(of_run, run)) for run in recorded()),
        *(Record(what, partial(of_command, *words)) for what, words in commands.items()),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m conformance.tests.verify", description=__doc__, allow_abbrev=False)
    parser.add_argument("--sample", type=int, help="only so many, drawn by the seed (all)")
    parser.add_argument("--seed", type=int, default=1, help="which ones, and which programs are fuzzed (1)")
    options = parser.parse_args(arguments)
    chosen, seconds = records(), 3600
    count = len(chosen)
    if options.sample is not None:
        if not 0 < options.sample <= count:
            print(f"--sample {options.sample}: {count} things are recorded; give 1 to {count}", file=sys.stderr)
            return USAGE
        chosen, seconds = random.Random(options.seed).sample(chosen, options.sample), 30
    print(f"seed {options.seed}: {len(chosen)} of {count} records, and {seconds} s of fuzzing", flush=True)
    fuzz = (sys.executable, "-m", "isrcheck.conformance.fuzz", "--seconds", str(seconds), "--seed", str(options.seed))
    chosen.append(Record("random programs", partial(of_command, *fuzz)))
    same = [_is_same(record) for record in chosen]
    return 0 if all(same) else DIFFERENT


def _is_same(record: Record) -> bool:
    """Compute one record anew, and print what came of it."""
    began = time.monotonic()
    found = record.differences()
    print(f"{record.what}: {'DIFFERS' if found else 'the same'}, {time.monotonic() - began:.0f} s", flush=True)
    if found:
        print(found, flush=True)
    return not found


if __name__ == "__main__":
    sys.exit(main())
