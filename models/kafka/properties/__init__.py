"""What Kafka promises, and the lemmas that prove it.

In:  states and steps.
Out: whether a promise or a lemma is kept.
May import: kafka.actions, kafka.state.
"""
