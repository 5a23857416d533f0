"""Kafka's replication of one partition, in several generations: generations.py has its `MODEL`.

Code that needs only the values of the model's switches, or the library of known failures, does not import
generations.py.
"""
