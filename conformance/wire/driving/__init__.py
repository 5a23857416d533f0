"""The cluster in time with the clock on the wall, and the waiting for its answers.

In:  a cluster; requests of clients.
Out: the cluster's answers.
"""
