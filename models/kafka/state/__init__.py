"""The state of Kafka's replication, and the predicates and updates that actions and properties share.

In:  nothing.
Out: fields with their domains, and helper functions for roles, readers, epochs, logs and commits.
May import: the modelling language.
"""
