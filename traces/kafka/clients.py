"""What Kafka's clients did and learned in one step: records sent, read and acknowledged, and decided transactions.

In:  the states before and after the step; None as the state before the initial one.
Out: short phrases. A record that is only sent has no phrase, because the leader's log shows it.
"""

from __future__ import annotations

from isrcheck.models.kafka.state.values import TransactionState
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.traces.format.spelling import name_entry, name_transaction
from isrcheck.traces.kafka.model import first_read, is_in_transaction, is_read, last_stable_offset


def news(before: State | None, s: State) -> list[str]:
    """Return what clients did and learned in this step; for the first state, what they know."""
    found = [*_sent(before, s), *_decided(before, s), *_read(before, s), *_skipped(before, s)]
    return [*found, *_read_otherwise(before, s), *_consumed(before, s), *_acknowledged(before, s)]


def _sent(before: State | None, s: State) -> list[str]:
    """Phrases for records that were sent in a transaction or sent again."""
    if before is None:
        return []
    found = [
        f"sends {spell_element(record)} in {name_transaction(s, s.transaction_of[record])}"
        for record in range(s.records)
        if s.transaction_of[record] != before.transaction_of[record]
    ]
    if s.retries_left < before.retries_left:
        ends = [(r, before.log_end_offset[r]) for r in range(s.replicas)]
        grown = [f"sends {spell_element(s.log_record[r][end])} again" for r, end in ends if end < s.log_end_offset[r]]
        found += grown or ["a resend is recognised"]
    elif s.enable_idempotence:
        found += _numbered(before, s)
    return found


def _numbered(before: State, s: State) -> list[str]:
    """Phrases for records that an idempotent producer sends in vain, and for those that it numbers anew."""
    if s.producer_epoch > before.producer_epoch:
        records = [spell_element(one) for one in range(s.records) if s.has_sequence[one]]
        keeps_epoch = s.delete_records > 0 and any(
            s.had_sequence[before.producer_epoch][one] for one in range(s.records)
        )
        what = "numbers from 0" if keeps_epoch else f"producer epoch {s.producer_epoch}"
        return [f"{what}{': ' if records else ''}{' '.join(records)}"]
    is_appended = any(s.log_end_offset[r] > before.log_end_offset[r] for r in range(s.replicas))
    if s.next_record > before.next_record and not is_appended:
        return [f"{spell_element(before.next_record)} is not appended"]
    return []


def _decided(before: State | None, s: State) -> list[str]:
    return [
        f"{name_transaction(s, t)} {TransactionState(s.transaction_state[t]).name.lower()}"
        for t in range(s.transactions)
        if before is not None and s.transaction_state[t] != before.transaction_state[t]
    ]


def _read(before: State | None, s: State) -> list[str]:
    """Phrases for records that became readable, and by which readers if the two isolation levels differ."""
    found = []
    for offset in range(s.log_size):
        is_new = s.exposed_record[offset] != NONE and (before is None or before.exposed_record[offset] == NONE)
        is_stable = s.read_committed_record[offset] != NONE and (
            before is None or before.read_committed_record[offset] == NONE
        )
        record = s.exposed_record[offset] if is_new else s.read_committed_record[offset]
        if not (is_new or is_stable) or record >= s.records:
            continue
        who = "" if s.transactions == 0 or (is_new and is_stable) else f"read_{'un' if is_new else ''}committed "
        again = " again" if any(s.exposed_record[earlier] == record for earlier in range(offset)) else ""
        found.append(f"{who}reads {spell_element(record)}{again}")
    return found


def _skipped(before: State | None, s: State) -> list[str]:
    """Phrases for aborted records that read_committed readers now skip."""
    known = [] if before is None else _aborted(before)
    return [f"read_committed skips {spell_element(record)}" for record in _aborted(s) if record not in known]


def _aborted(s: State) -> list[int]:
    """The aborted records below the last stable offset of a broker, which were so at an earlier leader, too."""
    return [
        s.log_record[r][offset]
        for r in range(s.replicas)
        for offset in range(min(last_stable_offset(s, r), s.log_end_offset[r]))
        if is_in_transaction(s, s.log_record[r][offset])
        if s.transaction_state[s.transaction_of[s.log_record[r][offset]]] == TransactionState.ABORTED
    ]


def _consumed(before: State | None, s: State) -> list[str]:
    """Phrases for the consumers that have moved, or know another end of the log: what each has read, and its lag."""
    if before is None:
        return []
    found = []
    for consumer in range(s.consumers):
        position = s.position[consumer]
        if position != before.position[consumer] or s.known_end_offset[consumer] != before.known_end_offset[consumer]:
            record = s.consumed_record[consumer][position - 1] if position > before.position[consumer] else NONE
            what = f"read {spell_element(record)}, " if record != NONE and not _was_reset(s, consumer) else ""
            lag = s.known_end_offset[consumer] - position
            found.append(f"consumer {consumer} {what}at {position}, lag {lag}")
    return found


def _was_reset(s: State, consumer: int) -> bool:
    """The consumer has reset its position, and read nothing since."""
    return bool(s.consumed_epoch[consumer] == NONE)


def _read_otherwise(before: State | None, s: State) -> list[str]:
    """Phrases for records that became readable at an offset where another record was read first."""
    known = [] if before is None else _contradictions(before)
    return [news for news in _contradictions(s) if news not in known]


def _contradictions(s: State) -> list[str]:
    pairs = [
        (s.log_record[r][offset], first_read(s, offset))
        for r in range(s.replicas)
        if s.leader[r] == r
        for offset in range(s.log_size)
        if is_read(s, r, offset)
    ]
    return [
        f"reads {_short(s, entry)} instead of {_short(s, first)}" for entry, first in pairs if entry != first != NONE
    ]


def _short(s: State, entry: int) -> str:
    return spell_element(entry) if entry < s.records else name_entry(s, entry)


def _acknowledged(before: State | None, s: State) -> list[str]:
    return [
        f"acked {spell_element(record)}"
        for record in range(s.records)
        if s.acknowledged[record] and not (before is not None and before.acknowledged[record])
    ]
