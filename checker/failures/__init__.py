"""`check failures`: the library of known failures, each searched with its mistake and with what ends it."""
