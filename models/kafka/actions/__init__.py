"""The actions of Kafka's replication: each is one step that somebody takes.

In:  the state.
Out: guards, and what a step writes.
May import: kafka.state.
"""
