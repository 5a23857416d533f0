"""The resources that a command may use, and what is stored between runs: time, memory, the cache.

In:  the limits that the user gave; the machine.
Out: budgets that say when to stop; cache files, and the digest that names them.
May import: no other room of the checker.
"""
