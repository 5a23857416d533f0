"""Executes routines as they are written, with sets and queues, on the states that CPython's functions see.

In:  a routine; a state (models/language/starts.py) and arguments, as CPython's functions get them.
Out: the state is changed as the text of the routine says, with CPython's errors. So a mutant, which has no text of its
     own, runs like a function that has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.interpreter import SIGNS, Evaluation, Interpreter
from isrcheck.models.language.starts import State, instance_of


def interpreted(routine: ir.Routine) -> Callable[..., int | None]:
    """A function that executes a routine; its first argument is a state."""

    def function(state: State, *arguments: Any) -> int | None:
        return _Interpreter(instance_of(state)).call(routine, (state, *arguments))

    return function


class _Interpreter(Interpreter):
    """Its states are `State`, and its subsets `Members`."""

    def call(self, routine: ir.Routine, arguments: Iterable[Any]) -> int | None:
        return _Evaluation(self, dict(zip(routine.parameters, arguments, strict=True))).block(routine.written)


class _Evaluation(Evaluation):
    """One call of a routine."""

    def part(self, holder: ir.Variable, field: str, indices: Sequence[ir.Expression]) -> Any:
        """What a field of a state holds at these indices; of a subset (without a field), the subset or an element."""
        part: Any = self.held(holder)
        part = getattr(part, field) if field else part
        for index in indices:
            part = part[self.value(index)]
        return part

    def view(self, collection: ir.Collection) -> Any:
        """A set or a queue (models/language/core/views.py)."""
        return self.part(collection.holder, collection.field, collection.indices)

    def statement(self, statement: ir.Statement) -> int | None:
        match statement:
            case ir.Store(ir.Cell(state, field, ()), value):
                setattr(self.held(state), field, self.value(value))
            case ir.Store(ir.Cell(state, field, (*outer, last)), value):
                number = self.value(value)
                self.part(state, field, outer)[self.value(last)] = number
            case ir.SetLoop(variable, collection, body):
                for element in self.view(collection):
                    self.values[variable] = element
                    result = self.block(body)
                    if result is not None:
                        return result
            case ir.SetChange(collection, element, is_added):
                view = self.view(collection)
                (view.add if is_added else view.discard)(self.value(element))
            case ir.CopySet(collection, source):
                self.view(collection).become(self.view(source))
            case ir.FillSet(collection, elements):
                self.view(collection).become(list(map(self.value, elements)))
            case ir.Clear(collections):
                for collection in collections:
                    self.view(collection).clear()
            case ir.Append(queues, values):
                for view, number in list(zip(map(self.view, queues), map(self.value, values), strict=True)):
                    view.append(number)
            case ir.TakeFirst(queues, variable):
                for queue in queues:
                    first = self.view(queue).popleft()
                    if variable is not None:
                        self.values[variable] = first
            case _:
                return super().statement(statement)
        return None

    def value(self, expression: ir.Expression) -> int:
        match expression:
            case ir.Cell(state, field, indices):
                return int(self.part(state, field, indices))
            case ir.Element(subset, index):
                return int(self.part(subset, "", (index,)))
            case ir.IsIn(element, collection):
                return self.value(element) in self.view(collection)
            case ir.InDomain(element, domain):
                return 0 <= self.value(element) < self.instance.size_of(domain)
            case ir.Length(collection):
                return len(self.view(collection))
            case ir.SetComparison(left, sign, right):
                return SIGNS[sign](self.view(left), self.view(right))
            case ir.QueueElement(queue, place):
                return int(self.view(queue)[self.value(place)])
        return super().value(expression)
