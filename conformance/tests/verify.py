"""`python -m conformance.tests.verify`: computes all recorded results anew, which takes hours.

In:  --sample N --seed S: only N records of at most a minute, drawn at random by the seed; no tests, and no fuzzing.
Out: a line for each record, and the differences. Exit code 0, 1 if a record differs, 2 for bad usage.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from isrcheck.checker.comparisons.matrix_record import RecordedRun, recorded
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.declarations import Kind

DIFFERENT, USAGE = 1, 2
CHECK = (sys.executable, "-m", "isrcheck.checker")
FUZZ = (sys.executable, "-m", "isrcheck.conformance.fuzz", "--seconds", "3600", "--seed")
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
GOLDEN = (
    "conformance/tests/traces/format/test_golden.py",
    "conformance/tests/traces/drawing/test_drawing.py",
    "conformance/tests/checker/causes/test_distinct_causes.py",
)

Records = Mapping[str, Callable[[], str]]
"""For each record, the function that computes it anew and returns the differences, or an empty text."""


def of_command(*words: str, is_shown: bool = False) -> str:
    """Run a command with a new cache; return its output if its exit code is not 0, otherwise an empty text.

    What a command prints that `is_shown` appears at once, and is not returned.
    """
    with tempfile.TemporaryDirectory(prefix="isrcheck-verify-") as cache:
        environment = os.environ | {"XDG_CACHE_HOME": cache}
        done = subprocess.run(words, env=environment, capture_output=not is_shown, text=True, check=False)
    return f"exit code {done.returncode}\n{done.stdout or ''}{done.stderr or ''}" if done.returncode else ""


def of_run(run: RecordedRun) -> str:
    """Repeat one recorded run of the matrix; return the differences, or an empty text."""
    result = explore(run.instance, run.limits(Limits(), 1), only=run.judges, count_all=True)
    lines = []
    promises = [
        prop.name for prop in run.instance.properties if prop.kind is not Kind.SOMETIMES and prop.name in run.judges
    ]
    for name in promises:
        for word, recorded_depths, finding in (
            ("violated", run.violated, result.findings[name].found),
            ("permitted", run.permitted, result.findings[name].permitted),
        ):
            depth = finding.path.depth if finding.path else None
            if depth != recorded_depths.get(name):
                lines.append(f"{name}: {word} at step {depth}, recorded {recorded_depths.get(name)}")
    if run.states is not None and result.distinct != run.states:
        lines.append(f"{result.distinct} states, recorded {run.states}")
    return "\n".join(lines)


def short_records() -> Records:
    """The records that take at most a minute, from which a sample is drawn."""
    commands = {
        "the proofs of the matrix": ("--bound", "2"),
        "the proofs of all properties of 2.1": ("kafka", "--protocol", "2.1", "--bound", "2", "--prove"),
        "the state counts of the published models": ("published",),
        "the state counts of the public TLA+ examples": ("examples/tla",),
    }
    return {
        **{f"the matrix, {run.title}": partial(of_run, run) for run in recorded()},
        **{title: partial(of_command, *CHECK, *words) for title, words in commands.items()},
    }


def long_records(seed: int) -> Records:
    """The records that take longer: the tests with the mark `recorded` take hours, and show their progress."""
    return {
        "golden traces and drawings": partial(of_command, *PYTEST, "-m", "not recorded", *GOLDEN),
        "the tests that are marked recorded": partial(of_command, *PYTEST, "-m", "recorded", is_shown=True),
        "random programs": partial(of_command, *FUZZ, str(seed)),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute the chosen records anew, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m conformance.tests.verify", description=__doc__, allow_abbrev=False)
    parser.add_argument("--sample", type=int, help="the number of records, drawn by the seed (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the sample and of the fuzzer (default: 1)")
    options = parser.parse_args(arguments)
    short = short_records()
    records = chosen = {**short, **long_records(options.seed)}
    if options.sample is not None:
        if not 0 < options.sample <= len(short):
            print(f"--sample {options.sample}: there are {len(short)} records; give 1 to {len(short)}", file=sys.stderr)
            return USAGE
        chosen = dict(random.Random(options.seed).sample([*short.items()], options.sample))
    print(f"seed {options.seed}: {len(chosen)} of {len(records)} records", flush=True)
    same = [_is_same(title, differences) for title, differences in chosen.items()]
    return 0 if all(same) else DIFFERENT


def _is_same(title: str, differences: Callable[[], str]) -> bool:
    """Compute one record anew, print the result, and return whether it is the same."""
    began = time.monotonic()
    text = differences()
    print(f"{title}: {'DIFFERS' if text else 'the same'}, {time.monotonic() - began:.0f} s", flush=True)
    if text:
        print(text, flush=True)
    return not text


if __name__ == "__main__":
    sys.exit(main())
