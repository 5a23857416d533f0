"""Replay: a trace of the model, step by step, on the executable cluster; after each step the two have to agree.

In:  a trace of `kafka` (traces/).
Out: where the cluster goes another way, if it does; what the replayed traces never touched.

command.py is what a person types; driver.py takes the steps from outside, timing.py says when time has to pass;
projection.py says what the model would call what is seen, compare.py compares. walks.py makes random traces,
coverage.py notes what they touch, and system.py is what a driver of one's own has to be.
"""
