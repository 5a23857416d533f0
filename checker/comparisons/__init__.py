"""Searches that are compared with a record: the matrix, published figures, small models, schemes of replication.

In:  `Options`, a session, and the recorded results.
Out: a `CommandResult`.
May import: command and everything below it.
"""
