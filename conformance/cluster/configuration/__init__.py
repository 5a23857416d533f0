"""The configuration of a cluster: an operator's settings, the protocol's switches, seeded bugs.

In:  nothing.
Out: plain values.
May import: no other folder of the cluster.
"""
