"""The exit codes of check, trace, conform and isrcheck. Importing them imports nothing else."""

SAFE = DONE = 0
"""No promise is broken; or the command has done its work."""

DIFFERENT = 1
"""Two traces differ."""

USAGE = 2
"""Bad input, or output that cannot be written: one line says what, where, and the cure."""

UNDECIDED = 3
"""A limit, a lost engine or a lack of evidence: no verdict."""

UNEXPECTED = 10
"""A recorded figure or counterexample was not found."""

DEADLOCKED, VIOLATED, STUCK = 11, 12, 13
"""A state without a step; a violated property; a state that is stuck, or a liveness property that is violated."""

DIVERGED = 20
"""A system, or the recording of one, differs from the model."""

NOTHING = 21
"""There is nothing to compare."""

DISAGREE = 70
"""Two engines disagree: an error in isrcheck."""

INTERRUPTED = 130
"""Ctrl-C ended the command."""


class UndecidedError(Exception):
    """An engine was lost during its work: its findings count, the rest is undecided. Ends with UNDECIDED."""
