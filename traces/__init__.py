"""The evidence: one trace format, certified by re-running it in plain Python, explained and shown.

certify.from_steps    a trace out of a path that an engine found, certified
folder.write, read    a trace to a file and back; nothing that is not certified passes
show.view             a trace as text: one line per step, then why the property fails and who did what
compose.scene_of      a trace as lanes, messages and fates, before anybody draws it
page.page             that as a page; pages.write as any form that a person wants
diff, cone, cause     where two traces part; what a failure does not need; what tells one failure from another
walk.Walk             a walk through a model, step by step, to be saved as a trace
foreign.find          the traces of other tools
"""
