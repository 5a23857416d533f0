"""The format of the log of a run: one line of NDJSON per event, with the observed values of the model's variables.

In:  the lines of a log, to read them; or events, to write them.
Out: events, and the values of the model's variables in them; or the lines of a log.
May import: models.
"""
