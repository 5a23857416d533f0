"""Fairness that a model's file declares, checked: its actions, parameters and conditions exist and fit together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from isrcheck.models.language.declarations import DeclaredFairness, any_action, names_of
from isrcheck.models.language.ir import digest
from isrcheck.models.language.reading.reader import Function, Reader
from isrcheck.models.messages import LanguageError, escaped

STRONG = "strong"
"""The word for strong fairness of an action as a whole: `@action(fair="strong")`."""

Domains = Mapping[str, Any]
"""The names of an action's parameters, each with its domain."""


@dataclass(frozen=True)
class Fairness:
    """Fairness to the disjunction of some actions, for each value of some parameters separately."""

    actions: tuple[str, ...]
    """The names of the actions; empty for all actions."""
    each: tuple[str, ...] = ()
    """The parameters for whose values the fairness is assumed separately."""
    is_strong: bool = False
    """Whether the fairness is strong."""
    condition: Function | None = None
    """The condition in which a step counts, a function of the state and of parameters of the actions."""

    @property
    def meaning(self) -> list[Any]:
        """What the digest of a model includes beside the actions and parameters; empty for plain weak fairness."""
        condition = self.condition
        if condition is None:
            return [True] if self.is_strong else []
        return [self.is_strong, [each.name for each in condition.arguments], digest.of_routine(condition.routine)]


def checked(
    fair: Any, where: str, reader: Reader, actions: Mapping[str, Domains], cure: Callable[[str], str]
) -> tuple[Fairness, ...]:
    """Return the fairness assumptions that a property declares with `fair=`. If an action, a parameter or a condition
    in them is impossible, raises LanguageError, whose message begins with `where`.

    `reader` knows the functions of actions, `actions` has the parameters of each action by name, and `cure` returns the
    end of the message about an unknown action.
    """
    names: Mapping[Any, str] = reader.vocabulary.actions
    fairness = []
    for entry in fair if isinstance(fair, list | tuple) else [fair]:
        declared = entry if isinstance(entry, DeclaredFairness) else DeclaredFairness((entry,))
        if not declared.actions and declared is not any_action:
            what = f"{where}: {_word(declared)}() names no action"
            raise LanguageError(f"{what}; name an action, or write any_action for all actions")
        chosen: list[str] = []
        for action in declared.actions:
            name = action if isinstance(action, str) else names.get(action) if type(action) is FunctionType else None
            if name is None or name not in actions:
                called = escaped(name or getattr(action, "__name__", None) or str(action))
                raise LanguageError(f"{where}: fair= names {called}, which is no action; {cure(called)}")
            chosen.append(name)
        fairness.append(_checked(declared, where, reader, {name: actions[name] for name in chosen}))
    return tuple(fairness)


def checked_of_action(fair: Any, where: str, reader: Reader, name: str, parameters: Domains) -> tuple[Fairness, ...]:
    """Return the fairness assumption that an action declares with `fair=`; an empty tuple for fair=False. If a
    parameter or the condition is impossible, raises LanguageError, whose message begins with `where`."""
    if fair is False:
        return ()
    declared = (
        fair if isinstance(fair, DeclaredFairness) else DeclaredFairness((), () if fair is True else names_of(fair))
    )
    if fair == STRONG:
        if STRONG in parameters:
            what = f"{where}: fair={STRONG!r} means strong fairness, but {name} has a parameter of this name"
            raise LanguageError(f"{what}; write fair=strong_fairness() or fair=weak_fairness(each={STRONG!r})")
        declared = DeclaredFairness((), (), True)
    if declared.actions or fair is any_action:
        what = f"{where}: fair= of an action names actions, but is about this action"
        raise LanguageError(f"{what}; write fair={_word(declared)}(), and name parameters with each=")
    return (_checked(declared, where, reader, {name: parameters}),)


def _word(declared: DeclaredFairness) -> str:
    return "strong_fairness" if declared.is_strong else "weak_fairness"


def _checked(declared: DeclaredFairness, where: str, reader: Reader, actions: Mapping[str, Domains]) -> Fairness:
    _refuse_parameters(declared.each, f"{where}: fair=", actions)
    condition = None if declared.when is None else _condition(declared, where, reader)
    if condition is not None:
        named = {parameter.name: parameter.domain for parameter in condition.arguments}
        start = f"{condition.path}:{condition.line}: {condition.name}, when= of {_word(declared)}(),"
        _refuse_parameters(list(named), start, {**actions, condition.name: named})
    return Fairness(tuple(actions), declared.each, declared.is_strong, condition)


def _condition(declared: DeclaredFairness, where: str, reader: Reader) -> Function:
    read = reader.read(declared.when) if type(declared.when) is FunctionType else None
    states = [] if read is None else [each.name for each in read.routine.states]
    if read is None or not read.routine.returns_value or states != ["s"]:
        where = where if read is None else f"{read.path}:{read.line}: {read.name}"
        what = f"{where}: when= of {_word(declared)}() is not a function of a state"
        raise LanguageError(
            f"{what}; give it a function of `s`, and of parameters of the actions, that returns a truth value"
        )
    return read


def _refuse_parameters(each: Sequence[Any], start: str, actions: Mapping[str, Domains]) -> None:
    """Raise LanguageError if an action lacks one of the parameters `each`, or if two actions give it different domains.
    The message begins with `start`."""
    for action, domains in actions.items():
        for name in each:
            if name not in domains:
                have = f"name one of {', '.join(domains)}" if domains else "it has no parameters"
                what = f"{start} names {escaped(str(name))}, which is no parameter of {action}"
                raise LanguageError(f"{what}; {have}")
            first = next(iter(actions))
            if domains[name] is not actions[first][name]:
                what = f"{start} names the parameter {name}, whose domains in {first} and {action} differ"
                raise LanguageError(f"{what}; give the parameter the same domain in both")
