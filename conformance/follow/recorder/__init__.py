"""Records runs of the executable cluster under random faults; transactions/ those of its system of transactions.

In:  a plan: protocol, bounds, frequency of each event.
Out: a log of runs.
May import: cluster, replay, follow.format.
"""
