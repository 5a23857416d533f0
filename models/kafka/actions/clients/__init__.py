"""The actions of clients: producers, with and without idempotence, and transactions.

In:  the state.
Out: guards, and the writes of a step.
May import: kafka.state.
"""
