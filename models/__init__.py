"""The models: state, actions, properties, protocol switches and configuration.

Everything here runs in plain CPython and uses only the standard library. `models/run.py` defines the meaning of a
model; every engine must agree with it.
"""
