"""Questions that take many searches: the matrix, the published models, and mutation.

In:  models, and the session that searches them.
Out: tables of verdicts for a person, objects for `--json`, and exit codes.
May import: session and everything below it.
"""
