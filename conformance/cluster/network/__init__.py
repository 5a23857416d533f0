"""Messages between brokers, the controller and clients, the records in them, and virtual time.

In:  messages to send.
Out: messages in flight, which somebody delivers or drops.
May import: configuration.
"""
