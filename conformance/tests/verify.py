"""`python -m conformance.tests.verify`: computes all recorded results anew, which takes hours.

In:  --sample N --seed S: only N records of at most a minute, drawn at random by the seed, and no fuzzing.
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from conformance.tests.schedule import volume
from isrcheck.checker.comparisons.matrix_record import RecordedRun, recorded
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.declarations import Kind

DIFFERENT, USAGE = 1, 2
CHECK = (sys.executable, "-m", "isrcheck.checker")
GOLDEN = (
    "conformance/tests/traces/format/test_golden.py",
    "conformance/tests/traces/drawing/test_drawing.py",
    "conformance/tests/checker/causes/test_distinct_causes.py",
)
MARKED = (
    "conformance/tests/checker/answers/test_defects.py",
    "conformance/tests/checker/answers/test_expert.py",
    "conformance/tests/checker/answers/test_rules.py",
    "conformance/tests/checker/answers/test_searching.py",
    "conformance/tests/checker/answers/test_witnesses.py",
    "conformance/tests/checker/atlas/test_pages_command.py",
    "conformance/tests/checker/atlas/test_record.py",
    "conformance/tests/checker/causes/test_distinct_causes.py",
    "conformance/tests/checker/comparisons/test_schemes.py",
    "conformance/tests/checker/compile/test_kernel.py",
    "conformance/tests/checker/explicit/test_possible_states.py",
    "conformance/tests/checker/failures/test_failures.py",
    "conformance/tests/checker/proofs/test_prove.py",
    "conformance/tests/checker/proofs/test_unbounded_abstraction.py",
    "conformance/tests/checker/spark/test_cluster.py",
    "conformance/tests/checker/spark/test_command.py",
    "conformance/tests/checker/spark/test_search.py",
    "conformance/tests/checker/spark/test_session.py",
    "conformance/tests/checker/sweep/test_sweep.py",
    "conformance/tests/checker/symbolic/test_bounded_model_checking.py",
    "conformance/tests/checker/symbolic/test_evaluator.py",
    "conformance/tests/checker/tables/test_tables.py",
    "conformance/tests/commands/test_program.py",
    "conformance/tests/docs/test_commands.py",
    "conformance/tests/follow/online/test_online.py",
    "conformance/tests/follow/test_bugs.py",
    "conformance/tests/follow/test_in_time.py",
    "conformance/tests/follow/test_many.py",
    "conformance/tests/follow/test_observations.py",
    "conformance/tests/follow/test_runs.py",
    "conformance/tests/follow/test_spark.py",
    "conformance/tests/follow/test_teeth.py",
    "conformance/tests/fuzz/test_fuzz.py",
    "conformance/tests/isrcheck/test_command.py",
    "conformance/tests/models/quorum/test_quorum.py",
    "conformance/tests/models/test_consumers.py",
    "conformance/tests/models/test_idempotence.py",
    "conformance/tests/models/test_kafka.py",
    "conformance/tests/models/test_new_incarnation.py",
    "conformance/tests/models/test_transactions.py",
    "conformance/tests/replay/test_bugs.py",
    "conformance/tests/replay/test_faults.py",
    "conformance/tests/replay/test_histories.py",
    "conformance/tests/replay/test_state_machines.py",
    "conformance/tests/report/test_report.py",
    "conformance/tests/traces/format/test_golden.py",
)
"""The files that mark tests `recorded`."""

TESTS = "conformance/tests/"
LIMITED = {f"{TESTS}{file}" for file, tests in volume().items() if any("all" in limits for limits in tests.values())}
"""The files of whose tests CI leaves parameters out."""

RECORDED = tuple(sorted({*MARKED, *LIMITED}))
"""The files with tests that run here only."""

LONG = {"golden traces and drawings", *(f"the results in {file}" for file in RECORDED)}
"""Records that may take longer than a minute; a sample has none of them."""
FUZZING_SECONDS = "3600"


@dataclass(frozen=True)
class Record:
    """A record, and the function that computes it anew and returns the differences, or an empty text."""

    what: str
    differences: Callable[[], str]


def of_command(*words: str) -> str:
    """Run a command with a new cache; return its output if its exit code is not 0, otherwise an empty text."""
    with tempfile.TemporaryDirectory(prefix="isrcheck-verify-") as cache:
        environment = os.environ | {"XDG_CACHE_HOME": cache}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    return f"exit code {done.returncode}\n{done.stdout}{done.stderr}" if done.returncode else ""


def of_run(run: RecordedRun) -> str:
    """Repeat one recorded run of the matrix; return the differences, or an empty text."""
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
    """All records; fuzzing is not among them."""
    pytest = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    prove = ("kafka", "--protocol", "2.1", "--bound", "2", "--prove")
    commands = {
        "the proofs of the matrix": (*CHECK, "--bound", "2"),
        "the proofs of all properties of 2.1": (*CHECK, *prove),
        "the state counts of the published models": (*CHECK, "published"),
        "the state counts of the public TLA+ examples": (*CHECK, "examples/tla"),
        "golden traces and drawings": (*pytest, *GOLDEN),
        **{f"the results in {file}": (*pytest, "-m", "recorded", file) for file in RECORDED},
    }
    return [
        *(Record(f"the matrix, {run.title}", partial(of_run, run)) for run in recorded()),
        *(Record(what, partial(of_command, *words)) for what, words in commands.items()),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute the chosen records anew, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m conformance.tests.verify", description=__doc__, allow_abbrev=False)
    parser.add_argument("--sample", type=int, help="the number of records, drawn by the seed (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the sample and of the fuzzer (default: 1)")
    options = parser.parse_args(arguments)
    chosen = [record for record in records() if options.sample is None or record.what not in LONG]
    count = len(chosen)
    if options.sample is not None:
        if not 0 < options.sample <= count:
            print(f"--sample {options.sample}: there are {count} records; give 1 to {count}", file=sys.stderr)
            return USAGE
        chosen = random.Random(options.seed).sample(chosen, options.sample)
    else:
        fuzz = (sys.executable, "-m", "isrcheck.conformance.fuzz", "--seconds", FUZZING_SECONDS)
        chosen.append(Record("random programs", partial(of_command, *fuzz, "--seed", str(options.seed))))
    print(f"seed {options.seed}: {len(chosen)} of {count} records", flush=True)
    same = [_is_same(record) for record in chosen]
    return 0 if all(same) else DIFFERENT


def _is_same(record: Record) -> bool:
    """Compute one record anew, print the result, and return whether it is the same."""
    began = time.monotonic()
    found = record.differences()
    print(f"{record.what}: {'DIFFERS' if found else 'the same'}, {time.monotonic() - began:.0f} s", flush=True)
    if found:
        print(found, flush=True)
    return not found


if __name__ == "__main__":
    sys.exit(main())
