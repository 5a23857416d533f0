"""What brokers know of clients: which records readers have seen, and which requests of a producer they recognise.

In:  the state.
Out: helper functions for last stable offsets, exposed records, sequence numbers and remembered batches.
May import: kafka.state.
"""
