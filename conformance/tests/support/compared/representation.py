"""Compares the representation of a model's functions with the functions, in one state.

In:  an `Instance`, the cells of a state.
Out: the first step, property or other predicate that the interpreter of the representation evaluates to something else
     than Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from isrcheck.models import run
from isrcheck.models.language.declarations import Disabled
from isrcheck.models.language.interpreter import Argument, Interpreter, arguments_of
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.messages import ModelError

OUT_OF_RANGE = "leaves a declared range"
DISABLED = "is not enabled"

Outcome = int | Sequence[int] | str | None


def representation_differs(instance: Instance, cells: Sequence[int]) -> str | None:
    """What the representation says differently from Python about a state and its steps; None if they agree."""
    for what, of_python, of_representation in _questions(instance, cells):
        expected, found = _outcome(of_python), _outcome(of_representation)
        if found != expected:
            return f"{what} in {tuple(cells)}: {found} instead of {expected}"
    return None


def _outcome(question: Callable[[], Outcome]) -> Outcome:
    try:
        return question()
    except Disabled:
        return DISABLED
    except ModelError:
        return OUT_OF_RANGE


Question = tuple[str, Callable[[], Outcome], Callable[[], Outcome]]
"""The question, Python's answer, and the representation's answer."""


def _questions(instance: Instance, cells: Sequence[int]) -> Iterator[Question]:
    interpreter = Interpreter(instance)

    def ask(function: Function, *states: Sequence[int], step: Step | None = None) -> Question:
        taken = [] if step is None or len(function.parameters) == len(states) else [step]

        def of_python() -> int:
            arguments = [run.State(instance, tuple(one)) for one in states]
            return int(instance.python(function)(*arguments, *(run.Taken(instance, one) for one in taken)))

        def of_representation() -> int | None:
            arguments: list[Argument] = [list(one) for one in states]
            return interpreter.call(function.routine, [*arguments, *(one.action for one in taken)])

        return function.name, of_python, of_representation

    for function in _of_states(instance):
        yield ask(function, cells)
    for step in instance.steps:
        taken = _step(instance, interpreter, cells, step)
        yield taken
        after = _outcome(taken[1])
        if not isinstance(after, str | int | None):
            for prop in (*instance.properties, *instance.lemmas):
                if len(prop.function.parameters) > 1:
                    yield ask(prop.function, cells, after, step=step)


def _of_states(instance: Instance) -> Iterator[Function]:
    """The functions that judge one state, end a search, or bound it."""
    model = instance.model
    yield from (*model.terminals, *model.constraints)
    for prop in (*instance.properties, *instance.lemmas):
        if len(prop.function.parameters) == 1:
            yield prop.function
        yield from (one for one in (prop.permitted, prop.premise) if one is not None)


def _step(instance: Instance, interpreter: Interpreter, cells: Sequence[int], step: Step) -> Question:
    function, arguments = instance.function(step.action_index), arguments_of(instance, step)

    def of_python() -> Outcome:
        if function is None:
            return None
        state = run.State(instance, tuple(cells))
        instance.python(function)(state, *arguments)
        return tuple(state.cells)

    def of_representation() -> Outcome:
        if function is None:
            return None
        changed = list(cells)
        interpreter.call(function.routine, [changed, *arguments])
        return tuple(changed)

    return instance.spell_step(step), of_python, of_representation
