"""One broker: its partition, its fetchers, its requests.

In:  messages, timers and faults.
Out: messages, and a log that changes.
May import: log, controller, network, configuration.
"""
