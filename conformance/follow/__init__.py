"""Following: checks whether a recorded run of the executable cluster or of a real Kafka is a behaviour of the model.

In:  a recording: the events of a run (format/events.py), what was observed of brokers and clients (recorded/lines.py),
     or network traffic (wire/).
Out: a verdict: followed, rejected at a line of the file, or undecided. With observations that were followed, search/
     also gives a path of the model that explains the observations.

follow_command.py is the command line. runs.py follows a log of events, and recorder/ writes logs of random runs of the
cluster. search/ follows recordings of observations; online/ follows long recordings of observations, in memory that
does not grow with the length of the recording; report/ prints the verdicts of both. many.py follows many logs, in this
process or on Spark (on_spark.py), and prints a one-line verdict for each log (verdicts.py).
"""
