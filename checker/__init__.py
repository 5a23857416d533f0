"""Does it hold: the engines, their report, and the command `check`."""
