"""`check sweep`: a safety table over configurations.

In:  a model, and the entries to vary with their values.
Out: a table of verdicts, its order, and the smallest configuration that fails; a file that takes the sweep up again.
May import: command and everything below it.
"""
