"""Kafka's transactions: a coordinator, a producer's instances, and the partitions that they write to.

generations.py has the `MODEL`. Code that needs only the values of switches and fields imports values.py instead.
"""
