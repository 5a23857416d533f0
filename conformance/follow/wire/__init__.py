"""Converts recordings of Kafka's network traffic to observations of one partition.

In:  a recording: wire.ndjson, one request, response or fault per line, and the folders broker<i>/ beside it.
Out: the objects of a recording of observations (observations/), each with the line of wire.ndjson that shows it.

lines/ reads the lines, first_pass/ finds out what they are about, and where the recording ends. sessions.py completes
fetches by what their fetch sessions leave out. known_logs.py and controller.py hold what the traffic has shown of the
logs and of leader and ISR, reassigned.py the requests of operators; disks.py reads the folders; unused.py counts what
gives no observation. convert.py puts all of it together, command.py is the command line.
"""
