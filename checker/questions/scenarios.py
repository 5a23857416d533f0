"""Which searches answer a question about a case, except whether it is exposed to a known failure (defects.py).

In:  a `Case` and a `Question`.
Out: `Scenario`s: instances of a model, each with the property that is asked and the depth to which it is searched.

Each mechanism that Kafka has by default is searched alone, to the end for up to three replicas, and then all of them
together to a depth. Within the same bounds, a search that goes to the end costs at most a few processor seconds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import LOST, SCENARIOS, TRANSACTIONS
from isrcheck.checker.questions.generations import Family, effective, family, numbers, repaired
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.rules import (
    ALL_LOSE_POWER,
    LEAST,
    READ_WITH_LOSSES,
    SEARCHED_WHOLE,
    asked_instead,
    instead_of,
    sizes,
)
from isrcheck.models import registry
from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.language.model import Instance, Model

NO_DUPLICATES, IN_ORDER = "no_duplicates", "order_preserved"
WRITTEN, READ = "a_write_is_acknowledged", "a_committed_record_is_still_read"

ACKS = {"all": Acks.ALL, "0": Acks.ZERO, "1": Acks.ONE}
ONE_RECORD = {"records": 1, "log_size": 1}
DEPTH_OF_MANY = {4: 10, 5: 8}
"""The depth to which a search with more replicas goes; with more than these, that of the most."""

TOGETHER = 10
"""The depth to which several mechanisms are searched together from 2.8 on."""


@dataclass(frozen=True)
class Scenario:
    """One search of a question: its faults in words, the instance, and the property (empty: all that apply).

    `depth` is the depth to which it goes (None: to the end), `initial` the only initial state to start from (None:
    all), and `choices` counts the initial states for which that one stands. With `is_permitted`, the settings may
    permit the property to fail, and the search ends at the first such failure. `rule` is the name of the rule by which
    it answers for the case, if it is a search of other settings (rules.py). `unused` are budgets that
    what it looks for does not need. `is_witness`: it shows that another search of the question can find what it looks
    for (planning.py).
    """

    says: str
    instance: Instance
    prop: str
    depth: int | None = None
    initial: int | None = None
    choices: int = 1
    is_permitted: bool = False
    rule: str = ""
    unused: tuple[str, ...] = ()
    is_witness: bool = False


def scenarios(case: Case, question: Question) -> list[Scenario]:
    """The searches of a question."""
    case, question = asked_instead(case, question)
    match question.topic:
        case Topic.LOSS:
            return list(_losses(case))
        case Topic.POWER | Topic.DISK:
            return list(_one_fault(case, question.topic))
        case Topic.POWER_OF_ALL:
            return list(_power_of_all(case))
        case Topic.DUPLICATES | Topic.ORDER:
            return _resends(case, question.topic)
        case Topic.TRANSACTIONS:
            return _transactions(case)
        case Topic.WRITES | Topic.READS:
            return list(_availability(case, question))
        case Topic.SURVIVES:
            return list(_survival(case, question.number))
        case _:
            raise AssertionError(f"{question.text} is answered by defects.py")


def depth_of(replicas: int, depth: int | None = None) -> int | None:
    """The depth to which a search with so many replicas goes, if it would go to `depth` with three of them."""
    if replicas <= SEARCHED_WHOLE:
        return depth
    most = DEPTH_OF_MANY[min(replicas, max(DEPTH_OF_MANY))]
    return most if depth is None else min(depth, most)


def settings_of(case: Case, replicas: int) -> dict[str, int]:
    """The entries of the model `kafka` for the settings that every search reads."""
    return {
        "replicas": replicas,
        "acks": ACKS[case.acks],
        "min_insync_replicas": case.min_insync_replicas,
    }


def with_replicas(scenario: Scenario, case: Case, replicas: int, least: int | None = None) -> Scenario:
    """The scenario, with a remark and the rule if it has fewer replicas than the case, of which `least` have to be in
    sync (None: as many as in the case)."""
    rule, says = instead_of(case, replicas, case.min_insync_replicas if least is None else least)
    return replace(scenario, says=scenario.says + says, rule=rule)


# --------------------------------------------------------------------------------------------------------------- losses


@dataclass(frozen=True)
class _Bounds:
    """The faults of a search in words, its entries, and its depth with three replicas (None: to the end)."""

    says: str
    values: Mapping[str, int]
    depth: int | None = None


def _losses(case: Case) -> Iterator[Scenario]:
    fixed = repaired(case)
    values = numbers(MODEL, dict(fixed.switches))

    def scenario(searched: Case, replicas: int, bounds: _Bounds) -> Scenario:
        entries = effective(values | settings_of(searched, replicas) | dict(bounds.values))
        may = case.acks != "all" or bool(bounds.values.get("unclean_elections"))
        instance, depth = MODEL.instance(fixed.protocol, entries), depth_of(replicas, bounds.depth)
        found = Scenario(bounds.says, instance, LOST, depth, is_permitted=may)
        return with_replicas(found, case, replicas, searched.min_insync_replicas)

    if case.unclean_election and case.acks == "all" and LEAST < case.min_insync_replicas < case.replication_factor:
        # Histories of the case itself are longer than its searches go.
        fewer = replace(case, min_insync_replicas=LEAST)
        yield scenario(fewer, SEARCHED_WHOLE, next(_mechanisms(family(fixed.protocol), fewer, SEARCHED_WHOLE)))
    for replicas in sizes(case):
        for bounds in _mechanisms(family(fixed.protocol), case, replicas):
            yield scenario(case, replicas, bounds)


def _mechanisms(controller: Family, case: Case, replicas: int) -> Iterator[_Bounds]:
    """What happens in the searches of a loss: what brokers do by themselves, and what Kafka does by default."""
    moves = int(case.leader_rebalance)
    and_moves = ", leadership moves" * moves
    if controller is Family.WRITTEN:
        one = ONE_RECORD | {"elections": 2, "crashes": 1, "bounces": 1}
        unclean = one | {"crashes": 2, "bounces": 0, "elections": 3, "unclean_elections": 1}
        says = "a broker crashes, one restarts quickly, sessions expire"
        found = [_Bounds(says + and_moves, one | {"preferred_elections": moves})]
    elif controller is Family.ASKED:
        one = ONE_RECORD | {"elections": 2, "partition_changes": 3, "crashes": 1}
        unclean = one | {"crashes": 2, "elections": 3, "unclean_elections": 1}
        found = [_Bounds("a broker crashes, sessions expire", one)]
        if moves:
            alone = one | {"crashes": 0, "elections": 3, "preferred_elections": 1}
            found.append(_Bounds("leadership moves, sessions expire", alone))
            together = one | {"preferred_elections": 1}
            found.append(_Bounds("a broker crashes, sessions expire, leadership moves", together, TOGETHER))
    else:
        one = ONE_RECORD | {"elections": _elections(replicas), "partition_changes": 3, "crashes": 1, "fencings": 0}
        unclean = one | {"crashes": 2, "elections": 3, "unclean_elections": 1}
        living = {"crashes": 0, "fencings": 1, "preferred_elections": moves, "elections": 2, "partition_changes": 2}
        together = one | {"fencings": 1, "preferred_elections": moves, "elections": 2}
        found = [
            _Bounds("a broker crashes", one),
            _Bounds(f"a session expires{and_moves}", one | living),
            _Bounds(f"a broker crashes, a session expires{and_moves}", together, TOGETHER),
        ]
    if case.unclean_election and case.acks == "all":  # with fewer acks, a crash is enough
        # A record that every replica had to have is hardly lost, and the search does not end soon.
        depth = None if case.min_insync_replicas < replicas else TOGETHER
        yield _Bounds("brokers crash, an unclean election", unclean, depth)
    yield from found


def _elections(replicas: int) -> int:
    """The elections after one crash with KRaft: without another replica, the partition loses its leader, and gets it
    back."""
    return 1 if replicas > 1 else 2


# ----------------------------------------------------------------------------------------------------- power and disks


def _one_fault(case: Case, topic: Topic) -> Iterator[Scenario]:
    fixed = repaired(case)
    fault, says = {
        Topic.POWER: ("power_losses", "a broker loses power, and what it has not flushed"),
        Topic.DISK: ("disk_losses", "a broker comes back with an empty disk"),
    }[topic]
    bounds = ONE_RECORD | {"crashes": 0, "elections": 2, fault: 1}
    if topic is Topic.POWER:
        bounds |= _flushed(case, 1)
    if family(fixed.protocol) is Family.WRITTEN:
        bounds["bounces"] = 0
    for replicas in sizes(case):
        entries = effective(numbers(MODEL, dict(fixed.switches)) | settings_of(case, replicas) | bounds)
        instance = MODEL.instance(fixed.protocol, entries)
        yield with_replicas(Scenario(says, instance, LOST, depth_of(replicas), is_permitted=True), case, replicas)


def _flushed(case: Case, failures: int) -> dict[str, int]:
    """The entries for what is on disk. A loss of power that loses nothing is a crash."""
    return {"flush_interval_messages": 1, "crashes": failures} if case.flushes_every_message else {}


def _power_of_all(case: Case) -> Iterator[Scenario]:
    """Searches in which each broker can lose power once, so that all can be down together."""
    fixed = repaired(case)
    for replicas, least in _fewest_copies(case):
        searched = replace(case, min_insync_replicas=least)
        bounds = ONE_RECORD | {"elections": 2, "crashes": 0, "power_losses": replicas} | _flushed(case, replicas)
        if family(fixed.protocol) is Family.WRITTEN:
            bounds["bounces"] = 0
        else:
            bounds["partition_changes"] = 2 * replicas + 1  # each broker leaves the ISR and returns, and one is elected
        entries = effective(numbers(MODEL, dict(fixed.switches)) | settings_of(searched, replicas) | bounds)
        says = "all brokers lose power, and what they have not flushed"
        depth = depth_of(replicas, None if replicas <= LEAST else _DEPTH_OF_ALL)
        scenario = Scenario(says, MODEL.instance(fixed.protocol, entries), LOST, depth, is_permitted=True)
        if replicas < case.replication_factor or least < case.min_insync_replicas:
            fewer = f", with {replicas} of {case.replication_factor} replicas and min.insync.replicas={least}"
            scenario = replace(scenario, says=says + fewer, rule=ALL_LOSE_POWER)
        yield scenario


def _fewest_copies(case: Case) -> Iterator[tuple[int, int]]:
    """Replicas and min.insync.replicas of the searches of a loss of power of all brokers, the case's own last."""
    replicas = min(case.replication_factor, LEAST)
    yield from dict.fromkeys(
        [
            (replicas, min(case.min_insync_replicas, replicas)),
            (case.replication_factor, case.min_insync_replicas),
        ]
    )


_DEPTH_OF_ALL = 12
"""The depth to which a loss of power of more than two brokers is searched."""


def with_power(scenario: Scenario) -> Scenario | None:
    """The search in which power is lost, perhaps in place of a disk, if the rule ONE_ENTRY holds for it; or None."""
    instance = scenario.instance
    values = dict(instance.configuration.items())
    losses = values.get("power_losses", 0) + values.get("disk_losses", 0)
    are_alike = values.get("log_size") == 1 and not any(values.get(name) for name in READ_WITH_LOSSES)
    if losses != 1 or not are_alike or scenario.is_witness:
        return None
    alike = instance.model.instance(instance.protocol.name, values | {"power_losses": 1, "disk_losses": 0})
    return replace(scenario, instance=alike)


# -------------------------------------------------------------------------------------------------------------- resends


def _resends(case: Case, topic: Topic) -> list[Scenario]:
    prop = NO_DUPLICATES if topic is Topic.DUPLICATES else IN_ORDER
    fixed = repaired(case)
    is_alone = case.replication_factor == 1 and case.min_insync_replicas <= 1
    if is_alone and case.acks == "all" and not case.enable_idempotence:
        # Only answers of acks=1 are lost in the model. Without followers acks=all is the same.
        case = replace(case, acks="1")
    resends = int(case.retries and case.acks != "0")
    can_be_overtaken = resends and case.max_in_flight_requests > 1
    is_permitted = not case.enable_idempotence and bool(resends if topic is Topic.DUPLICATES else can_be_overtaken)
    found = []
    # A history that the settings permit is short enough to be found with all replicas of the case.
    for replicas in sizes(case, least=SEARCHED_WHOLE if is_permitted else 2):
        says, bounds = _bounds_of_resends(case, family(fixed.protocol), replicas, resends)
        values = numbers(MODEL, dict(fixed.switches)) | settings_of(case, replicas) | bounds
        instance = MODEL.instance(fixed.protocol, effective(values))
        is_long = case.enable_idempotence or _needs_every_replica(case, replicas)
        bound = _DEPTH_OF_RESENDS if replicas >= SEARCHED_WHOLE and is_long else None
        scenario = Scenario(says, instance, prop, depth_of(replicas, bound), is_permitted=is_permitted)
        found.append(with_replicas(scenario, case, replicas))
    return found


def _bounds_of_resends(case: Case, controller: Family, replicas: int, resends: int) -> tuple[str, dict[str, int]]:
    """The faults of a search of resends in words, and its entries: a leader is replaced while a request is out.

    A KRaft controller replaces a leader only after a crash; with ZooKeeper it can give up on any. If a write needs all
    replicas, the broker has to come back before: it leaves the ISR, perhaps the ELR, and joins the ISR again.
    """
    values = {"records": 2, "log_size": 2, "max_in_flight_requests": case.max_in_flight_requests, "retries": resends}
    values |= {"elections": _elections(replicas), "crashes": int(controller is Family.KRAFT)}
    if controller is Family.WRITTEN:
        values["bounces"] = 0
    else:
        values["partition_changes"] = 3 if _needs_every_replica(case, replicas) else 1
    if controller is Family.KRAFT:
        values["fencings"] = 0
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
"""The depth to which three replicas are searched with an idempotent producer, or if a write needs all of them: a
duplicate of known mistakes takes 10 steps."""


# --------------------------------------------------------------------------------------------------------- transactions


def _transactions(case: Case) -> list[Scenario]:
    values = dict(case.transactions)
    protocol = values.pop("protocol", None)
    model, _ = registry.load(TRANSACTIONS)
    bounds = {"partitions": 2, "transactions": 2, "producers": 2, "failovers": 0}
    instance = model.instance(protocol, bounds | numbers(model, values))
    return [Scenario("two transactions on two partitions, of two instances of the producer", instance, "")]


# --------------------------------------------------------------------------------------------------------- availability


def _availability(case: Case, question: Question) -> Iterator[Scenario]:
    """Searches from one committed record on all replicas, which are all in sync, with some brokers down for good.

    The leader (replica 0) is among them or is not; the followers are alike.
    """
    down, is_write = question.number, question.topic is Topic.WRITES
    model, prop = (MODEL, WRITTEN) if is_write else (registry.load(SCENARIOS)[0], READ)
    instance = _with_brokers_down(case, down, case.replication_factor, model)
    with_leader = math.comb(case.replication_factor - 1, down - 1) if down else 0
    without = math.comb(case.replication_factor, down) - with_leader
    # The sets of brokers are in lexicographic order: those with the leader come first.
    if with_leader:
        yield Scenario("the leader is among those that are down", instance, prop, None, 0, with_leader)
    if without:
        yield Scenario("the leader is up" if down else "all brokers are up", instance, prop, None, with_leader, without)


def _survival(case: Case, lost: int) -> Iterator[Scenario]:
    """Searches from one committed record and the smallest ISR that acknowledges a record, with some brokers lost.

    Replicas outside the ISR cannot be elected, whatever they hold; they are all alike, as the followers in the ISR are.
    """
    replicas, members = case.replication_factor, min(case.min_insync_replicas, case.replication_factor)
    instance = _with_brokers_down(replace(case, unclean_election=False), lost, members, registry.load(SCENARIOS)[0])
    kinds: dict[tuple[bool, int], list[int]] = {}
    for place, brokers in enumerate(itertools.combinations(range(replicas), lost)):
        kinds.setdefault((0 in brokers, sum(broker < members for broker in brokers)), []).append(place)
    for (_, in_sync), places in kinds.items():
        says = f"{in_sync} of the {members} in sync {'is' if in_sync == 1 else 'are'} lost"
        yield Scenario(says, instance, READ, None, places[0], len(places))


def _with_brokers_down(case: Case, down: int, in_sync: int, model: Model) -> Instance:
    """An instance that starts from one committed record on all replicas, of which the first ones are in sync."""
    fixed, replicas = repaired(case), case.replication_factor
    values = numbers(MODEL, dict(fixed.switches)) | settings_of(case, replicas)
    values |= {
        "records": 2,
        "log_size": 2,
        "common_records": 1,
        "brokers_down": down,
        "start_isr": (1 << in_sync) - 1,
        "unclean_elections": int(case.unclean_election and down > 0),
        "bounces": 0,
        "crashes": 0,
    }
    controller = family(fixed.protocol)
    if controller is not Family.WRITTEN:
        values |= {"partition_changes": replicas, "elections": replicas}
    if controller is Family.KRAFT:
        values["fencings"] = 0
    return model.instance(fixed.protocol, effective(values))
