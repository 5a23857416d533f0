"""In which order the partition's replicas have to be assigned, so that a KRaft controller elects whom a trace elects.

In:  the steps of a trace, and the states before them. In the model any valid broker is elected.
Out: the order; or UntimelyError, if the trace needs two orders.

Kafka elects the first valid replica, a preferred election the first replica of all, and an unclean one the first active
one. Source: fact sheet, section 4.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isrcheck.conformance.implemented import UntimelyError
from isrcheck.models.kafka.state.values import LeaderChoice
from isrcheck.models.language import NONE
from isrcheck.models.language.model import Step
from isrcheck.models.run import State

ELECT_WITHOUT = ("controller_fences_leader", "leader_asks_to_shut_down")
REASSIGNED = (
    "controller_reassigns_without_leader",
    "controller_cancels_without_leader",
    "controller_completes_reassignment",
)
ELECTIONS = (*ELECT_WITHOUT, *REASSIGNED, "controller_elects_preferred", "controller_elects_unclean")


def assignment_of(steps: Sequence[Step], states: Sequence[State]) -> tuple[int, ...]:
    """The order of the replicas. Raises UntimelyError if there is none."""
    replicas = range(int(states[0].replicas))
    later: dict[int, set[int]] = {r: set() for r in replicas}
    if states[0].LEADER_CHOICE == LeaderChoice.ASSIGNMENT_ORDER:
        later = {r: set(replicas[r + 1 :]) for r in replicas}
    for position, step in enumerate(steps, start=1):
        elected, others = _elected(step, states[position - 1])
        if elected is None:
            continue
        later[elected] |= others - {elected}
        if _order_of(later) is None:
            raise UntimelyError(
                f"step {position} elects broker {elected}, but Kafka takes the first valid replica in the order of the"
                " assignment, and an earlier election needs another order; the model elects any valid one"
            )
    return _order_of(later) or tuple(replicas)


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
    """The broker that a step elects by the order, and the brokers that have to come after it."""
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


def _order_of(later: dict[int, set[int]]) -> tuple[int, ...] | None:
    order = tuple(_sorted(later))
    return order if len(order) == len(later) else None


def _sorted(later: dict[int, set[int]]) -> Iterator[int]:
    """The brokers, each before those that have to come later, as far as that is possible."""
    left = set(later)
    while free := [r for r in sorted(left) if not any(r in later[other] for other in left - {r})]:
        yield free[0]
        left.remove(free[0])
