"""From Kafka's own configuration to an answer about that cluster.

In:  property files, and what kafka-topics and kafka-configs print.
Out: the searches that decide about the cluster, and the answer that they add up to.
May import: session and everything below it.
"""
