"""The history of a cluster, as its metadata log and the text logs of its processes record it: `conform metadata`.

In:  segments and snapshots of `__cluster_metadata-0`, recordings of the wire, and text logs such as server.log.
Out: for each partition, every state of leader, ISR, ELR and epochs, as a table, a page, JSON, or observations.
May import: conformance/kafka_format, the reader of NDJSON, the pages of traces, and what all commands share.

The replay of a record follows Kafka's own replay; nothing here decides whether a history is right.
"""
