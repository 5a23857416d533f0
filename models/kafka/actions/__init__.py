"""The actions of Kafka's replication: each is a step of a broker, the controller or a client, or a fault.

May import: kafka.state.
"""
