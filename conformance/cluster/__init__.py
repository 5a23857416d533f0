"""One partition's replication, executable, deterministic, by messages: `isrcheck.conformance.cluster.cluster.Cluster`.

The second implementation, against which the formal models are held. It shares no code with them.
"""
