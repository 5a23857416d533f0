"""Fetches with what their fetch sessions leave out: a partition is missing where nothing about it changed.

In:  the Fetch requests and responses of a wire recording, in order.
Out: what each request asks for (`Asked`), and what each response tells (`Answered`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isrcheck.conformance.follow.format.ndjson import UnreadableError, get
from isrcheck.conformance.follow.recorded.lines import MARKER, NULL
from isrcheck.conformance.follow.wire.first_pass.survey import Survey, follower_of
from isrcheck.conformance.follow.wire.lines.messages import Message, listed, numbers

NO_ERROR = "none"
MOST_SESSIONS = 1_000


@dataclass(frozen=True)
class Entry:
    """A record as a batch shows it: its offset, its leader epoch, and its value, or for a marker a name of it."""

    offset: int
    epoch: int
    value: str


@dataclass(frozen=True)
class Asked:
    """A fetch from `offset` on; `follower` is None for a consumer, the epochs are -1 where the client gives none.

    A follower's log ends at this offset, with a record of `last_epoch`.
    """

    follower: int | None
    offset: int
    last_epoch: int
    leader_epoch: int


@dataclass(frozen=True)
class Answered:
    """The high watermark that a broker answers with, and the records in this answer.

    `diverging_end` is the offset to which the follower has to truncate first, or None.
    """

    high_watermark: int
    entries: tuple[Entry, ...]
    diverging_end: int | None


@dataclass
class _Session:
    asked: Asked | None = None
    high_watermark: int | None = None


class Sessions:
    """The fetch sessions of a recording."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._sessions: dict[tuple[str, int | None], _Session] = {}

    def ask(self, line: Message) -> Asked | None:
        """What a request asks for; None if it is not about the partition. Raises UnreadableError."""
        body, key = line.body, (line.client, line.broker)
        if "topics" not in body:
            return None
        if body.get("session_id", 0) == 0 or body.get("session_epoch", 0) <= 0:
            self._sessions.pop(key, None)
        if len(self._sessions) >= MOST_SESSIONS:
            raise UnreadableError(f"more than {MOST_SESSIONS} fetch sessions; give a shorter recording")
        session = self._sessions.setdefault(key, _Session())
        for topic in listed(body, "forgotten_topics_data"):
            if self.survey.is_about(topic) and self.survey.partition in numbers(topic, "partitions"):
                session.asked = session.high_watermark = None
        for partition in self.survey.partitions(body, "topics", "partitions"):
            session.asked = Asked(
                follower_of(body),
                get(partition, "fetch_offset", int),
                get(partition, "last_fetched_epoch", int, absent=-1),
                get(partition, "current_leader_epoch", int, absent=-1),
            )
        return session.asked

    def answer(self, line: Message) -> Answered | None:
        """What a response tells; None if nothing about the partition, or an error. Raises UnreadableError."""
        session = self._sessions.get((line.client, line.broker))
        if session is None or session.asked is None or line.body.get("error_code", NO_ERROR) != NO_ERROR:
            return None
        entries: tuple[Entry, ...] = ()
        diverging_end = None
        for partition in self.survey.partitions(line.body, "responses", "partitions"):
            if partition.get("error_code", NO_ERROR) != NO_ERROR:
                session.high_watermark = None
                return None
            session.high_watermark = get(partition, "high_watermark", int)
            entries = entries_of(listed(partition, "records"))
            diverging = get(partition, "diverging_epoch", dict, absent={})
            diverging_end = end if (end := get(diverging, "end_offset", int, absent=-1)) != -1 else None
        if session.high_watermark is None or session.high_watermark < 0:
            return None
        return Answered(session.high_watermark, entries, diverging_end)


def entries_of(batches: list[Mapping[str, Any]]) -> tuple[Entry, ...]:
    """The records in decoded batches. Raises UnreadableError."""
    found = []
    for batch in batches:
        if batch.get("undecoded") is not None:
            why = get(batch, "undecoded", str)[:200]
            raise UnreadableError(
                f"the records of a batch are not decoded ({why}); record again with compression.type=gzip, lz4 or none"
            )
        epoch = get(batch, "leader_epoch", int)
        is_control = get(batch, "control", bool, absent=False)
        for record in listed(batch, "records"):
            offset = get(record, "offset", int)
            found.append(Entry(offset, epoch, spelled(offset, record.get("value"), is_control=is_control)))
    return tuple(found)


def spelled(offset: int, value: Any, *, is_control: bool) -> str:
    """The name of a record in observations: its value, or, for a marker, one made of its offset."""
    if is_control:
        return f"{MARKER}{offset})"
    return NULL if value is None else value if isinstance(value, str) else f"({value})"


@dataclass
class Pending:
    """The requests without a response yet, as far as a response has to be understood with its request."""

    most: int = 10_000
    _kept: dict[tuple[str, int | None, int], Any] = field(default_factory=dict)

    def put(self, line: Message, what: Any) -> None:
        """Remember something about a request; the oldest one is forgotten if there are too many."""
        if len(self._kept) >= self.most:
            del self._kept[next(iter(self._kept))]
        self._kept[line.exchange] = what

    def peek(self, line: Message) -> Any:
        """What was remembered of the request to this response, or None."""
        return self._kept.get(line.exchange)

    def pop(self, line: Message) -> Any:
        """The same, and forget it."""
        return self._kept.pop(line.exchange, None)
