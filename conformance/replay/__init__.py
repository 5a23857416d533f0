"""Replay: executes a trace of a model on the cluster, and compares the cluster with the model after each step.

In:  a trace of `kafka`, `transactions` or `coordinator` (traces/).
Out: the first difference, if any; the actions and lines of code that no replayed trace exercised.

replay_command.py is the command line. on_cluster.py chooses the driver for the model of a trace. For `kafka`, driver.py
executes the steps (steps.py), timing.py and kraft_timing.py compute when time has to pass and what brokers have to
read, and projection.py gives the model's view of a cluster; transactions/ and coordinator.py do the same for the other
models. compare.py compares, walks.py makes random traces, coverage.py records what they exercise, and system.py is the
interface of a user's own driver.
"""
