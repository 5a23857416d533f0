"""Do others agree: the executable cluster, the replay of traces on it, the following of logs, and every test."""
