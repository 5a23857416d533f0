"""Plays a trace of the model `kafka` on the cluster, step by step, with real clients.

In:  a trace.
Out: the results that the clients got and the records that they read, and whether both agree with the trace.
"""
