"""Kafka's transactions: a coordinator, a producer's instances, and the partitions that they write to.

generations.py has the `MODEL`: whoever needs only the values of its switches does without it.
"""
