"""Following: a recorded run, of the executable cluster or of a real Kafka, has to be a behaviour of the model.

In:  a recording: events (events.py), or observations (observations/).
Out: that it is one (for observations: the shortest), or the line from which on there is none.

command.py is what a person types. follow.py decides about a log of events, with reading.py before it, possible.py
inside and outcome.py after it; record.py makes logs of random runs of the cluster, by a plan (plan.py).

Of many logs (logs.py), each has a verdict in a line (verdicts.py, whatever it holds); many.py reports them, and follows
them here, or has on_spark.py do it.
"""
