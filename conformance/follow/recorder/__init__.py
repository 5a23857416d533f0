"""Records runs of the executable cluster, and of the executable system of transactions, under random faults.

In:  a plan: protocol, bounds, frequency of each event.
Out: a log of runs, or a recording of observations.
May import: cluster, replay, follow.format.
"""
