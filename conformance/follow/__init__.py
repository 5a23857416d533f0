"""Following: checks that a recorded run, of the executable cluster or of a real Kafka, is a behaviour of the model.

In:  a recording: events (format/events.py), or observations (observations/).
Out: that it is a behaviour (for observations: the shortest path that explains it), or the line that no path explains.

command.py is the command line. runs/ follows a log of events, and recorder/ writes logs of random runs of the cluster.
For many logs (logs.py), each gets a one-line verdict (verdicts.py); many.py reports them, and follows them in this
process or through on_spark.py.
"""
