"""The listeners of the brokers: ports and connections.

In:  connections; frames.
Out: responses.
"""
