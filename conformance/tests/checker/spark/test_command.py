"""`check --engine spark`: one report, one JSON object, one exit code; Ctrl-C keeps the findings."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from conformance.tests.sampling import recorded
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.commands.exit_codes import INTERRUPTED, VIOLATED
from isrcheck.models import registry


@pytest.mark.parametrize("mode", [recorded("parts"), recorded("search")])
def test_verdicts_and_traces_equal_those_of_one_process(check, mode, tmp_path):
    words = "kafka --protocol 0.10 --bound 5 --json"
    code, here, _ = check(*words.split(), "--out", "here")
    spark = ("--engine", "spark", "--master", "local[2]", "--spark-mode", mode)
    spark_code, there, err = check(*words.split(), "--out", "there", *spark)
    assert (code, spark_code, err.splitlines()[0]) == (VIOLATED, VIOLATED, "starting Spark ...")
    ours, theirs = json.loads(here)["runs"][0], json.loads(there)["runs"][0]
    for key in ("states_per_level", "frontier", "exhausted", "judged_to_depth", "verdict", "configuration", "faults"):
        assert theirs[key] == ours[key], key
    assert [[prop[key] for key in ("name", "verdict", "depth")] for prop in theirs["properties"]] == [
        [prop[key] for key in ("name", "verdict", "depth")] for prop in ours["properties"]
    ]
    histories = [
        [path.read_text().split('"#meta"')[0] for path in sorted((tmp_path / folder).iterdir())]
        for folder in ("here", "there")
    ]
    assert histories[0] == histories[1]
    spark = theirs["spark"]
    assert (theirs["engine"], spark["mode"], spark["master"], spark["cores"]) == ("spark", mode, "local[2]", 2)
    assert 0 < spark["start_seconds"] < 60
    if mode == "parts":
        assert (spark["parts"], spark["parts_ended"], spark["starts"], spark["split_depth"]) == (4, 4, 115, 2)
        assert theirs["command"] == "check kafka --protocol 0.10 --bound 5 --engine spark"
        assert spark["overlap"]["distinct"] <= theirs["distinct"] < spark["overlap"]["found"]
    else:
        assert (theirs["generated"], theirs["actions"]) == (ours["generated"], ours["actions"])
        assert theirs["command"] == "check kafka --protocol 0.10 --bound 5 --engine spark --spark-mode search"


def timeless(text: str) -> str:
    """A report without its times."""
    return re.sub(r"[0-9.]+ s;", "", text)


@pytest.mark.recorded  # a session of its own
def test_a_sweep_on_spark_equals_a_local_sweep(check):
    words = "sweep kafka --protocol 2.1 --vary acks=0,1,all --vary min.insync.replicas=1,2 --bound 5"
    code, here, _ = check(*words.split(), "--out", "here")
    spark_code, there, err = check(*f"{words} --out there --engine spark --master local[2]".split())
    assert (code, spark_code, err.splitlines()[0]) == (0, 0, "starting Spark ...")
    assert timeless(there.replace("there/", "here/")) == timeless(here)


@pytest.mark.recorded  # a session of its own
def test_ctrl_c_keeps_the_findings(tmp_path):
    """The search is interrupted long before its end; its finished levels are reported."""
    words = "kafka --protocol 2.1 --engine spark --spark-mode search --master local[2] --checkpoint kept --json"
    process = subprocess.Popen(
        [sys.executable, "-m", "isrcheck.checker", *words.split()],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    end = time.monotonic() + 120
    while not (tmp_path / "kept" / "depth-0007.json").exists():
        assert time.monotonic() < end
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, err
    assert err.splitlines()[-1] == "check: interrupted; this is what was found so far"
    assert "Traceback" not in err
    run = json.loads(out)["runs"][0]
    assert (run["stopped"], run["exhausted"], run["judged_to_depth"] >= 6) == ("interrupt", False, True)
    here = explore(registry.load("kafka")[0].instance("2.1"), Limits(5)).levels
    assert run["states_per_level"][:6] == here
    assert {one["verdict"] for one in run["properties"]} <= {"UNDECIDED", "REACHED", "n/a", "PERMITTED"}
