"""The memory that one task may use on its machine.

In:  a session, and the bytes for states on each machine.
Out: the bytes for each task.
"""

from __future__ import annotations

from isrcheck.checker.spark.runtime.session import Session


def task_memory(session: Session, memory: int) -> int:
    """The bytes for each of the concurrent tasks on one machine; `memory` is the total of the machine, in bytes."""
    if session.is_local:
        return memory // session.context.defaultParallelism
    conf = session.context.getConf()
    return memory // max(1, int(conf.get("spark.executor.cores", "1")) // int(conf.get("spark.task.cpus", "1")))
