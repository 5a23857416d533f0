"""Follows observations of a real Kafka: single states, with any number of unrecorded steps between them.

In:  a recording: one JSON object per line, an observation or a fault of a broker.
Out: a shortest path of the model that explains the recording, or the line that no path passes.

A path passes a line when it has reached a state in which the line is true. reading.py reads one line (lines.py),
recording.py a whole recording. script.py says which steps may occur before each line, rules.py which of them in a given
state. claims.py computes whether a line is true in a state, sightings.py handles observed checkpoints, and monitor.py
holds what has to be remembered of a path besides its last state. search.py explores all possibilities, explain.py
derives the outcome, tell.py prints it.
"""
