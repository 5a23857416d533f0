"""The actions of a cluster with a KRaft controller: brokers register, are fenced, and read a log of metadata records.

In:  the state.
Out: guards, and the writes of a step.
May import: kafka.state.
"""
