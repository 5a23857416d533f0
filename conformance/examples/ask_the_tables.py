"""Three example queries on the tables of `check --tables DIR`, with pandas or with Spark SQL.

docs/sweeps_and_tables.md uses the tables that these commands write:

    check sweep --vary acks=0,1,all --vary min.insync.replicas=1,2 --vary unclean.leader.election.enable=false,true \
        --bound 8 --tables results
    check kafka --protocol 2.1 --bound 8 --engine spark --master 'local[2]' --split-depth 2 --tables results

Each of these commands prints the same answers:

    python conformance/examples/ask_the_tables.py results
    python conformance/examples/ask_the_tables.py results --spark

checker/tables.md describes the columns. Requires: pip install 'isrcheck[spark]'.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isrcheck.checker.spark.request import SparkOptions
from isrcheck.checker.spark.session import spark_session
from isrcheck.models.messages import UsageError

if TYPE_CHECKING:
    from pandas import DataFrame

TABLES = ("runs", "actions", "verdicts", "overlap")


@dataclass(frozen=True)
class Question:
    """A question: in words, as a pandas query (on data frames by table name), and as a Spark SQL query."""

    text: str
    of_pandas: Callable[[Mapping[str, DataFrame]], DataFrame]
    of_spark: str
    no_answer: str


# -------------------------------------------------------------------------------------- which action widens the space

WIDENING = """
SELECT action, sum(new) AS new, sum(fired) AS fired
FROM actions JOIN runs USING (run)
WHERE NOT parts_overlap                 -- parts count a step as often as they took it
GROUP BY action HAVING sum(new) > 0
ORDER BY new DESC, action LIMIT 5
"""


def widening(tables: Mapping[str, DataFrame]) -> DataFrame:
    """The five actions that reached the most new states."""
    runs = tables["runs"]
    once = runs[~runs["parts_overlap"]]["run"]
    actions = tables["actions"]
    sums = actions[actions["run"].isin(once)].groupby("action", as_index=False)[["new", "fired"]].sum()
    return sums[sums["new"] > 0].sort_values(["new", "action"], ascending=[False, True]).head(5)


# ------------------------------------------------------------------------------------------ which settings lose records

LOSING = """
WITH asked AS (SELECT run, verdict, depth FROM verdicts WHERE property = 'acked_not_lost'),
entries AS (SELECT run, explode(configuration) AS (entry, value) FROM runs JOIN asked USING (run)),
varied AS (SELECT entry FROM entries GROUP BY entry HAVING count(DISTINCT value) > 1),
spelled AS (
    SELECT run, array_join(array_sort(collect_list(concat(entry, '=', value))), ' ') AS settings
    FROM entries JOIN varied USING (entry) GROUP BY run
)
SELECT DISTINCT coalesce(settings, 'no setting differs') AS settings, verdict, depth
FROM asked LEFT JOIN spelled USING (run)
ORDER BY depth NULLS LAST, settings, verdict    -- what has no depth is undecided, or was searched to the end
"""


def losing(tables: Mapping[str, DataFrame]) -> DataFrame:
    """The verdicts on `acked_not_lost`, by the settings in which the runs differ."""
    verdicts = tables["verdicts"]
    asked = verdicts[verdicts["property"] == "acked_not_lost"][["run", "verdict", "depth"]]
    entries = tables["runs"].merge(asked, on="run")[["run", "configuration"]].explode("configuration")
    entries["entry"] = entries["configuration"].str[0]
    entries = entries[entries.groupby("entry")["configuration"].transform("nunique") > 1]
    entries["setting"] = entries["entry"] + "=" + entries["configuration"].str[1]
    spelled = entries.groupby("run")["setting"].agg(lambda settings: " ".join(sorted(settings)))
    found = asked.assign(settings=asked["run"].map(spelled).fillna("no setting differs"))
    found = found[["settings", "verdict", "depth"]].drop_duplicates()
    return found.sort_values(["depth", "settings", "verdict"])


# ---------------------------------------------------------------------------------------- where the partitions overlap

OVERLAPPING = """
SELECT run, one, other, sum(states) AS states
FROM overlap LATERAL VIEW explode(parts) AS one LATERAL VIEW explode(parts) AS other
WHERE one < other
GROUP BY run, one, other ORDER BY run, states DESC, one, other
"""


def overlapping(tables: Mapping[str, DataFrame]) -> DataFrame:
    """For each pair of partitions of a search on Spark, the number of states that both found."""
    one = tables["overlap"].explode("parts").rename(columns={"parts": "one"})
    pairs = one.assign(other=tables["overlap"]["parts"]).explode("other")
    pairs = pairs[pairs["one"] < pairs["other"]]
    sums = pairs.groupby(["run", "one", "other"], as_index=False)["states"].sum()
    return sums.sort_values(["run", "states", "one", "other"], ascending=[True, False, True, True])


QUESTIONS = (
    Question("Which action widens the state space?", widening, WIDENING, "no step gave a new state"),
    Question("Which settings lose acknowledged records?", losing, LOSING, "no search was about acked_not_lost"),
    Question("Where do the partitions overlap?", overlapping, OVERLAPPING, "no state was found by several partitions"),
)


# ------------------------------------------------------------------------------------------------------------- asking


def ask_pandas(folder: Path) -> list[DataFrame]:
    """The answers computed by pandas."""
    from pyarrow.dataset import dataset

    tables = {name: dataset(folder / name, format="parquet").to_table().to_pandas() for name in TABLES}
    return [question.of_pandas(tables) for question in QUESTIONS]


def ask_spark(folder: Path) -> list[DataFrame]:
    """The answers computed by Spark."""
    with spark_session(SparkOptions(), lambda message: None) as session:
        for name in TABLES:
            session.spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
        return [session.spark.sql(question.of_spark).toPandas() for question in QUESTIONS]


def text(answers: Sequence[DataFrame]) -> str:
    """The questions with their answers."""
    lines = []
    for question, answer in zip(QUESTIONS, answers, strict=True):
        # Whole numbers, even in a column with missing values.
        told: Any = answer.convert_dtypes().to_string(index=False) if len(answer) else question.no_answer
        lines += [question.text, *(f"  {line}" for line in told.splitlines()), ""]
    return "\n".join(lines[:-1])


def main(words: Sequence[str] | None = None) -> int:
    """Run the queries and print the answers."""
    parser = argparse.ArgumentParser(description="Three queries on the tables of check --tables DIR.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder that was given to check --tables")
    parser.add_argument("--spark", action="store_true", help="use Spark SQL instead of pandas")
    asked = parser.parse_args(words)
    try:
        missing = [name for name in TABLES if not any(asked.folder.glob(f"{name}/*.parquet"))]
        if missing:
            raise UsageError(f"{asked.folder}: no table {missing[0]}; write it with: check MODEL --tables DIR")
        answers = (ask_spark if asked.spark else ask_pandas)(asked.folder)
    except (UsageError, ImportError) as error:
        print(f"ask_the_tables: {error}", file=sys.stderr)
        return 2
    print(text(answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
