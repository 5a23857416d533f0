"""An executable, deterministic cluster for one partition: `isrcheck.conformance.cluster.cluster.Cluster`.

This is a second implementation, independent of the formal models: it shares no code with them.
"""
