"""Converts recordings of Kafka's network traffic to observations of one partition.

In:  a recording: wire.ndjson, one request, response or fault per line; observations.ndjson and the folders broker<i>/
     beside it.
Out: the objects of a recording of observations (recorded/), each with the line of wire.ndjson that shows it.

messages.py reads the lines, survey.py finds out what they are about, and where the recording ends. exchanges.py and
controller.py hold what the traffic has shown of requests, logs, leader and ISR; traffic.py converts line by line.
beside.py reads the files beside the recording. convert.py combines these parts; convert_command.py is the command line.
"""
