"""Presents traces of the model of Kafka's transactions.

In:  a trace of that model.
Out: lanes.
May import: lanes, format.
"""
