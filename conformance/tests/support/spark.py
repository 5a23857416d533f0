"""Spark for tests: a local session, and a standalone cluster of real processes on loopback, which tests can kill.

In:  a folder to work in.
Out: sessions and a `Cluster`; every started process is stopped at the end, even if a test fails.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark

from isrcheck.checker.spark.session import LOOPBACK, Session, SparkOptions, java_home, spark_session

SECONDS_TO_START = 60.0
EXECUTOR = "CoarseGrainedExecutorBackend"
SMALL_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""Options for a fast start of Java: the optimising compiler does not pay off in such short runs."""

QUICK = {
    "spark.driver.extraJavaOptions": SMALL_JAVA,
    "spark.executor.extraJavaOptions": SMALL_JAVA,
    # A killed executor never answers again; the default is to try three times, five seconds apart.
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "200ms",
}
"""Settings of a session on the cluster that only save time."""

EXECUTOR_MEMORY = 512 << 20
"""The memory of an executor in bytes: little more than the minimum that Spark accepts."""


def silent(message: str) -> None:
    """Discard an announcement."""


@contextlib.contextmanager
def local_session(folder: Path, **options: Any) -> Iterator[Session]:
    """A session on two threads of this machine."""
    conf = (("spark.sql.shuffle.partitions", "2"), ("spark.driver.extraJavaOptions", SMALL_JAVA))
    given = {"master": "local[2]", "conf": conf, "fault_dir": folder} | options
    with spark_session(SparkOptions(**given), silent) as session:
        yield session


def free_port() -> int:
    """A free TCP port."""
    with socket.socket() as one:
        one.bind((LOOPBACK, 0))
        port: int = one.getsockname()[1]
        return port


@dataclass
class Cluster:
    """A standalone master and its workers, each process in its own process group."""

    folder: Path
    workers: tuple[str, ...] = ("worker-0", "worker-1")
    port: int = field(default_factory=free_port)
    web_port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def master(self) -> str:
        """The URL of the master for sessions."""
        return f"spark://{LOOPBACK}:{self.port}"

    def start_master(self) -> None:
        """Start the master."""
        words = ["--host", LOOPBACK, "--port", str(self.port), "--webui-port", str(self.web_port)]
        self._start("master", "org.apache.spark.deploy.master.Master", words)

    def start_worker(self, name: str) -> None:
        """Start a worker of one core."""
        words = ["--host", LOOPBACK, "--webui-port", "0", "--cores", "1", "--memory", "1g"]
        words += ["--work-dir", str(self.folder / f"work-{name}"), self.master]
        self._start(name, "org.apache.spark.deploy.worker.Worker", words)

    def start_missing_workers(self) -> None:
        """Start the workers that were killed, and wait until all are registered."""
        for name in self.workers:
            if name not in self.processes:
                self.start_worker(name)
        self.await_workers(len(self.workers))

    def _start(self, name: str, main: str, words: list[str]) -> None:
        environment = os.environ | {
            "JAVA_HOME": str(java_home(Path(tempfile.mkdtemp(dir=self.folder)))),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": SMALL_JAVA,
        }
        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [program, main, *words],
                cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def told(self) -> dict[str, object]:
        """The status that the master reports; empty while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{LOOPBACK}:{self.web_port}/json/", timeout=5) as answer:
                content: dict[str, object] = json.load(answer)
                return content
        except (OSError, ValueError):
            return {}

    def await_workers(self, count: int) -> None:
        """Wait until the master lists this number of workers."""
        end = time.monotonic() + SECONDS_TO_START
        while self.told().get("aliveworkers") != count:
            assert time.monotonic() < end, (self.told(), self.logs())
            time.sleep(0.1)

    def executors(self, worker: str) -> list[int]:
        """The executor processes of a worker."""
        return [pid for pid in children(self.processes[worker].pid) if EXECUTOR in command_line(pid)]

    def kill_executor(self, worker: str) -> None:
        """Kill one executor; its worker starts a new one."""
        os.kill(self.executors(worker)[0], signal.SIGKILL)

    def kill_worker(self, worker: str) -> None:
        """Kill a worker and its executors."""
        process = self.processes.pop(worker)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its own group: what it started belongs to it
        process.wait()

    def stop(self) -> None:
        """Stop all started processes."""
        for name in list(self.processes):
            self.kill_worker(name)

    def logs(self) -> str:
        """The output of the processes."""
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))


@contextlib.contextmanager
def standalone_cluster(folder: Path) -> Iterator[Cluster]:
    """A master and its workers; at the end, the processes are stopped and their files removed."""
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(folder)
    try:
        cluster.start_master()
        cluster.start_missing_workers()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def cluster_session(cluster: Cluster, fault_dir: Path, patience: float = 60.0) -> Iterator[Session]:
    """A session on such a cluster."""
    options = SparkOptions(
        master=cluster.master,
        conf=tuple(QUICK.items()),
        executor_memory=EXECUTOR_MEMORY,
        fault_dir=fault_dir,
        patience=patience,
    )
    with spark_session(options, silent) as session:
        yield session


def children(parent: int) -> list[int]:
    """The child processes of a process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name of the program, in brackets, may hold anything; the parent stands two words behind it.
            if int(path.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(path.parent.name))
    return found


def command_line(pid: int) -> str:
    """The command line of a process; empty if it does not exist."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
