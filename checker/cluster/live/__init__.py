"""A running cluster: its state and settings, read through Kafka's protocol into a `Snapshot`, and kept as a file.

In:  addresses of brokers, and a client's property file with its settings for TLS and SASL; or a saved file.
Out: a `Snapshot` (snapshot.py); `known.py` turns it into the `Contents` from which the doctor answers.

One small client asks everything, with kio's schemas, Python's TLS, and SASL in a few lines. librdkafka's client lacks
eligible leader replicas, features, the quorum and reassignments: it would need the small client beside it, with the
same TLS and SASL once more.
"""
