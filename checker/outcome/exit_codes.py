"""The exit codes of `check`.

In:  nothing.
Out: numbers. Importing them imports nothing else.
"""

SAFE, UNEXPECTED, UNDECIDED, USAGE, VIOLATED, DISAGREE, INTERRUPTED = 0, 10, 3, 2, 12, 70, 130
