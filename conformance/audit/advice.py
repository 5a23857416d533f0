"""Formats the ranking of candidates for an election: a table, what each candidate loses, advice, and what is not known.

In:  a Ranking.
Out: the lines of the report, or values for `json.dumps`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from isrcheck.conformance.audit.candidates import Candidate, Membership, Piece, Ranking, Standing
from isrcheck.conformance.audit.findings import count, names, offsets, spell_table

MOST_PIECES = 10
"""The most ranges of offsets that are listed for a candidate."""


def spell_ranking(partition: str, ranking: Ranking) -> Iterator[str]:
    """The lines about the candidates of a partition."""
    yield f"{partition}: candidates, the best first (newest leader epoch, then longest log), and what each loses:"
    columns = (
        "broker",
        "last epoch",
        "log end",
        "high watermark",
        *Standing,
        *(["listed"] if ranking.has_list else []),
    )
    yield from spell_table([columns, *map(_row, ranking.candidates)])
    for candidate in ranking.candidates:
        yield from _spell_candidate(ranking.candidates[0], candidate)
    for line in kafka_elects(ranking):
        yield f"Kafka elects: {line}"
    for line in advice(ranking):
        yield f"advice: {line}"
    for line in not_known(ranking):
        yield f"not known: {line}"


def _row(candidate: Candidate) -> tuple[str, ...]:
    log = candidate.log
    cells = (log.last_epoch, f"{'' if log.is_whole else 'at least '}{log.end}", log.copy.high_watermark)
    lost = [str(candidate.lost(standing)) for standing in Standing]
    listed = [] if candidate.acked_lost is None else [str(len(candidate.acked_lost))]
    return (candidate.broker, *("-" if cell is None else str(cell) for cell in cells), *lost, *listed)


def _spell_candidate(best: Candidate, candidate: Candidate) -> Iterator[str]:
    lost = sum(piece.count for piece in candidate.losses)
    yield (
        f"{candidate.broker} loses {count(lost, 'record')}:"
        if lost
        else f"{candidate.broker} loses nothing that a copy has"
    )
    for piece in candidate.losses[:MOST_PIECES]:
        yield f"  {_range(piece)}, on {names(piece.holders)}: {piece.standing}: {piece.evidence.value[1]}"
    if len(candidate.losses) > MOST_PIECES:
        yield f"  and {len(candidate.losses) - MOST_PIECES} more ranges, which --json lists"
    if candidate.acked_lost:
        yield f"  listed as acknowledged: {_shown(candidate.acked_lost)}"
    for truncation in candidate.truncations:
        removed = count(truncation.removed, "record")
        yield f"  {truncation.broker} truncates its log at offset {truncation.offset}: it removes {removed}"
    if candidate.deleted is not None:
        yield f"  the others delete what they have below its log start offset {candidate.deleted}"
    if candidate is not best and (candidate.fewer or candidate.more):
        fewer, more = (sum(piece.count for piece in pieces) for pieces in (candidate.fewer, candidate.more))
        ranges = f" ({', '.join(map(_range, candidate.more[:MOST_PIECES]))})" if candidate.more else ""
        yield f"  compared with {best.broker}: {count(fewer, 'record')} fewer, {more:,} more{ranges}"
    held: Counter[str] = Counter()
    for piece in candidate.losses:
        if piece.standing in (Standing.COMMITTED, Standing.PERHAPS):
            held.update(dict.fromkeys(piece.holders, piece.count))
    if held:
        waits = [f"{broker}, which has {number:,} of these" for broker, number in held.most_common()]
        yield f"  committed or perhaps acknowledged: if it can come back, wait for {'; or for '.join(waits)}"


def _shown(those: Sequence[int]) -> str:
    """The first of these offsets, and the number of the others."""
    more = len(those) - MOST_PIECES
    return f"offsets {', '.join(map(str, those[:MOST_PIECES]))}{f' and {more} more' if more > 0 else ''}"


def _range(piece: Piece) -> str:
    return f"{offsets(piece.first, piece.last)} of epoch {piece.epoch}"


def kafka_elects(ranking: Ranking) -> Iterator[str]:
    """Whom Kafka itself elects, in the order of its rules, as far as the membership is known. Kafka does not look at
    the logs. Kafka: PartitionChangeBuilder.electAnyLeader, canElectLastKnownLeader."""
    members = ranking.membership
    group = members.isr or members.elr
    if group:
        what = "ISR" if members.isr else "ELR (the ISR is empty)" if members.is_exact else "ELR, if the ISR is empty"
        yield f"{_first_live(members, group)}, in a clean election from the {what}"
        if members.isr and members.elr:
            yield (
                f"once the controller has fenced {names(members.isr)}, and so moved the whole ISR to the ELR:"
                f" {_first_live(members, members.complete)}, in a clean election from the ELR"
            )
        if members.elr or members.last_known_elr:
            yield "none of them that stopped uncleanly: such a broker leaves ISR and ELR when it registers again"
    if len(members.last_known_elr) > 1:
        yield f"no last known leader, because LastKnownElr has {len(members.last_known_elr)} members instead of one"
    elif members.last_known_elr:
        (broker,) = members.last_known_elr
        condition = "" if members.is_exact and not group else "if ISR and ELR are empty, "
        yield (
            f"{condition}{broker}, once it is live, as the last known leader, in an unclean election:"
            f" {_cost(ranking, broker)}"
        )
    if members.replicas:
        costs = ", ".join(f"{broker} ({_cost(ranking, broker)})" for broker in members.replicas)
        otherwise = "otherwise, " if group or members.last_known_elr else ""
        yield f"{otherwise}if settings or an administrator allow an unclean election, the first live one of {costs}"


def _first_live(members: Membership, group: Sequence[str]) -> str:
    """Whom Kafka elects of a group of brokers."""
    ordered = [broker for broker in members.replicas if broker in group] if members.replicas else group
    if not ordered:
        return f"nobody, for {names(group)} {'is no replica' if len(group) == 1 else 'are no replicas'}"
    first = "the first" if members.replicas else "a"
    return f"{ordered[0]}, once it is live" if len(ordered) == 1 else f"{first} live one of {', '.join(ordered)}"


def _cost(ranking: Ranking, broker: str) -> str:
    """What the election of a broker loses, in a few words."""
    for candidate in ranking.candidates:
        if candidate.broker == broker:
            lost = sum(piece.count for piece in candidate.losses)
            return f"loses {count(lost, 'record')}" if lost else "loses nothing"
    if broker in ranking.left_out:
        return "its copy has another topic id: its loss is not known"
    return "no folder: its loss is not known"


def advice(ranking: Ranking) -> Iterator[str]:
    """What to do, the best first."""
    candidates, membership = ranking.candidates, ranking.membership
    present = [candidate.broker for candidate in candidates]
    is_clean = False
    if ranking.left_out and membership.topic_id is None:
        has = "has" if len(ranking.left_out) == 1 else "have"
        ranked = candidates[0].log
        yield (
            f"first find out which topic id is the right one (kafka-topics.sh --describe prints it): {ranked.broker}"
            f" has {ranked.copy.topic_id}, {names(ranking.left_out)} {has} another. --metadata tells it, too"
        )
    for candidate in candidates:
        if candidate.broker in membership.complete:
            group, lost = _group(ranking, candidate.broker), candidate.lost(Standing.COMMITTED)
            if membership.is_no_replica(candidate.broker):
                # Kafka: LogManager.isStrayReplica
                yield (
                    f"{candidate.broker} was in the {group}, but is no replica: Kafka does not elect it, and puts its"
                    " copy aside as a stray one when it starts. Save its folder before"
                )
            elif lost:
                lacks = "lacks" if candidate.log.is_whole else "may lack"
                yield (
                    f"{candidate.broker} was in the {group}, yet {lacks} {count(lost, 'committed record')}: did its"
                    " disk lose them? Kafka may elect it when it starts: keep it down until another broker leads"
                )
            elif candidate.was_longer is not None:
                yield (
                    f"{candidate.broker} was in the {group}, yet its log ends at {candidate.log.end} and once reached"
                    f" {candidate.was_longer}: its disk lost records, perhaps committed ones. Kafka may elect it when"
                    " it starts: keep it down until another broker leads"
                )
            else:
                is_clean = True
                unless = " that a copy has" if ranking.listed_nowhere else ""
                unless += ", unless its disk lost what others have" if candidate.losses else ""
                yield (
                    f"start {candidate.broker}: it was in the {group}, so Kafka elects it"
                    f"{_if_the_isr_is_empty(membership, candidate.broker)} and loses nothing committed{unless}"
                )
    for broker in membership.complete:
        if broker in ranking.left_out:
            yield (
                f"look for the right folder of {broker}: it was in the {_group(ranking, broker)}, but its copy has"
                " another topic id"
            )
        elif broker not in present and not membership.is_no_replica(broker):
            yield (
                f"wait for {broker}, if it can come back: it was in the {_group(ranking, broker)}, so it has every"
                " committed record unless its disk lost some"
            )
    best, *others = [each for each in candidates if not membership.is_no_replica(each.broker)] or candidates
    ends = max(candidate.log.end for candidate in candidates)
    owner = max(candidates, key=lambda candidate: candidate.log.copy.high_watermark or 0)
    committed = owner.log.copy.high_watermark or 0
    if ends < committed and all(candidate.log.is_whole for candidate in candidates):
        yield (
            f"no copy has {offsets(ends, committed - 1)}, which were committed (high watermark {committed} of"
            f" {owner.broker}): only a replica without a folder here can have them"
        )
    nowhere = ranking.listed_nowhere
    if nowhere:
        yield (
            f"no copy has {count(len(nowhere), 'listed record')} ({_shown(nowhere)}): only a replica without a folder"
            " here can have them"
        )
    if not is_clean:
        equal = [each.broker for each in others if best is candidates[0] and not each.fewer and not each.more]
        same = f" (or {names(equal)}: the same log)" if equal else ""
        yield (
            f"if nobody else can come back, elect {best.broker}{same}. An unclean election takes the first live replica"
            f" of the assignment: keep the other replicas down until {best.broker} leads"
        )
    for other in others:
        lost, least = other.lost(Standing.COMMITTED), best.lost(Standing.COMMITTED)
        if lost < least:
            yield (
                f"{other.broker} loses fewer committed records ({lost:,} instead of {least:,}), but also what later"
                " leaders wrote: an earlier election was unclean, and you have to choose"
            )
        listed, fewest = len(other.acked_lost or ()), len(best.acked_lost or ())
        if listed < fewest:
            yield f"{other.broker} loses fewer of the listed records ({listed:,} instead of {fewest:,})"


def _if_the_isr_is_empty(members: Membership, broker: str) -> str:
    """The condition on which Kafka elects a member of the ELR; empty if it is met, or for a member of the ISR. If the
    controller fences the last member of the ISR, the ISR becomes empty. Kafka: PartitionChangeBuilder.isValidNewLeader,
    maybePopulateTargetElr; ReplicationControlManager.handleBrokerFenced."""
    if broker in members.isr or (members.is_exact and not members.isr):
        return ""
    return f", once the controller has fenced {names(members.isr)}," if members.isr else ", if the ISR is empty,"


def _group(ranking: Ranking, broker: str) -> str:
    return "ISR" if broker in ranking.membership.isr else "ELR"


def not_known(ranking: Ranking) -> Iterator[str]:
    """What the ranking cannot know, each with what would tell it."""
    membership, logs = ranking.membership, [candidate.log for candidate in ranking.candidates]
    present = {log.broker for log in logs}
    if not membership.replicas:
        yield "whether the partition has other replicas, and what they have; --replicas names them"
    absent = [broker for broker in dict.fromkeys((*membership.replicas, *membership.complete)) if broker not in present]
    for broker in dict.fromkeys((*absent, *ranking.left_out)):
        if broker in ranking.left_out:
            yield f"what {broker} has: its copy has another topic id, and is left out"
            continue
        yield f"what {broker} has: its folder was not given"
    if not membership.complete and not membership.is_exact:
        yield "which brokers were in the ISR or ELR, and so have every committed record; --isr and --elr name them"
    if any(candidate.lost(Standing.PERHAPS) for candidate in ranking.candidates):
        tells = "the list tells it only of what it lists" if ranking.has_list else "--acked tells it"
        yield (
            "whether the records that are perhaps acknowledged were acknowledged: a high watermark on disk lags by up"
            f" to 5 s; {tells}"
        )
    for log in logs:
        if not log.is_whole:
            yield f"what {log.broker} has from offset {log.end} on, which was not read: it may lose less, or hold more"
        if log.copy.high_watermark is None and log.end > log.start:
            yield f"which records of {log.broker} are committed: it has no high watermark on disk"
        if log.copy.leader_epochs is None and log.runs:
            yield f"the leader epochs of {log.broker}: its checkpoint is missing, and its batches stand in for it"
    for candidate in ranking.candidates:
        if candidate.acked_unknown:
            listed = count(candidate.acked_unknown, "listed record")
            yield f"whether {candidate.broker} has {listed}: what is there was not read, or compacted"


def object_of_ranking(ranking: Ranking) -> dict[str, object]:
    """The ranking, as values for `json.dumps`; docs/audit.md describes the keys."""
    return {
        "candidates": [_candidate(candidate) for candidate in ranking.candidates],
        "kafka_elects": list(kafka_elects(ranking)),
        "advice": list(advice(ranking)),
        "not_known": list(not_known(ranking)),
    }


def _candidate(candidate: Candidate) -> dict[str, object]:
    return {
        "broker": candidate.broker,
        "losses": _objects(candidate.losses),
        "fewer_than_the_best": _objects(candidate.fewer),
        "more_than_the_best": _objects(candidate.more),
        "truncations": [
            {"broker": each.broker, "offset": each.offset, "removed": each.removed} for each in candidate.truncations
        ],
        "deleted_below": candidate.deleted,
        "acknowledged_lost": None if candidate.acked_lost is None else list(candidate.acked_lost),
        "acknowledged_unknown": candidate.acked_unknown,
    }


def _objects(pieces: Sequence[Piece]) -> list[dict[str, object]]:
    return [
        {
            "first_offset": piece.first,
            "last_offset": piece.last,
            "epoch": piece.epoch,
            "brokers": list(piece.holders),
            "standing": piece.standing.value,
        }
        for piece in pieces
    ]
