"""The command line of `check`: its options (table.py), its forms (forms.py), and how both are read (options.py).

In:  the command-line arguments.
Out: `Options`, or a UsageError with a message of one line.
May import: the requests of disk and Spark, resources, and isrcheck.commands.
"""
