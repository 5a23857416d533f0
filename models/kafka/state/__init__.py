"""The state of Kafka's replication: its fields, their values, the initial clusters, impossible configurations; and the
helper functions on them.

May import: the modelling language.
"""
