"""The options of `check` and `conform` for Spark.

In:  the parsed command line. Out: a `SparkRequest`. This module does not import Spark.
"""

from __future__ import annotations

import argparse

from isrcheck.checker.command.option import Option
from isrcheck.checker.command.option_values import depth
from isrcheck.checker.spark.request import ENGINE, SparkOptions, SparkRequest
from isrcheck.checker.spark.summary import Mode
from isrcheck.models.messages import UsageError

GROUP = f"with --engine {ENGINE}"


def _entry(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise UsageError(f"{option} {text}: write it as --spark-conf spark.executor.memory=4g")
    return name, value


SESSION_OPTIONS = (
    Option(name="--master", metavar="URL", help="Spark's master (default: spark-submit's, or local[*])", group=GROUP),
    Option(
        name="--spark-conf",
        metavar="KEY=VALUE",
        help="a setting of Spark, such as spark.executor.memory=4g",
        read=_entry,
        is_repeated=True,
        group=GROUP,
    ),
)
"""The options of the Spark session, for every command that has `--engine spark`."""

SEARCH_OPTIONS = (
    Option(
        name="--spark-mode",
        choices=tuple(mode.value for mode in Mode),
        help="parts: divide the states at one depth, search each part separately (default); search: one joint search",
        group=GROUP,
    ),
    Option(
        name="--split-depth",
        metavar="D",
        help="parts: divide the states at this depth (default: the first depth with enough states)",
        read=depth,
        group=GROUP,
    ),
    *SESSION_OPTIONS,
    Option(
        name="--checkpoint",
        metavar="DIR",
        help="search: save every level to DIR; the same command resumes an interrupted search",
        group=GROUP,
    ),
)
"""The options of `check --engine spark`."""


def require_engine(known: argparse.Namespace, options: tuple[Option, ...]) -> None:
    """Raise UsageError if one of the options is given without `--engine spark`."""
    for option in options:
        if option.is_given(known) and known.engine != ENGINE:
            raise UsageError(f"{option.name} goes with --engine {ENGINE}; add that, or leave {option.name} out")


def read_session_options(known: argparse.Namespace) -> SparkOptions:
    """Read the options of the Spark session. Raises UsageError, also if one is given without `--engine spark`."""
    require_engine(known, SESSION_OPTIONS)
    master, conf = SESSION_OPTIONS
    return SparkOptions(master.value(known), conf.value(known))


def read_spark_options(known: argparse.Namespace) -> SparkRequest:
    """Read the options of a search on Spark. Raises UsageError, also if one is given without `--engine spark`."""
    require_engine(known, SEARCH_OPTIONS)
    if known.engine == ENGINE and known.threads is not None:
        raise UsageError(
            f"--threads does not go with --engine {ENGINE}, which uses Spark's cores; leave out one of them"
        )
    values = {option.field: option.value(known) for option in SEARCH_OPTIONS}
    mode = Mode(values["spark_mode"] or Mode.PARTS)
    if values["split_depth"] is not None and mode is not Mode.PARTS:
        raise UsageError("--split-depth does not go with --spark-mode search; leave out one of them")
    if values["checkpoint"] is not None and mode is not Mode.SEARCH:
        raise UsageError("--checkpoint goes with --spark-mode search; add that, or leave --checkpoint out")
    session = SparkOptions(values["master"], values["spark_conf"])
    return SparkRequest(mode, values["split_depth"], session, values["checkpoint"])
