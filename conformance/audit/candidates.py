"""Ranks the copies of a leaderless partition as candidates for an unclean election, by what each election would lose.

In:  the logs of the copies, after they were read; what an operator knows of replicas, ISR and ELR; optionally, where
     the acknowledged records are.
Out: the candidates, best first, each with the records that its election loses and the truncations of the other copies.

A leader never truncates its log. Every follower removes what differs from the leader's log, and fetches the rest. So an
election loses exactly the records that some copy has and the new leader lacks. A record is identified by its offset and
its leader epoch: an epoch has one leader, which writes one record at an offset.

Where a follower truncates follows from the leader epochs (KIP-101, KIP-279, KIP-320; Kafka 2.1 and later). Candidates
are ranked by the epoch of the last record, then by the log end offset. This is the order of KIP-966 for an unclean
recovery; Kafka's unclean election of today takes the first live replica of the assignment instead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from itertools import pairwise

from isrcheck.conformance.audit.acknowledged import Whereabouts
from isrcheck.conformance.audit.comparison import leader_epochs
from isrcheck.conformance.audit.copies import CopyLog, EpochRun
from isrcheck.conformance.cluster.configuration.protocol import generation
from isrcheck.conformance.cluster.log.epoch_cache import LeaderEpochFileCache

NEWEST_PROTOCOL = "4.1"
"""The release whose rules say where a follower truncates its log."""

NEW_EPOCH = 1 << 62
"""Stands for the epoch of the next leader, which is larger than every epoch in the logs."""


class Standing(StrEnum):
    """What is known about the commitment of records, worst loss first."""

    COMMITTED = "committed"
    """The records are below the high watermark of a broker that holds them, or were acknowledged with acks=all."""
    PERHAPS = "perhaps acknowledged"
    """Nothing tells whether they were committed: the high watermark on disk lags."""
    REPLACED = "replaced"
    """A later leader began without them: if its election was clean, they were never committed."""
    UNCOMMITTED = "not committed"
    """A member of the ISR or ELR lacks them, and such a broker has every committed record."""


class Evidence(Enum):
    """What tells the standing of records: the standing, and the reason in words."""

    HIGH_WATERMARK = Standing.COMMITTED, "below the high watermark of a broker that has them"
    LIST = Standing.COMMITTED, "the list of acknowledged records has them, or a later record of the same log"
    NONE = Standing.PERHAPS, "no broker that has them has a high watermark above them on its disk"
    LATER_LEADER = (
        Standing.REPLACED,
        "a later leader began without them: acknowledged only if its election was unclean",
    )
    LEADER_WITH_A_LOSS = (
        Standing.REPLACED,
        "a later leader began without them. It lacked committed records, too, so these may have been acknowledged",
    )
    MEMBER_LACKS_THEM = Standing.UNCOMMITTED, "a broker of the ISR or ELR lacks them"


@dataclass(frozen=True)
class Membership:
    """What is known of a partition at the end, as names of brokers. An empty tuple: not known, unless `is_exact`."""

    replicas: tuple[str, ...] = ()
    """All replicas, in the order of the assignment."""
    isr: tuple[str, ...] = ()
    """The in-sync replicas at the end."""
    elr: tuple[str, ...] = ()
    """The eligible leader replicas at the end (KIP-966)."""
    last_known_elr: tuple[str, ...] = ()
    """What Kafka keeps in LastKnownElr: the last leader, while the partition has none (KIP-966)."""
    is_exact: bool = False
    """Whether all of it is from the metadata log: an empty tuple then says that there is no such broker."""

    topic_id: str | None = None
    """The topic id, if the metadata log tells it."""

    def is_no_replica(self, broker: str) -> bool:
        """Whether a broker is known to be no replica: a reassignment has removed it, and it may still be in the ELR."""
        return bool(self.replicas) and broker not in self.replicas

    @property
    def complete(self) -> tuple[str, ...]:
        """The brokers that have every committed record, unless their disks lost some."""
        return (*self.isr, *(broker for broker in self.elr if broker not in self.isr))


@dataclass(frozen=True)
class Piece:
    """Records with successive offsets and the same leader epoch, which the same brokers hold."""

    epoch: int
    """The leader epoch."""
    first: int
    """The first offset."""
    last: int
    """The last offset."""
    holders: tuple[str, ...]
    """The brokers that have the records."""
    evidence: Evidence
    """What tells whether the records are committed."""

    @property
    def standing(self) -> Standing:
        """Whether the records are committed, as far as that is known."""
        return self.evidence.value[0]

    @property
    def count(self) -> int:
        """The number of offsets: in a compacted log, more than there are records."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class Truncation:
    """What a follower does when it first follows the new leader: it removes its records from `offset` on."""

    broker: str
    """The follower."""
    offset: int
    """The first offset that it removes."""
    removed: int
    """How many offsets it removes."""


@dataclass(frozen=True)
class Candidate:
    """A copy as the next leader, and what its election does."""

    log: CopyLog
    """The log of the copy."""
    losses: tuple[Piece, ...]
    """The records that some copy has and this copy lacks, in the order of their offsets."""
    more: tuple[Piece, ...]
    """The records that this copy has and the best candidate lacks."""
    fewer: tuple[Piece, ...]
    """The records that the best candidate has and this copy lacks; a part of `losses`."""
    truncations: tuple[Truncation, ...]
    """The truncations of the other copies that remove records."""
    deleted: int | None
    """The log start offset, if another copy has records below it: the followers delete them. None otherwise."""
    acked_lost: tuple[int, ...] | None
    """The offsets of the listed acknowledged records that the election loses; None without a list."""
    acked_unknown: int
    """How many listed records this copy may have or lack: what is there was not read, or compacted."""

    @property
    def broker(self) -> str:
        """The name of the broker."""
        return self.log.broker

    @property
    def was_longer(self) -> int | None:
        """The offset up to which the log reached once, by its checkpoints, if it ends before; None otherwise."""
        reached = reached_once(self.log)
        return reached if self.log.is_whole and self.log.end < reached else None

    def lost(self, standing: Standing) -> int:
        """The number of lost records of a standing."""
        return sum(piece.count for piece in self.losses if piece.standing == standing)


@dataclass(frozen=True)
class Ranking:
    """The ranking of the copies of a partition."""

    candidates: tuple[Candidate, ...]
    """The candidates, best first."""
    membership: Membership
    """What is known of replicas, ISR, ELR and last known leader."""
    has_list: bool
    """Whether a list of acknowledged records was given."""
    listed_nowhere: tuple[int, ...] = ()
    """The offsets of the listed records that no copy has, and no copy has deleted."""
    left_out: tuple[str, ...] = ()
    """The brokers whose copies have another topic id than the copies that are ranked."""


def reached_once(log: CopyLog) -> int:
    """The largest offset that a log reached by its checkpoints. A truncation lowers them, so a log that ends before has
    lost records with its disk."""
    return max(log.copy.high_watermark or 0, log.copy.recovery_point or 0)


def rank(
    logs: Sequence[CopyLog],
    membership: Membership,
    acked: Sequence[Whereabouts] | None = None,
    left_out: Sequence[str] = (),
) -> Ranking:
    """Rank the copies with these logs, which were read. `acked` says where the acknowledged records are; the copies of
    the brokers `left_out` are of another topic of the same name."""
    ranked = sorted(logs, key=lambda log: (-_last_epoch(log), -log.end, log.broker not in membership.complete))
    pieces = _pieces(logs, membership, acked or ())
    best = ranked[0]
    lacked_by_the_best = [piece for piece in pieces if best.broker not in piece.holders and piece.last >= best.start]
    candidates = []
    for log in ranked:
        lacked = [piece for piece in pieces if log.broker not in piece.holders]
        losses = _joined(piece for piece in lacked if piece.last >= log.start)
        candidates.append(
            Candidate(
                log,
                losses,
                more=_joined(piece for piece in lacked_by_the_best if log.broker in piece.holders),
                fewer=tuple(piece for piece in losses if best.broker in piece.holders),
                truncations=tuple(_truncations(log, logs)),
                deleted=log.start if any(piece.last < log.start for piece in lacked) else None,
                acked_lost=None if acked is None else tuple(_acked_lost(log, acked)),
                acked_unknown=sum(log.broker in where.unknown for where in acked or ()),
            )
        )
    nowhere = tuple(
        where.record.offset for where in acked or () if not (where.holders or where.deleted or where.unknown)
    )
    return Ranking(tuple(candidates), membership, acked is not None, nowhere, tuple(left_out))


def _last_epoch(log: CopyLog) -> int:
    return -1 if log.last_epoch is None else log.last_epoch


def _acked_lost(log: CopyLog, acked: Iterable[Whereabouts]) -> Iterable[int]:
    for where in acked:
        if where.holders and log.broker in where.lack:
            yield where.record.offset


# ------------------------------------------------------------------------------------------------------ which records


def _pieces(logs: Sequence[CopyLog], membership: Membership, acked: Sequence[Whereabouts]) -> list[Piece]:
    """All records of the copies, in the order of their offsets and epochs. The pieces are cut wherever the holders or
    the standing may change: at the limits of epochs and logs, at the high watermarks, and after the last acknowledged
    record of each log."""
    spans = {log.broker: _spans(log) for log in logs}
    cuts = {limit for those in spans.values() for span in those for limit in (span.first, span.last + 1)}
    cuts |= {start for log in logs for _, start in leader_epochs(log)}
    cuts |= {limit for log in logs for limit in (log.start, log.end, log.copy.high_watermark or 0)}
    acknowledged = _acknowledged(acked)
    cuts |= set(acknowledged.values())
    places = sorted(cuts)
    holders: dict[tuple[int, int, int], list[str]] = {}
    for broker, those in spans.items():
        for span in those:
            inside = places[bisect_left(places, span.first) : bisect_left(places, span.last + 1) + 1]
            for first, after in pairwise(inside):
                holders.setdefault((first, span.epoch, after - 1), []).append(broker)
    high_watermarks = {log.broker: log.copy.high_watermark or 0 for log in logs}
    pieces = []
    for (first, epoch, last), brokers in sorted(holders.items()):
        evidence = Evidence.NONE
        if any(first < high_watermarks[broker] for broker in brokers):
            evidence = Evidence.HIGH_WATERMARK
        elif any(first < acknowledged.get(broker, 0) for broker in brokers):
            evidence = Evidence.LIST
        pieces.append(Piece(epoch, first, last, tuple(brokers), evidence))
    committed = [piece for piece in pieces if piece.standing is Standing.COMMITTED]
    faulty = {broker for where in acked for broker in where.lack}
    complete = [log for log in logs if log.broker in {*membership.complete} - faulty and _has(log, committed)]
    standings = _Standings(logs, complete, committed)
    return [
        piece if piece.standing is Standing.COMMITTED else replace(piece, evidence=standings.of(piece))
        for piece in pieces
    ]


def _acknowledged(acked: Iterable[Whereabouts]) -> dict[str, int]:
    """For each broker, the offset below which the list proves the records of its log to be committed: a leader answers
    with acks=all once its high watermark is above the record. A record that copies hold in different epochs proves
    nothing, because only one of these is the acknowledged one. Kafka: Partition.checkEnoughReplicasReachOffset."""
    ends: dict[str, int] = {}
    for where in acked:
        if where.epoch is not None:
            for broker in where.holders:
                ends[broker] = max(ends.get(broker, 0), where.record.offset + 1)
    return ends


def _has(log: CopyLog, pieces: Iterable[Piece]) -> bool:
    """Whether a log has all these records, except those that it has deleted, and was read to its end."""
    has_all = all(log.broker in piece.holders or piece.last < log.start for piece in pieces)
    return log.is_whole and log.end >= reached_once(log) and has_all


def _spans(log: CopyLog) -> list[EpochRun]:
    """The offsets of a log with their leader epochs. Below the offset to which it may be compacted, they come from the
    leader epochs, because compaction removes batches; above, from the batches."""
    cleaned = min(log.copy.cleaned, log.end)
    entries = [*leader_epochs(log), (NEW_EPOCH, cleaned)]
    spans = [EpochRun(epoch, start, min(after, cleaned) - 1) for (epoch, start), (_, after) in pairwise(entries)]
    spans += [EpochRun(run.epoch, max(run.first, cleaned), run.last) for run in log.runs]
    clipped = (EpochRun(span.epoch, max(span.first, log.start), span.last) for span in spans)
    return [span for span in clipped if span.first <= span.last]


class _Standings:
    """Decides what is known of records that nothing proves to be committed. `complete`: the logs that have every
    committed record. `committed`: the records that are committed."""

    def __init__(self, logs: Sequence[CopyLog], complete: Sequence[CopyLog], committed: Sequence[Piece]) -> None:
        self._complete = complete
        leaders = sorted({entry for log in logs for entry in leader_epochs(log)})
        self._epochs = [epoch for epoch, _ in leaders]
        self._least_starts = [start for _, start in leaders]
        """For each leader, the least start offset of this leader and the later ones."""
        for place in range(len(leaders) - 2, -1, -1):
            self._least_starts[place] = min(self._least_starts[place : place + 2])
        self._epochs_with_a_loss = {piece.epoch for piece in committed if self._is_replaced(piece)}
        """The epochs of which a later leader lacked committed records."""

    def of(self, piece: Piece) -> Evidence:
        """What tells the standing of a piece of such records."""
        if self._is_replaced(piece):
            has_loss = piece.epoch in self._epochs_with_a_loss
            return Evidence.LEADER_WITH_A_LOSS if has_loss else Evidence.LATER_LEADER
        if any(log.broker not in piece.holders and log.start <= piece.first for log in self._complete):
            return Evidence.MEMBER_LACKS_THEM
        return Evidence.NONE

    def _is_replaced(self, piece: Piece) -> bool:
        later = bisect_left(self._epochs, piece.epoch + 1)
        return later < len(self._epochs) and self._least_starts[later] <= piece.first


def _joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """The pieces, joined where one goes on as another."""
    joined: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: (piece.epoch, piece.first)):
        before = joined[-1] if joined else piece
        if (before.last + 1, before.epoch, before.holders, before.evidence) == (
            piece.first,
            piece.epoch,
            piece.holders,
            piece.evidence,
        ):
            joined[-1] = replace(before, last=piece.last)
        else:
            joined.append(piece)
    return tuple(sorted(joined, key=lambda piece: (piece.first, piece.epoch)))


# -------------------------------------------------------------------------------------------------------- truncations


def _truncations(leader: CopyLog, logs: Sequence[CopyLog]) -> Iterable[Truncation]:
    for log in logs:
        offset = log.end if log is leader else truncation_offset(leader, log)
        removed = log.end - max(offset, log.start)
        if removed:
            yield Truncation(log.broker, offset, removed)


def truncation_offset(leader: CopyLog, follower: CopyLog) -> int:
    """The offset from which on `follower` removes its records when it first follows `leader`; its log end offset if it
    removes none. Kafka: ReplicaManager.readFromLog, AbstractFetcherThread.getOffsetTruncationState."""
    theirs, own, end = _cache(leader), _cache(follower), follower.end
    theirs.assign(NEW_EPOCH, leader.end)
    if not own.entries:  # it cannot ask where the logs diverge
        end = min(end, max(follower.start, follower.copy.high_watermark or 0), leader.end)
    while own.entries and end >= leader.start:
        epoch = own.latest_epoch
        answer = theirs.end_offset_for(epoch, leader.end)
        if answer.leader_epoch == epoch and answer.end_offset >= end:
            return end
        agreed = own.end_offset_for(answer.leader_epoch, end)
        if agreed.leader_epoch == answer.leader_epoch:
            end = min(end, agreed.end_offset, answer.end_offset)
        else:
            end = min(end, agreed.end_offset)
        own.truncate_from_end(end)
    return end if end >= leader.start else min(end, follower.start)  # below the leader's log start: it starts anew


def _cache(log: CopyLog) -> LeaderEpochFileCache:
    """The leader epochs of a log, as a broker that starts has them in memory: without entries that contradict later
    ones. Kafka: LeaderEpochFileCache, UnifiedLog.apply."""
    cache = LeaderEpochFileCache((), generation(NEWEST_PROTOCOL), None)
    for epoch, start in leader_epochs(log):
        cache.assign(epoch, start)
    cache.truncate_from_end(log.end)
    if cache.starts_below(log.start):
        cache.truncate_from_start(log.start)
    return cache
