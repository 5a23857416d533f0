"""A proxy in front of the brokers of a real Kafka, which records the messages, and holds those that a script names.

In:  connections of clients and brokers, on one port for each node; a script of holds and delays.
Out: the same bytes on the other side; one line of wire.ndjson for each request and response.
"""
