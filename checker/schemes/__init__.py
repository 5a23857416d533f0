"""`check compare-schemes`: majorities and Kafka's ISR side by side, every figure searched.

In:  `Options`, and a session.
Out: a table of failures tolerated and of answers waited for.
May import: command and everything below it.
"""
