"""The formats of the files that describe a cluster: each is recognised by its content, and read into `Contents`.

In:  the text of a file, and the role that the command line gives it.
Out: the settings, topics, partitions and racks of `contents.Contents`, with remarks on what could not be known.
May import: models.
"""
