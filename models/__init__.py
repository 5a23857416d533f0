"""The models: state, actions, properties, protocol switches, configuration.

Everything here runs in plain CPython with only the standard library. `models/run.py` defines the meaning of a model,
and every engine has to agree with it.
"""
