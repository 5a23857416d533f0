"""Follows observations of a real Kafka: single states, with any number of unrecorded steps between them.

In:  a recording (recorded/): lines about observations and faults of brokers.
Out: a path of the model that explains the recording, or the line that no path passes.

A path passes a line when it has reached a state in which the line is true. size.py says how large the model has to be.
script.py says which steps may occur before each line, rules.py which of them in a given state. monitor.py holds what
has to be remembered of a path in addition to its last state, and the claims of all lines. search.py explores all
possibilities; pruning.py clears cells that are no longer read, and finds states that later lines contradict.
promises.py judges paths. explain.py derives the outcome, and follow/report prints it.
"""
