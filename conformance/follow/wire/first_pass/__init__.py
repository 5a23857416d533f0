"""The first pass over a wire recording: its partition and settings, where it ends, and elections that nobody asks for.

In:  the lines of a recording, and those of observations.ndjson beside it.
Out: a `Survey` (survey.py), with what ending.py and elections.py have found.
"""
