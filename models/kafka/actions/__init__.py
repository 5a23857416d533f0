"""The actions of Kafka's replication: each is a step of a broker, the controller or a client, or a fault.

In:  the state.
Out: guards, and the writes of a step.
May import: kafka.state.
"""
