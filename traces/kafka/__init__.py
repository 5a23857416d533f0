"""Presents traces of Kafka's model: brokers, clients, messages, and the fate of each record.

In:  a trace of Kafka's model.
Out: lanes and a scene.
May import: lanes, format.
"""
