"""Everybody who talks to brokers from outside: producers, consumers, the transaction coordinator.

In:  what a driver asks them to do, and the brokers' answers.
Out: requests, and what they were told.
May import: network, configuration.
"""
