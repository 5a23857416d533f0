"""All clients of the brokers: producers, consumers, the transaction coordinator.

In:  the driver's requests, and the brokers' responses.
Out: requests, and the outcomes that the clients know.
May import: network, configuration.
"""
