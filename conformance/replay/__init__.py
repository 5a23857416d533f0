"""Replay: executes a trace of a model on the cluster, and compares the cluster with the model after each step.

In:  a trace of `kafka`, `transactions` or `coordinator` (traces/).
Out: the first difference, if any; the actions and lines of code that no replayed trace exercised.

replay_command.py is the command line. on_cluster.py chooses the driver for the model of a trace. For `kafka`, driver.py
executes the steps (steps.py), timing.py and kraft_timing.py compute when time has to pass and how far brokers have to
read the metadata log, and projection.py computes the model's variables from a cluster; transactions/ and coordinator.py
do all this for the other models. compare.py compares states, walks.py makes random traces, coverage.py records which
actions and lines the traces exercise, and system.py is the interface for a driver that a user writes.
"""
