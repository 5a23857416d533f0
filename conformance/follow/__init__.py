"""Following: checks whether a recorded run of the executable cluster or of a real Kafka is a behaviour of the model.

In:  a recording: events (format/events.py), or observations (observations/).
Out: a verdict: followed (observations: explained by a shortest path), rejected at a line of the file, or undecided.

command.py is the command line. runs/ follows a log of events, and recorder/ writes logs of random runs of the cluster.
online/ follows long recordings of observations, in memory that does not grow with their length.
For many logs (logs.py), each gets a one-line verdict (verdicts.py); many.py reports them, and follows them in this
process or through on_spark.py.
"""
