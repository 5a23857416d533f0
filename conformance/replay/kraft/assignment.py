"""In which order the partition's replicas have to be assigned, so that a KRaft controller elects whom a trace elects.

In:  the steps of a trace, and the states before them. In the model any valid broker is elected.
Out: the order; or UntimelyError, if the trace needs two orders.

Kafka elects the first valid replica, a preferred election the first replica of all, and an unclean one the first active
one. Source: fact sheet, section 4.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from isrcheck.conformance.implemented import UntimelyError
from isrcheck.models.kafka.state.values import LeaderChoice
from isrcheck.models.language import NONE
from isrcheck.models.language.model import Step
from isrcheck.models.run import State

ELECT_WITHOUT = ("controller_fences_leader", "leader_asks_to_shut_down")
REQUESTS = ("controller_begins_reassignment", "controller_reassigns_without_leader")
REASSIGNED = (
    "controller_reassigns_without_leader",
    "controller_cancels_without_leader",
    "controller_completes_reassignment",
)
ELECTIONS = (*ELECT_WITHOUT, *REASSIGNED, "controller_elects_preferred", "controller_elects_unclean")


def assignment_of(steps: Sequence[Step], states: Sequence[State]) -> tuple[int, ...]:
    """The order of the replicas. Raises UntimelyError if there is none.

    An administrator names replicas in this order, too; those that are to be removed come last until they are, by
    number, and stay there if the reassignment is cancelled. Kafka: PartitionReassignmentReplicas,
    PartitionReassignmentRevert.
    """
    replicas = range(int(states[0].replicas))
    is_fixed = states[0].LEADER_CHOICE == LeaderChoice.ASSIGNMENT_ORDER
    orders = [tuple(replicas)] if is_fixed else [*permutations(replicas)]
    fitting = {order: [r for r in order if is_assigned(states[0], r)] for order in orders}
    for position, step in enumerate(steps, start=1):
        before, after = states[position - 1], states[position]
        fitting = {order: _assigned_by(step, order, assigned, after) for order, assigned in fitting.items()}
        elected, others = _elected(step, before)
        if elected is not None:
            fitting = {
                order: assigned
                for order, assigned in fitting.items()
                if next((r for r in assigned if r in {elected, *others}), None) == elected
            }
        if not fitting:
            raise UntimelyError(
                f"step {position} elects broker {elected}, but Kafka takes the first valid replica in the order of the"
                " assignment, and an earlier election needs another order; the model elects any valid one"
            )
    return next(iter(fitting))


def _assigned_by(step: Step, order: tuple[int, ...], assigned: Sequence[int], after: State) -> list[int]:
    """The replicas as they are assigned after a step, in order."""
    if step.action in REQUESTS:
        target = [r for r in order if step.ordinals[0] >> r & 1]
        assigned = [*target, *sorted({*assigned} - {*target})]
    return [r for r in assigned if is_assigned(after, r)]


def is_valid(state: State, broker: int, leaving: int = NONE) -> bool:
    """Whether a broker may lead once another one has left the ISR. Kafka: isValidNewLeader."""
    if broker == leaving or not is_active(state, broker):
        return False
    nobody = not any(state.controller_isr[r] for r in range(state.replicas) if r != leaving)
    return bool(state.controller_isr[broker] or (nobody and state.eligible_leader_replicas[broker]))


def is_assigned(state: State, broker: int) -> bool:
    """Whether the partition is assigned to a broker; without reassignments, it is assigned to all."""
    return not state.reassignments or bool(state.is_assigned[broker])


def _elected(step: Step, before: State) -> tuple[int | None, set[int]]:
    """The broker that a step elects by the order, and those that Kafka would have elected if they came first."""
    replicas = [r for r in range(before.replicas) if is_assigned(before, r)]
    if step.action in ELECT_WITHOUT:
        leaving, elected = step.ordinals
        return elected, {r for r in replicas if is_valid(before, r, leaving)}
    if step.action in REASSIGNED:
        active = [r for r in range(before.replicas) if is_active(before, r)]
        return step.ordinals[-1], {r for r in active if _stays(step, before, r)}
    if step.action == "controller_elects_preferred":
        leads = before.controller_leader != NONE and is_valid(before, before.controller_leader)
        return step.ordinals[0], set(replicas) if leads else {r for r in replicas if is_valid(before, r)}
    if step.action == "controller_elects_unclean":
        return step.ordinals[0], {r for r in replicas if not before.is_fenced[r] and not before.is_shutting_down[r]}
    return None, set()


def _stays(step: Step, before: State, broker: int) -> bool:
    """Whether a broker is in the ISR after a change of the replicas that removes the leader."""
    if step.action == "controller_cancels_without_leader":
        return bool(before.controller_isr[broker] and not before.is_adding[broker])
    if step.action == "controller_completes_reassignment":
        return bool(before.requested_isr[step.ordinals[0]][broker] and not before.is_removing[broker])
    return bool(before.controller_isr[broker] and step.ordinals[0] >> broker & 1)


def is_active(state: State, broker: int) -> bool:
    """Whether a broker is neither fenced nor shuts down."""
    return not state.is_fenced[broker] and not state.is_shutting_down[broker]
