"""Weak fairness: which steps are taken at last, if they stay possible.

In:  what a model declares with `fair=`: of an action, or of a liveness property.
Out: `Fairness`, checked against the actions of the model; and under a configuration its groups of steps.

A behaviour is an endless sequence of states, in which each state follows from the one before by a step or is the same
(it *stutters*). A step that leaves the state as it is counts as no step. A behaviour is weakly fair to a group of steps
unless from some moment on a step of the group is possible in every state, and none is ever taken. In TLA+, this is
WF_vars(A) for the action A that is the disjunction of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from isrcheck.models.messages.errors import LanguageError, UsageError
from isrcheck.models.messages.printable import escaped

if TYPE_CHECKING:
    from isrcheck.models.language.model import Action, Instance, Property

MOST_GROUPS = 4096
"""The most groups of steps to which one property may ask a behaviour to be fair."""


@dataclass(frozen=True)
class WeakFairness:
    """What `fair=` of a property may contain: actions (functions or names; none: all), and the parameters for each of
    whose values a behaviour is fair separately."""

    actions: tuple[Any, ...]
    each: tuple[Any, ...] = ()


def weak_fairness(*actions: Any, each: str | Sequence[str] = ()) -> WeakFairness:
    """Declare that a step of these actions is taken at last, if one of them stays possible: WF_vars(A \\/ B).

    `each` names parameters of the actions: the same is then declared for each of their values by itself, as in
    \\A p : WF_vars(A(p)). An action is given as its function or by its name.
    """
    if not actions:
        raise TypeError("weak_fairness() names no action; name one, or write any_action")
    return WeakFairness(actions, names_of(each))


any_action = WeakFairness(())
"""The steps of all actions together: WF_vars(Next). A behaviour stutters for ever only where no step is possible."""


def names_of(each: Any) -> tuple[Any, ...]:
    """The names of parameters, given as one name or several."""
    if isinstance(each, str):
        return (each,)
    return tuple(each) if isinstance(each, list | tuple) else (each,)


@dataclass(frozen=True)
class Fairness:
    """Weak fairness to a disjunction of actions, given by their names, for each value of the parameters `each`.

    Without names it is about the steps of all actions.
    """

    actions: tuple[str, ...]
    each: tuple[str, ...] = ()


@dataclass(frozen=True)
class FairGroup:
    """Steps, given by their numbers, of which one is taken at last if one of them stays possible; `name` says which."""

    name: str
    steps: frozenset[int]


def checked(
    given: Any, where: str, names: Mapping[Any, str], actions: Sequence[Action], cure: Callable[[str], str]
) -> tuple[Fairness, ...]:
    """Return the `fair=` of a property, checked. Raises LanguageError that begins with `where`.

    `names` maps the functions of actions to the names of the actions, and `cure` answers an unknown name.
    """
    known = {action.name: action for action in actions}
    found = []
    for one in given if isinstance(given, list | tuple) else [given]:
        asked = one if isinstance(one, WeakFairness) else WeakFairness((one,))
        chosen = []
        for action in asked.actions:
            name = action if isinstance(action, str) else names.get(action) if type(action) is FunctionType else None
            if name not in known:
                called = escaped(name or getattr(action, "__name__", None) or str(action))
                raise LanguageError(f"{where}: fair= names {called}, which is no action; {cure(called)}")
            chosen.append(name)
        _refuse_parameters(asked.each, where, [known[name] for name in chosen])
        found.append(Fairness(tuple(chosen), asked.each))
    return tuple(found)


def checked_of_action(given: Any, where: str, action: Action) -> tuple[Fairness, ...]:
    """Return the `fair=` of an action, checked: True, or the parameters for each of whose values it is fair. Raises
    LanguageError that begins with `where`."""
    if given is False:
        return ()
    each = () if given is True else names_of(given)
    _refuse_parameters(each, where, [action])
    return (Fairness((action.name,), each),)


def _refuse_parameters(each: Sequence[Any], where: str, actions: Sequence[Action]) -> None:
    for action in actions:
        domains = {parameter.name: parameter.domain for parameter in action.parameters}
        for name in each:
            if name not in domains:
                have = f"its parameters are {', '.join(domains)}" if domains else "it has none"
                raise LanguageError(
                    f"{where}: fair= names {escaped(str(name))}, which is no parameter of {action.name}; {have}"
                )
            first = next(p.domain for p in actions[0].parameters if p.name == name)
            if domains[name] is not first:
                raise LanguageError(
                    f"{where}: fair= is for each {name}, whose domain is not the same in {actions[0].name} and"
                    f" {action.name}; give both the same domain"
                )


def groups_of(instance: Instance, prop: Property) -> tuple[FairGroup, ...]:
    """Return the groups of steps to which a behaviour has to be fair before it can violate a liveness property.

    They are those of the property, if it declares any, and otherwise those of the actions of the protocol. Raises
    UsageError if they are too many.
    """
    declared = of_actions(instance) if prop.fair is None else prop.fair
    found: list[FairGroup] = []
    for fairness in declared:
        for group in _groups(instance, fairness):
            if len(found) == MOST_GROUPS:
                raise UsageError(
                    f"{prop.name} is to be fair to more than {MOST_GROUPS} groups of steps; use smaller bounds"
                )
            found.append(group)
    return tuple(found)


def of_actions(instance: Instance) -> tuple[Fairness, ...]:
    """Return the fairness that the actions of the protocol declare."""
    found: list[Fairness] = []
    for number, action in enumerate(instance.model.actions):
        function = instance.function(number)
        given = False if function is None or function.mark is None else function.mark.fair
        found += checked_of_action(given, action.name, action)
    return tuple(found)


def _groups(instance: Instance, fairness: Fairness) -> Iterator[FairGroup]:
    """The groups of one declaration: one for each combination of values of its parameters."""
    slots = [
        slot
        for slot, action in enumerate(instance.model.actions)
        if (action.name in fairness.actions or not fairness.actions) and instance.function(slot) is not None
    ]
    what = " or ".join(fairness.actions) or "any action"
    found: dict[tuple[int, ...], list[int]] = {}
    if not fairness.each:
        found[()] = []
    for slot in slots:
        ranges = {one.parameter.name: one for one in instance.argument_ranges[slot]}
        places = [list(ranges).index(name) for name in fairness.each]
        for number in range(instance.first_steps[slot], instance.first_steps[slot + 1]):
            ordinals = instance.step(number).ordinals
            found.setdefault(tuple(ordinals[place] for place in places), []).append(number)
    for key, numbers in sorted(found.items()):
        values = ", ".join(
            f"{name}={ranges[name].spell(value)}" for name, value in zip(fairness.each, key, strict=True)
        )
        yield FairGroup(f"{what} with {values}" if values else what, frozenset(numbers))
