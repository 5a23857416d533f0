"""Comparisons with a record: the matrix, published figures, small models, schemes of replication, known failures.

In:  `Options`, a session, and what is recorded.
Out: a `CommandResult`.
May import: command and everything below it.
"""
