"""Replay: takes a trace of the model, step by step, on the executable cluster, and compares the two after each step.

In:  a trace of `kafka` (traces/).
Out: the first difference, if there is one; what the replayed traces never exercised.

command.py is the command line. driver.py takes the steps from outside, and timing.py says when time has to pass.
projection.py gives the model's view of a cluster, and compare.py compares. walks.py makes random traces, coverage.py
records what they exercise, and system.py is the interface of a user's own driver.
"""
