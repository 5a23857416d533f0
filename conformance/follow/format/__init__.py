"""The format of the log of a run: events as lines of NDJSON, and variables of the model in them.

In:  lines of text.
Out: events, and values of a model's variables.
May import: models.
"""
