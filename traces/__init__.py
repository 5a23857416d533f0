"""The evidence: one trace format, certified by re-running it in plain Python, explained and shown.

certify.from_steps    a trace out of a path that an engine found, certified
folder.write, read    a trace to a file and back; nothing that is not certified passes
show.view             a trace as text: one line per step, then why the property fails and who did what
"""
