"""`python -m isrcheck.checker.atlas.sample`: makes a random sample of the recorded searches again.

Prints how results differ from the record. Exit code 0 if everything is as recorded; 1 if something differs; 2 if there
is no record. The seed decides the order of the searches: the same seed and number of searches find a difference again.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from isrcheck.checker.answers.recorded import Record, result_of, search_of_record
from isrcheck.checker.answers.searching import Searcher, searcher_of
from isrcheck.checker.resources.limits import Limits
from isrcheck.commands.exit_codes import DIFFERENT, DONE, USAGE
from isrcheck.models.kafka.atlas import RECORD

COMPARED = {"property": "prop"} | {name: name for name in ("word", "depth", "judged", "is_exhausted", "states")}
"""The names in a record of what is compared, each with the field of a `Result`."""

MOST_STATES = 1_000_000
"""A search with more recorded states than this is not in a sample."""

COMMAND = "python -m isrcheck.checker.atlas.sample"


def sampled(record: Record, count: int, seed: int, most_states: int) -> list[Mapping[str, Any]]:
    """Return `count` recorded searches with at most `most_states` states, in a random order that the seed decides.
    Searches that a limit cut short are left out: how far they get depends on the machine."""
    small = [search for search in record.every_search() if search["states"] <= most_states and "stopped" not in search]
    random.Random(seed).shuffle(small)  # noqa: S311 - no secret
    return small[:count]


def differences(recorded: Mapping[str, Any], searcher: Searcher, limits: Limits) -> Iterator[str]:
    """Repeat a recorded search; yield a text for each compared field (COMPARED) that differs from the record."""
    result, expected = searcher.result(search_of_record(recorded), limits), result_of(recorded)
    for name, field in COMPARED.items():
        value, written = getattr(result, field), getattr(expected, field)
        if value != written:
            yield f"{recorded['protocol']} {recorded['configuration']}: {name} is {value}, recorded as {written}"


def main(arguments: Sequence[str] | None = None, record: Record | None = None) -> int:
    """Repeat a sample of the searches, and print the first difference. Return the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the seed for the order of the searches (default: 1)")
    parser.add_argument("--seconds", type=float, default=15.0, help="processor seconds after which no search begins")
    parser.add_argument("--searches", type=int, help="how many searches to make, whatever time they take")
    options = parser.parse_args(arguments)
    try:
        record = Record() if record is None else record
    except (OSError, ValueError, KeyError):
        print(f"there is no record of the atlas, or it is damaged: {RECORD}", file=sys.stderr)
        return USAGE
    searcher, limits = searcher_of(Limits()), Limits(threads=1)
    made, began = 0, time.process_time()
    for search in sampled(record, record.header["searches"], options.seed, MOST_STATES):
        is_over = time.process_time() - began >= options.seconds
        if is_over if options.searches is None else made >= options.searches:
            break
        made += 1
        if differing := list(differences(search, searcher, limits)):
            print(*differing, sep="\n")
            print(
                "a search found something else than the record of the atlas; to repeat:"
                f" {COMMAND} --seed {options.seed} --searches {made}"
            )
            return DIFFERENT
    print(f"seed {options.seed}: {made} of {record.header['searches']} recorded searches made again, all as recorded")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
