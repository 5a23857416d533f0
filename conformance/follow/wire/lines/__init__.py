"""The lines of a wire recording: requests, responses, faults and remarks, one at a time.

In:  a file of lines, as a proxy between brokers and clients writes them.
Out: a `Message` or a `Happening` for each line (messages.py). notes.py finds faults in remarks.
"""
