"""The fate of each record in a trace of Kafka's replication: acked, committed, exposed, lost, duplicated.

In:  the states of a trace of Kafka's model.
Out: for every state, the fate of each record sent by then: words, each with the step since which it is true.

A record is `committed` once a broker that presumes leadership has it below its high watermark, and `exposed` once a
reader of the configured isolation level could read it; both words remain. A record is `lost` as long as it is
acknowledged or exposed, no client has deleted it, and the controller's leader does not hold it (with KRaft, a leader
that lost data while it stopped is judged once it is back). A later leader may restore it, so `lost`, `duplicated` and
`on no broker` are listed only as long as they are true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.traces.kafka.model import first_read, holds_record, is_judged, is_read, was_deleted
from isrcheck.traces.lanes.scene import Fate

RecordCondition = Callable[[State, int], bool]


def _is_committed(s: State, record: int) -> bool:
    return any(
        s.leader[r] == r and s.log_record[r][offset] == record
        for r in range(s.replicas)
        for offset in range(min(s.log_size, s.high_watermark[r]))
    )


def _is_exposed(s: State, record: int) -> bool:
    return any(
        first_read(s, offset) == record
        or any(
            s.leader[r] == r and s.log_record[r][offset] == record and is_read(s, r, offset) for r in range(s.replicas)
        )
        for offset in range(s.log_size)
    )


def _is_missing(s: State, record: int) -> bool:
    leader = s.controller_leader
    is_held = leader == NONE or not is_judged(s, leader) or holds_record(s, leader, record)
    return not is_held and not was_deleted(s, record)


def _is_duplicated(s: State, record: int) -> bool:
    leader = s.controller_leader
    return bool(leader != NONE) and sum(s.log_record[leader][o] == record for o in range(s.log_size)) > 1


def _is_nowhere(s: State, record: int) -> bool:
    return not any(holds_record(s, r, record) for r in range(s.replicas))


LASTING: Mapping[str, RecordCondition] = {
    "acked": lambda s, record: bool(s.acknowledged[record]),
    "committed": _is_committed,
    "exposed": _is_exposed,
    "deleted": was_deleted,
}
PASSING: Mapping[str, RecordCondition] = {
    "duplicated": _is_duplicated,
    "lost": _is_missing,
    "on no broker": _is_nowhere,
}
PROMISES = ("acked", "exposed")
"""The words for records whose absence is a loss."""

BAD = ("duplicated", "lost")
"""The words that describe a failure."""


def _is_known(s: State, record: int) -> bool:
    """Whether the record was sent or occurs in the state, as records that were not sent can in unreachable states."""
    return bool(
        record < s.next_record or s.acknowledged[record] or _is_exposed(s, record) or not _is_nowhere(s, record)
    )


def fates(states: Sequence[State]) -> list[tuple[Fate, ...]]:
    """Return, for each state, the fates of the records that were sent or that occur in the state."""
    found = []
    since: dict[tuple[str, int], int] = {}
    for position, s in enumerate(states):
        known = [record for record in range(s.records) if _is_known(s, record)]
        for record in known:
            if record < s.next_record:
                since.setdefault(("sent", record), position)
                since.pop(("never sent", record), None)
            else:
                since.setdefault(("never sent", record), position)
            for word, is_true in LASTING.items():
                if (word, record) not in since and is_true(s, record):
                    since[word, record] = position
            is_promised = any((word, record) in since for word in PROMISES)
            for word, is_true in PASSING.items():
                if is_true(s, record) and (word != "lost" or is_promised):
                    since.setdefault((word, record), position)
                else:
                    since.pop((word, record), None)
        found.append(tuple(_fate(since, record) for record in known))
    return found


def _fate(since: Mapping[tuple[str, int], int], record: int) -> Fate:
    words = [
        (word, since[word, record]) for word in ("never sent", "sent", *LASTING, *PASSING) if (word, record) in since
    ]
    return Fate(spell_element(record), tuple(words))
