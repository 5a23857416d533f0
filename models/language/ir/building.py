"""The routine of a function."""

from isrcheck.models.language.ir.nodes import Routine
from isrcheck.models.language.syntax import Function


def routine_of(function: Function) -> Routine:
    """The representation of a function that the reader has accepted."""
    return function.routine
