"""Kafka's settings as its files give them: keys, releases, roles and values.

In:  property files.
Out: each given setting with its role, value and place.
May import: resources.
"""
