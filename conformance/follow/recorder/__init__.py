"""Records runs of the executable cluster under random faults.

In:  a plan: protocol, bounds, frequency of each event.
Out: a log of runs.
May import: cluster, replay, follow.format.
"""
