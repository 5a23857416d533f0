"""An executable, deterministic cluster for one partition (`isrcheck.conformance.cluster.cluster.Cluster`), and a system
of transactions over several partitions (`isrcheck.conformance.cluster.transactions.system.TransactionalCluster`).

This is a second implementation, independent of the formal models: it shares no code with them. Docstrings name their
sources: Kafka's classes, KIPs, and sections of the fact sheet on Kafka, which is kept outside this repository.
"""
