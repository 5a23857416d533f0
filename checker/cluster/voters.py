"""The controllers that vote (KRaft): who they are, whether enough of them are left, and in which racks they should be.

A majority is more than half of all voters, up or not (LeaderState and EpochElection in Kafka's folder raft).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from isrcheck.checker.cluster.property_files import PropertiesError, Section, printable
from isrcheck.checker.cluster.releases import Role

VOTERS = "controller.quorum.voters"

_VALUE = re.compile(r"\s*\d{1,9}@[^\s,]+\s*(,\s*\d{1,9}@[^\s,]+\s*)*", re.ASCII)
_ID = re.compile(r"(\d+)@")


@dataclass
class Doubts:
    """What shows that a controller that votes need not be up."""

    voters: dict[int, str] = field(default_factory=dict)
    """Voters, each with what is wrong with it and the place that shows this."""
    unnamed: str = ""
    """What is wrong with one of the voters, if it is not shown which; empty if nothing is."""
    no_leader: str = ""
    """The place that shows that no controller is active; empty if there is none."""

    def lines(self) -> Iterator[str]:
        """Yield each doubt as a text."""
        if self.no_leader:
            yield f"no controller is active ({self.no_leader})"
        yield from (f"voter {voter} {says}" for voter, says in sorted(self.voters.items()))
        if self.unnamed and not self.voters:
            yield f"one of the voters {self.unnamed}"

    def majority(self, left: Iterable[int], count: int) -> bool | None:
        """Whether the voters that are `left` of `count` voters are a majority; None if it is not sure."""
        up = set(left)
        sure = len(up - self.voters.keys()) - bool(self.unnamed and not self.voters)
        if not is_majority(len(up), count):
            return False
        return True if is_majority(sure, count) and not self.no_leader else None


def voters_of(sections: Iterable[Section], shown: Iterable[int]) -> Sequence[int]:
    """Return the ids of the voters: those that a running cluster has `shown`, if any, as it ignores the files once the
    set of voters has changed (KIP-853); otherwise those in the files' controller.quorum.voters. A value that is not a
    list of ID@HOST:PORT shows no voters. Raises PropertiesError if two files name different voters."""
    known, place = sorted(shown), ""
    if known:
        return known
    of_brokers = (section for section in sections if section.role in (None, Role.BROKER))
    lines = (line for section in of_brokers for line in section.properties if line.key == VOTERS)
    for line in (line for line in lines if _VALUE.fullmatch(line.value)):
        found = sorted({int(voter) for voter in _ID.findall(line.value)})
        if known and found != known:
            here, there = (", ".join(map(str, ids)) for ids in (found, known))
            raise PropertiesError(
                f"{line.place}: {VOTERS} names {here} here, and {there} in {place}; keep the value that is right"
            )
        known, place = found, line.place
    return known


def is_majority(left: int, voters: int) -> bool:
    """Whether `left` voters are a majority of all `voters`."""
    return 2 * left > voters


def placement_advice(racks: Mapping[str, int]) -> str | None:
    """Return which racks must not fail, and the smallest change after which any one rack may fail; None if any one rack
    may fail already. `racks` has the number of voters in each rack, also where it is 0."""
    needed = _needed(racks)
    if not needed:
        return None
    count = sum(racks.values())
    must_not = " and ".join(f"{printable(rack)} ({racks[rack]} of {count})" for rack in sorted(needed))
    says = (
        f"without {must_not} no majority is left, so {'it must not' if len(needed) == 1 else 'none of them may'} fail"
    )
    another = "another rack" if len(racks) > 2 else "a third rack"
    largest = max(needed, key=lambda rack: racks[rack])
    others = [rack for rack in sorted(racks, key=lambda rack: racks[rack]) if rack != largest]
    moved = f"move a voter from {printable(largest)}", {**racks, largest: racks[largest] - 1}
    changes = (
        f"{change} to {printable(target) or another}"
        for change, left in (moved, ("add a voter", racks))
        for target in [*others, ""]
        if not _needed({**left, target: left.get(target, 0) + 1})
    )
    no_change = "no rack may have half of the voters or more, as with three voters in three racks"
    return f"{says}: {next(changes, no_change)}"


def _needed(racks: Mapping[str, int]) -> list[str]:
    """Return the racks without which no majority of the voters is left."""
    count = sum(racks.values())
    return [rack for rack, here in racks.items() if not is_majority(count - here, count)]
