"""Limits on the time and memory of a command, and the cache: files that are kept between runs.

In:  the limits that the user gave; the machine.
Out: budgets that say when to stop; cache files, and the digest of the checker for their names.
May import: no other package of the checker.
"""
