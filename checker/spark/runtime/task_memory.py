"""What one task may use of the machine that it runs on.

In:  a session, the memory that a machine has for states. Out: bytes for each task.
"""

from __future__ import annotations

from isrcheck.checker.spark.runtime.session import Session


def task_memory(session: Session, memory: int) -> int:
    """Bytes for each of the tasks that run at the same time on one machine; `memory` is what there is on one."""
    if session.is_local:
        return memory // session.context.defaultParallelism
    conf = session.context.getConf()
    return memory // max(1, int(conf.get("spark.executor.cores", "1")) // int(conf.get("spark.task.cpus", "1")))
