"""What a command may use, and what is kept between runs: time, memory, the cache.

In:  limits that a person gave; the machine.
Out: budgets that say when to stop; files of the cache, and the digest that names them.
May import: no other room of the checker.
"""
