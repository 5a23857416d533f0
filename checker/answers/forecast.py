"""`isrcheck doctor --lose`, `--lose-power`, `--restart-all`, `--roll`: what happens to each partition as it stands now.

In:  the partitions as kafka-topics describes them, the settings of their topics, and the events or the restart to come.
Out: a line for each topic, with --details for each partition, and the object of --json (docs/json.md).

The rules are those of what_if.py. Replicas outside the ISR may be down: they are not counted as in sync.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from isrcheck.checker.answers.report import ANY_REPLICA, BY_HAND, keep_down, subject, who_can_lead
from isrcheck.checker.answers.what_if import (
    NOBODY,
    Brokers,
    Cause,
    Effect,
    Event,
    Kind,
    Rules,
    Standing,
    after_all,
    one_loss_away,
    rolling_restart,
)
from isrcheck.checker.cluster.cluster import Cluster, Reading
from isrcheck.checker.cluster.contents import COORDINATORS, FOR_ONE_KIND, MOST_LISTED, Partition, listed
from isrcheck.checker.cluster.property_files import printable, quoted
from isrcheck.checker.cluster.voters import Doubts, is_majority, placement_advice
from isrcheck.checker.command.options import ClusterOptions
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.results.terminal import counted, grouped, table
from isrcheck.commands.exit_codes import SAFE, VIOLATED, UndecidedError
from isrcheck.models.messages import UsageError

MOST_TOPICS = 40
"""The most topics with a line of their own, without --details."""

# --- Which brokers are meant ---

_TARGET = re.compile(r"(?:(?P<kind>broker|controller):)?(?P<node>\d{1,9})|rack:(?P<rack>.+)|(?P<all>all)", re.ASCII)
_ALL = "all brokers"
EACH_RACK = "each-rack"
_EXAMPLE = "broker:3, rack:az1, broker:3,4 or rack:az1 then broker:5"


@dataclass(frozen=True)
class Nodes:
    """The nodes of a cluster. A node in combined mode is both a broker and a voter."""

    brokers: Brokers
    voters: Brokers
    """The controllers that vote; empty if no file names them."""
    racks: Mapping[int, str]
    """The rack of each node whose rack is known."""
    ephemeral: Brokers
    """The brokers that come back with an empty disk if they restart."""
    doubts: Doubts
    """What shows that a voter need not be up."""

    def in_words(self, nodes: Iterable[int]) -> str:
        """Name nodes, those in combined mode only as brokers."""
        brokers, others = set(nodes) & self.brokers, set(nodes) - self.brokers
        return ", ".join(_named(ids, role) for role, ids in (("broker", brokers), ("controller", others)) if ids)

    def of_rack(self, rack: str) -> Brokers:
        """Return the nodes that are known to be in a rack."""
        return frozenset(node for node, its_rack in self.racks.items() if its_rack == rack)

    def left(self, events: Iterable[Event]) -> Brokers:
        """Return the voters that are left after the events."""
        return self.voters.difference(*(event.brokers for event in events))

    def decisive(self, left: Brokers) -> Brokers:
        """Return the voters that are `left` and up if the loss of any one of them ends the majority; otherwise
        nobody."""
        up = left - self.doubts.voters.keys()
        return up if up and not self.has_majority(self.voters - left | {min(up)}) else NOBODY

    def has_majority(self, lost: Brokers) -> bool:
        """Whether the voters that are not lost surely are a majority; assumed to be true if no voters are known."""
        return not self.voters or self.majority(lost) is True

    def majority(self, lost: Brokers) -> bool | None:
        """Whether the voters that are not lost are a majority; None if the voters are not known, or if it is not sure
        that enough of them are up."""
        return self.doubts.majority(self.voters - lost, len(self.voters)) if self.voters else None


def nodes_of(reading: Reading, partitions: Iterable[Partition]) -> Nodes:
    """Return the nodes that are known. A node that only has a rack (no replicas, no vote) counts as a broker."""
    voters = frozenset(reading.voters)
    with_replicas = frozenset(replica for partition in partitions for replica in partition.replicas)
    brokers = with_replicas | (reading.racks.keys() - voters)
    # If no file shows which brokers have the storage, all are taken.
    ephemeral = frozenset[int]().union(*(ids or brokers for ids in reading.ephemeral.values()))
    return Nodes(brokers, voters, reading.racks, ephemeral & brokers, reading.doubts)


@dataclass(frozen=True)
class NamedEvent:
    """An event, and its nodes in words."""

    says: str
    event: Event
    is_one: bool
    """Whether the words name one node or one rack."""


def events_of(options: ClusterOptions, nodes: Nodes) -> list[NamedEvent]:
    """Return the events that the options ask for, in order; none for --roll. Raises UsageError for an unknown node or
    rack, or a text that names no nodes."""
    if options.restart_all:
        return [_named_event([(_ALL, nodes.brokers)], Kind.RESTART, nodes, NOBODY)]
    typed = [("--lose", Kind.LOST, text) for text in options.lose]
    typed += [("--lose-power", Kind.POWER, text) for text in options.lose_power]
    events, gone = list[NamedEvent](), NOBODY
    for option, kind, text in typed:
        for step in re.split(r"\s+then(?:\s+|$)", text.strip()):
            if not text.strip():
                raise UsageError(f"{option}: an empty text names no brokers; write {_EXAMPLE}")
            if not step:
                raise UsageError(f"{option} {text}: nothing is lost after then; write {_EXAMPLE}")
            targets = [target.strip() for target in re.split(r",|\s+and\s+", step)]
            named = [_nodes(f"{option} {text}", target, nodes) for target in targets]
            events.append(_named_event(named, kind, nodes, gone))
            if events[-1].event.brokers <= gone:
                raise UsageError(f"{option} {text}: {events[-1].says}: lost already; name each broker once")
            gone |= events[-1].event.brokers
    if len(events) > 1 and options.lose_power:
        raise UsageError("--lose-power: only one loss of power can be asked about; join its brokers with commas")
    return events


def _named_event(named: Sequence[tuple[str, Brokers]], kind: Kind, nodes: Nodes, gone: Brokers) -> NamedEvent:
    """Return the event in which all the named nodes go at once, after the nodes that are `gone`."""
    chosen = frozenset[int]().union(*(ids for _, ids in named))
    says = " and ".join(words for words, _ in named)
    event = Event(chosen, kind, nodes.ephemeral, has_majority=nodes.has_majority(gone | chosen))
    return NamedEvent(says, event, is_one=len(named) == 1 and says != _ALL)


def _nodes(typed: str, target: str, nodes: Nodes) -> tuple[str, Brokers]:
    """Return the nodes that a part of an expression (`target`) names: in words, and their ids."""
    parts = _TARGET.fullmatch(target)
    if target == EACH_RACK:
        raise UsageError(f"{typed}: {EACH_RACK} goes with nothing else, as in {typed.split()[0]} {EACH_RACK}")
    if parts is None:
        raise UsageError(f"{typed}: {quoted(target)} names no brokers; write {_EXAMPLE}")
    if parts["all"]:
        return _ALL, nodes.brokers
    if parts["rack"] is not None:
        return _rack(typed, parts["rack"], nodes)
    node = int(parts["node"])
    if parts["kind"] == "controller":
        if node not in nodes.voters:
            there = f"the voters are {_ids(nodes.voters, most=20)}" if nodes.voters else f"no file names them; {_ADD}"
            raise UsageError(f"{typed}: {node} is not known as a controller that votes; {there}")
        return f"controller {node}{' (a broker, too)' * (node in nodes.brokers)}", frozenset({node})
    if node not in nodes.brokers:
        known = f"the known brokers are {_ids(nodes.brokers, most=20)}"
        cure = f"write controller:{node}" if node in nodes.voters else known
        raise UsageError(f"{typed}: no described partition is on broker {node}; {cure}")
    return f"broker {node}", frozenset({node})


def _rack(typed: str, rack: str, nodes: Nodes) -> tuple[str, Brokers]:
    members = nodes.of_rack(rack)
    if not members:
        racks = sorted(set(nodes.racks.values()))
        known = f"the racks are {listed(racks)}" if racks else f"no rack is known: {_cure(printable(rack))}"
        raise UsageError(f"{typed}: no broker is in rack {printable(rack)}; {known}")
    return f"rack {printable(rack)} ({nodes.in_words(members)})", members


_ADD = "add the output of kafka-metadata-quorum describe --status"


def _cure(rack: str) -> str:
    return f"give --rack {rack}=1,2,3, the brokers' files, or the output of kafka-broker-api-versions"


def _ids(brokers: Iterable[int], most: int = MOST_LISTED) -> str:
    ids = sorted(brokers)
    return ", ".join(map(str, ids[:most])) + (f" and {len(ids) - most:,} more" if len(ids) > most else "")


def _named(nodes: Iterable[int], role: str = "broker") -> str:
    ids = list(nodes)
    return f"{role}{'s' * (len(ids) != 1)} {_ids(ids)}"


# --- What happens ---


@dataclass(frozen=True)
class Forecast:
    """A partition now and after the events."""

    partition: Partition
    rules: Rules
    before: Standing
    after: Standing
    effects: frozenset[Effect]
    """The effects that the partition suffers after the events."""
    is_new: bool
    """Whether the events lead to an effect that the partition does not suffer now."""
    one_loss_away: frozenset[Effect]
    """The further effects that the loss of one more broker can have."""
    emptied: Brokers
    """The brokers that come back with an empty disk, if they come back after the events."""


def forecasts_of(clusters: Iterable[Cluster], events: Sequence[Event], nodes: Nodes) -> Iterator[Forecast]:
    """Yield what happens to each partition."""
    decisive = nodes.decisive(nodes.left(events))

    @cache  # a cluster with a million partitions has far fewer different assignments
    def happens(before: Standing, rules: Rules) -> tuple[Standing, Effects, bool, Effects]:
        after = after_all(before, events, rules)
        effects, now = after.effects(rules), before.effects(rules)
        return after, effects, effects > now, one_loss_away(after, rules, decisive)

    for partition, rules in _with_rules(clusters):
        before = standing_of(partition)
        yield Forecast(partition, rules, before, *happens(before, rules), nodes.ephemeral)


def _by_topic(forecasts: Iterable[Forecast]) -> dict[str, list[Forecast]]:
    return grouped((forecast.partition.topic, forecast) for forecast in forecasts)


def standing_of(partition: Partition) -> Standing:
    """Return a described partition as the controller records it."""
    sets = partition.isr, partition.elr, partition.last_known_elr, partition.strangers
    return _standing(partition.replicas, partition.leader, *sets)


Ids = tuple[int, ...]


@lru_cache(maxsize=1 << 16)  # large clusters repeat the same assignments
def _standing(replicas: Ids, leader: int | None, isr: Ids, elr: Ids, last_known: Ids, strangers: Ids) -> Standing:
    return Standing(replicas, frozenset(isr), leader, frozenset(elr), frozenset(last_known), frozenset(strangers))


_OF_BROKERS = {*COORDINATORS, "__share_group_state", "__remote_log_metadata"}
"""The topics that brokers write themselves, as with acks=all whatever the acks of clients: TransactionStateManager
(EnforcedRequiredAcks), offsets.commit.required.acks (by default -1, up to 3.9), CoordinatorRuntime (which answers once
the high watermark has passed a record, since 4.0), and TopicBasedRemoteLogMetadataManagerConfig."""


def _with_rules(clusters: Iterable[Cluster]) -> Iterator[tuple[Partition, Rules]]:
    for cluster in clusters:
        # The value as given: the cluster's value is limited to the replicas of the partition with the fewest replicas.
        least, is_limited = int(cluster.min_insync_replicas.text), cluster.release.has("3.7")
        first = {partition.topic: len(partition.replicas) for partition in cluster.partitions if not partition.number}
        known, acks_all = dict[tuple[int, int, bool], Rules](), cluster.producer.acks.value == "all"
        for partition in cluster.partitions:
            sizes = len(partition.replicas), first.get(partition.topic, len(partition.replicas))
            kind = *sizes, acks_all or partition.topic in _OF_BROKERS
            if kind not in known:
                known[kind] = Rules(
                    acks_all=kind[-1],
                    min_insync_replicas=min(least, sizes[0]) if is_limited else least,
                    given_minimum=least,
                    controllers_minimum=min(least, sizes[1]),
                    unclean_election=cluster.unclean_election.value,
                    has_elr=cluster.generation.has_elr,
                    flushes_every_message=cluster.flushes_every_message,
                    keeps_unnoticed_leader=cluster.has_kraft and not cluster.release.has("4.0"),
                )
            yield partition, known[kind]


# --- Text ---

_EFFECTS = {
    Effect.LOSS: "can lose acknowledged records",
    Effect.NO_READS: "no reads",
    Effect.NO_WRITES: "no writes",
}
_COLUMNS = {
    Effect.LOSS: "can lose acknowledged records",
    Effect.NO_WRITES: "cannot be written",
    Effect.NO_READS: "cannot be read",
}
"""What topics suffer: the columns of the table of racks."""
_AWAY_FROM = _EFFECTS | {Effect.LOSS: "lost records"}
_HAPPENS = {
    Kind.LOST: ("is lost", "are lost"),
    Kind.POWER: ("loses power and comes back", "lose power and come back"),
    Kind.RESTART: ("restarts", "restart at once"),
}
_GOES_ON = "every topic goes on"
Effects = frozenset[Effect]


def _headline(events: Sequence[NamedEvent], by_topic: Mapping[str, Sequence[Forecast]], majority: bool | None) -> str:
    kind = events[0].event.kind
    happens = _HAPPENS[kind][0 if len(events) == 1 and events[0].is_one else 1]
    counts = {effect: len(_suffering(by_topic, effect)) for effect in Effect}
    says = [f"{counts[effect]:,} {_COLUMNS[effect]}" for effect in Effect if counts[effect]]
    if kind is not Kind.LOST and (counts[Effect.NO_READS] or counts[Effect.NO_WRITES]):
        first_stop = 1 if counts[Effect.LOSS] else 0
        says[first_stop] = f"meanwhile {says[first_stop]}"
    brokers = " and then ".join(named.says for named in events)
    topics = f"of {counted(len(by_topic), 'topic')}, {', '.join(says)}" if says else _GOES_ON
    no_majority = "" if majority is not False else "; the controllers have no majority"
    if majority is None and not events[-1].event.has_majority:
        no_majority = "; it is not sure that the controllers have a majority"
    return f"If {brokers} {happens}: {topics}{no_majority}"


def _suffering(by_topic: Mapping[str, Sequence[Forecast]], effect: Effect) -> list[str]:
    """Return the topics with partitions that suffer an effect, in the order of their names."""
    return sorted(topic for topic, each in by_topic.items() if any(effect in one.effects for one in each))


def _why(forecast: Forecast) -> str:
    """Return why a partition is in trouble after the events."""
    after, before, reasons = forecast.after, forecast.before, []
    gone = (before.isr | before.elr if before.leader is not None else before.holders) & after.gone
    match after.cause:
        case Cause.ONLY_LEADER:
            reasons.append("without acks=all, the leader can have the only copy")
        case Cause.NOBODY_LEFT:
            if before.isr | before.elr | before.last_known:
                reasons.append(f"nobody else surely has the records of {_named(gone)}")
            else:
                lost = "every copy is gone" if gone >= {*before.replicas} else f"{_named(gone)} can have the only copy"
                reasons.append(f"nobody is known to have all records, and {lost}")
        case Cause.PERHAPS_UNCLEAN:
            eligible = f"eligible leader replica{'s' * (len(after.elr - after.gone) != 1)}"
            reasons.append(f"{eligible} {_ids(after.elr - after.gone)} may lead only after a clean shutdown")
        case Cause.UNCLEAN:
            reasons.append("a replica that was not in sync is elected (unclean.leader.election.enable=true)")
        case Cause.UNFLUSHED:
            reasons.append(f"all in sync ({_ids(before.isr & gone)}) lose what they have not flushed")
        case Cause.EMPTIED:
            emptied = after.gone & forecast.emptied
            every = ", so that no record is left" if emptied >= {*before.replicas} else ""
            reasons.append(f"{_come_back_empty(before.isr & emptied)}{every}")
        case Cause.UNNOTICED:
            early = "if it is back before a controller has noticed its end (KAFKA-18106)"
            reasons.append(f"broker {before.leader} leads again without what it had not flushed, {early}")
        case Cause.BLOCKED:
            strangers = f"brokers in the ELR that are no replicas ({_ids(after.strangers)})"
            reasons.append(f"{strangers} keep the last known leader from being elected, except by hand")
    if after.leader is None:
        majority = "the controllers have a majority and " if after.recorded is not None else ""
        waits, others = "", frozenset(after.replicas) - after.awaited - after.gone
        is_unclean = forecast.rules.unclean_election
        if after.awaited:
            waits = f" until {majority}{_some_of(after.awaited)} up"
            waits += f"; {keep_down(others)}" if others and is_unclean else ""
        elif others and before.leader is None and not before.awaited:
            waits = f" until {majority}{ANY_REPLICA if is_unclean else BY_HAND}"
        reasons.append(f"no leader{waits}")
    elif Effect.NO_WRITES in forecast.effects:
        minimum, joiners = forecast.rules.min_insync_replicas, after.joiners
        if after.unremoved and len(after.isr) >= minimum:
            waits = f"acks=all waits for {_named(after.unremoved)}: without a majority of controllers no ISR changes"
            return "; ".join([*reasons, waits])
        says = f"{len(after.in_sync)} in sync ({_ids(after.in_sync)}), min.insync.replicas={minimum}"
        missing = minimum - len(after.in_sync)
        reasons.append(
            says + (f", until {_some_of(joiners, missing)} in sync again" if missing <= len(joiners) else "")
        )
    return "; ".join(reasons)


def _some_of(brokers: Brokers, needed: int = 1) -> str:
    """Return who has to be up or in sync: so many of these brokers as are needed."""
    if needed >= len(brokers):
        return f"{_named(brokers)} {'is' if len(brokers) == 1 else 'are'}"
    return f"{'one' if needed == 1 else needed} of the brokers {_ids(brokers)} {'is' if needed == 1 else 'are'}"


def _come_back_empty(brokers: Brokers) -> str:
    come = "comes back with an empty disk" if len(brokers) == 1 else "come back with empty disks"
    return f"{_named(brokers)} {come} (ephemeral storage)"


def _gravity(effects: Effects) -> tuple[bool, ...]:
    """A sort key that puts the worst effects first."""
    return tuple(effect not in effects for effect in Effect)


def _says(effects: Effects, words: Mapping[Effect, str]) -> str:
    return ", ".join(says for effect, says in words.items() if effect in effects)


def _topic_line(forecasts: Sequence[Forecast]) -> str:
    parts = []
    by_effects = grouped((forecast.effects, forecast) for forecast in forecasts)
    for effects, group in sorted(by_effects.items(), key=lambda of_effects: _gravity(of_effects[0])):
        numbers = _ids(forecast.partition.number for forecast in group)
        where = f"partition{'s' * (len(group) != 1)} {numbers} of {len(forecasts):,}"
        as_now = "" if any(forecast.is_new for forecast in group) else " (already now)"
        if effects:
            reasons = list(dict.fromkeys(map(_why, group)))
            more = " (the others: --details)" if len(reasons) > 1 else ""
            parts.append(f"{_says(effects, _EFFECTS)}{as_now}: {where}: {reasons[0]}{more}")
    if near := [forecast for forecast in forecasts if forecast.one_loss_away]:
        worst = min((forecast.one_loss_away for forecast in near), key=_gravity)
        parts.append(
            f"one more loss away from {_says(worst, _AWAY_FROM)}: {len(near):,} of {len(forecasts):,} partitions"
        )
    return "; ".join(parts or ["goes on"])


def _partition_row(forecast: Forecast) -> tuple[str, ...]:
    before, after = forecast.before, forecast.after
    isrs = (",".join(map(str, sorted(standing.in_sync))) or "none" for standing in (before, after))
    says = f"{_says(forecast.effects, _EFFECTS)}: {_why(forecast)}" if forecast.effects else "goes on"
    if forecast.one_loss_away:
        says += f"; one more loss away from {_says(forecast.one_loss_away, _AWAY_FROM)}"
    replicas = ",".join(map(str, forecast.partition.replicas))
    return printable(forecast.partition.name), f"replicas {replicas}", f"in sync {' -> '.join(isrs)}", says


def _rows(reading: Reading, nodes: Nodes | None = None) -> Iterator[tuple[str, str]]:
    """Yield the labelled lines before those of the topics: what is missing in the files, and what is assumed. `nodes`
    are given if a rack is asked about."""
    yield from (("Files", remark) for remark in _remarks(reading))
    if nodes is not None and (unknown := (nodes.brokers | nodes.voters) - nodes.racks.keys()):
        not_known = f"the rack of {nodes.in_words(unknown)} is not known"
        yield "Racks", f"{not_known}: counted in no rack (--rack NAME=ID,ID)"
    if len(reading.clusters) <= MOST_LISTED:
        yield from (("For", subject(cluster)) for cluster in reading.clusters)
    else:
        yield "For", f"Kafka {reading.clusters[0].release}, topics with {len(reading.clusters)} kinds of settings"
    yield from (("Assumed", line) for line in dict.fromkeys(_assumed(reading)))


def _of_controllers(reading: Reading, events: Sequence[Event], nodes: Nodes) -> Iterator[tuple[str, str]]:
    """Yield labelled lines that say how many voters are left, whether they are a majority, and what is assumed."""
    yield "Assumed", _assumed_of_controllers(reading)
    if not nodes.voters:
        return
    left, count, doubts = nodes.left(events), len(nodes.voters), "; ".join(nodes.doubts.lines())
    says = f"{len(left)} of {counted(count, 'voter')} {'is' if len(left) == 1 else 'are'} left"
    says += f" ({_ids(left)})" if left else ""
    majority = nodes.majority(nodes.voters - left)
    if majority:
        ends = ", which the loss of one more ends" * bool(nodes.decisive(left))
        says += f": a majority{ends}"
    elif majority is None:
        says += f": it is not sure that they are a majority ({count // 2 + 1} are needed); if not, {_NOTHING_CHANGES}"
    else:
        says += f", {count // 2 + 1} are needed: {_NOTHING_CHANGES}"
    yield "Controllers", says + (f"; {doubts}" if doubts else "")


_NOTHING_CHANGES = "nobody is elected, and no ISR changes"


def _assumed_of_events(clusters: Iterable[Cluster]) -> str:
    """Return what the rules assume about replicas, as the output of kafka-topics does not show it."""
    parts = ["replicas that are not in sync stay so"]
    if any(cluster.unclean_election.value for cluster in clusters):
        parts.append("such a replica is up, and is elected if nobody else can be")
    if any(cluster.generation.has_elr for cluster in clusters):
        parts.append("eligible leader replicas did not shut down in order")
    return "; ".join(parts)


def _assumed_of_controllers(reading: Reading) -> str:
    if reading.voters:
        return (
            f"the controllers that vote are up{', except those that a file shows to lag' * any(reading.doubts.lines())}"
        )
    if not reading.clusters[0].has_kraft:
        return "ZooKeeper keeps its majority"
    return f"the controllers keep their majority, as no file names those that vote; {_ADD}"


def _remarks(reading: Reading) -> list[str]:
    """Return the remarks on the files. The forecast takes each partition with its replicas of now, also during a
    reassignment: the part of a remark that limits an answer to one kind of partition is left out."""
    return [remark.partition(FOR_ONE_KIND)[0] for remark in reading.remarks]


def _assumed(reading: Reading) -> Iterator[str]:
    if place := next((place for place, brokers in reading.ephemeral.items() if not brokers), None):
        yield f"all brokers have the ephemeral storage of {place}, as no file shows which of them have it"
    for cluster in reading.clusters:
        yield from cluster.assumed
        if (why := cluster.generation.why_undecided) is not None:
            yield f"the rules of generation {cluster.generation.protocol}, the nearest one: {why}"


def _topic_rows(by_topic: Mapping[str, Sequence[Forecast]], *, details: bool) -> list[tuple[str, str]]:
    """Return a line for each topic, the worst first; the topics in which nothing happens share a line."""

    def gravity(name: str) -> tuple[object, ...]:
        effects = frozenset[Effect]().union(*(forecast.effects for forecast in by_topic[name]))
        away = frozenset[Effect]().union(*(forecast.one_loss_away for forecast in by_topic[name]))
        return _gravity(effects), _gravity(away), name

    names = sorted(by_topic, key=gravity)
    calm = [name for name in names if not any(one.effects or one.one_loss_away for one in by_topic[name])]
    shown = names[: len(names) - len(calm)]
    rows = [(printable(name), _topic_line(by_topic[name])) for name in (shown if details else shown[:MOST_TOPICS])]
    if len(shown) > len(rows):
        rows.append(("...", f"{counted(len(shown) - len(rows), 'more topic')} (--details shows all)"))
    if len(calm) == 1:
        rows.append((printable(calm[0]), "goes on"))
    elif calm:
        rows.append((counted(len(calm), "topic"), f"goes on: {listed(calm)}"))
    return rows


# --- Each rack ---


@dataclass(frozen=True)
class OfRack:
    """What happens if one rack is lost."""

    rack: str
    members: Brokers
    voters_left: int
    """How many voters are left, without those whose rack is not known."""
    has_majority: bool | None
    """Whether a majority of the voters is left; None if the voters or their racks are not known, or if it is not sure
    that enough of them are up."""
    by_topic: Mapping[str, Sequence[Forecast]]
    topics: Mapping[Effect, Sequence[str]]
    """The topics with partitions that suffer each effect."""


def _of_rack(rack: str, reading: Reading, nodes: Nodes, kind: Kind) -> OfRack:
    members = nodes.of_rack(rack)
    event = Event(members, kind, nodes.ephemeral, has_majority=nodes.has_majority(members))
    unplaced = nodes.voters - nodes.racks.keys()
    majority = nodes.majority(members)
    by_topic = _by_topic(forecasts_of(reading.clusters, [event], nodes))
    topics = {effect: _suffering(by_topic, effect) for effect in Effect}
    left = len(nodes.voters - members - unplaced)
    return OfRack(
        rack, members, left, majority if nodes.majority(members | unplaced) == majority else None, by_topic, topics
    )


def _each_rack(reading: Reading, nodes: Nodes, kind: Kind, *, details: bool, fails: bool) -> CommandResult:
    """Answer for each rack what happens if it alone is lost. If `fails`, a lost record fails the command."""
    racks = sorted(set(nodes.racks.values()))
    if not racks:
        option = "--lose" if kind is Kind.LOST else "--lose-power"
        raise UsageError(f"{option} {EACH_RACK}: no rack is known; {_cure('az1')}")
    every = [_of_rack(rack, reading, nodes, kind) for rack in racks]
    harms = {
        "acknowledged records can be lost": [one for one in every if one.topics[Effect.LOSS]],
        "topics cannot be read": [one for one in every if one.topics[Effect.NO_READS]],
        "topics cannot be written": [one for one in every if one.topics[Effect.NO_WRITES]],
        "the controllers have no majority": [one for one in every if one.has_majority is False],
        "it is not sure that the controllers have a majority": [
            one for one in every if one.has_majority is None and any(nodes.doubts.lines())
        ],
    }
    says = "; ".join(f"{harm} ({listed([one.rack for one in where])})" for harm, where in harms.items() if where)
    headline = f"If one of {counted(len(racks), 'rack')} {_HAPPENS[kind][0]}: {says or _GOES_ON}"
    rows = list(_rows(reading, nodes))
    advice = None
    rows.append(("Assumed", _assumed_of_events(reading.clusters)))
    rows.append(("Assumed", _assumed_of_controllers(reading)))
    if nodes.voters and not nodes.voters - nodes.racks.keys():
        advice = placement_advice({one.rack: len(one.members & nodes.voters) for one in every})
        says = advice or "the majority survives the loss of any one rack"
        if doubts := "; ".join(nodes.doubts.lines()):
            says = f"{says}, if all voters are up; {doubts}"
        rows.append(("Controllers", says))
    head = ("rack", "nodes", "majority of controllers", *_COLUMNS.values())
    lines = [headline, *table(rows, "  "), "", *table([head, *(_cells(one, nodes) for one in every)], "  ")]
    for one in every if details else ():
        lines += ["", f"  {printable(one.rack)}", *table(_topic_rows(one.by_topic, details=True), "    ")]

    def content() -> dict[str, Any]:
        return {
            "headline": headline,
            "kind": kind.name.lower(),
            "racks": [
                {
                    "rack": one.rack,
                    "brokers": sorted(one.members & nodes.brokers),
                    "controllers": sorted(one.members & nodes.voters),
                    "have_majority": one.has_majority,
                    **{effect.name.lower(): one.topics[effect] for effect in Effect},
                }
                for one in every
            ],
            "advice": advice,
            **_of_files(reading, nodes),
        }

    loses = any(one.topics[Effect.LOSS] for one in every)
    return CommandResult("\n".join(lines), content, VIOLATED if loses and fails else SAFE)


def _cells(one: OfRack, nodes: Nodes) -> tuple[str, ...]:
    """Return the cells of a rack in the table."""
    says = {True: "yes", False: "no", None: "not sure" if any(nodes.doubts.lines()) else "not known"}[one.has_majority]
    if one.has_majority is not None:
        says += f": {one.voters_left} of {len(nodes.voters)} left"
    topics = (one.topics[effect] for effect in _COLUMNS)
    return printable(one.rack), nodes.in_words(one.members), says, *(listed(names) or "none" for names in topics)


# --- A rolling restart ---


def _roll(reading: Reading, *, details: bool) -> CommandResult:
    """Answer in which order the brokers may restart, and which may not restart now."""
    every = list(_with_rules(reading.clusters))
    standings = [(standing_of(partition), rules) for partition, rules in every]
    nodes = nodes_of(reading, (partition for partition, _ in every))
    barred = frozenset(voter for voter in nodes.voters if not nodes.has_majority(frozenset({voter})))
    restart = rolling_restart(standings, lambda broker: (reading.racks.get(broker, ""), broker), barred)
    obstacles = {
        broker: [every[place] for place in restart.not_now.get(broker, ())]
        for broker in sorted(restart.not_now.keys() | (barred & nodes.brokers))
    }
    never = {broker for broker, found in obstacles.items() if any(_needs_all(*one) for one in found)}
    # Without any doubt about the others, only further voters help.
    never |= {broker for broker in barred & nodes.brokers if nodes.majority(frozenset({broker})) is False}
    leaderless = [partition.name for partition, _ in every if partition.leader is None]
    brokers = counted(len({*restart.order, *obstacles}), "broker")
    headline = f"All {brokers} may restart, one at a time"
    if obstacles:
        headline = f"{len(obstacles):,} of {brokers} may not restart now"
    if leaderless:
        headline += f"; {counted(len(leaderless), 'partition')} without a leader"
    rows = [("Order", ", ".join(map(str, restart.order)) or "none")]
    rows.append(("", "each restarts once all replicas of the one before it are in sync again"))
    for broker, found in obstacles.items():
        worst_first = sorted(found, key=lambda one: not _needs_all(*one))
        reasons = [_of_voter(nodes)] if broker in barred else []
        reasons += [_obstacle(*one) for one in (worst_first if details else worst_first[: 1 - len(reasons)])]
        label = "Never" if broker in never else "Not now"
        rows += [(label, f"broker {broker}: {reasons[0]}"), *(("", reason) for reason in reasons[1:])]
        if more := len(found) + (broker in barred) - len(reasons):
            rows.append(("", f"and {counted(more, 'more partition')} (--details shows all)"))
    if leaderless:
        for partition, rules in [one for one in every if one[0].leader is None][:MOST_LISTED]:
            until = who_can_lead([partition], uncleanly=rules.unclean_election)
            rows.append(("Beware", f"{printable(partition.name)} has no leader until {until}"))
        if len(leaderless) > MOST_LISTED:
            rows.append(("", f"and {len(leaderless) - MOST_LISTED:,} more partitions without a leader"))
    if barred - nodes.brokers:
        rows.append(("Controllers", f"{_named(barred - nodes.brokers, 'controller')}: {_of_voter(nodes)}"))
    elif nodes.voters:
        left = f"{len(nodes.voters) - 1} of {len(nodes.voters)} voters are left without one of them: a majority"
        rows.append(("Controllers", f"one at a time, too: {left}"))
    if nodes.ephemeral:
        says = f"{_come_back_empty(nodes.ephemeral)}, and must copy all their replicas before the next one restarts"
        rows.append(("Beware", says))
    if not all(rules.acks_all for _, rules in every):
        rows.append(("Beware", "without acks=all, records can be lost when a broker hands over its leadership"))

    rows.append(("Assumed", _assumed_of_controllers(reading)))

    def content() -> dict[str, Any]:
        of_files = _of_files(reading)
        of_files["assumed"].append(_assumed_of_controllers(reading))
        return {
            "headline": headline,
            "order": list(restart.order),
            "not_now": {str(broker): [partition.name for partition, _ in found] for broker, found in obstacles.items()},
            "never": sorted(never),
            "leaderless": leaderless,
            **of_files,
        }

    lines = [headline, *table([*rows, *_rows(reading)], "  ")]
    return CommandResult("\n".join(lines), content, VIOLATED if obstacles or leaderless else SAFE)


def _of_voter(nodes: Nodes) -> str:
    """Return why a voter may not restart: without it, no majority is sure."""
    count, doubts = len(nodes.voters), "; ".join(nodes.doubts.lines())
    if count == 1:
        return f"the only voter: until it is back, {_NOTHING_CHANGES}; add voters"
    left = f"without one voter, {count - 1} of {count} {'is' if count == 2 else 'are'} left"
    if doubts and is_majority(count - 1, count):
        return f"{left}, and it is not sure that {count // 2 + 1} are up: {doubts}"
    return f"{left}, and {count // 2 + 1} are needed: add voters"


def _needs_all(partition: Partition, rules: Rules) -> bool:
    """Whether writes or reads need every replica, so that no replica may restart, even if all are in sync."""
    return len(partition.replicas) <= max(rules.min_insync_replicas, 1)


def _obstacle(partition: Partition, rules: Rules) -> str:
    """Return why a partition forbids a member of its ISR to restart now, and what has to change."""
    isr, minimum = partition.isr, rules.min_insync_replicas
    given = max(rules.given_minimum, minimum)
    counts = f" (counts as {minimum})" if given > minimum else ""
    says = f"{printable(partition.name)} has {len(isr)} in sync ({_ids(isr)}), min.insync.replicas={given}{counts}"
    if not _needs_all(partition, rules):
        others = frozenset(partition.replicas) - frozenset(isr)
        return f"{says}, until {_some_of(others, max(minimum, 1) + 1 - len(isr))} in sync again"
    missing = max(given, 1) + 1 - len(partition.replicas)
    cure = f"add {'a replica' if missing == 1 else counted(missing, 'replica')}"
    cure += " or lower min.insync.replicas" if minimum > 1 else ""
    return f"{says}, {counted(len(partition.replicas), 'replica')}: {cure}"


# --- The command ---


def asked(options: ClusterOptions) -> list[str]:
    """Return the given options that ask what happens if brokers fail or restart, not whether the settings are safe."""
    names = ("lose", "lose_power", "restart_all", "roll")
    return [f"--{name.replace('_', '-')}" for name in names if getattr(options, name)]


def foretell(reading: Reading, options: ClusterOptions, *, details: bool, strict: bool) -> CommandResult:
    """Answer what the options ask about the described partitions. The exit code is 12 if a broker may not restart; or
    if a record can be lost, and --strict or --fail-on can-lose is given. Raises UsageError for bad input, and
    UndecidedError if settings could not be read."""
    partitions = [partition for cluster in reading.clusters for partition in cluster.partitions]
    if not partitions:
        raise UsageError(f"{asked(options)[0]}: no partition is described: give the output of kafka-topics --describe")
    if unread := next((cluster for cluster in reading.clusters if cluster.unread), None):
        raise UndecidedError(f"{asked(options)[0]}: {unread.why_unknown}")
    if options.roll:
        return _roll(reading, details=details)
    nodes = nodes_of(reading, partitions)
    fails = strict or "can-lose" in (options.fail_on or ())
    if EACH_RACK in (*options.lose, *options.lose_power) and len(options.lose) + len(options.lose_power) == 1:
        kind = Kind.LOST if options.lose else Kind.POWER
        return _each_rack(reading, nodes, kind, details=details, fails=fails)
    named = events_of(options, nodes)
    events = [one.event for one in named]
    by_topic = _by_topic(forecasts_of(reading.clusters, events, nodes))
    forecasts = [forecast for of_topic in by_topic.values() for forecast in of_topic]
    majority = nodes.majority(nodes.voters - nodes.left(events))
    headline = _headline(named, by_topic, majority)
    by_rack = any("rack " in one.says for one in named)
    rows = [*_rows(reading, nodes if by_rack else None), ("Assumed", _assumed_of_events(reading.clusters))]
    rows += _of_controllers(reading, events, nodes)
    lines = [headline, *table(rows, "  "), ""]
    lines += table(_topic_rows(by_topic, details=details), "  ")
    if details:
        lines += ["", *table([_partition_row(forecast) for forecast in forecasts], "  ")]
    loses = any(Effect.LOSS in forecast.effects for forecast in forecasts)

    def content() -> dict[str, Any]:
        return {
            "headline": headline,
            "events": [
                {
                    "says": one.says,
                    "kind": one.event.kind.name.lower(),
                    "brokers": sorted(one.event.brokers & nodes.brokers),
                    "controllers": sorted(one.event.brokers & nodes.voters),
                }
                for one in named
            ],
            "controllers": {
                "voters": sorted(nodes.voters),
                "left": sorted(nodes.left(events)),
                "have_majority": majority,
            },
            "partitions": [_object(forecast) for forecast in forecasts],
            **_of_files(reading, nodes),
        }

    return CommandResult("\n".join(lines), content, VIOLATED if loses and fails else SAFE)


def _of_files(reading: Reading, nodes: Nodes | None = None) -> dict[str, Any]:
    """Return what is assumed, and the remarks on the files. `nodes` are given if the answer is about events."""
    of_events = [] if nodes is None else [_assumed_of_events(reading.clusters), _assumed_of_controllers(reading)]
    return {"assumed": [*dict.fromkeys(_assumed(reading)), *of_events], "remarks": _remarks(reading)}


def _object(forecast: Forecast) -> dict[str, Any]:
    after = forecast.after
    return {
        "topic": forecast.partition.topic,
        "partition": forecast.partition.number,
        "effects": [effect.name.lower() for effect in Effect if effect in forecast.effects],
        "is_new": forecast.is_new,
        "why": _why(forecast),
        "one_loss_away": [effect.name.lower() for effect in Effect if effect in forecast.one_loss_away],
        "leader": after.leader,
        "in_sync": sorted(after.in_sync),
        "awaited": sorted(after.awaited),
        "min_insync_replicas": forecast.rules.min_insync_replicas,
    }
