"""Records runs of the executable cluster under random faults.

In:  a plan: protocol, bounds, the frequency of each fault.
Out: the log of a run.
May import: cluster, replay, follow.format.
"""
