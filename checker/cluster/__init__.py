"""The settings of a Kafka cluster, as its property files and the output of Kafka's tools give them.

In:  property files, and the output of kafka-topics, kafka-configs and kafka-features.
Out: a `Cluster` for each distinct configuration of a topic: the values in effect, their sources, the generation.
May import: models.
"""
