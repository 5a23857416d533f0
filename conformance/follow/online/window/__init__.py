"""The window of the model that is followed online: where it is, and how it moves.

In:  lines of the recording; the states after a line.
Out: the lines in terms of the window; the states after a move.

position.py says where the window is, and rewrites lines. table.py holds states by variable, stale.py simplifies them,
settled.py finds the records that are settled, and moving.py moves the states behind them.
"""
