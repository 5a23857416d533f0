"""A KRaft controller: it registers and fences brokers, elects leaders, and writes a log of metadata records.

In:  heartbeats, registrations, AlterPartition requests, requests of an administrator.
Out: metadata records, which brokers read at their own pace.
May import: network, configuration, and the names of elections from controller/controller.py.
"""
