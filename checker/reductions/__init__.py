"""Searches of fewer states with the same verdicts.

In:  an instance.
Out: a `Reduction`, which tells the kernel what to do with each successor (checker/compile).
May import: no other room of the checker.
"""
