"""What the configuration of an instance determines, in every state.

In:  an `Instance`, an expression of one of its routines.
Out: the number or the truth value that the expression always has; None if it depends on the state or on a variable.
"""

from __future__ import annotations

from isrcheck.models.language.interpreter import Interpreter, UnknownVariableError
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.model import Instance


class Determined:
    """The expressions of one instance that its configuration determines."""

    def __init__(self, instance: Instance) -> None:
        self._interpreter = Interpreter(instance)
        self._numbers: dict[ir.Expression, int | None] = {}

    def number(self, expression: ir.Expression) -> int | None:
        """The value of an expression."""
        if expression not in self._numbers:
            try:
                self._numbers[expression] = int(self._interpreter.value(expression))
            except (UnknownVariableError, ZeroDivisionError):  # a division by 0 is in what is never evaluated
                self._numbers[expression] = None
        return self._numbers[expression]

    def truth(self, condition: ir.Expression) -> bool | None:
        """Whether a condition is true. A conjunction with a part that is always false is not, whatever its value."""
        match condition:
            case ir.Not(operand):
                truth = self.truth(operand)
                return None if truth is None else not truth
            case ir.And(parts) | ir.Or(parts):
                decisive = isinstance(condition, ir.Or)
                truths = [self.truth(one) for one in parts]
                if decisive in truths:
                    return decisive
                return None if None in truths else not decisive
        number = self.number(condition)
        return None if number is None else bool(number)
