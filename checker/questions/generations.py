"""The generation in which a question is searched: as it is, or with the known mistakes of Kafka repaired.

In:  a `Case`, and the library of known failures (models/kafka/failures).
Out: the values of switches: `repaired` for what the settings promise, `isolated` for one known failure alone.

Which switches are mistakes, and what repairs them, follows from the repairs in the library: the switches in which the
repaired instance of a failure differs from the one that has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache

from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import KAFKA, LIVENESS, loses_data
from isrcheck.checker.questions.rules import LAST_OF_ZOOKEEPER
from isrcheck.models import registry
from isrcheck.models.kafka.failures.catalogue import ChangeKind, Failure, failures, named, pairs
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.kafka.state.values import Controller, IsrChannel
from isrcheck.models.language.model import Instance, Model, parse, spell
from isrcheck.models.messages import UsageError

VIOLATED = "VIOLATED"


class Family(Enum):
    """How the ISR is changed: the leader writes it, it asks a controller with ZooKeeper, or one with KRaft."""

    WRITTEN = "written by the leader"
    ASKED = "asked of a controller with ZooKeeper"
    KRAFT = "asked of a KRaft controller"


@cache
def family(protocol: str, model: str = KAFKA) -> Family:
    """The family of a generation of a model with the switches of `kafka`."""
    configuration = registry.load(model)[0].instance(protocol).configuration
    if configuration.CONTROLLER == Controller.KRAFT:
        return Family.KRAFT
    return Family.ASKED if configuration.ISR_CHANNEL == IsrChannel.ALTER_PARTITION else Family.WRITTEN


def numbers(model: Model, texts: Mapping[str, str]) -> dict[str, int]:
    """The values of entries that are given as text. Raises UsageError."""
    return {name: parse(name, model.entries[name], text) for name, text in texts.items()}


def written(instance: Instance) -> str:
    """The entries of an instance that differ from the defaults of its generation, as on the command line."""
    usual = dict(instance.model.instance(instance.protocol.name).configuration.items())
    return " ".join(
        f"{name}={spell(instance.model.entries[name], value)}"
        for name, value in instance.configuration.items()
        if value != usual[name]
    )


@dataclass(frozen=True)
class Mistake:
    """A switch whose value `mistaken` is a mistake that the value `repaired` repairs."""

    switch: str
    mistaken: int
    repaired: int


@cache
def mistakes(name: str) -> tuple[Mistake, ...]:
    """The switches in which a known failure of Kafka's replication differs from its repairs, each once."""
    failure = named(name)
    history, found = failure.history, dict[str, Mistake]()
    if history is None or history.model not in (KAFKA, LIVENESS):
        return ()
    before = dict(history.instance.configuration.items())
    for change in failure.changes:
        if change.kind is ChangeKind.REPAIR:
            for switch, value in history.changed(change.change).configuration.items():
                if switch.isupper() and value != before[switch]:
                    found.setdefault(switch, Mistake(switch, before[switch], value))
    return tuple(found.values())


def _is_repaired_by_generation(failure: Failure) -> bool:
    return any("protocol" in pairs(one.change) for one in failure.changes if one.kind is ChangeKind.REPAIR)


@cache
def _repairs() -> tuple[Mapping[tuple[str, int], int], frozenset[str]]:
    """The repaired values of switches with a mistaken value; and the switches that a later generation repairs."""
    switches: dict[tuple[str, int], int] = {}
    by_generation: set[str] = set()
    for failure in failures():
        history = failure.history
        if history is None or history.model != KAFKA or history.verdict != VIOLATED or loses_data(failure):
            continue
        for one in mistakes(failure.name):
            if _is_repaired_by_generation(failure):
                by_generation.add(one.switch)
            else:
                switches.setdefault((one.switch, one.mistaken), one.repaired)
    return switches, frozenset(by_generation)


def repairs(protocol: str, values: Mapping[str, int]) -> dict[str, int]:
    """The switches that are mistakes in this generation with these values of switches, with their repaired values."""
    present = dict(MODEL.instance(protocol).configuration.items()) | dict(values)
    known = {switch: _repairs()[0].get((switch, value)) for switch, value in present.items()}
    return {
        switch: value for switch, value in known.items() if value is not None and _is_accepted(protocol, switch, value)
    }


MECHANISMS = (
    *("enable_idempotence", "consumers", "reassignments", "min_isr_changes", "unregistrations", "folder_deletions"),
    *("replicas_of_partition_0", "DELETION_IS_ANSWERED", "FETCH_IS_SPLIT"),
)
"""The entries of mechanisms that a configuration can lack: then a mistake of such a mechanism has no effect."""


@cache
def _mechanisms() -> Mapping[str, frozenset[str]]:
    """The mechanisms without which a switch that is a mistake has no effect: those of every history that it has. A
    later generation may repair more than the mistake of one failure, so its switches do not count here."""
    found: dict[str, frozenset[str]] = {}
    for failure in failures():
        if failure.history is not None and not _is_repaired_by_generation(failure):
            entries = frozenset(MECHANISMS) & pairs(failure.history.configuration).keys()
            found |= {one.switch: entries & found.get(one.switch, entries) for one in mistakes(failure.name)}
    return found


def effective(values: Mapping[str, int]) -> dict[str, int]:
    """The entries without those switches that are mistakes of a mechanism that the entries do not have."""
    needs = _mechanisms()
    return {name: value for name, value in values.items() if all(values.get(one) for one in needs.get(name, ()))}


@cache
def _is_accepted(protocol: str, switch: str, value: int) -> bool:
    try:
        MODEL.instance(protocol, {switch: value})
    except UsageError:
        return False
    return True


def repaired(case: Case) -> Case:
    """The case in the generation in which every known mistake is repaired. Generations in which the leader writes the
    ISR become the last of them. The switches of the result are all in which it differs from its generation."""
    protocol, switches = case.protocol, dict(case.switches)
    if family(protocol) is Family.WRITTEN:
        protocol = LAST_OF_ZOOKEEPER
        switches = {name: text for name, text in switches.items() if name not in _repairs()[1]}
    values = numbers(MODEL, switches)
    return with_switches(case, protocol, values | repairs(protocol, values))


def with_switches(case: Case, protocol: str, values: Mapping[str, int]) -> Case:
    """The case in another generation, with those switches that differ from the generation's own."""
    usual = dict(MODEL.instance(protocol).configuration.items())
    texts = {name: spell(MODEL.entries[name], value) for name, value in values.items() if value != usual[name]}
    fields = {name: getattr(case, name) for name in case.__dataclass_fields__}
    return Case(**{**fields, "protocol": protocol, "switches": tuple(sorted(texts.items()))})


def isolated(case: Case, failure: Failure) -> dict[str, int]:
    """The values of switches with which one failure of Kafka's replication is searched alone: its own mistake is as in
    the case, every other known mistake is repaired, and what its history sets besides is set."""
    history = failure.history
    assert history is not None
    own = {one.switch for one in mistakes(failure.name)}
    values = numbers(MODEL, dict(case.switches))
    if "enable_idempotence" in pairs(history.configuration):
        values |= {name: value for name, value in case.numbering if name.isupper()}
    values |= {name: value for name, value in repairs(case.protocol, values).items() if name not in own}
    given = {name: text for name, text in pairs(history.configuration).items() if name.isupper() and name not in own}
    set_besides = numbers(MODEL, given).items()
    return values | {name: value for name, value in set_besides if _is_accepted(case.protocol, name, value)}
