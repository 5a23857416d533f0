"""Availability: how many brokers can fail permanently before a partition cannot be written or read.

In:  a `ClusterPlan` (checker/kafka_config/cluster_plan.py), and a function that searches.
Out: an `Availability`: for each number of failed brokers, whether a write can still be acknowledged, and whether a
committed record can still be read. The verdict does not depend on it.

The cluster starts with one committed record on all replicas and all replicas in the ISR, or with the described ISR.
Elections happen as needed, and unclean elections if the configuration allows them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.kafka_config.cluster_plan import ClusterPlan
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.verdict import Word, verdicts
from isrcheck.checker.session.formatting import table
from isrcheck.models.language.model import Instance

WRITES, READS = "a_write_is_acknowledged", "a_committed_record_is_read"

AVAILABILITY_SHARE = 0.1
"""The largest fraction of the command's time that the availability searches may take."""

SearchFromState = Callable[[Instance, Sequence[str], int, float], Exploration]
"""Searches an instance for the named properties from the initial state with a number, within a number of seconds."""


@dataclass(frozen=True)
class BrokerChoices:
    """Numbers of sets of failed brokers of one size: all sets, those with which it still works, undecided ones."""

    total: int
    works: int
    open: int

    @property
    def text(self) -> str:
        """The text of the table cell."""
        if self.open:
            return f"undecided ({self.works} of {self.total} so far)" if self.works else "undecided"
        if self.works in (0, self.total):
            return "yes" if self.works else "no"
        return f"{self.works} of {self.total}"


@dataclass(frozen=True)
class AvailabilityRow:
    """Whether writes and reads work with `down` failed brokers; None if the property does not apply."""

    down: int
    writes: BrokerChoices | None
    reads: BrokerChoices | None


@dataclass(frozen=True)
class Availability:
    """One row for each number of failed brokers, from none to all but one, and the time of the searches in seconds."""

    rows: tuple[AvailabilityRow, ...]
    seconds: float

    def lines(self, plan: ClusterPlan) -> list[str]:
        """Return the table as lines of text."""
        start = "the ISR shown above" if plan.cluster.partition else "all replicas in sync"
        cells = [["number of brokers down", *(str(row.down) for row in self.rows)]]
        for says, answers in (
            ("a write is acknowledged", [row.writes for row in self.rows]),
            ("a committed record is read", [row.reads for row in self.rows]),
        ):
            cells.append([says, *(_NOTHING if answer is None else answer.text for answer in answers)])
        lines = [f"Availability (every set of brokers that fail permanently, from {start})", *table(cells, "  ")]
        if plan.cluster.producer.acks.value == "0":
            lines.append("  with acks=0 a producer considers every record written, whichever brokers are up")
        return lines

    def as_objects(self) -> list[dict[str, Any]]:
        """Return the rows for `--json`."""
        return [
            {"brokers_down": row.down, "writes": _object(row.writes), "reads": _object(row.reads)} for row in self.rows
        ]


_NOTHING = "n/a"


def _object(answer: BrokerChoices | None) -> dict[str, int] | None:
    return None if answer is None else {"choices": answer.total, "works": answer.works, "undecided": answer.open}


def search_availability(plan: ClusterPlan, search: SearchFromState, seconds: float) -> Availability:
    """Search with every set of failed brokers; the searches share `seconds` evenly."""
    replicas = plan.values["replicas"]
    rows: list[AvailabilityRow] = []
    left, spent = sum(math.comb(replicas, down) for down in range(replicas)), 0.0
    # The quick searches come first, so that the slow ones can use the time that remains.
    for down in reversed(range(replicas)):
        instance = _instance(plan, down)
        found: list[Exploration] = []
        for choice in range(len(instance.initial_states)):
            found.append(search(instance, (WRITES, READS), choice, max(seconds - spent, 0.0) / left))
            spent += found[-1].seconds
            left -= 1
        rows.append(AvailabilityRow(down, _answer(found, WRITES), _answer(found, READS)))
    return Availability(tuple(reversed(rows)), spent)


def _instance(plan: ClusterPlan, down: int) -> Instance:
    replicas = plan.values["replicas"]
    return plan.instance(
        common_records=1,
        brokers_down=down,
        start_isr=plan.values["start_isr"] or (1 << replicas) - 1,
        unclean_elections=down * plan.values["unclean_elections"],
        bounces=0,
        crashes=0,
        # Each failed broker leaves the ISR, and the one that is left may be elected; all searches share a kernel.
        **plan.longer_log(changes=replicas),
    )


def _answer(found: Sequence[Exploration], name: str) -> BrokerChoices | None:
    words = [verdict.word for exploration in found for verdict in verdicts(exploration) if verdict.prop.name == name]
    if Word.NOT_APPLICABLE in words:
        return None
    works = words.count(Word.REACHED)
    return BrokerChoices(len(words), works, len(words) - works - words.count(Word.UNREACHABLE))
