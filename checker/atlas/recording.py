"""`python -m isrcheck.checker.atlas.recording FILE`: computes the atlas, as far as the time allows, and records it.

In:  the file of results, which a later run continues; options.
Out: models/kafka/atlas/record.jsonl, with --write. Exit code 0; 130 after Ctrl-C.

Several processes can share a file, each with its own --part. What the record holds already is not searched again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from isrcheck.checker.atlas.cells import cells
from isrcheck.checker.atlas.compute import Computing, Known, compute, read_results, results_of
from isrcheck.checker.atlas.record import write_record
from isrcheck.checker.questions.searching import Searcher
from isrcheck.checker.resources.budget import UNLIMITED
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.session.session import SearchSession
from isrcheck.models.kafka.atlas.catalogue import RECORD, Record

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute cells, and write the record if that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m isrcheck.checker.atlas.recording", description=__doc__)
    parser.add_argument("file", type=Path, help="the results of the searches; it is created, or continued")
    parser.add_argument("--minutes", type=float, default=60.0, help="of computing (0: only write the record)")
    parser.add_argument("--seconds-a-search", type=float, default=60.0)
    parser.add_argument("--part", default="0/1", help="NUMBER/PARTS: the cells of one of several processes")
    parser.add_argument("--write", type=Path, nargs="?", const=RECORD, help="write the record, there or to this file")
    options = parser.parse_args(arguments)
    number, _, parts = options.part.partition("/")
    limits = Limits(seconds=options.seconds_a_search, memory=2 << 30)
    known = _recorded() | read_results(options.file)
    searcher = Searcher(SearchSession(limits, UNLIMITED, []))
    computing = Computing(options.file, known, lambda scenario: searcher.result(scenario, limits))
    if options.minutes > 0:
        deadline = time.monotonic() + 60 * options.minutes
        try:
            answered = sum(1 for _ in compute(computing, deadline, (int(number), int(parts))))
        except KeyboardInterrupt:
            return INTERRUPTED
        print(f"{answered:,} cells are answered; {len(computing.known) - len(known):,} new searches")
    if options.write is not None:
        found, searches = write_record(options.write, cells(), computing.known, options.seconds_a_search)
        print(f"{found:,} cells from {searches:,} searches are recorded in {options.write}")
    return 0


def _recorded() -> dict[str, Known]:
    try:
        return results_of(Record())
    except (OSError, ValueError, KeyError):
        return {}


if __name__ == "__main__":
    sys.exit(main())
