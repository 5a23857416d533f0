"""The executable cluster on the network: Kafka's wire protocol, for real clients.

In:  a cluster (`conformance.cluster`); connections of clients on one port per broker.
Out: responses to clients; one line per event for the person who runs it.
May import: everything below `conformance`, and `kio` (the extra `wire`).
"""
