"""Weak fairness: which steps are taken at last, if they stay possible.

In:  what a model declares with `fair=`: of an action, or of a liveness property.
Out: `Fairness`, checked against the actions of the model (models/fair_groups.py finds its steps).

A behaviour is an endless sequence of states, in which each state follows from the one before by a step or is the same
(it *stutters*). A step that leaves the state as it is counts as no step. A behaviour is weakly fair to a group of steps
unless from some moment on a step of the group is possible in every state, and none is ever taken. In TLA+, this is
WF_vars(A) for the action A that is the disjunction of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from isrcheck.models.language.text.plain import DeclarationError
from isrcheck.models.messages.errors import LanguageError
from isrcheck.models.messages.printable import escaped

Domains = Mapping[str, Any]
"""The parameters of an action, each with its domain."""


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
        raise DeclarationError("weak_fairness() names no action; name one, or write any_action")
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


def checked(
    given: Any, where: str, names: Mapping[Any, str], actions: Mapping[str, Domains], cure: Callable[[str], str]
) -> tuple[Fairness, ...]:
    """Return the `fair=` of a property, checked. Raises LanguageError that begins with `where`.

    `names` maps the functions of actions to the names of the actions, `actions` has the parameters of each action, and
    `cure` answers an unknown name.
    """
    found = []
    for one in given if isinstance(given, list | tuple) else [given]:
        asked = one if isinstance(one, WeakFairness) else WeakFairness((one,))
        chosen: list[str] = []
        for action in asked.actions:
            name = action if isinstance(action, str) else names.get(action) if type(action) is FunctionType else None
            if name is None or name not in actions:
                called = escaped(name or getattr(action, "__name__", None) or str(action))
                raise LanguageError(f"{where}: fair= names {called}, which is no action; {cure(called)}")
            chosen.append(name)
        _refuse_parameters(asked.each, where, {name: actions[name] for name in chosen})
        found.append(Fairness(tuple(chosen), asked.each))
    return tuple(found)


def checked_of_action(given: Any, where: str, name: str, parameters: Domains) -> tuple[Fairness, ...]:
    """Return the `fair=` of an action, checked: True, or the parameters for each of whose values it is fair. Raises
    LanguageError that begins with `where`."""
    if given is False:
        return ()
    each = () if given is True else names_of(given)
    _refuse_parameters(each, where, {name: parameters})
    return (Fairness((name,), each),)


def _refuse_parameters(each: Sequence[Any], where: str, actions: Mapping[str, Domains]) -> None:
    for action, domains in actions.items():
        for name in each:
            if name not in domains:
                have = f"its parameters are {', '.join(domains)}" if domains else "it has none"
                raise LanguageError(
                    f"{where}: fair= names {escaped(str(name))}, which is no parameter of {action}; {have}"
                )
            first = next(iter(actions))
            if domains[name] is not actions[first][name]:
                raise LanguageError(
                    f"{where}: fair= is for each {name}, whose domain is not the same in {first} and {action};"
                    " give both the same domain"
                )
