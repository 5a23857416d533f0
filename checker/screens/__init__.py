"""What `check` prints for a person: one screen for the matrix, and one for a model; the tables with `--details`.

In:  the results of searches.
Out: lines of text, fitted to a width.
May import: analyses, session and everything below them, and traces.
"""
