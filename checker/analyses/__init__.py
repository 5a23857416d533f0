"""Analyses that take many searches: the matrix, the published models, and mutation testing.

In:  models, and a session that searches them.
Out: tables of verdicts for a person, objects for `--json`, and exit codes.
May import: session and everything below it.
"""
