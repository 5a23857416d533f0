"""Replication by majority: Raft (`raft`) and Kafka's own dialect of it, KRaft (`kraft`).

variants.py has the `MODEL`; liveness.py has the liveness properties, and schemes.py a smaller model of one write, which
compares majorities with Kafka's ISR.
"""
