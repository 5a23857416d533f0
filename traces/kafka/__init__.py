"""Presents traces of Kafka's model: brokers, clients, messages, and the fate of each record.

In:  a trace of Kafka's model.
Out: lanes, a scene, and steps in plain words.
May import: lanes, format.
"""
