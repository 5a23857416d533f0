"""Follows a long recording of observations line by line, in memory that does not grow with its length.

In:  the lines of a recording as a stream that can be read twice.
Out: a verdict without a history: followed, rejected at a line, or undecided with a reason.

The set of all states in which the model can be after a line is kept, and nothing else. The model is as large as a
window of the recording. When the oldest records are settled, which means that they can no longer change, the window
moves: offsets, record numbers and epochs are counted from a later point.

stream.py reads the lines, and outlook.py reads them once before, for what the script has to know of later lines.
window/ holds the window and its moves. chunk.py makes a small recording of the next lines. steps_of_chunk.py finds the
states after each of them; guard.py watches for steps that the window cannot show; monitors.py carries what is
remembered besides. follow.py puts these together, outcome.py is the verdict, tell.py prints it.
"""
