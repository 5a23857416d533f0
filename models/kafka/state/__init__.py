"""The state of Kafka's replication, and the questions that actions and properties ask about it.

In:  nothing.
Out: fields with their domains, and helper functions: roles, readers, epochs, logs, commits.
May import: the language.
"""
