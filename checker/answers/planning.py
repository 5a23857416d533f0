"""Plans the searches that answer a question, and witnesses, which show that those searches could find a failure.

Which generation (stage of Kafka) is searched: for the question TRANSACTIONS the generation as it is; for DEFECT the
generation with every known mistake repaired except the mistake of that failure; for all other questions the generation
with every known mistake repaired. A mistake is the value of a switch of the generation. The library of known failures
(models/kafka/failures) has an instance with each failure and a repaired instance; the switches in which these two
differ are mistakes.

What is searched: first each mechanism that is on in Kafka by default, alone, to the end for up to three replicas; then
all mechanisms together, to a depth. A search to the end within these bounds costs at most a few processor seconds. A
known failure is searched alone, within its own bounds and with the settings of the case.

What a witness must reach: a search in which no record is acknowledged, or in which no fault follows, finds no loss
whatever the protocol does. So each search has a witness: a search within the same bounds, which has to reach the goals
of the model `kafka_scenarios` that apply (models/kafka/scenarios.py), or the goals of the model `transactions`;
otherwise the answer is undecided (findings.py). No witness is needed for a search with fewer replicas than the case, as
it only supplements another search; for a search that itself looks for a goal (WRITES, READS, SURVIVES); and for a
search of a small model of one mechanism.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import cache
from typing import Any

from isrcheck.checker.answers.findings import Search, trace_of
from isrcheck.checker.answers.questions import (
    ALL_LOSE_POWER,
    KAFKA,
    LAST_OF_ZOOKEEPER,
    LEAST,
    LIVENESS,
    LOST,
    READ_WITH_LOSSES,
    SCENARIOS,
    SEARCHED_WHOLE,
    TRANSACTIONS,
    Case,
    Question,
    Topic,
    asked_instead,
    instead_of,
    loses_data,
    simplified,
    sizes,
    why_unasked,
)
from isrcheck.checker.results.terminal import grouped
from isrcheck.models import registry
from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.failures.catalogue import Bounds, ChangeKind, Failure, History, failures, named, pairs
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.kafka.state.values import Controller, IsrChannel
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance, Model, parse, spell
from isrcheck.models.messages import UsageError
from isrcheck.traces.explaining.cause import rarity

# --- Generations ---

VIOLATED = "VIOLATED"


class Family(Enum):
    """How the ISR is changed: the leader writes it itself, or asks a controller, which uses ZooKeeper or KRaft."""

    WRITTEN = "written by the leader"
    ASKED = "asked of a controller with ZooKeeper"
    KRAFT = "asked of a KRaft controller"


@cache
def family(protocol: str, model: str = KAFKA) -> Family:
    """Return how the ISR is changed in a generation of `kafka`, or of another model with the switches of `kafka`."""
    configuration = registry.load(model)[0].instance(protocol).configuration
    if configuration.CONTROLLER == Controller.KRAFT:
        return Family.KRAFT
    return Family.ASKED if configuration.ISR_CHANNEL == IsrChannel.ALTER_PARTITION else Family.WRITTEN


def numbers(model: Model, texts: Mapping[str, str]) -> dict[str, int]:
    """Return the number that the model has for each entry in `texts`. Raises UsageError for a text that is no value."""
    return {name: parse(name, model.entries[name], text) for name, text in texts.items()}


def written(instance: Instance) -> str:
    """The entries of an instance that differ from the defaults of its generation, as on the command line."""
    usual = dict(instance.model.instance(instance.protocol.name).configuration.items())
    return _spelled(instance, {name: value for name, value in instance.configuration.items() if value != usual[name]})


def _spelled(instance: Instance, values: Mapping[str, int]) -> str:
    return " ".join(f"{name}={spell(instance.model.entries[name], value)}" for name, value in values.items())


def search_of(says: str, instance: Instance, prop: str, depth: int | None = None, **fields: Any) -> Search:
    """Return a search of an instance for a failure of the property `prop`; `says` states the faults in words."""
    return Search(says, instance.model.name, instance.protocol.name, written(instance), prop, depth, **fields)


def of_instance(search: Search, instance: Instance, **changes: Any) -> Search:
    """Return a copy of `search` for another instance; `changes` are new values of other fields of the copy."""
    name, protocol = instance.model.name, instance.protocol.name
    return replace(search, model=name, protocol=protocol, configuration=written(instance), **changes)


@cache
def mistakes(name: str) -> Mapping[tuple[str, int], int]:
    """Return the mistakes of the failure `name`: a map from (switch, mistaken value) to the repaired value."""
    failure = named(name)
    history, repaired_values = failure.history, dict[tuple[str, int], int]()
    if history is None or history.model not in (KAFKA, LIVENESS):
        return {}
    before = dict(history.instance.configuration.items())
    for change in failure.changes:
        if change.kind is ChangeKind.REPAIR:
            for switch, value in history.changed(change.change).configuration.items():
                if switch.isupper() and value != before[switch]:
                    repaired_values.setdefault((switch, before[switch]), value)
    return repaired_values


def _is_repaired_by_generation(failure: Failure) -> bool:
    return any("protocol" in pairs(change.change) for change in failure.changes if change.kind is ChangeKind.REPAIR)


@cache
def _repairs() -> tuple[Mapping[tuple[str, int], int], frozenset[str]]:
    """Return all `mistakes` that switches repair, and the switches whose mistakes a later generation repairs."""
    switches: dict[tuple[str, int], int] = {}
    by_generation: set[str] = set()
    for failure in failures():
        history = failure.history
        if history is None or history.model != KAFKA or history.verdict != VIOLATED or loses_data(failure):
            continue
        if _is_repaired_by_generation(failure):
            by_generation |= {switch for switch, _ in mistakes(failure.name)}
        else:
            switches = {**mistakes(failure.name), **switches}
    return switches, frozenset(by_generation)


def repairs(protocol: str, values: Mapping[str, int]) -> dict[str, int]:
    """Return the repaired values of the mistaken switches of a generation; `values` override the generation's."""
    present = dict(MODEL.instance(protocol).configuration.items()) | dict(values)
    by_mistake, _ = _repairs()
    repaired_values = {mistake[0]: by_mistake[mistake] for mistake in present.items() if mistake in by_mistake}
    return {switch: value for switch, value in repaired_values.items() if _is_accepted(protocol, switch, value)}


_MECHANISMS = """
    enable_idempotence consumers reassignments min_isr_changes unregistrations folder_deletions
    replicas_of_partition_0 DELETION_IS_ANSWERED FETCH_IS_SPLIT
"""
MECHANISMS = frozenset(_MECHANISMS.split())
"""The entries that switch mechanisms on: in a configuration without a mechanism, a mistake of that mechanism has no
effect."""


@cache
def _mechanisms_of_mistakes() -> Mapping[str, frozenset[str]]:
    """Return, for each switch with a mistake, the mechanisms (of MECHANISMS) that every known history of the mistake
    uses; without these mechanisms the mistake has no effect. Failures that a later generation repairs are left out,
    because that generation may repair more than the mistake."""
    needs: dict[str, frozenset[str]] = {}
    for failure in failures():
        if failure.history is not None and not _is_repaired_by_generation(failure):
            entries = MECHANISMS & pairs(failure.history.configuration).keys()
            needs |= {switch: entries & needs.get(switch, entries) for switch, _ in mistakes(failure.name)}
    return needs


def effective(values: Mapping[str, int]) -> dict[str, int]:
    """Return `values` without the switches that have no effect because a mechanism that they need is off."""
    needs = _mechanisms_of_mistakes()
    return {
        name: value for name, value in values.items() if all(values.get(mechanism) for mechanism in needs.get(name, ()))
    }


@cache
def _is_accepted(protocol: str, switch: str, value: int) -> bool:
    try:
        MODEL.instance(protocol, {switch: value})
    except UsageError:
        return False
    return True


@cache
def repaired(case: Case) -> Case:
    """Return the case with every known mistake repaired. A generation in which the leader writes the ISR is replaced by
    the last generation in which it does. The `switches` of the result are those with other values than in the
    generation of the result."""
    protocol, switches = case.protocol, dict(case.switches)
    if family(protocol) is Family.WRITTEN:
        protocol = LAST_OF_ZOOKEEPER
        switches = {name: text for name, text in switches.items() if name not in _repairs()[1]}
    values = numbers(MODEL, switches)
    values |= repairs(protocol, values)
    usual = dict(MODEL.instance(protocol).configuration.items())
    texts = {name: spell(MODEL.entries[name], value) for name, value in values.items() if value != usual[name]}
    return replace(case, protocol=protocol, switches=tuple(sorted(texts.items())))


def isolated(case: Case, failure: Failure) -> dict[str, int]:
    """Return the switches with which one failure of Kafka's replication is searched alone: its own mistake is as in the
    case, every other known mistake is repaired, and all other switches are as in the failure's known history."""
    history = failure.history
    assert history is not None
    own = {switch for switch, _ in mistakes(failure.name)}
    values = numbers(MODEL, dict(case.switches))
    if "enable_idempotence" in pairs(history.configuration):
        values |= {name: value for name, value in case.numbering if name.isupper()}
    values |= {name: value for name, value in repairs(case.protocol, values).items() if name not in own}
    texts = {name: text for name, text in pairs(history.configuration).items() if name.isupper() and name not in own}
    others = numbers(MODEL, texts).items()
    return values | {name: value for name, value in others if _is_accepted(case.protocol, name, value)}


# --- What is searched ---

NO_DUPLICATES, IN_ORDER = "no_duplicates", "order_preserved"
WRITTEN, READ = "a_write_is_acknowledged", "a_committed_record_is_still_read"

ACKS = {"all": Acks.ALL, "0": Acks.ZERO, "1": Acks.ONE}
ONE_RECORD = {"records": 1, "log_size": 1}
DEPTH_OF_MANY = {4: 10, 5: 8}
"""The depth of a search by its number of replicas; above the greatest number, the depth of the greatest number."""

TOGETHER = 10
"""The depth to which several mechanisms are searched together from 2.8 on."""


def _searches(case: Case, question: Question) -> list[Search]:
    case, question = asked_instead(case, question)
    match question.topic:
        case Topic.LOSS:
            return list(_losses(case))
        case Topic.POWER | Topic.DISK:
            return list(_one_fault(case, question.topic))
        case Topic.POWER_OF_ALL:
            return list(_power_of_all(case))
        case Topic.DUPLICATES | Topic.ORDER:
            return list(_resends(case, question.topic))
        case Topic.TRANSACTIONS:
            bounds = {"partitions": 2, "transactions": 2, "producers": 2, "failovers": 0}
            says = "two transactions on two partitions, of two instances of the producer"
            return [search_of(says, _instance_of_transactions(case, bounds), "")]
        case Topic.WRITES | Topic.READS:
            return list(_availability(case, question))
        case Topic.SURVIVES:
            return list(_survival(case, question.number))
        case _:
            raise AssertionError(f"{question.text} is answered by searches_of_defect")


def depth_of(replicas: int, depth: int | None = None) -> int | None:
    """Return `depth` (None: to the end), limited by DEPTH_OF_MANY if there are more than three replicas."""
    if replicas <= SEARCHED_WHOLE:
        return depth
    most = DEPTH_OF_MANY[min(replicas, max(DEPTH_OF_MANY))]
    return most if depth is None else min(depth, most)


def settings_of(case: Case, replicas: int) -> dict[str, int]:
    """The entries of the model `kafka` for the settings that every search reads."""
    return {"replicas": replicas, "acks": ACKS[case.acks], "min_insync_replicas": case.min_insync_replicas}


def with_replicas(search: Search, case: Case, replicas: int, least: int | None = None) -> Search:
    """Return the search with the rule by which it answers for a case with more replicas; `least` is its min ISR."""
    rule, says = instead_of(case, replicas, case.min_insync_replicas if least is None else least)
    return replace(search, says=search.says + says, rule=rule)


def _repaired_instance(case: Case, replicas: int, bounds: Mapping[str, int], model: Model = MODEL) -> Instance:
    """The instance for a case with these bounds, in the generation in which every known mistake is repaired."""
    fixed = repaired(case)
    values = numbers(MODEL, dict(fixed.switches)) | settings_of(case, replicas) | dict(bounds)
    return model.instance(fixed.protocol, effective(values))


def _controller(case: Case) -> Family:
    return family(repaired(case).protocol)


# --------------------------------------------------------------------------------------------------------------- losses


_Bounds = tuple[str, Mapping[str, int], int | None]
"""The faults of a search in words, its entries, and its depth with three replicas (None: to the end)."""


def _losses(case: Case) -> Iterator[Search]:
    def search(searched: Case, replicas: int, bounds: _Bounds) -> Search:
        says, values, depth = bounds
        may = case.acks != "all" or bool(values.get("unclean_elections"))
        instance = _repaired_instance(searched, replicas, values)
        planned_search = search_of(says, instance, LOST, depth_of(replicas, depth), is_permitted=may)
        return with_replicas(planned_search, case, replicas, searched.min_insync_replicas)

    if case.unclean_election and case.acks == "all" and LEAST < case.min_insync_replicas < case.replication_factor:
        # Histories of the case itself are longer than its searches go.
        fewer = replace(case, min_insync_replicas=LEAST)
        yield search(fewer, SEARCHED_WHOLE, next(_mechanisms(_controller(case), fewer, SEARCHED_WHOLE)))
    for replicas in sizes(case):
        for bounds in _mechanisms(_controller(case), case, replicas):
            yield search(case, replicas, bounds)


def _mechanisms(controller: Family, case: Case, replicas: int) -> Iterator[_Bounds]:
    """Yield the faults in words, the model entries and the depth of each search for a lost record."""
    moves = int(case.leader_rebalance)
    and_moves = ", leadership moves" * moves
    if controller is Family.WRITTEN:
        budgets = ONE_RECORD | {"elections": 2, "crashes": 1, "bounces": 1}
        says = "a broker crashes, one restarts quickly, sessions expire"
        every: list[_Bounds] = [(says + and_moves, budgets | {"preferred_elections": moves}, None)]
    elif controller is Family.ASKED:
        budgets = ONE_RECORD | {"elections": 2, "partition_changes": 3, "crashes": 1}
        every = [("a broker crashes, sessions expire", budgets, None)]
        if moves:
            alone = budgets | {"crashes": 0, "elections": 3, "preferred_elections": 1}
            every.append(("leadership moves, sessions expire", alone, None))
            together = budgets | {"preferred_elections": 1}
            every.append(("a broker crashes, sessions expire, leadership moves", together, TOGETHER))
    else:
        budgets = ONE_RECORD | {"elections": _elections(replicas), "partition_changes": 3, "crashes": 1, "fencings": 0}
        living = {"crashes": 0, "fencings": 1, "preferred_elections": moves, "elections": 2, "partition_changes": 2}
        together = budgets | {"fencings": 1, "preferred_elections": moves, "elections": 2}
        every = [
            ("a broker crashes", budgets, None),
            (f"a session expires{and_moves}", budgets | living, None),
            (f"a broker crashes, a session expires{and_moves}", together, TOGETHER),
        ]
    if case.unclean_election and case.acks == "all":  # with fewer acks, a crash is enough
        unclean = budgets | {"crashes": 2, "bounces": 0, "elections": 3, "unclean_elections": 1}
        # A record that every replica had to have is hardly lost, and the search does not end soon.
        depth = None if case.min_insync_replicas < replicas else TOGETHER
        yield "brokers crash, an unclean election", unclean, depth
    yield from every


def _elections(replicas: int) -> int:
    """How many elections one crash takes with KRaft: 1; or 2 if the only replica loses leadership and gets it back."""
    return 1 if replicas > 1 else 2


# ----------------------------------------------------------------------------------------------------- power and disks


def _one_fault(case: Case, topic: Topic) -> Iterator[Search]:
    fault, says = {
        Topic.POWER: ("power_losses", "a broker loses power, and what it has not flushed"),
        Topic.DISK: ("disk_losses", "a broker comes back with an empty disk"),
    }[topic]
    bounds = ONE_RECORD | {"crashes": 0, "bounces": 0, "elections": 2, fault: 1}
    if topic is Topic.POWER:
        bounds |= _flushed(case, 1)
    for replicas in sizes(case):
        instance = _repaired_instance(case, replicas, bounds)
        yield with_replicas(search_of(says, instance, LOST, depth_of(replicas), is_permitted=True), case, replicas)


def _flushed(case: Case, failures: int) -> dict[str, int]:
    """Return the entries that turn `failures` losses of power into crashes if each message is flushed; else empty."""
    return {"flush_interval_messages": 1, "crashes": failures} if case.flushes_every_message else {}


def _power_of_all(case: Case) -> Iterator[Search]:
    """Yield searches in which each broker can lose power once, so that all can be down together."""
    for replicas, least in fewest_copies(case):
        bounds = ONE_RECORD | {"elections": 2, "crashes": 0, "bounces": 0, "power_losses": replicas}
        bounds |= _flushed(case, replicas)
        if _controller(case) is not Family.WRITTEN:
            bounds["partition_changes"] = 2 * replicas + 1  # each broker leaves the ISR and returns, and one is elected
        instance = _repaired_instance(replace(case, min_insync_replicas=least), replicas, bounds)
        says = "all brokers lose power, and what they have not flushed"
        depth = depth_of(replicas, None if replicas <= LEAST else _DEPTH_OF_ALL)
        search = search_of(says, instance, LOST, depth, is_permitted=True)
        if replicas < case.replication_factor or least < case.min_insync_replicas:
            fewer = f", with {replicas} of {case.replication_factor} replicas and min.insync.replicas={least}"
            search = replace(search, says=says + fewer, rule=ALL_LOSE_POWER)
        yield search


def fewest_copies(case: Case) -> Iterator[tuple[int, int]]:
    """Yield (replicas, min.insync.replicas) for searches in which all brokers lose power: first with LEAST replicas, or
    fewer if the case has fewer; then the two numbers of the case, if they differ from the first pair."""
    replicas = min(case.replication_factor, LEAST)
    fewest = replicas, min(case.min_insync_replicas, replicas)
    yield from dict.fromkeys([fewest, (case.replication_factor, case.min_insync_replicas)])


_DEPTH_OF_ALL = 12
"""The depth to which a loss of power of more than two brokers is searched."""


def with_power(search: Search) -> Search | None:
    """Return the equivalent search whose only loss is a loss of power; None if the rule ONE_ENTRY does not apply."""
    instance = search.instance
    values = dict(instance.configuration.items())
    losses = values.get("power_losses", 0) + values.get("disk_losses", 0)
    are_alike = values.get("log_size") == 1 and not any(values.get(name) for name in READ_WITH_LOSSES)
    if losses != 1 or not are_alike or search.is_witness:
        return None
    alike = values | {"power_losses": 1, "disk_losses": 0}
    return of_instance(search, instance.model.instance(instance.protocol.name, alike))


# -------------------------------------------------------------------------------------------------------------- resends


def _resends(case: Case, topic: Topic) -> Iterator[Search]:
    prop = NO_DUPLICATES if topic is Topic.DUPLICATES else IN_ORDER
    is_alone = case.replication_factor == 1 and case.min_insync_replicas <= 1
    if is_alone and case.acks == "all" and not case.enable_idempotence:
        # Only answers of acks=1 are lost in the model. Without followers acks=all is the same.
        case = replace(case, acks="1")
    resends = int(case.retries and case.acks != "0")
    can_be_overtaken = resends and case.max_in_flight_requests > 1
    is_permitted = not case.enable_idempotence and bool(resends if topic is Topic.DUPLICATES else can_be_overtaken)
    # A history that the settings permit is short enough to be found with all replicas of the case.
    for replicas in sizes(case, least=SEARCHED_WHOLE if is_permitted else 2):
        says, bounds = _bounds_of_resends(case, _controller(case), replicas, resends)
        instance = _repaired_instance(case, replicas, bounds)
        is_long = case.enable_idempotence or _needs_every_replica(case, replicas)
        bound = _DEPTH_OF_RESENDS if replicas >= SEARCHED_WHOLE and is_long else None
        search = search_of(says, instance, prop, depth_of(replicas, bound), is_permitted=is_permitted)
        yield with_replicas(search, case, replicas)


def _bounds_of_resends(case: Case, controller: Family, replicas: int, resends: int) -> tuple[str, dict[str, int]]:
    """Return the faults (in words) and the entries of a search in which a leader is replaced during a request. A KRaft
    controller replaces a leader only after the leader has crashed; a controller with ZooKeeper can replace any leader,
    because the leader's session can expire. If a write needs all replicas, the crashed broker has to come back before
    the write: it leaves the ISR, perhaps also the ELR, and joins the ISR again."""
    values = {"records": 2, "log_size": 2, "max_in_flight_requests": case.max_in_flight_requests, "retries": resends}
    values |= {"elections": _elections(replicas), "crashes": int(controller is Family.KRAFT)}
    values |= {"bounces": 0, "fencings": 0}
    if controller is not Family.WRITTEN:
        values["partition_changes"] = 3 if _needs_every_replica(case, replicas) else 1
    says = "a request is sent again" if resends else "no request is sent again"
    if case.enable_idempotence:
        says = "two requests are sent again"
        remembered = dict(case.numbering).get("remembered_batches", 5)
        # A duplicate needs a log of three, two resends, and a leader that crashes.
        values |= {"enable_idempotence": 1, "remembered_batches": remembered, "log_size": 3, "retries": 2, "crashes": 1}
    return f"{says}, a broker crashes" if values["crashes"] else f"{says}, a leader is replaced", values


def _needs_every_replica(case: Case, replicas: int) -> bool:
    return replicas == 1 or (case.acks == "all" and case.min_insync_replicas >= replicas)


_DEPTH_OF_RESENDS = 12
"""The depth to which three replicas are searched with an idempotent producer, or if a write needs all of them: the
known mistakes take 10 steps to make a duplicate."""


# --------------------------------------------------------------------------------------------------------- transactions


def _instance_of_transactions(case: Case, bounds: Mapping[str, int]) -> Instance:
    model, _ = registry.load(TRANSACTIONS)
    values = dict(case.transactions)
    protocol = values.pop("protocol", None)
    return model.instance(protocol, dict(bounds) | numbers(model, values))


# --------------------------------------------------------------------------------------------------------- availability


def _availability(case: Case, question: Question) -> Iterator[Search]:
    """Yield searches that start with a committed record on all replicas, all in sync, and some brokers down for good.
    In one search the leader (replica 0) is down, in the other it is up; which followers are down makes no
    difference."""
    down, is_write = question.number, question.topic is Topic.WRITES
    model, prop = (MODEL, WRITTEN) if is_write else (registry.load(SCENARIOS)[0], READ)
    instance = _with_brokers_down(case, down, case.replication_factor, model)
    with_leader = math.comb(case.replication_factor - 1, down - 1) if down else 0
    without = math.comb(case.replication_factor, down) - with_leader
    # The sets of brokers are in lexicographic order: those with the leader come first.
    if with_leader:
        says = "the leader is among those that are down"
        yield search_of(says, instance, prop, initial=0, choices=with_leader)
    if without:
        says = "the leader is up" if down else "all brokers are up"
        yield search_of(says, instance, prop, initial=with_leader, choices=without)


def _survival(case: Case, lost: int) -> Iterator[Search]:
    """Yield searches that start with lost brokers and a committed record in the smallest ISR that acknowledges it.
    Replicas outside the ISR cannot be elected, whatever they hold, so they are interchangeable. Followers in the ISR
    are interchangeable, too."""
    replicas, members = case.replication_factor, min(case.min_insync_replicas, case.replication_factor)
    instance = _with_brokers_down(replace(case, unclean_election=False), lost, members, registry.load(SCENARIOS)[0])
    kinds = grouped(
        ((0 in brokers, sum(broker < members for broker in brokers)), place)
        for place, brokers in enumerate(itertools.combinations(range(replicas), lost))
    )
    for (_, in_sync), places in kinds.items():
        says = f"{in_sync} of the {members} in sync {'is' if in_sync == 1 else 'are'} lost"
        yield search_of(says, instance, READ, initial=places[0], choices=len(places))


def _with_brokers_down(case: Case, down: int, in_sync: int, model: Model) -> Instance:
    """An instance that starts with `down` brokers down, and with one committed record on all replicas, of which the
    first `in_sync` are in sync."""
    replicas = case.replication_factor
    bounds = {
        "records": 2,
        "log_size": 2,
        "common_records": 1,
        "brokers_down": down,
        "start_isr": (1 << in_sync) - 1,
        "unclean_elections": int(case.unclean_election and down > 0),
        "bounces": 0,
        "crashes": 0,
        "fencings": 0,
    }
    if _controller(case) is not Family.WRITTEN:
        bounds |= {"partition_changes": replicas, "elections": replicas}
    return _repaired_instance(case, replicas, bounds, model)


# --- Known failures ---

BEYOND, MOST_BEYOND = 4, 14
"""If the case has more replicas than the failure's history needs, the search goes BEYOND more steps, but to depth
MOST_BEYOND at most."""


def searches_of_defect(case: Case, name: str) -> list[Search] | str:
    """The searches that tell whether a case is exposed to a known failure; or, as text, why no model can tell."""
    case, failure = simplified(case, Question(Topic.DEFECT, name=name)), named(name)
    history = failure.history
    assert history is not None, "it takes a search"
    if history.model == TRANSACTIONS:
        texts = {name: text for name, text in pairs(history.configuration).items() if not name.isupper()}
        instance = _instance_of_transactions(case, numbers(registry.load(TRANSACTIONS)[0], texts))
        return [search_of(budgets(instance), instance, history.property_name)]
    if history.model not in (KAFKA, LIVENESS):
        # A small model of the mechanism alone: no setting of the case is in it.
        return [search_of(failure.title, history.instance, history.property_name)]
    bounds = bounds_for(failure, case.protocol)
    if not bounds:
        return f"there is no search that shows it alone in generation {case.protocol}"
    try:
        searches = [search for bound in bounds for search in _of_kafka(case, failure, history, bound)]
    except UsageError as refusal:
        return f"generation {case.protocol} does not have what its history needs: {refusal}"
    if not any(prop.name == history.property_name for search in searches for prop in search.instance.properties):
        return f"generation {case.protocol} does not promise {history.property_name}"
    return searches


def bounds_for(failure: Failure, protocol: str) -> list[Bounds]:
    """Return the bounds with which to search a failure in the generation `protocol`; empty if none fit. The library has
    bounds for some generations. Bounds fit if their generation changes the ISR as `protocol` does (Family). Of these
    generations, the last one up to `protocol` is used, or the first one if all are later."""
    history = failure.history
    assert history is not None
    order = list(registry.load(history.model)[0].protocols)
    if protocol not in order:
        return []
    # The depth to which the library searches with a change that ends the failure; None if it goes to the end.
    explored = max((change.explored for change in failure.changes if change.explored is not None), default=None)
    own = Bounds(history.protocol, history.configuration, explored)
    families = {name: family(name, history.model) for name in order}
    alike = [bound for bound in (own, *failure.bounds) if families[bound.protocol] is families[protocol]]
    places = sorted({order.index(bound.protocol) for bound in alike})
    earlier = [place for place in places if place <= order.index(protocol)]
    chosen = earlier[-1:] or places[:1]
    return [bound for bound in alike if order.index(bound.protocol) in chosen]


def _of_kafka(case: Case, failure: Failure, history: History, bounds: Bounds) -> Iterator[Search]:
    model, _ = registry.load(history.model)
    switches = isolated(case, failure)
    entries = numbers(model, {name: text for name, text in pairs(bounds.configuration).items() if not name.isupper()})
    least = entries.pop("replicas", model.entries["replicas"].default)
    explored = bounds.explored
    for name, is_used in (
        ("unclean_elections", case.unclean_election),
        ("preferred_elections", case.leader_rebalance),
        ("retries", case.retries),
    ):
        if entries.get(name) and not is_used:
            entries[name], explored = 0, None  # without this mechanism the search ends soon
    if entries.get("enable_idempotence"):
        entries["max_in_flight_requests"] = case.max_in_flight_requests
        entries |= {name: value for name, value in case.numbering if name == "remembered_batches"}
    is_permitted = history.verdict == "PERMITTED"
    flushed = {"flush_interval_messages": 0} if loses_data(failure) else {}
    if flushed and case.flushes_every_message:
        # A loss of power that loses nothing is a crash.
        flushed = {"flush_interval_messages": 1, "crashes": entries.get("crashes", 0) + entries.get("power_losses", 0)}
    spent = frozenset(rarity(trace_of(history)))
    used = spent | {name for name, count in (entries | flushed).items() if count}
    # Partition changes are spent by what the controller writes down, not by the events themselves.
    budget_names = [name for name, entry in model.entries.items() if entry.is_budget and name != "partition_changes"]
    unused = tuple(name for name in budget_names if name not in used)
    for replicas in sizes(case, least):
        own = {name: value for name, value in (settings_of(case, replicas) | flushed).items() if name in model.entries}
        if entries.get("start_isr", 0) >= 1 << replicas:
            own["start_isr"] = (1 << replicas) - 1
        instance = model.instance(case.protocol, effective(entries | switches | own))
        beyond = min(history.depth + BEYOND, MOST_BEYOND) if replicas > least else explored
        depth = depth_of(replicas, beyond)
        search = search_of(
            budgets(instance), instance, history.property_name, depth, is_permitted=is_permitted, unused=unused
        )
        yield with_replicas(search, case, replicas)


def budgets(instance: Instance) -> str:
    """The budgets of a search that are not 0, as on the command line: elections=3 crashes=1."""
    values = {name: value for name, value in instance.configuration.items() if value}
    return _spelled(instance, {name: value for name, value in values.items() if instance.model.entries[name].is_budget})


# --- Plans ---

GENERATION_OF = {"3.1": "2.8"}
"""For a generation that only the model `kafka_liveness` has, the generation of `kafka_scenarios` that replaces it: both
elect leaders alike."""


def planned(case: Case, question: Question) -> Sequence[Search] | str:
    """The searches of a question, or the reason why no model can answer it."""
    why = why_unasked(case, question)
    if why:
        return why
    searches = searches_of_defect(case, question.name) if question.topic is Topic.DEFECT else _searches(case, question)
    return searches if isinstance(searches, str) else [*searches, *witnesses(searches)]


def witnesses(searches: Sequence[Search]) -> list[Search]:
    """Return the witnesses of these searches; searches with the same witness share it."""
    by_identity: dict[str, Search] = {}
    for search in searches:
        for instance in _with_goals(search):
            witness = of_instance(search, instance, prop="", is_permitted=False, unused=(), is_witness=True)
            by_identity.setdefault(witness.identity, witness)
    return list(by_identity.values())


def _with_goals(search: Search) -> Iterator[Instance]:
    """Yield the instance whose goals the witness of a search has to reach; nothing if the search needs no witness."""
    instance = search.instance
    is_goal = any(prop.name == search.prop and prop.kind is Kind.SOMETIMES for prop in instance.properties)
    if search.rule or is_goal:
        return
    if search.model == TRANSACTIONS:
        yield instance
    elif search.model in (KAFKA, LIVENESS):
        values = dict(instance.configuration.items()) | dict.fromkeys(search.unused, 0)
        yield registry.load(SCENARIOS)[0].instance(GENERATION_OF.get(search.protocol, search.protocol), values)
