"""The group coordinator: its state in memory, its records in `__consumer_offsets`, its answers.

In:  write operations of clients; leadership and high watermark of the partition; a driver's choice of events.
Out: records in the partition's log, answers.
May import: broker, controller, network, configuration, and cluster.py.

`CoordinatedCluster` (system.py) is a cluster whose partition is one of `__consumer_offsets`.
"""
