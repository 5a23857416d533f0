"""Turns the errors of Spark, Py4J and PySpark into one-line messages: what failed, where, and the cure.

An error becomes a UsageError if the set-up of Spark must be corrected, or a SparkLostError if Spark failed during the
search: then the results so far count, and the other verdicts are UNDECIDED. The message names a file with Java's text.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from isrcheck.commands.exit_codes import UndecidedError
from isrcheck.models import messages
from isrcheck.models.messages import UsageError

INTERPRETER = "PYSPARK_PYTHON"
SECONDS_TO_END = 2.0
"""How long to wait for the end of a Java process that has closed its connections."""

LONGEST_CAUSE = 300
"""The most characters of a cause that a message shows; the file has the full text."""

EMPTY_WORDS = ("WARNING:", "Picked up ", "Error: Could not create", "Error: A fatal exc", "Error occurred during init")
"""Lines of Java that begin with these words carry no information."""


class SparkLostError(UndecidedError):
    """Spark failed in a search: it lost memory, disk space, executors or its Java process. The exit code is 3."""


@dataclass
class Evidence:
    """What a Spark session stores for the explanation of an error: its log, its Java process, and its condition."""

    log: Path
    """The file with the output of Java and of a local master's workers."""

    folder: Path | None = None
    """The folder for files with the full text of errors; None: the folder for temporary files."""

    java: subprocess.Popen[bytes] | None = None
    is_up: bool = False
    lost: str | None = None
    """The reason why the session cancelled its jobs; None if it did not."""


RULES: Mapping[type[UsageError] | type[SparkLostError], Mapping[str, str]] = {
    UsageError: {
        r"PYTHON_VERSION_MISMATCH\D*?version: ([\d.]+) than that in driver: ([\d.]+)": (
            "the executors run Python {0}, and the driver runs Python {1}: give them the same version, "
            f"with {INTERPRETER} or a packaged environment"
        ),
        r"No module named '?(isrcheck\b)": (
            "the executors have no isrcheck: install it on their machines, or give them a packaged environment"
        ),
        r"No module named '?([\w.]+)": (
            "the executors have no package {0}: install it on their machines, or give them a packaged environment"
        ),
        r'Cannot run program "([^"]+)"': (
            f"the executors cannot start {{0}}: name a Python that they have, with {INTERPRETER}"
        ),
        r"All masters are unresponsive": (
            "the Spark master does not answer: name the address and the port at which it accepts applications"
        ),
        r"Could not parse Master URL: '?([^\s']+)|Master must (?:either be|start with)": (
            "Spark does not know this master: write --master as local[N], spark://HOST:PORT, yarn or k8s://..."
        ),
        r"HADOOP_CONF_DIR or YARN_CONF_DIR": (
            "--master yarn: Spark reads the settings of the cluster from HADOOP_CONF_DIR or YARN_CONF_DIR: set either"
        ),
    },
    SparkLostError: {
        r"No space left on device|Disk quota exceeded|Not enough space": (
            "the disk is full: free some space, or name a folder with more space for Spark's files"
        ),
        r"OutOfMemoryError|MemoryError|Container killed by YARN for exceeding|[Oo]ut of memory|OOMKilled": (
            "Spark ran out of memory: give its processes more memory, or divide the search into more parts"
        ),
        r"Python worker exited unexpectedly|Python worker process terminated": (
            "a Python worker ended during a task, most likely killed for lack of memory: give the worker more memory"
        ),
        r"ExecutorLostFailure \(executor \S+ [^)]*\)(?: Reason: ([^\n]*))?": (
            "a task was tried several times, and lost its executor each time ({0}): read the executor's log"
        ),
        r"FetchFailed|MetadataFetchFailed|Shuffle block .* not found": (
            "a stage was tried several times, and executors were lost with their shuffle files each time: read the"
            " executors' logs"
        ),
        (
            r"SparkContext was shut ?down|stopped SparkContext"
            r"|Application has been killed|Master removed our application"
        ): "Spark was stopped from outside during the job: run the command again",
    },
}
"""Known errors of Spark: for each exception to raise, patterns for the text of the error, each with the message. The
first pattern that matches gives the message; the groups of this regular expression replace {0}, {1}, ... in it."""


@contextlib.contextmanager
def explained(evidence: Evidence) -> Iterator[None]:
    """Turn errors of Spark in the block into a UsageError or a SparkLostError. Errors of isrcheck on an executor, and
    errors unrelated to Spark, are raised unchanged. Ctrl-C can make the connection to Java unusable; errors that follow
    from Ctrl-C are raised as KeyboardInterrupt."""
    try:
        yield
    except (UsageError, SparkLostError):
        raise
    except Exception as error:
        if not _is_of_spark(error, evidence):
            raise
        if _came_of_an_interrupt(error):
            raise KeyboardInterrupt from None
        raise explanation(error, evidence) from None


def _came_of_an_interrupt(error: BaseException | None) -> bool:
    """Whether an error was raised while a KeyboardInterrupt was being handled."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def explanation(error: Exception, evidence: Evidence) -> Exception:
    """Return the exception to raise in place of an error of Spark; its message is one line."""
    text, is_whole = _text_of(error)
    ours = _ours(text)
    if ours is not None:
        return ours
    try:
        log = evidence.log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        log = ""
    kept = _keep(f"{text}\n\nWhat Java printed:\n{log}", evidence.folder)
    # If Java does not start, only its log says why; later the log also contains errors that were recovered from.
    said = text if evidence.is_up else f"{log}\n{text}"
    if evidence.lost is not None:
        return SparkLostError(f"{evidence.lost}; {kept}")
    for kind, lines in RULES.items():
        for pattern, line in lines.items():
            if match := re.search(pattern, said):
                where = re.search(r"\(TID \d+\) \((\S+) executor (\w+)\)", text)
                host = f" (on {where.group(1)})" if where is not None and where.group(2) != "driver" else ""
                groups = (group.strip() if group else "no reason given" for group in match.groups())
                return kind(f"{line.format(*groups)}{host}; {kept}")
    if evidence.is_up and not is_whole and (evidence.java is None or _has_ended(evidence.java)):
        return SparkLostError(f"the Java process of Spark ended during the job{_how(evidence.java)}; {kept}")
    kind, event = (SparkLostError, "failed") if evidence.is_up else (UsageError, "does not start")
    return kind(f"Spark {event}: {innermost(said)}; {kept}")


def innermost(text: str) -> str:
    """Return the line that names the first cause in an error text of Java or Python, shortened to LONGEST_CAUSE."""
    raised = _last_raised(text)
    if raised is None:
        causes = re.findall(r"^(?:Caused by: |Exception in thread \S+ |: )([\w.$]+: \S.*)$", text, re.MULTILINE)
        complaints = (line for line in text.splitlines() if line.strip() and not line.startswith(EMPTY_WORDS))
        raised = causes[-1] if causes else next(complaints, "no reason given")
    return textwrap.shorten(re.sub(r"^(?:[\w$]+\.)+(?=[\w$]+: )", "", raised), LONGEST_CAUSE, placeholder=" ...")


def _last_raised(text: str) -> str | None:
    """Return the line with the exception after the last Python traceback in a text; None without a traceback."""
    before, mark, traceback = text.rpartition("Traceback (most recent call last):\n")
    if not mark:
        return None
    indent = len(before) - len(before.rstrip(" "))
    for line in traceback.splitlines():
        if line.strip() and not line.startswith(" " * (indent + 1)):
            return line.strip()
    return None


def _ours(text: str) -> Exception | None:
    """Return the exception of isrcheck (such as UsageError) that an executor raised, read from the end of the last
    traceback in `text`; None if that traceback ends with a different exception."""
    name, _, message = (_last_raised(text) or "").partition(": ")
    module, _, name = name.rpartition(".")
    kind = getattr(messages, name, None) if module == messages.__name__ else None
    kind = AssertionError if (module, name) == ("", "AssertionError") else kind
    return kind(message) if kind is not None else None


def _is_of_spark(error: Exception, evidence: Evidence) -> bool:
    """Whether an error comes from Spark, or from the connection to it."""
    if _packages(error) & {"pyspark", "py4j"}:
        return True
    # PySpark passes on errors of a lost connection to Java unchanged. A broken pipe belongs to our own output.
    is_cut = isinstance(error, ConnectionError | EOFError) and not isinstance(error, BrokenPipeError)
    return is_cut and (evidence.java is None or _has_ended(evidence.java))


def _text_of(error: Exception) -> tuple[str, bool]:
    """Return the full text of an error, and whether the text is complete: False if Java did not answer."""
    if isinstance(error, ConnectionError | EOFError):
        return f"{type(error).__name__}: {error}", False
    try:
        # Py4J attaches the Java exception; without one, Java itself did not answer.
        return str(error), "py4j" not in _packages(error) or hasattr(error, "java_exception")
    except Exception as gone:
        return f"{type(error).__name__}: {type(gone).__name__}: {gone}", False


def _packages(error: Exception) -> set[str]:
    return {kind.__module__.partition(".")[0] for kind in type(error).__mro__}


def _has_ended(java: subprocess.Popen[bytes] | None) -> bool:
    if java is None:
        return False
    with contextlib.suppress(subprocess.TimeoutExpired):
        java.wait(SECONDS_TO_END)
    return java.poll() is not None


def _how(java: subprocess.Popen[bytes] | None) -> str:
    """Return the exit code or the signal with which a Java process ended, as text; empty if the process still runs."""
    if java is None or not _has_ended(java):
        return ""
    return f" (killed by signal {-java.returncode})" if java.returncode < 0 else f" (exit code {java.returncode})"


def _keep(text: str, folder: Path | None) -> str:
    """Store the full text of an error in a file. Return the last words of the error's message: the file's name, or that
    the text could not be stored."""
    for place in dict.fromkeys((folder, None)):
        try:
            if place is not None:
                place.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", errors="replace",
                prefix="spark-fault-", suffix=".log", dir=place, delete=False,
            ) as file:  # fmt: skip
                file.write(text)
        except OSError:
            continue
        return f"full text: {file.name}"
    return "the full text could not be stored"
