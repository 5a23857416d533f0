"""What the protocols are: state, actions, properties, protocol switches, configuration.

Everything here runs in plain CPython with the standard library alone; `models/run.py` is the meaning of a model, and
every engine has to agree with it.
"""
