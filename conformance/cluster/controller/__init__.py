"""The controller: the ISR of record, the leader epoch, elections.

In:  requests of brokers, and faults.
Out: announcements to brokers.
May import: network, configuration.
"""
