"""Audit: checks whether the log folders of stopped brokers satisfy the invariants of replication.

In:  copies of the `log.dirs` of brokers; optionally, a list of acknowledged records.
Out: for each partition, what the brokers have and which invariants are broken, as text or JSON; if asked, what each
     copy would lose as the leader.

audit_command.py is the command line. copies.py finds the copies of a partition and reads their logs. own_checks.py
compares a copy with its own checkpoints, comparison.py compares the copies offset by offset, acknowledged.py looks for
acknowledged records. candidates.py ranks the copies as leaders after an unclean election, and advice.py formats the
ranking. findings.py defines the findings of the checks and their grades; report.py audits a partition and formats the
report.
"""
