"""Kafka's promises, and the lemmas that prove them.

In:  states and steps.
Out: whether a promise or a lemma holds.
May import: kafka.actions, kafka.state.
"""
