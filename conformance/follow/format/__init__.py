"""The format of the log of a run: events as lines of NDJSON, and variables of the model in them.

In:  lines of text; events.
Out: events, values of a model's variables; lines of text.
May import: models.
"""
