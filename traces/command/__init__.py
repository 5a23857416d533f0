"""The subcommands of `trace`, each in a module that is imported only when the subcommand is used.

In:  the arguments of the command line.
Out: text and files, and an exit code.
May import: every other subfolder of traces.
"""
