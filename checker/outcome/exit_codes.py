"""The exit codes of `check`.

In:  nothing.
Out: numbers. Importing them imports nothing else.
"""

SAFE, UNEXPECTED, UNDECIDED, USAGE, VIOLATED, STUCK, DISAGREE, INTERRUPTED = 0, 10, 3, 2, 12, 13, 70, 130
