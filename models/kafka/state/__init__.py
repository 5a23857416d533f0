"""The state of Kafka's replication, and the predicates and updates that actions and properties share.

In:  nothing.
Out: fields with their domains, and helper functions: roles, readers, epochs, logs, commits.
May import: the language.
"""
