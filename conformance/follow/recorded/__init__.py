"""What a recording of observations says: its lines, each of a kind, and what they claim of states of the model.

In:  a file of observations, or the objects that a wire recording was converted into.
Out: a `Recording`, for the searches in search/ and online/.

lines.py has a class for each kind of line, faults.py the faults of brokers. states.py reads variables in many states at
once, and has the claims that lines make on them. window.py is the window in whose terms lines are followed online.
recording.py reads a whole recording.
"""
