"""Analyses that need many searches: the matrix, the published models, and mutation testing.

In:  models, and a session that searches them.
Out: tables of verdicts as text, objects for `--json`, and exit codes.
May import: session and everything below it.
"""
