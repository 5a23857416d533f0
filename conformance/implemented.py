"""Which of the model's protocols the executable cluster implements.

In:  an `Instance` of kafka.
Out: the switches of a cluster that behaves like the instance, or MissingMechanismError, which names what the cluster
lacks; the cluster's values for the settings of clients; the cluster's seeded bugs.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from isrcheck.conformance.cluster.configuration.bugs import Bug, CoordinatorBug, TransactionBug
from isrcheck.conformance.cluster.configuration.protocol import GENERATIONS, SwitchError, Switches
from isrcheck.conformance.cluster.configuration.settings import AutoOffsetReset
from isrcheck.conformance.cluster.network.messages import Acks, Isolation
from isrcheck.models.kafka.state import values
from isrcheck.models.language.model import Instance, spell
from isrcheck.models.messages import UsageError

ISOLATIONS: dict[int, Isolation] = {
    values.IsolationLevel.READ_UNCOMMITTED: Isolation.READ_UNCOMMITTED,
    values.IsolationLevel.READ_COMMITTED: Isolation.READ_COMMITTED,
}
RESETS: dict[int, AutoOffsetReset] = {each: AutoOffsetReset[each.name] for each in values.AutoOffsetReset}
ACKS = {-1: Acks.ALL, 0: Acks.NONE, 1: Acks.LEADER}
"""Settings of clients in the model, and the same in the cluster."""

BUGS = {"kafka": Bug, "transactions": TransactionBug, "coordinator": CoordinatorBug}
"""The seeded bugs, by the model of the system that has them."""

OF_THE_OPERATOR = ("LEADER_CHOICE",)
"""The switches that stand for a decision of an operator: the order in which the replicas are assigned."""

AS_THE_CLUSTER_DOES = ("DELETION_IS_ANSWERED",)
"""The switches that only say whether the model has a step for something that the cluster always does."""

IN_ONE_EVENT = {
    "FETCH_IS_SPLIT": "a leader of the cluster checks and counts a fetch in one event",
    "DIVERGING_ANSWER_IS_SPLIT": "a follower of the cluster checks a diverging answer and truncates in one event",
}
"""The switches with which the model takes two steps for one event of the cluster."""

OF_IDEMPOTENT_PRODUCERS = ("UNKNOWN_PID_POLICY", "CLIENT_BUMPS_EPOCH", "PRODUCER_STATE_KEPT", "STALE_METADATA_IGNORED")
OF_CONSUMERS = ("POSITION_CHECK", "READ_REPLICA_IN_ISR", "LATEST_OFFSET_AWAITS_EPOCH_START")
"""The switches that mean something only for an idempotent producer, or for a consumer with a position."""


def system_of(instance: Instance) -> str:
    """The name of the model whose system replays this instance: kafka for kafka_liveness, else the instance's model."""
    return instance.model.name.removesuffix("_liveness")


def require_bug_of(model: str, bug: str | None) -> None:
    """Check that the system for this model has the seeded bug of this name, if one is given. Raises UsageError."""
    if bug is not None and bug.upper() not in BUGS[model].__members__:
        names = ", ".join(each.lower() for each in BUGS[model].__members__)
        raise UsageError(f"{bug} is no bug of a system that replays {model}; choose one of {names}")


class MissingMechanismError(UsageError):
    """The executable cluster lacks a mechanism of this protocol."""


class UntimelyError(UsageError):
    """No timing makes a cluster follow the trace: the model allows steps that clocks, timers or producers rule out."""


def with_flags(switches: Switches, instance: Instance) -> Switches:
    """Return a copy of `switches` in which each on/off switch that the model also has gets its value in `instance`."""
    flags = {each.name for each in fields(switches) if isinstance(each.default, bool)} & instance.model.entries.keys()
    values: dict[str, Any] = {name: bool(getattr(instance.configuration, name)) for name in flags}
    return replace(switches, **values)


def switches_of(instance: Instance) -> Switches:
    """Return the cluster's switches, each with the value that `instance` gives the model's switch of the same name.
    Raises MissingMechanismError if the cluster does not implement one of these values."""
    configuration, missing = instance.configuration, []
    switches = Switches(
        IDEMPOTENT_CACHE=configuration.remembered_batches,
        # A model without the rules of reassignments removes a replica at once, whatever the ISR.
        REASSIGNED_WITHOUT_THE_OTHERS="REASSIGNED_ONCE_ADDED" not in instance.model.entries,
    )
    names = {switch.name for switch in fields(switches)}
    unused = {
        *(() if configuration.enable_idempotence else OF_IDEMPOTENT_PRODUCERS),
        *(() if configuration.consumers else OF_CONSUMERS),
    }
    for name, entry in instance.model.entries.items():
        if not name.isupper() or name in (*unused, *OF_THE_OPERATOR, *AS_THE_CLUSTER_DOES, *IN_ONE_EVENT):
            continue
        value = getattr(configuration, name)
        spelled = spell(entry, value)
        if name in names:
            try:
                switches = switches.with_switch(name, spelled)
            except SwitchError:
                missing.append(f"{name}={spelled}")
        elif value != entry.default:
            missing.append(f"{name}={spelled}")
    if missing:
        raise MissingMechanismError(
            f"the executable cluster lacks {' and '.join(missing)}; it implements {', '.join(GENERATIONS)}"
        )
    for name, why in IN_ONE_EVENT.items():
        if getattr(configuration, name):
            raise MissingMechanismError(f"{name}=on: {why}, so that nothing can happen in between")
    return switches
