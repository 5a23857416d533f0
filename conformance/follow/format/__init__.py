"""The log of a run: events as lines of NDJSON, and the variables in them.

In:  lines of text.
Out: events, and values of a model's variables.
May import: models.
"""
