"""Replay: a trace of the model, step by step, on the executable cluster; after each step the two have to agree.

In:  a trace of `kafka` (traces/).
Out: where the cluster goes another way, if it does; what the replayed traces never touched.

driver.py takes the steps from outside, projection.py says what the model would call what is seen, compare.py compares.
"""
