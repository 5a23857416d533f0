"""The cluster in real time, and the waiting for its answers.

In:  a cluster; requests of clients.
Out: the cluster's answers.
"""
