"""What the traffic has shown of fetches, of produced records, and of each broker's log.

In a fetch session, a response leaves out a partition in which nothing changed; the high watermark is then known from
earlier responses.

A record of an idempotent producer is identified by its sequence number. Any other record counts as sent again if a
record with the same value, of an earlier request, is not acknowledged yet.

A record that was sent to a follower counts as part of the follower's log only after the follower fetches beyond the
record: the answer with the record may have come too late. A follower's log ends where the follower fetches, so all
later records are forgotten.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isrcheck.conformance.follow.format.ndjson import UnreadableError, get
from isrcheck.conformance.follow.recorded.lines import MARKER, NULL
from isrcheck.conformance.follow.wire.messages import Message, listed, numbers
from isrcheck.conformance.follow.wire.survey import Survey, follower_of

NO_ERROR = "none"
MOST_SESSIONS = 1_000


@dataclass(frozen=True)
class Entry:
    """A record as a batch shows it: its offset, its leader epoch, and its value, or the name of a marker."""

    offset: int
    epoch: int
    value: str


@dataclass(frozen=True)
class FetchRequest:
    """A fetch from `offset` on, by a follower or (`follower` is None) a consumer; an epoch that the client does not
    give is -1. A follower's log ends at `offset`, and its last record is of `last_epoch`."""

    follower: int | None
    offset: int
    last_epoch: int
    leader_epoch: int


@dataclass(frozen=True)
class FetchAnswer:
    """The high watermark and the records in a broker's answer to a fetch. `diverging_end` is the offset to which the
    follower has to truncate its log before it can append, or None."""

    high_watermark: int
    entries: tuple[Entry, ...]
    diverging_end: int | None


@dataclass
class _Session:
    request: FetchRequest | None = None
    high_watermark: int | None = None


class Sessions:
    """The fetch sessions of a recording, one for each client and broker."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._sessions: dict[tuple[str, int | None], _Session] = {}

    def ask(self, line: Message) -> FetchRequest | None:
        """The fetch session's latest fetch of the partition, up to this request; or None. Raises UnreadableError."""
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
                session.request = session.high_watermark = None
        for partition in self.survey.partitions(body, "topics", "partitions"):
            session.request = FetchRequest(
                follower_of(body),
                get(partition, "fetch_offset", int),
                get(partition, "last_fetched_epoch", int, absent=-1),
                get(partition, "current_leader_epoch", int, absent=-1),
            )
        return session.request

    def answer(self, line: Message) -> FetchAnswer | None:
        """The answer about the partition in a response; None: no answer, or an error. Raises UnreadableError."""
        session = self._sessions.get((line.client, line.broker))
        if session is None or session.request is None or line.body.get("error_code", NO_ERROR) != NO_ERROR:
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
        return FetchAnswer(session.high_watermark, entries, diverging_end)


def entries_of(batches: list[Mapping[str, Any]]) -> tuple[Entry, ...]:
    """The records in decoded batches. Raises UnreadableError."""
    entries = []
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
            entries.append(Entry(offset, epoch, spelled(offset, record.get("value"), is_control=is_control)))
    return tuple(entries)


def spelled(offset: int, value: Any, *, is_control: bool) -> str:
    """The name of a record in observations: its value or, for a marker, a name that contains the marker's offset."""
    if is_control:
        return f"{MARKER}{offset})"
    return NULL if value is None else value if isinstance(value, str) else f"({value})"


@dataclass
class Pending:
    """Details of the requests that have no response yet; the responses can only be understood with these details."""

    most: int = 10_000
    _kept: dict[tuple[str, int | None, int], Any] = field(default_factory=dict)

    def put(self, line: Message, details: Any) -> None:
        """Remember details of a request; if there are too many requests, forget the oldest."""
        if len(self._kept) >= self.most:
            del self._kept[next(iter(self._kept))]
        self._kept[line.exchange] = details

    def peek(self, line: Message) -> Any:
        """The details of the request that this message repeats or answers; None if there are no details."""
        return self._kept.get(line.exchange)

    def pop(self, line: Message) -> Any:
        """Return and forget the details of the request that this response answers; None if there are no details."""
        return self._kept.pop(line.exchange, None)


Number = tuple[int, int, int]
"""Producer id, producer epoch and sequence number."""

SentRecord = tuple[str, Number | None]
"""A record in a request: its value, and its number if its producer is idempotent."""


class Produced:
    """The records that producers have sent, and their acknowledgements. With `may_repeat`, values may repeat."""

    def __init__(self, *, may_repeat: bool = True) -> None:
        self.may_repeat = may_repeat
        self._sent: Counter[str] = Counter()
        self._numbers: defaultdict[str, set[Number]] = defaultdict(set)
        self._acked: defaultdict[str, set[int | None]] = defaultdict(set)
        self._attempts: Counter[str] = Counter()

    @property
    def copies(self) -> int:
        """The largest number of copies in logs: one for each unrefused resend of a record without sequence number."""
        return sum(max(0, attempts - self._sent[value]) for value, attempts in self._attempts.items())

    def refused(self, records: Sequence[SentRecord]) -> None:
        """Note that a leader has refused a request, and so has not appended its records."""
        self._attempts.subtract(value for value, number in records if number is None)

    def offsets(self, value: str) -> set[int]:
        """The offsets at which records with this value were acknowledged."""
        return {offset for offset in self._acked.get(value, ()) if offset is not None}

    def sends(self, records: Sequence[SentRecord]) -> list[str]:
        """Note the records of a request; return the values of the records not sent before. Raises UnreadableError."""
        new: list[str] = []
        for value, number in records:
            if self._is_another(value, number) or (number is None and value in new):
                self._check(value, is_repeated=value in self._sent)
                self._sent[value] += 1
                new.append(value)
            if number is None:
                self._attempts[value] += 1
            else:
                self._numbers[value].add(number)
        return new

    def _is_another(self, value: str, number: Number | None) -> bool:
        """Whether a record with this value and sequence number differs from all earlier records with this value."""
        numbers = self._numbers.get(value, set())
        if number in numbers:
            return False
        all_acked = self._sent[value] <= len(self._acked.get(value, ()))
        return all_acked or (number is not None and any(earlier[:2] == number[:2] for earlier in numbers))

    def acks(self, value: str, offset: int | None) -> bool:
        """Note that a record is acknowledged at this offset; return whether that is news. Raises UnreadableError."""
        offsets = self._acked[value]
        if offset in offsets or (offset is None and offsets):
            return False
        self._check(value, is_repeated=bool(offsets))
        offsets.add(offset)
        self._sent[value] = max(self._sent[value], len(offsets))
        return True

    def _check(self, value: str, *, is_repeated: bool) -> None:
        if is_repeated and not self.may_repeat:
            raise UnreadableError(
                f"the value {value[:60]!r} is repeated; a recording with repeated values is not followed online:"
                " follow it with --history"
            )


def records_in(partition: Mapping[str, Any]) -> list[SentRecord]:
    """The records for a partition in a Produce request. Raises UnreadableError."""
    records: list[SentRecord] = []
    for batch in listed(partition, "records"):
        producer, first = get(batch, "producer_id", int, absent=-1), get(batch, "base_sequence", int, absent=-1)
        for at, entry in enumerate(entries_of([batch])):
            number = (producer, get(batch, "producer_epoch", int, absent=-1), first + at)
            records.append((entry.value, number if producer >= 0 and first >= 0 else None))
    return records


MOST_RECORDS = 10_000
"""The longest log: each of its records is one more variable in each state of the search."""

Log = tuple[tuple[str, int], ...]
"""Values and leader epochs, from the first offset of the recording on."""


class KnownLogs:
    """The logs of all brokers, as far as the traffic has shown them."""

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._held: defaultdict[int, dict[int, tuple[str, int]]] = defaultdict(dict)
        self._offered: defaultdict[int, tuple[Entry, ...]] = defaultdict(tuple)

    def add(self, broker: int, entry: Entry) -> None:
        """Note that a broker has this record."""
        if entry.offset >= self._first:
            self._held[broker][entry.offset] = (entry.value, entry.epoch)

    def offer(self, follower: int, entries: tuple[Entry, ...]) -> None:
        """Note that an answer with these records is in flight to a follower, which may append the records."""
        self._offered[follower] = entries

    def truncate(self, broker: int, end: int) -> None:
        """Forget the records of the broker's log from the offset `end` on."""
        held = self._held[broker]
        for offset in [offset for offset in held if offset >= end]:
            del held[offset]

    def has_records(self, broker: int) -> bool:
        """Whether the traffic has shown a record that the broker has."""
        return bool(self._held[broker])

    def fetches(self, follower: int, fetch: FetchRequest) -> Log | None:
        """Note that a follower fetches; return its log, or None if not all of the log is known."""
        for entry in self._offered.pop(follower, ()):
            self.add(follower, entry)
        self.truncate(follower, fetch.offset)
        held = self._held[follower]
        length = fetch.offset - self._first
        if not 0 <= length <= MOST_RECORDS or len(held) != length:
            return None
        log = tuple(held[offset] for offset in range(self._first, fetch.offset))
        # An entry that the follower has replaced since, unseen, has another epoch than the last one that it names.
        return log if not log or fetch.last_epoch in (-1, log[-1][1]) else None
