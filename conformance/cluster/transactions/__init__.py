"""Transactions: the coordinator with its log and markers; and a separate system with partitions, producers, a network.

In:  requests of transactional producers and of partitions' leaders; a driver's operations.
Out: decisions, markers.
May import: network, log, configuration.

The coordinator serves the clients of `Cluster`, too (clients/transactions.py). `TransactionalCluster` (system.py) is
the separate system, in which one log stands for all replicas of a partition.
"""
