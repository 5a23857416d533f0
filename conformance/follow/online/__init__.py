"""Follows a long recording of observations line by line, in memory that does not grow with its length.

In:  the lines of a recording as a stream that can be read twice.
Out: a verdict without a history: followed, rejected at a line, or undecided with a reason.

Only the set of all states that are possible after the last line is kept. The model has room for only a part of the
recording: the window (recorded/window.py). When the oldest records are settled, which means that they can no longer
change, the window moves: offsets, record numbers and epochs are counted from a later point.

chunk.py reads the lines once in advance, and makes small recordings of the next lines. steps_of_chunk.py finds the
states after each line, and moving.py moves the states into a later window. follow.py combines these parts.
"""
