"""Answers for a cluster, from Kafka's own configuration files.

In:  property files, and the output of kafka-topics and kafka-configs.
Out: the searches for the cluster, and the answer that follows from them.
May import: session and everything below it.
"""
