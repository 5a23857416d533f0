"""Records runs of the executable cluster under random faults, and runs of its system of transactions.

In:  a plan: protocol, bounds, frequency of each event.
Out: a log of runs, or a recording of observations.
May import: cluster, replay, follow.format.
"""
