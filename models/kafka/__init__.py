"""Kafka's replication of one partition, in several generations: generations.py has its `MODEL`.

Importing generations.py assembles the model; the values of the switches, and the library of known failures, can be
imported without it.
"""
