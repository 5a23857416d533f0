"""The state of Kafka's replication: its fields, their values, the initial clusters, impossible configurations.

In:  nothing.
Out: fields with their domains. The helper functions on them are in kafka.state.clients and kafka.state.broker.
May import: the modelling language.
"""
