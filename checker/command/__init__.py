"""The command line of `check`: its options, its forms, and the console.

In:  the command-line arguments.
Out: `Options`, or a UsageError with a message of one line.
May import: cluster, analyses, tables, session and everything below them.
"""
