"""`isrcheck doctor --lose`, `--lose-power`, `--restart-all`, `--roll`: what happens to each partition as it stands now.

In:  the partitions as kafka-topics describes them, the settings of their topics, and the events or the restart to come.
Out: a line for each topic, with --details for each partition, and the object of --json (docs/json.md).

The rules are those of what_if.py. Replicas outside the ISR may be down: they are not counted as in sync.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from isrcheck.checker.answers.report import subject
from isrcheck.checker.answers.what_if import (
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
from isrcheck.checker.cluster.contents import FOR_ONE_KIND, MOST_LISTED, Partition, listed
from isrcheck.checker.cluster.property_files import printable, quoted
from isrcheck.checker.command.options import ClusterOptions
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.results.terminal import counted, table
from isrcheck.commands.exit_codes import SAFE, VIOLATED
from isrcheck.models.messages import UsageError

MOST_TOPICS = 40
"""The most topics with a line of their own, without --details."""

# --- Which brokers are meant ---

_TARGET = re.compile(r"(?:broker:)?(?P<broker>\d{1,9})|rack:(?P<rack>.+)|(?P<all>all)", re.ASCII)
_ALL = "all brokers"
_EXAMPLE = "broker:3, rack:az1, broker:3,4 or rack:az1 then broker:5"


@dataclass(frozen=True)
class NamedEvent:
    """An event, and the brokers in words."""

    says: str
    event: Event
    is_one: bool
    """Whether the words name one broker or one rack."""


def events_of(options: ClusterOptions, racks: Mapping[int, str], brokers: Brokers) -> list[NamedEvent]:
    """Return the events that the options ask for, in order; none for --roll. `brokers` are those of the cluster. Raises
    UsageError for an unknown broker or rack, or a text that is no expression."""
    if options.restart_all:
        return [NamedEvent(_ALL, Event(brokers, Kind.RESTART), is_one=False)]
    typed = [("--lose", Kind.LOST, text) for text in options.lose]
    typed += [("--lose-power", Kind.POWER, text) for text in options.lose_power]
    events = []
    for option, kind, text in typed:
        for step in re.split(r"\s+then\s+", text.strip()):
            targets = [target.strip() for target in re.split(r",|\s+and\s+", step)]
            named = [_brokers(f"{option} {text}", target, racks, brokers) for target in targets]
            chosen = frozenset[int]().union(*(ids for _, ids in named))
            says = " and ".join(words for words, _ in named)
            events.append(NamedEvent(says, Event(chosen, kind), is_one=len(named) == 1 and says != _ALL))
    if len(events) > 1 and options.lose_power:
        raise UsageError("--lose-power: only one loss of power can be asked about; join its brokers with commas")
    return events


def _brokers(typed: str, target: str, racks: Mapping[int, str], brokers: Brokers) -> tuple[str, Brokers]:
    """Return brokers in words, and their ids."""
    parts = _TARGET.fullmatch(target)
    if parts is None:
        raise UsageError(f"{typed}: {quoted(target)} names no brokers; write {_EXAMPLE}")
    if parts["all"]:
        return _ALL, brokers
    if parts["rack"] is None:
        broker = int(parts["broker"])
        if broker not in brokers:
            raise UsageError(
                f"{typed}: no described partition is on broker {broker}; the known brokers are {_ids(brokers, most=20)}"
            )
        return f"broker {broker}", frozenset({broker})
    members = frozenset(broker for broker, rack in racks.items() if rack == parts["rack"])
    if not members:
        rack = printable(parts["rack"])
        known = f"the racks are {listed(sorted(set(racks.values())))}" if racks else f"no rack is known: {_cure(rack)}"
        raise UsageError(f"{typed}: no broker is in rack {rack}; {known}")
    return f"rack {printable(parts['rack'])} ({_named(members)})", members


def _cure(rack: str) -> str:
    return f"give --rack {rack}=1,2,3, the brokers' files, or the output of kafka-broker-api-versions"


def _ids(brokers: Iterable[int], most: int = MOST_LISTED) -> str:
    ids = sorted(brokers)
    return ", ".join(map(str, ids[:most])) + (f" and {len(ids) - most:,} more" if len(ids) > most else "")


def _named(brokers: Iterable[int]) -> str:
    ids = list(brokers)
    return f"broker{'s' * (len(ids) != 1)} {_ids(ids)}"


# --- What happens ---


@dataclass(frozen=True)
class Forecast:
    """A partition now and after the events."""

    partition: Partition
    rules: Rules
    before: Standing
    after: Standing
    effects: frozenset[Effect]
    """What is the matter after the events."""
    is_new: bool
    """Whether the events change anything about that: they lead to an effect that the partition does not have now."""
    one_loss_away: frozenset[Effect]
    """The further effects that the loss of one more broker can have."""


def forecasts_of(clusters: Iterable[Cluster], events: Sequence[Event]) -> Iterator[Forecast]:
    """Yield what happens to each partition."""

    @cache  # a cluster with a million partitions has far fewer different assignments
    def happens(before: Standing, rules: Rules) -> tuple[Standing, Effects, bool, Effects]:
        after = after_all(before, events, rules)
        effects, now = after.effects(rules), before.effects(rules)
        return after, effects, effects > now, one_loss_away(after, rules)

    for partition, rules in _with_rules(clusters):
        before = standing_of(partition)
        yield Forecast(partition, rules, before, *happens(before, rules))


def standing_of(partition: Partition) -> Standing:
    """Return a described partition as the controller records it."""
    return _standing(
        partition.replicas,
        partition.isr,
        partition.leader,
        partition.elr,
        partition.last_known_elr,
        partition.strangers,
    )


Ids = tuple[int, ...]


@lru_cache(maxsize=1 << 16)  # large clusters repeat the same assignments
def _standing(replicas: Ids, isr: Ids, leader: int | None, elr: Ids, last_known: Ids, strangers: Ids) -> Standing:
    return Standing(replicas, frozenset(isr), leader, frozenset(elr), frozenset(last_known), frozenset(strangers))


def _with_rules(clusters: Iterable[Cluster]) -> Iterator[tuple[Partition, Rules]]:
    for cluster in clusters:
        # The value as given; the cluster's own is limited to the replicas of the partition with the fewest.
        least, is_limited = int(cluster.min_insync_replicas.text), cluster.release.has("3.7")
        first = {partition.topic: len(partition.replicas) for partition in cluster.partitions if not partition.number}
        known = dict[tuple[int, int], Rules]()
        for partition in cluster.partitions:
            sizes = len(partition.replicas), first.get(partition.topic, len(partition.replicas))
            if sizes not in known:
                known[sizes] = Rules(
                    acks_all=cluster.producer.acks.value == "all",
                    min_insync_replicas=min(least, sizes[0]) if is_limited else least,
                    controllers_minimum=min(least, sizes[1]),
                    unclean_election=cluster.unclean_election.value,
                    has_elr=cluster.generation.has_elr,
                    flushes_every_message=cluster.flushes_every_message,
                )
            yield partition, known[sizes]


# --- Text ---

_EFFECTS = {
    Effect.LOSS: "can lose acknowledged records",
    Effect.NO_READS: "no reads",
    Effect.NO_WRITES: "no writes",
}
_AWAY_FROM = _EFFECTS | {Effect.LOSS: "lost records"}
_HAPPENS = {
    Kind.LOST: ("is lost", "are lost"),
    Kind.POWER: ("loses power and comes back", "lose power and come back"),
    Kind.RESTART: ("restarts", "restart at once"),
}
Effects = frozenset[Effect]


def _headline(events: Sequence[NamedEvent], forecasts: Sequence[Forecast]) -> str:
    kind = events[0].event.kind
    is_one = len(events) == 1 and events[0].is_one
    happens = _HAPPENS[kind][0 if is_one else 1]
    every = {forecast.partition.topic for forecast in forecasts}
    counts = {
        effect: len({forecast.partition.topic for forecast in forecasts if effect in forecast.effects})
        for effect in Effect
    }
    losses = [f"{counts[Effect.LOSS]:,} can lose acknowledged records"] if counts[Effect.LOSS] else []
    stops = [f"{counts[Effect.NO_READS]:,} cannot be read"] if counts[Effect.NO_READS] else []
    stops += [f"{counts[Effect.NO_WRITES]:,} cannot be written"] if counts[Effect.NO_WRITES] else []
    if stops and kind is not Kind.LOST:
        stops[0] = f"meanwhile {stops[0]}"
    brokers = " and then ".join(named.says for named in events)
    if not losses and not stops:
        return f"If {brokers} {happens}: every topic goes on"
    return f"If {brokers} {happens}: of {counted(len(every), 'topic')}, {', '.join([*losses, *stops])}"


def _why(forecast: Forecast) -> str:
    """Return why a partition is in trouble after the events."""
    after, before, reasons = forecast.after, forecast.before, []
    gone = (before.isr | before.elr) & after.gone
    match after.cause:
        case Cause.ONLY_LEADER:
            reasons.append("without acks=all, the leader can have the only copy")
        case Cause.NOBODY_LEFT:
            reasons.append(f"nobody else surely has the records of {_named(gone)}")
        case Cause.PERHAPS_UNCLEAN:
            eligible = f"eligible leader replica{'s' * (len(after.elr - after.gone) != 1)}"
            reasons.append(f"{eligible} {_ids(after.elr - after.gone)} may lead only after a shutdown in order")
        case Cause.UNCLEAN:
            reasons.append("a replica that was not in sync is elected (unclean.leader.election.enable=true)")
        case Cause.UNFLUSHED:
            reasons.append(f"all in sync ({_ids(gone)}) lose what they have not flushed")
        case Cause.BLOCKED:
            strangers = f"brokers in the ELR that are no replicas ({_ids(after.strangers)})"
            reasons.append(f"{strangers} keep the last known leader from being elected, except by hand")
    if after.leader is None:
        waits = f"until {_one_of(after.awaited)} up" if after.awaited else ""
        reasons.append(" ".join(filter(None, ["no leader", waits])))
    elif Effect.NO_WRITES in forecast.effects:
        minimum, joiners = forecast.rules.min_insync_replicas, after.joiners
        says = f"{len(after.in_sync)} in sync ({_ids(after.in_sync)}), min.insync.replicas={minimum}"
        is_enough = len(after.in_sync) + len(joiners) >= minimum
        reasons.append(says + (f", until {_one_of(joiners)} in sync again" if is_enough else ""))
    return "; ".join(reasons)


def _one_of(brokers: Brokers) -> str:
    return f"broker {_ids(brokers)} is" if len(brokers) == 1 else f"one of the brokers {_ids(brokers)} is"


def _by_effects(forecasts: Iterable[Forecast]) -> dict[Effects, list[Forecast]]:
    groups: dict[Effects, list[Forecast]] = defaultdict(list)
    for forecast in forecasts:
        groups[forecast.effects].append(forecast)
    return dict(sorted(groups.items(), key=lambda group: _gravity(group[0])))


def _gravity(effects: Effects) -> tuple[bool, ...]:
    """A sort key that puts the worst effects first."""
    return tuple(effect not in effects for effect in Effect)


def _says(effects: Effects, words: Mapping[Effect, str], between: str = ", ") -> str:
    return between.join(says for effect, says in words.items() if effect in effects)


def _topic_line(forecasts: Sequence[Forecast]) -> str:
    parts = []
    for effects, group in _by_effects(forecasts).items():
        numbers = _ids(forecast.partition.number for forecast in group)
        where = f"partition{'s' * (len(group) != 1)} {numbers} of {len(forecasts):,}"
        as_now = " (already now)" if not any(forecast.is_new for forecast in group) else ""
        if effects:
            reasons = list(dict.fromkeys(map(_why, group)))
            more = " (the others: --details)" if len(reasons) > 1 else ""
            parts.append(f"{_says(effects, _EFFECTS)}{as_now}: {where}: {reasons[0]}{more}")
    near = [forecast for forecast in forecasts if forecast.one_loss_away]
    if near:
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


def _rows(reading: Reading, brokers: Brokers, *, by_rack: bool) -> Iterator[tuple[str, str]]:
    """Yield the labelled lines before those of the topics: what is missing in the files, and what is assumed."""
    yield from (("Files", remark) for remark in _remarks(reading))
    if by_rack and (unknown := brokers - reading.racks.keys()):
        yield "Racks", f"the rack of {_named(unknown)} is not known: not counted as in a rack (--rack NAME=ID,ID)"
    if len(reading.clusters) <= MOST_LISTED:
        yield from (("For", subject(cluster)) for cluster in reading.clusters)
    else:
        yield "For", f"Kafka {reading.clusters[0].release}, topics with {len(reading.clusters)} kinds of settings"
    yield from (("Assumed", line) for line in dict.fromkeys(_assumed(reading.clusters)))


def _remarks(reading: Reading) -> list[str]:
    """Return the remarks on the files. Each partition is asked about with the replicas that it has now, also during a
    reassignment, so what the remarks say of an answer for a kind of topic is left out."""
    return [remark.partition(FOR_ONE_KIND)[0] for remark in reading.remarks]


def _assumed(clusters: Iterable[Cluster]) -> Iterator[str]:
    for cluster in clusters:
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
    if calm:
        rows.append((listed(calm) if len(calm) == 1 else counted(len(calm), "topic"), f"goes on{_which(calm)}"))
    return rows


def _which(names: Sequence[str]) -> str:
    return f": {listed(names)}" if len(names) > 1 else ""


# --- A rolling restart ---


def _roll(reading: Reading, *, details: bool) -> CommandResult:
    """Answer in which order the brokers may restart, and which may not restart now."""
    every = list(_with_rules(reading.clusters))
    racks = reading.racks
    restart = rolling_restart(
        [(standing_of(partition), rules) for partition, rules in every], lambda broker: (racks.get(broker, ""), broker)
    )
    brokers = frozenset([*restart.order, *restart.not_now])
    headline = f"All {counted(len(brokers), 'broker')} may restart, one at a time"
    if restart.not_now:
        headline = f"{len(restart.not_now):,} of {counted(len(brokers), 'broker')} may not restart now"
    leaderless = [partition.name for partition, _ in every if standing_of(partition).leader is None]
    if leaderless:
        headline += f"; {counted(len(leaderless), 'partition')} without a leader"
    rows = [("Order", ", ".join(map(str, restart.order)) or "none")]
    rows.append(("", "each restarts once all replicas of the one before it are in sync again"))
    never = {broker for broker, places in restart.not_now.items() if any(_needs_all(*every[place]) for place in places)}
    for broker, places in restart.not_now.items():
        worst_first = sorted(places, key=lambda place: not _needs_all(*every[place]))
        reasons = [_obstacle(*every[place]) for place in (worst_first if details else worst_first[:1])]
        label = "Never" if broker in never else "Not now"
        rows += [(label, f"broker {broker}: {reasons[0]}"), *(("", reason) for reason in reasons[1:])]
        if len(places) > len(reasons):
            rows.append(("", f"and {counted(len(places) - len(reasons), 'more partition')} (--details shows all)"))
    if leaderless:
        rows.append(("Beware", f"no leader: {listed(leaderless)}; first bring up a broker that may lead"))
    if not all(rules.acks_all for _, rules in every):
        rows.append(("Beware", "without acks=all, records can be lost when a broker hands over its leadership"))
    content = {
        "headline": headline,
        "order": list(restart.order),
        "not_now": {
            str(broker): [every[place][0].name for place in places] for broker, places in restart.not_now.items()
        },
        "never": sorted(never),
        **_of_files(reading),
    }
    lines = [headline, *table([*rows, *_rows(reading, brokers, by_rack=False)], "  ")]
    return CommandResult("\n".join(lines), content, VIOLATED if restart.not_now or leaderless else SAFE)


def _needs_all(partition: Partition, rules: Rules) -> bool:
    """Whether writes or reads need every replica, so that no replica may restart, even if all are in sync."""
    return len(partition.replicas) <= max(rules.min_insync_replicas, 1)


def _obstacle(partition: Partition, rules: Rules) -> str:
    """Return why a partition stands in the way of a member of its ISR that shall restart, and what has to change."""
    isr, minimum = partition.isr, rules.min_insync_replicas
    says = f"{printable(partition.name)} has {len(isr)} in sync ({_ids(isr)}), min.insync.replicas={minimum}"
    if not _needs_all(partition, rules):
        return f"{says}, until {_one_of(frozenset(partition.replicas) - frozenset(isr))} in sync again"
    cure = "add a replica" + " or lower min.insync.replicas" * (minimum > 1)
    return f"{says}, {counted(len(partition.replicas), 'replica')}: {cure}"


# --- The command ---


def asked(options: ClusterOptions) -> list[str]:
    """Return the options with which the command asks what happens, and not whether the settings are safe."""
    given = {
        "--lose": options.lose,
        "--lose-power": options.lose_power,
        "--restart-all": options.restart_all,
        "--roll": options.roll,
    }
    return [option for option, value in given.items() if value]


def foretell(reading: Reading, options: ClusterOptions, *, details: bool, strict: bool) -> CommandResult:
    """Answer what the options ask about the described partitions. The exit code is 12 if a broker may not restart; or
    if a record can be lost, and --strict or --fail-on can-lose is given. Raises UsageError for bad input."""
    partitions = [partition for cluster in reading.clusters for partition in cluster.partitions]
    if not partitions:
        raise UsageError(f"{asked(options)[0]}: no partition is described: give the output of kafka-topics --describe")
    if options.roll:
        return _roll(reading, details=details)
    brokers = frozenset(replica for partition in partitions for replica in partition.replicas) | reading.racks.keys()
    events = events_of(options, reading.racks, brokers)
    by_topic: dict[str, list[Forecast]] = defaultdict(list)
    for forecast in forecasts_of(reading.clusters, [named.event for named in events]):
        by_topic[forecast.partition.topic].append(forecast)
    forecasts = [forecast for of_topic in by_topic.values() for forecast in of_topic]
    headline = _headline(events, forecasts)
    by_rack = any("rack " in named.says for named in events)
    lines = [headline, *table([*_rows(reading, brokers, by_rack=by_rack)], "  "), ""]
    lines += table(_topic_rows(by_topic, details=details), "  ")
    if details:
        lines += ["", *table([_partition_row(forecast) for forecast in forecasts], "  ")]
    loses = any(Effect.LOSS in forecast.effects for forecast in forecasts)
    is_failure = loses and (strict or "can-lose" in (options.fail_on or ()))

    def content() -> dict[str, Any]:
        return {
            "headline": headline,
            "events": [
                {"says": named.says, "kind": named.event.kind.name.lower(), "brokers": sorted(named.event.brokers)}
                for named in events
            ],
            "partitions": [_object(forecast) for forecast in forecasts],
            **_of_files(reading),
        }

    return CommandResult("\n".join(lines), content, VIOLATED if is_failure else SAFE)


def _of_files(reading: Reading) -> dict[str, Any]:
    return {"assumed": list(dict.fromkeys(_assumed(reading.clusters))), "remarks": _remarks(reading)}


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
