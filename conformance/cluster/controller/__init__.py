"""The controller: the leader, its epoch, the ISR, elections.

In:  requests of brokers, and faults.
Out: announcements to brokers.
May import: network, configuration.
"""
