"""Messages between brokers, the controller and clients, the records in them, and virtual time.

In:  messages to send.
Out: messages in flight, which the driver delivers or drops.
May import: configuration.
"""
