"""Following: checks whether a recorded run of the executable cluster or of a real Kafka is a behaviour of the model.

In:  a recording: events (format/events.py), or observations (recorded/lines.py), or a wire recording (wire/).
Out: a verdict: followed (observations: explained by a shortest path), rejected at a line of the file, or undecided.

follow_command.py is the command line. runs.py follows a log of events, and recorder/ writes logs of random runs of the
cluster. search/ explains recordings of observations, and online/ follows long ones, in memory that does not grow with
their length; report/ prints their verdicts. Each of many logs gets a one-line verdict (verdicts.py); many.py reports
them, and follows them in this process or through on_spark.py.
"""
