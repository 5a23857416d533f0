"""The files of a broker's log folder: record batches, checkpoints, and snapshots of producer state.

In:  files that a stopped Kafka has left. Out: values; or a FileError that names the file and the byte.

Nothing here knows of other brokers, or judges what it reads.
"""
