"""Following: checks whether a recorded run of the executable cluster or of a real Kafka is a behaviour of the model.

In:  a recording: the events of a run (format/events.py), what was observed of brokers and clients (recorded/lines.py),
     or network traffic (wire/).
Out: a verdict: followed (for observations: with a path of the model that explains them), rejected at a line of the
     file, or undecided.

follow_command.py is the command line. runs.py follows a log of events, and recorder/ writes logs of random runs of the
cluster. search/ explains recordings of observations, and online/ follows long ones, in memory that does not grow with
their length; report/ prints their verdicts. If there are many logs, many.py follows them in this process or on Spark
(on_spark.py), and prints a one-line verdict for each log (verdicts.py).
"""
