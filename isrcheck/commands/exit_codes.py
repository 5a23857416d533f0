"""The exit codes of check, trace, conform and isrcheck. Importing them imports nothing else."""

SAFE = DONE = 0
"""The exit code if no promise is broken, or if the command has done its work."""

DIFFERENT = 1
"""The exit code if two compared traces differ."""

USAGE = 2
"""The exit code for bad input or unwritable output: one line says what is wrong, where, and the cure."""

UNDECIDED = 3
"""The exit code if there is no verdict: a limit was reached, an engine was lost, or evidence is lacking."""

UNEXPECTED = 10
"""The exit code if a recorded figure or counterexample was not found again."""

DEADLOCKED, VIOLATED, STUCK = 11, 12, 13
"""The exit codes if a state without a step is reachable, if a property is violated, and if a state is stuck or a
liveness property is violated."""

DIVERGED = 20
"""The exit code if a system, or the recording of a system, differs from the model."""

NOTHING = 21
"""The exit code if there is nothing to compare."""

DISAGREE = 70
"""The exit code if two engines disagree, which is an error in isrcheck."""

INTERRUPTED = 130
"""The exit code if Ctrl-C ended the command."""


class UndecidedError(Exception):
    """Raised if an engine stopped working during a search, as when Spark's process dies. What the engine found before
    remains valid; other properties are undecided. The command ends with the exit code UNDECIDED."""
