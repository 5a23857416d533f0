"""Replay of the generations with KRaft: their timing, their steps, and what is observed of them.

In:  a trace of `kafka`; a cluster with a KRaft controller.
Out: for the driver, when brokers read the metadata log, and the order of the assigned replicas.
May import: the cluster's public interface; the model; the errors of replay.
"""
