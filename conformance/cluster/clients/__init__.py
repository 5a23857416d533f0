"""All clients of the brokers: producers, consumers, the transaction coordinator.

In:  the driver's requests, and the brokers' responses.
Out: requests to brokers; the outcomes of these requests, as far as the clients know them.
May import: network, configuration.
"""
