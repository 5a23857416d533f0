"""Recordings of observations: their lines, with a class for each kind, and what each line claims of the model's state.

In:  a file of observations, or the objects that a wire recording was converted into.
Out: a `Recording`, for the searches in search/ and online/.

lines.py has a class for each kind of line, faults.py the faults of brokers. states.py reads variables in many states at
once, and has the claims that lines make on them. window.py is the part of a recording that is followed online at one
time. recording.py reads a whole recording.
"""
