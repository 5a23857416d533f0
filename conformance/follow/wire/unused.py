"""Counts the lines of a recording that give no observation, and says which they are.

In:  the lines that nothing was done with, as the conversion meets them.
Out: one text for the report, which has no full stop; empty if there are none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

MOST_KINDS = 4
"""The kinds of undecoded messages that are named."""


@dataclass
class Unused:
    """What was counted. `undecoded` has the undecoded messages by their API, `others` the messages that say nothing
    about the partition. `acks` are acknowledgements of requests that the recording does not have. `after` are lines
    from `shut_down_at` on, `beside` those of observations.ndjson after that, `older` disks that may have been read too
    early.
    """

    acks: int = 0
    shut_down_at: int = 0
    after: int = 0
    beside: int = 0
    older: int = 0
    notes: int = 0
    others: int = 0
    undecoded: Counter[str] = field(default_factory=Counter)

    def told(self) -> str:
        """All of it in words."""
        found = [
            (self.acks, "acknowledgement", "of a request that is not in the recording"),
            (self.after, "line", f"from line {self.shut_down_at} on, after all brokers begin to shut down"),
            (self.beside, "line", "of observations.ndjson after that"),
            (self.older, "disk", "in observations.ndjson that may have been read too early"),
            (self.undecoded.total(), "message", f"not decoded ({self._kinds()})"),
            (self.notes, "note", "about no fault"),
            (self.others, "message", "about neither logs nor leaders nor ISR"),
        ]
        return "; ".join(f"{count:,} {what}{'s' * (count > 1)} {which}" for count, what, which in found if count)

    def _kinds(self) -> str:
        kinds = [f"{count:,} {api or 'of unknown kind'}" for api, count in self.undecoded.most_common()]
        more = len(kinds) - MOST_KINDS
        return ", ".join(kinds[:MOST_KINDS]) + (f" and {more} more kinds" if more > 0 else "")
