"""`python -m isrcheck.checker.atlas.recording FILE`: makes the searches of the atlas within a time, and records them.

A later run with the same FILE continues this one; --write writes models/kafka/atlas/record.jsonl. Exit code 0; 2 for
bad input; 130 after Ctrl-C. With --master the searches run on Spark. Without it, several processes can share the file,
each with its own --part. Searches that are already recorded are not repeated.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from isrcheck.checker.answers.recorded import Record
from isrcheck.checker.answers.searching import search_on_executor, searcher_of
from isrcheck.checker.atlas.cells import cells
from isrcheck.checker.atlas.compute import Computing, compute_on_spark, read_results, recorded_results, write_record
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.commands.exit_codes import DONE, INTERRUPTED, USAGE
from isrcheck.models.kafka.atlas import RECORD
from isrcheck.models.messages import UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    """Make missing searches of the atlas; with --write, also write the record. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m isrcheck.checker.atlas.recording", description=__doc__)
    parser.add_argument("file", type=Path, help="the file for the results of searches; an existing file is continued")
    parser.add_argument("--minutes", type=float, default=60.0, help="minutes for searches (0: only write the record)")
    parser.add_argument("--seconds-a-search", type=float, default=60.0)
    parser.add_argument("--part", default="0/1", help="NUMBER/PARTS: only this part of the cells (NUMBER: 0, 1, ...)")
    parser.add_argument("--master", help="search on Spark, as in --master 'local[2]'")
    parser.add_argument(
        "--write", type=Path, nargs="?", const=RECORD, help="write the record to this file (default: record.jsonl)"
    )
    options = parser.parse_args(arguments)
    limits = Limits(seconds=options.seconds_a_search, memory=2 << 30)
    try:
        results = read_results(options.file)
        with suppress(OSError, ValueError, KeyError):  # without a record, or with a damaged one
            results = recorded_results(Record()) | results
        computing = Computing(options.file, results, lambda search: searcher_of(limits).result(search, limits))
        if options.minutes > 0:
            _compute(computing, options, limits)
            print(f"{len(computing.results) - len(results):,} new searches")
    except KeyboardInterrupt:
        return INTERRUPTED
    except UsageError as error:
        print(f"recording: {error}", file=sys.stderr)
        return USAGE
    if options.write is not None:
        count, searches = write_record(options.write, cells(), computing.results, options.seconds_a_search)
        print(f"{count:,} cells from {searches:,} searches are recorded in {options.write}")
    return DONE


def _compute(computing: Computing, options: argparse.Namespace, limits: Limits) -> None:
    number, parts = map(int, options.part.split("/"))
    wanted, seconds = cells()[number::parts], 60 * options.minutes
    if options.master is None:
        computing.answer(wanted, time.monotonic() + seconds)
        return
    from isrcheck.checker.spark.request import SparkOptions
    from isrcheck.checker.spark.session import spark_session

    with spark_session(SparkOptions(master=options.master), ProgressLine("atlas").announce) as session:
        compute_on_spark(session, computing, wanted, search_on_executor, limits, seconds)


if __name__ == "__main__":
    sys.exit(main())
