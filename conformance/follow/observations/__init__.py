"""Following what was seen of a real Kafka: single moments, with any number of unrecorded steps between them.

In:  a recording: one JSON object a line, each says what was seen, or what befell a broker.
Out: the shortest history of the model that explains the recording, or the line from which on there is none.

reading.py reads one line (lines.py), recording.py the whole. script.py says which steps may happen before each line,
rules.py which of them in this state; claims.py what a line asks of a state, and sightings.py of the checkpoints that
were seen; monitor.py remembers what a state does not. search.py goes through all possibilities, explain.py makes the
answer of it, tell.py prints that for a person.
"""
