"""The forms of `check` that are always there: the matrix, the published models, one model, its mutants, a cluster.

In:  the options that were read, and a session.
Out: a `CommandResult` from the module of the form that was asked for; table.py declares the forms.
May import: command and everything below it.
"""
