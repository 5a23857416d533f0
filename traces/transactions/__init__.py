"""Presents traces of the model of Kafka's transactions.

In:  a trace of the model `transactions`.
Out: lanes, a scene, and steps in plain words.
May import: lanes, format.
"""
