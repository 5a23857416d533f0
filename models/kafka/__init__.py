"""Kafka's replication of one partition, in several generations; generations.py assembles the model on import (`MODEL`).

The values of the switches, and the library of known failures, can be imported without generations.py.
"""
