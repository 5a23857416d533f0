"""Following: a recorded run, of the executable cluster or of a real Kafka, has to be a behaviour of the model.

In:  a recording: events (events.py), or observations (observations.py).
Out: a history of the model that it is, or the line from which on there is none.
"""
