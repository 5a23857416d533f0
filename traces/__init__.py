"""Traces: one file format, certification by taking all steps again in plain Python, explanations, and pictures.

certify.from_steps     certifies the path that an engine found, and returns it as a trace
files.write, read      write and read trace files; only certified traces pass
show.view              prints a trace: one line per step, why the property fails, and which steps caused it
presentation.headline  says in one sentence what goes wrong and how; step_in_words describes a step in words
scene.scene_of         turns a trace into lanes, messages and the fates of records, ready to be drawn
page.page              makes an HTML page of a trace; drawing.files.write writes every form of `trace page`
diff, slicing, cause   compare two traces; find the steps that a failure needs; tell whether two failures are the same
walk.Walk              a walk through a model, step by step, which can be saved as a trace
foreign.find           reads the traces of other tools
"""
