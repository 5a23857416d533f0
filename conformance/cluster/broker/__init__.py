"""One broker: its partition, its fetchers, and the requests that it answers.

In:  messages, timers and faults.
Out: messages, and a log that changes.
May import: log, controller, network, configuration.
"""
