"""The subcommands of `trace`, each in a module that is imported when it was asked for.

In:  what was typed.
Out: text and files, and an exit code.
May import: every other room of traces.
"""
