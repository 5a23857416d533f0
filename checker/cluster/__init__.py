"""The settings of a Kafka cluster, whichever files give them.

In:  property files, and what the formats (checker/cluster/formats) have read into `Contents`.
Out: a `Cluster` for each distinct configuration of a topic: the values in effect, their sources, the generation.
May import: models.
"""
