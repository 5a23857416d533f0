"""Runs the cluster in real time, and waits for its answers to clients.

In:  a cluster; requests of clients.
Out: the cluster's answers.
"""
