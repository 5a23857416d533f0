"""Audit: holds the log folders of stopped brokers against the invariants of replication.

In:  copies of the `log.dirs` of brokers; optionally, a list of acknowledged records.
Out: for each partition, what the brokers have and which invariant is broken, as text or JSON.

command.py is the command line. format/ reads files; folder.py finds the partitions; copy_log.py reads one copy of a
partition. own_checks.py holds a copy against its own checkpoints, matching.py compares the copies offset by offset,
committed.py and acked.py ask for committed and acknowledged records. findings.py is what they have in common; tell.py
and as_json.py tell it.
"""
