"""`check failures`: the library of known failures, each failure is searched with its mistake, and with each change that
ends it."""
