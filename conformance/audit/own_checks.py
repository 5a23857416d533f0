"""Compares a copy of a partition with its own checkpoints and snapshots.

A checkpoint beyond the log end shows that the log was once longer. The missing records may have been committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from isrcheck.conformance.audit.copies import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, CopyLog
from isrcheck.conformance.audit.findings import Finding, Grade
from isrcheck.conformance.kafka_format.log_folder import FileError, Producer, producers_of
from isrcheck.conformance.kafka_format.record_batches import Batch

METADATA_LOG = "__cluster_metadata-"
NOTHING_YET = Producer(-1, -1, -1, -1)


def check_checkpoints(log: CopyLog) -> Iterator[Finding]:
    """Check that high watermark, recovery point and log start offset are within the log."""
    copy, broker = log.copy, log.broker
    if copy.high_watermark is None and log.end > log.start:
        is_elsewhere = copy.partition.startswith(METADATA_LOG)  # its quorum knows its high watermark
        statement = f"{broker} has no entry in {HIGH_WATERMARKS}: which of its records are committed is not known"
        yield Finding(Grade.NOTE if is_elsewhere else Grade.UNDECIDED, "high watermark", statement, (broker,))
    elif copy.high_watermark is not None and copy.high_watermark < log.start:
        statement = (
            f"the high watermark {copy.high_watermark} of {broker} is below its log start offset {log.start}: the"
            " checkpoint lags, and Kafka raises it"
        )
        yield Finding(Grade.NOTE, "high watermark", statement, (broker,))
    if not log.is_whole:
        return
    said = (
        ("high watermark", HIGH_WATERMARKS, copy.high_watermark),
        ("recovery point", RECOVERY_POINTS, copy.recovery_point),
        ("log start offset", LOG_STARTS, copy.log_start),
    )
    for name, file, offset in said:
        if offset is not None and offset > log.end:
            were = "committed" if name == "high watermark" else "on its disk" if name == "recovery point" else "there"
            statement = (
                f"the {name} {offset} of {broker} ({file}) is beyond its log end offset {log.end}: {broker} has lost"
                f" what was {were} below {offset}"
            )
            yield Finding(Grade.BROKEN, name, statement, (broker,), log.end, offset - 1)


def check_leader_epochs(log: CopyLog) -> Iterator[Finding]:
    """Check that `leader-epoch-checkpoint` gives every batch the leader epoch in which it was written."""
    broker, entries = log.broker, log.copy.leader_epochs
    if not log.runs and not entries:
        return
    if entries is None:
        statement = (
            f"{broker} has no readable leader-epoch-checkpoint: the leader epochs of its batches are not checked"
        )
        yield Finding(Grade.UNDECIDED, "leader epochs", statement, (broker,))
        return
    checkpoint = f"the leader-epoch-checkpoint of {broker}"
    for before, after in pairwise(entries):
        if after[0] <= before[0] or after[1] < before[1]:
            one, other = (f"epoch {epoch} at offset {start}" for epoch, start in (before, after))
            statement = f"{checkpoint} goes back, from {one} to {other}"
            yield Finding(Grade.BROKEN, "leader epochs", statement, (broker,), after[1])
            return
    if log.is_whole and entries and entries[-1][1] > log.end:
        epoch, start = entries[-1]
        statement = f"{checkpoint} begins epoch {epoch} at offset {start}, beyond the log end offset {log.end}"
        yield Finding(Grade.BROKEN, "leader epochs", statement, (broker,), log.end, start - 1)
    yield from _first_disagreement(log, checkpoint, entries)


def _first_disagreement(log: CopyLog, checkpoint: str, entries: tuple[tuple[int, int], ...]) -> Iterator[Finding]:
    """Yield a finding about the first offset whose leader epochs in log and checkpoint differ, and a note if the
    checkpoint begins above the log start. Comparing the first and the last offset of each run of batches is enough."""
    place = -1
    first = entries[0][1] if entries else 0
    if first > log.start:
        statement = (
            f"{checkpoint} begins at offset {first}, above the log start offset {log.start}: the checkpoint of the log"
            " start offset lags"
        )
        yield Finding(Grade.NOTE, "leader epochs", statement, (log.broker,), log.start, first - 1)
    bound = max(log.start, first)
    for run in log.runs:
        if run.epoch < 0 or run.last < bound:  # a batch from before KIP-101 has no leader epoch
            continue
        for offset in (max(run.first, bound), run.last):
            while place + 1 < len(entries) and entries[place + 1][1] <= offset:
                place += 1
            said = entries[place][0] if place >= 0 else None
            if said != run.epoch:
                entry = (
                    f"begins epoch {said} at offset {entries[place][1]}" if said is not None else "has no entry for it"
                )
                statement = f"offset {offset} of {log.broker} is of epoch {run.epoch}, and {checkpoint} {entry}"
                yield Finding(Grade.BROKEN, "leader epochs", statement, (log.broker,), offset)
                return


class SnapshotCheck:
    """Compares each snapshot of producer state with the batches below its offset.

    `hear` takes the batches in order. Only producers that are in the log and in the snapshot are compared: the log may
    lack a producer because old segments were deleted, the snapshot may lack a producer because it has expired.
    """

    def __init__(self, log: CopyLog) -> None:
        self.log = log
        self.findings: list[Finding] = []
        self.compared = 0
        self._snapshots: list[tuple[int, str, dict[int, Producer]]] = []
        for offset, path in log.copy.snapshots:
            try:
                self._snapshots.append((offset, path.name, producers_of(path)))
            except FileError as error:
                self.findings.append(Finding(Grade.DAMAGED, "snapshot", str(error), (log.broker,), offset))
        self._wanted = {producer for _, _, said in self._snapshots for producer in said}
        self._seen: dict[int, Producer] = {}
        if self._snapshots:
            log.heard.append(self.hear)

    def hear(self, batch: Batch) -> None:
        """Compare the snapshots whose offset is at most the first offset of `batch`; then note the batch's producer."""
        while self._snapshots and self._snapshots[0][0] <= batch.header.base_offset:
            self._compare(*self._snapshots.pop(0))
        if batch.header.producer_id in self._wanted:
            self._seen[batch.header.producer_id] = _after(self._seen.get(batch.header.producer_id, NOTHING_YET), batch)

    def close(self) -> None:
        """Compare the snapshots up to the log end, and report snapshots beyond it."""
        if not self.log.is_whole:
            return
        for offset, name, said in self._snapshots:
            if offset <= self.log.end:
                self._compare(offset, name, said)
            else:
                statement = (
                    f"{self.log.broker} has {name}, beyond its log end offset {self.log.end}: the log was longer once"
                )
                self._find(statement, offset)

    def _compare(self, offset: int, name: str, said: dict[int, Producer]) -> None:
        self.compared += 1
        for producer, claim in said.items():
            logged = self._seen.get(producer)
            if logged is None:
                if claim.last_offset >= self.log.start and not self.log.copy.cleaned:
                    self._find(
                        f"{name} of {self.log.broker} says that producer {producer} wrote offset {claim.last_offset},"
                        " but the log has no batch of that producer",
                        offset,
                    )
                continue
            differs = next(self._differences(claim, logged), None)
            if differs is not None:
                self._find(f"{name} of {self.log.broker} says of producer {producer}: {differs}", offset)

    def _differences(self, said: Producer, logged: Producer) -> Iterator[str]:
        for figure, theirs, ours in (
            ("epoch", said.epoch, logged.epoch),
            ("last offset", said.last_offset, logged.last_offset),
            ("last sequence", said.last_sequence, logged.last_sequence),
            ("first offset of the open transaction", said.open_transaction, logged.open_transaction),
        ):
            is_gone = figure.startswith("first") and 0 <= theirs < self.log.copy.segments[0][0]  # with an old segment
            if theirs != ours and not is_gone:
                yield f"{figure} {theirs}; the log says {ours}"

    def _find(self, statement: str, offset: int) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(Grade.BROKEN, "snapshot", statement, (self.log.broker,), offset))


MOST_FINDINGS = 10
"""The most findings about the snapshots of a copy."""


def _after(before: Producer, batch: Batch) -> Producer:
    """Return a producer's state after `batch`, given its state `before`. A new epoch restarts the sequence numbers."""
    if batch.header.producer_epoch != before.epoch:
        before = Producer(batch.header.producer_epoch, -1, -1, before.open_transaction)
    if batch.header.is_control:
        return Producer(before.epoch, before.last_sequence, before.last_offset, -1)
    first = before.open_transaction
    if batch.header.is_transactional and first < 0:
        first = batch.header.base_offset
    return Producer(before.epoch, batch.header.last_sequence, batch.header.last_offset, first)
