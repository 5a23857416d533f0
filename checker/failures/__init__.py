"""`check failures`: searches each failure of the library of known failures with its mistake, and with each change that
ends the failure."""
