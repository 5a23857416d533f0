"""Kafka's replication of one partition, in several generations: generations.py has its `MODEL`.

Whoever needs only the values of its switches, or the library of known failures, does without that module.
"""
