"""The built-in forms of `check`: the matrix, the published models, one model, its mutants, a cluster.

In:  `Options`, and a session.
Out: a `CommandResult` from the module of the selected form; checker/command/forms.py declares the forms.
May import: command and everything below it.
"""
