"""Searches a random sample of the record again.

In:  the record, how many searches, and a seed.
Out: what differs, in words; nothing if everything is as recorded.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from isrcheck.checker.outcome.verdict import Word
from isrcheck.checker.questions.history import instance_of
from isrcheck.checker.questions.scenarios import Scenario
from isrcheck.checker.questions.searching import Searcher
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.kafka.atlas.catalogue import Record

COMPARED = ("property", "word", "depth", "judged", "is_exhausted", "states")
ABSENT = {"is_exhausted": False}


def sampled(record: Record, count: int, seed: int, most_states: int) -> list[Mapping[str, Any]]:
    """So many of the recorded searches with at most so many states."""
    small = [one for one in record.every_search() if one["states"] <= most_states]
    return random.Random(seed).sample(small, min(count, len(small)))  # noqa: S311 - no secret


def differences(recorded: Mapping[str, Any], searcher: Searcher, limits: Limits) -> Iterator[str]:
    """Search again, and yield what differs from the record. A limit that ends the search differs."""
    instance = instance_of(recorded["model"], recorded["protocol"], recorded["configuration"])
    scenario = Scenario(
        *(recorded["says"], instance, recorded["asked"], recorded.get("bound"), recorded.get("initial")),
        is_permitted=recorded.get("is_permitted", False),
    )
    result = searcher.result(scenario, limits)
    found = {
        "property": result.prop,
        "word": result.word,
        "depth": result.depth,
        "judged": result.judged,
        "is_exhausted": result.is_exhausted,
        "states": result.states,
    }
    for name in COMPARED:
        written = Word(recorded[name]) if name == "word" else recorded.get(name, ABSENT.get(name))
        if found[name] != written:
            yield f"{recorded['protocol']} {recorded['configuration']}: {name} is {found[name]}, recorded as {written}"
