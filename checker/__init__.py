"""The model checker: its engines, its reports, and the command `check`."""
