"""The exit codes of `check`.

In:  nothing.
Out: numbers. Importing them imports nothing else.
"""

SAFE, UNEXPECTED, UNDECIDED, USAGE = 0, 10, 3, 2
DEADLOCKED, VIOLATED, STUCK = 11, 12, 13
DISAGREE, INTERRUPTED = 70, 130
