"""Kafka's own formats: record batches, as they are on the wire and on a disk, and the other files of a log folder.

In:  bytes, and files that a stopped Kafka has left.
Out: values; or an error that names the byte and, if the bytes come from a file, the file.
May import: the reader of bytes of checker/cluster/live, and nothing else of isrcheck.

Each file is read by itself: no function here compares it with another broker's file, or checks a property.
"""
