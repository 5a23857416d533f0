"""A running cluster: its state and settings, read through Kafka's protocol into a `Snapshot`, and kept as a file.

In:  addresses of brokers, and a client's property file with its settings for TLS and SASL; or a saved file.
Out: a `Snapshot` (snapshot.py); `known.py` turns it into the `Contents` from which the doctor answers.
"""
