"""The explorer on Spark finds the same as in one process: for every partitioning, deadlocks, and with `@constraint`.

In every generation of Kafka, Hypothesis draws the switches, the budgets and the settings of clients, as in the tests of
kernels.
"""

from __future__ import annotations

import json
import random
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from conformance.tests.checker.compile.test_kernel import Wish, drawn, legal_shapes, protocols_of, wishes
from conformance.tests.checker.explicit.test_deadlock_and_constraint import COUNTERS as CONSTRAINED
from conformance.tests.checker.explicit.test_deadlock_and_constraint import FIRST, TANKS
from conformance.tests.checker.explicit.test_search import COUNTERS, written
from conformance.tests.sampling import exhaustive, sampled
from conformance.tests.support.small_models import write_model
from isrcheck.checker import cli
from isrcheck.checker.compile.instance_specification import InstanceSpecification
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.carrier import SearchContext, SearchRequest, Starts
from isrcheck.checker.explicit.explore import Search, explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration, Finding, StepPath
from isrcheck.checker.results.exploration import plain_data_of as record_of
from isrcheck.checker.results.verdict import verdicts
from isrcheck.checker.spark import engine as carrier
from isrcheck.checker.spark import tasks as environment_check
from isrcheck.checker.spark.checkpoint import Checkpoints
from isrcheck.checker.spark.engine import explore_on_spark
from isrcheck.checker.spark.parts import ENOUGH_STARTS, Merge, begin
from isrcheck.checker.spark.request import Mode, SparkRequest
from isrcheck.checker.spark.session import SparkOptions
from isrcheck.checker.spark.summary import SparkSummary
from isrcheck.commands.exit_codes import USAGE
from isrcheck.models import registry
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import UsageError

pytestmark = pytest.mark.sampled

MEMORY = 1 << 28


def asked(mode: Mode, split_depth: int | None = None, checkpoint: Path | None = None) -> SparkRequest:
    return SparkRequest(mode, split_depth, SparkOptions(), None if checkpoint is None else str(checkpoint))


def on_spark(
    session, instance: Instance, limits: Limits, request: SparkRequest, *, count_all=False, report=lambda progress: None
) -> tuple[Exploration, SparkSummary]:
    kernel = kernel_of(instance)
    return explore_on_spark(session, request, instance, limits, kernel, count_all=count_all, report=report)


def registered(name: str, **values: int) -> Instance:
    model, protocol = registry.load(name)
    first = "0.10" if name == "kafka" else next(iter(model.protocols))
    chosen = values.pop("protocol", None) or protocol or first
    return model.instance(chosen, values)


@pytest.fixture(scope="module")
def counters(tmp_path_factory):
    return registry.load_file(written(tmp_path_factory.mktemp("counters")))


def everything(found: Exploration) -> dict[str, object]:
    """All results except times and memory."""
    left_out = ("instance", "limits", "seconds", "bytes_used", "reached")
    return {name: value for name, value in vars(found).items() if name not in left_out}


def witnesses(found: Exploration) -> dict[str, object]:
    return {name: (each.found.path, each.permitted.path) for name, each in found.findings.items()}


def compared(
    session, instance: Instance, limits: Limits, request: SparkRequest, *, count_all=False, kernel=None
) -> tuple[Exploration, Exploration, SparkSummary]:
    """A search on Spark, and one in this process: the results are equal, or those that parts have in common with it."""
    found, spread = on_spark(session, instance, limits, request, count_all=count_all)
    here = explore(instance, limits, count_all=count_all, kernel=kernel)
    assert (found.levels, witnesses(found)) == (here.levels, witnesses(here))
    assert [verdict.bare for verdict in verdicts(found)] == [verdict.bare for verdict in verdicts(here)]
    if request.mode is Mode.SEARCH:
        assert everything(found) == everything(here)
    return found, here, spread


# ------------------------------------------------------------------------------------------------------- one search


@pytest.mark.parametrize(
    ("name", "values", "depth", "count_all"),
    [
        exhaustive(("examples/two_phase_commit", {"resource_managers": 2}, None, False)),
        # Fifteen levels, each of which is two jobs.
        exhaustive(("published/truncate_to_high_watermark", {"replicas": 2, "log_size": 1, "records": 1}, None, True)),
        ("kafka", {"unclean_elections": 1, "acks": 1}, 5, False),
    ],
)
def test_a_search_on_spark_finds_exactly_what_one_process_finds(local_spark, name, values, depth, count_all):
    instance, limits = registered(name, **values), Limits(depth, MEMORY)
    _, _, spread = compared(local_spark, instance, limits, asked(Mode.SEARCH), count_all=count_all)
    assert (spread.mode, spread.cores, spread.parts) == (Mode.SEARCH, 2, 2)
    assert spread.shuffled > 0


@pytest.mark.parametrize("forgiven", [0, exhaustive(3)])
@pytest.mark.parametrize("depth", [None, 0, 2])
def test_a_users_model_is_sent_to_the_executors(local_spark, counters, forgiven, depth):
    instance = counters.instance(None, {"forgiven": forgiven})
    compared(local_spark, instance, Limits(depth, MEMORY), asked(Mode.SEARCH))


def leaving(counters_text: str) -> str:
    """Counters whose total leaves its declared range in the second step, and a property that errs in some states."""
    return (
        counters_text.replace("total = field(values=between(0, 100))", "total = field(values=between(0, 3))")
        .replace("s.total = min(s.total + more, 100)", "s.total = s.total + more")
        .replace("after.total < 5", "after.count[after.total] < 5")
    )


@pytest.mark.parametrize(
    ("how", "count_all"),
    [
        exhaustive((asked(Mode.SEARCH), False)),
        (asked(Mode.SEARCH), True),
        (asked(Mode.PARTS, 0), False),
        (asked(Mode.PARTS, 1), False),
    ],
)
def test_a_search_on_spark_finds_the_same_range_errors(local_spark, tmp_path, how, count_all):
    instance = registry.load_file(written(tmp_path, leaving(COUNTERS))).instance()
    _, here, _ = compared(local_spark, instance, Limits(None, MEMORY), how, count_all=count_all)
    assert here.findings["in_range"].found.path is not None


def test_too_little_memory_is_undecided(local_spark):
    instance = registered("kafka")
    found, spread = on_spark(local_spark, instance, Limits(6, 1 << 18), asked(Mode.SEARCH))
    assert (found.stopped, found.is_complete, spread.lost) == ("memory", False, "")
    whole = explore(instance, Limits(6, MEMORY)).levels
    assert found.levels == whole[: len(found.levels)]
    undecided = [verdict.bare for verdict in verdicts(found) if verdict.bare.startswith("UNDECIDED")]
    assert undecided and all(text.startswith("UNDECIDED (memory; nothing found to ") for text in undecided)


@pytest.mark.parametrize("mode", sampled(Mode, lambda mode: mode is Mode.SEARCH))
def test_too_little_time_leaves_the_search_undecided(local_spark, mode):
    found, _ = on_spark(local_spark, registered("kafka", protocol="2.1"), Limits(None, 2 << 30, 3.0), asked(mode))
    assert (found.stopped, found.is_complete) == ("seconds", False)
    assert 3 <= found.seconds < 20
    assert not [verdict for verdict in verdicts(found) if verdict.bare in ("HOLDS", "NO VIOLATION TO DEPTH")]


# ---------------------------------------------------------------------------------------------------------- by parts


@pytest.mark.parametrize("split_depth", [None, 0, exhaustive(1), exhaustive(3)])
def test_parts_find_the_same_levels_and_the_same_counterexamples(local_spark, split_depth):
    limits, request = Limits(6, MEMORY), asked(Mode.PARTS, split_depth)
    found, here, spread = compared(local_spark, registered("kafka"), limits, request)
    assert (found.frontier, found.judged, found.stopped) == (here.frontier, limits.depth, None)
    depth = 2 if split_depth is None else split_depth  # the first depth with enough states to divide
    assert (spread.split_depth, spread.starts) == (depth, here.levels[depth])


def states_from(instance: Instance, starts: Starts, depth: int) -> set[tuple[int, ...]]:
    """All states of a part, by a search in this process."""
    request = SearchRequest(count_all=True, starts=starts)
    search = Search(SearchContext(instance, Limits(depth, MEMORY), kernel_of(instance), request))
    search.run()
    words = search.visited.words
    return {tuple(row.tolist()) for row in search.visited.states[: search.visited.count * words].reshape(-1, words)}


def test_the_overlap_is_that_of_the_sets_of_states(local_spark):
    instance = registered("kafka")
    found, spread = on_spark(local_spark, instance, Limits(6, MEMORY), asked(Mode.PARTS, 0), count_all=True)
    starts = Starts.initial(instance)
    parts = [states_from(instance, starts[number : number + 1], 6) for number in range(len(starts))]
    bits = Counter(
        sum(1 << number for number, part in enumerate(parts) if state in part) for state in set().union(*parts)
    )
    overlap = spread.overlap
    assert overlap is not None
    assert overlap.states_by_parts == dict(sorted(bits.items()))
    assert overlap.found == sum(len(part) for part in parts)
    assert overlap.by_one + overlap.by_several == found.distinct == len(set().union(*parts))
    assert found.generated == sum(
        explore(instance, Limits(6, MEMORY), count_all=True, initial=number).generated for number in range(len(parts))
    )


def test_parts_report_an_exhaustive_search(local_spark, counters):
    limits, request = Limits(None, MEMORY), asked(Mode.PARTS, 1)
    found, _, spread = compared(local_spark, counters.instance(), limits, request, count_all=True)
    assert (found.exhausted, spread.ended) == (True, spread.parts)


def test_a_finished_search_is_not_divided(local_spark, counters):
    found, here, spread = compared(local_spark, counters.instance(), Limits(1, MEMORY), asked(Mode.PARTS))
    assert everything(found) == everything(here)
    assert (spread.parts, spread.split_depth) == (0, 1)


@pytest.mark.parametrize("depth", [exhaustive(3), 5, exhaustive(None)])
@pytest.mark.parametrize("split_depth", [0, 1])
def test_parts_report_the_same_permitted_failures_as_one_search(local_spark, counters, split_depth, depth):
    """A part that does not know the violation in another part continues, and finds deeper permitted failures."""
    limits, request = Limits(depth, MEMORY), asked(Mode.PARTS, split_depth)
    found, here, _ = compared(local_spark, counters.instance(), limits, request)
    assert (found.judged, found.depth, found.frontier) == (here.judged, here.depth, here.frontier)


def test_the_states_that_are_divided_are_counted_once(local_spark, tmp_path):
    one_start = COUNTERS.replace("for first in (2, 0, 1)", "for first in (2,)")
    always_broken = one_start.replace("return s.total < 6", "return s.total < 1")
    instance = registry.load_file(written(tmp_path, always_broken)).instance()
    found, here, spread = compared(local_spark, instance, Limits(3, MEMORY), asked(Mode.PARTS, 0), count_all=True)
    assert spread.parts == 1
    assert found.findings == here.findings
    assert (found.generated, found.fired, found.new) == (here.generated, here.fired, here.new)


def test_lost_parts_contribute_no_verdict():
    instance, limits = registered("kafka"), Limits(4, MEMORY)
    beginning = begin(lambda some, _: SearchContext(instance, some, kernel_of(instance)), limits, 0)
    answers = {0: record_of(explore(instance, limits, initial=0))}
    merged = Merge(beginning, count_all=False).merged(answers, "lost")
    assert (merged.stopped, merged.judged) == ("lost", 0)
    assert verdicts(merged)[0].bare == "UNDECIDED (lost; nothing found to depth 0)"


def test_the_depth_that_is_divided_is_found_in_one_search():
    instance, searches = registered("kafka"), []

    def prepared(limits: Limits, enough: int | None) -> SearchContext:
        request = SearchRequest(enough=enough)
        searches.append(SearchContext(instance, limits, kernel_of(instance), request))
        return searches[-1]

    levels = explore(instance, Limits(6, MEMORY)).levels
    enough = next(count for count in levels if count >= ENOUGH_STARTS)
    assert (len(begin(prepared, Limits(6, MEMORY), None).starts), len(searches)) == (enough, 1)


def test_findings_on_steps_count_even_if_successors_do_not_fit(local_spark, tmp_path):
    instance = registry.load_file(written(tmp_path, COUNTERS.replace("after.total < 5", "after.total < 1"))).instance()
    found, _ = on_spark(local_spark, instance, Limits(None, 1 << 11), asked(Mode.SEARCH))
    assert found.stopped == "memory"
    whole = explore(instance, Limits(1, MEMORY))
    assert found.findings["grows_by_one"] == whole.findings["grows_by_one"]
    assert found.findings["grows_by_one"].found.count > 1


@pytest.mark.parametrize("mode", list(Mode))
def test_the_code_of_executors_is_checked_before_the_search(local_spark, monkeypatch, mode):
    def differing(context):
        raise UsageError("an executor has another Python")

    monkeypatch.setattr(environment_check, "same_everywhere", differing)
    elsewhere = replace(local_spark, master="spark://elsewhere:7077")
    with pytest.raises(UsageError, match="an executor has another Python"):
        on_spark(elsewhere, registered("kafka"), Limits(6, MEMORY), asked(mode))


# ------------------------------------------------------------------------------------------------------- checkpoints


@pytest.mark.recorded  # seven searches
def test_an_incomplete_checkpoint_is_not_resumed(local_spark, tmp_path, monkeypatch):
    monkeypatch.setattr(carrier, "LEVELS_BETWEEN_CHECKPOINTS", 3)
    instance = registered("published/truncate_to_high_watermark", replicas=2, log_size=2, records=2)
    how = asked(Mode.SEARCH, checkpoint=tmp_path / "kept")
    limits = Limits(3, MEMORY)
    on_spark(local_spark, instance, limits, how)
    (levels,) = (tmp_path / "kept").glob("levels-*")
    file = next(path for path in levels.glob("*.parquet") if max(pq.read_table(path)["depth"].to_pylist(), default=0))
    content = file.read_bytes()
    file.unlink()
    with pytest.raises(UsageError, match=r"kept: levels-\d{4} is damaged; give a new folder"):
        on_spark(local_spark, instance, limits, how)
    file.write_bytes(content)
    again = file.with_name("part-twice.parquet")
    again.write_bytes(content)
    with pytest.raises(UsageError, match=r"kept: levels-\d{4} is damaged; give a new folder"):
        on_spark(local_spark, instance, limits, how)
    again.unlink()
    found, _ = on_spark(local_spark, instance, limits, how)
    assert everything(found) == everything(explore(instance, limits))
    file.write_bytes(content[:-20])
    found, spread = on_spark(local_spark, instance, limits, how)
    assert (found.stopped, found.is_complete) == ("lost", False)
    assert "is not a Parquet file" in spread.lost or "Spark failed" in spread.lost


def names_in(folder: Path) -> set[str]:
    """The names in a folder, without Hadoop's checksum files."""
    return {path.name for path in folder.iterdir() if not path.name.endswith(".crc")}


@pytest.mark.exhaustive
def test_a_search_resumes_from_its_checkpoint(local_spark, tmp_path, monkeypatch):
    monkeypatch.setattr(carrier, "LEVELS_BETWEEN_CHECKPOINTS", 2)
    instance = registered("kafka")
    how = asked(Mode.SEARCH, checkpoint=tmp_path / "kept")
    on_spark(local_spark, instance, Limits(4, MEMORY), how)
    kept = {"search.json", "depth-0001.json", "levels-0001", "depth-0003.json", "levels-0003"}
    assert names_in(tmp_path / "kept") == kept
    depths = []
    # With a smaller bound it continues from an earlier checkpoint.
    for bound, taken_up in ((6, 3), (2, 1), (0, None)):
        limits = Limits(bound, MEMORY)
        found, spread = on_spark(
            local_spark, instance, limits, how, report=lambda progress: depths.append(progress.depth)
        )
        assert everything(found) == everything(explore(instance, limits))
        assert spread.taken_up == taken_up
        if bound == 6:
            assert min(depths, default=2) >= 2
    assert names_in(tmp_path / "kept") == kept | {"depth-0005.json", "levels-0005"}
    for text in ('{"written": [1]}', '{"written": [1, 3], "shards": 2, "levels": 7}', "[]", ""):
        (tmp_path / "kept" / "depth-0003.json").write_text(text)
        with pytest.raises(UsageError, match=r"kept: depth-0003.json is damaged; give a new folder"):
            on_spark(local_spark, instance, Limits(4, MEMORY), how)


def damaged(text: str) -> dict[str, str]:
    """Kinds of damage to the statistics of a checkpoint, by name."""
    statistics = json.loads(text)

    def changed(**new: object) -> str:
        return json.dumps({**statistics, **new})

    chances = random.Random(16)
    places = [chances.randrange(len(text)) for _ in range(40)]
    return {
        "a count more": changed(
            result=[statistics["result"][0], statistics["result"][1] + 1, *statistics["result"][2:]]
        ),
        "a level of other sizes": changed(levels=[[[2, 0], []], *statistics["levels"][1:]]),
        "nothing found": changed(arrays=[[0] * len(array) for array in statistics["arrays"]]),
        "shards": changed(shards=-1),
        "no digests": changed(digests=[]),
        "another digest of levels": changed(digests=["0" * 64] * len(statistics["digests"])),
        "less written": changed(written=statistics["written"][-1:]),
        "nested": "[" * 100_000,
        "nested objects": '{"levels":' * 50_000,
        "no object": "[]",
        "no text": "",
        "a large number": changed(shards=0) + "9" * 5_000,
        **{f"cut at {place}": text[:place] for place in places},
        **{f"a sign at {place}": text[:place] + chances.choice('019,[]{}":x') + text[place:] for place in places},
    }


@pytest.mark.recorded  # six searches, and a hundred ways to damage the statistics
def test_damaged_statistics_are_refused(local_spark, tmp_path, monkeypatch):
    monkeypatch.setattr(carrier, "LEVELS_BETWEEN_CHECKPOINTS", 2)
    instance, limits, kept = registered("kafka"), Limits(4, MEMORY), tmp_path / "kept"
    on_spark(local_spark, instance, limits, asked(Mode.SEARCH, checkpoint=kept))
    last = kept / "depth-0003.json"
    text = last.read_text()
    question = json.loads((kept / "search.json").read_text())
    for damage, content in damaged(text).items():
        last.write_text(content)
        with pytest.raises(UsageError, match=r"kept: depth-0003.json is damaged; give a new folder"):
            pytest.fail(f"{damage}: {Checkpoints(local_spark, str(kept), question).newest(None)}")
    last.write_text(damaged(text)["a count more"])
    with pytest.raises(UsageError, match=r"kept: depth-0003.json is damaged; give a new folder"):
        on_spark(local_spark, instance, limits, asked(Mode.SEARCH, checkpoint=kept))
    # The statistics of an earlier level, and those of another search.
    other = tmp_path / "other"
    on_spark(local_spark, registered("kafka", acks=1), limits, asked(Mode.SEARCH, checkpoint=other))
    for foreign in (kept / "depth-0001.json", other / last.name):
        last.write_text(foreign.read_text())
        with pytest.raises(UsageError, match=r"kept: depth-0003.json is damaged; give a new folder"):
            on_spark(local_spark, instance, limits, asked(Mode.SEARCH, checkpoint=kept))
    # The same content, spelled in another way, is the same content.
    last.write_text(json.dumps(json.loads(text), indent=1))
    found, spread = on_spark(local_spark, instance, limits, asked(Mode.SEARCH, checkpoint=kept))
    assert (everything(found), spread.taken_up) == (everything(explore(instance, limits)), 3)


@pytest.mark.exhaustive  # two searches
def test_damaged_levels_are_refused(local_spark, tmp_path, monkeypatch):
    monkeypatch.setattr(carrier, "LEVELS_BETWEEN_CHECKPOINTS", 3)
    instance, limits, kept = registered("kafka"), Limits(3, MEMORY), tmp_path / "kept"
    on_spark(local_spark, instance, limits, asked(Mode.SEARCH, checkpoint=kept))
    files = sorted((kept / "levels-0002").glob("*.parquet"))
    file = next(path for path in files if pq.read_table(path).num_rows)
    rows = pq.read_table(file)
    # States of another search, with a check sum that fits them.
    blob = rows["blob"].to_pylist()[0].replace(b"\1", b"\2")
    forged = rows.to_pylist()
    forged[0] |= {"blob": blob, "sum": zlib.crc32(blob)}
    pq.write_table(pa.Table.from_pylist(forged, rows.schema), file)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    with pytest.raises(UsageError, match=r"kept: levels-0002 is damaged; give a new folder"):
        on_spark(local_spark, instance, limits, asked(Mode.SEARCH, checkpoint=kept))


def test_a_foreign_folder_is_not_touched(local_spark, tmp_path):
    instance = registered("examples/two_phase_commit")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to_mother.txt").write_text("dear")
    with pytest.raises(UsageError, match=r"letters: the folder holds other files \(to_mother.txt\); give a new folder"):
        on_spark(local_spark, instance, Limits(1, MEMORY), asked(Mode.SEARCH, checkpoint=tmp_path / "letters"))
    assert names_in(tmp_path / "letters") == {"to_mother.txt"}
    kept = tmp_path / "kept"
    on_spark(local_spark, instance, Limits(1, MEMORY), asked(Mode.SEARCH, checkpoint=kept))
    other = registered("examples/two_phase_commit", resource_managers=2)
    with pytest.raises(UsageError, match=r"kept: the folder belongs to another search \(configuration differs\)"):
        on_spark(local_spark, other, Limits(1, MEMORY), asked(Mode.SEARCH, checkpoint=kept))
    (kept / "search.json").write_text("{")
    with pytest.raises(UsageError, match=r"kept: search.json is damaged; give a new folder"):
        on_spark(local_spark, instance, Limits(1, MEMORY), asked(Mode.SEARCH, checkpoint=kept))


def test_an_executor_has_to_have_the_same_text_of_a_model():
    subject = InstanceSpecification.of(registered("kafka"))
    assert subject.instance().configuration == registered("kafka").configuration
    assert subject.files == ()
    with pytest.raises(UsageError, match="kafka: an executor of Spark has another version of this model"):
        InstanceSpecification(**{**vars(subject), "digest": "0"}).instance()


# ------------------------------------------------------------------------------------------------------- the command


REFUSED = {
    "kafka --spark-mode search": "--spark-mode needs --engine spark; add --engine spark, or leave --spark-mode out",
    "kafka --engine spark --threads 2": "--threads does not go with --engine spark, which uses",
    "kafka --engine spark --spark-mode search --split-depth 2": "--split-depth does not go with --spark-mode search;",
    "kafka --engine spark --checkpoint x": "--checkpoint needs --spark-mode search; add that option, or leave",
    "kafka --engine spark --split-depth two": "--split-depth two: not a depth; give 0 to 9999",
    "kafka --engine spark --spark-conf memory=1g": "--spark-conf memory=1g: not a setting of Spark; write it as",
    "kafka --engine spark --prove": "--prove does not go with --engine spark; leave out one of them",
    "--engine spark": (
        "--engine spark works only with one model; name the model, as in: check kafka --protocol 2.1 --engine"
    ),
    "mutate kafka --protocol 2.1 --engine spark": "--engine spark does not go with mutate: mutants are searched",
    "--config x.properties --engine spark": "--engine spark does not go with --config; name a model, as in:",
}


@pytest.mark.parametrize(("words", "says"), REFUSED.items(), ids=REFUSED)
def test_incompatible_options_are_refused_in_one_line(words, says, capsys):
    assert cli.main(words.split()) == USAGE
    assert capsys.readouterr().err.startswith(f"check: {says}")


@pytest.fixture
def model_of(tmp_path):
    """Writes a model, and returns its instance."""

    def write(text: str, **values: object):
        return registry.load_file(write_model(tmp_path / "written.py", text.format(**values))).instance()

    return write


@pytest.mark.parametrize("count_all", [exhaustive(False), exhaustive(True)])
def test_one_search_on_spark_finds_the_same_deadlocks(local_spark, model_of, count_all):
    instance, limits = model_of(TANKS, most=3, full="3"), Limits(None, MEMORY)
    found, _, _ = compared(local_spark, instance, limits, asked(Mode.SEARCH), count_all=count_all)
    assert found.findings["deadlock"].found == Finding(3 if count_all else 1, FIRST)


@pytest.mark.parametrize("split_depth", [exhaustive(0), 2])
def test_parts_find_the_same_deadlock(local_spark, model_of, split_depth):
    """The deadlocks are at depth 3 to 5. The states at depth 2 are divided: no part has them all."""
    instance, request = model_of(TANKS, most=3, full="3"), asked(Mode.PARTS, split_depth)
    found, here, spread = compared(local_spark, instance, Limits(None, MEMORY), request, count_all=True)
    assert (spread.parts > 1, found.findings["deadlock"].found.path) == (split_depth == 2, FIRST)
    # A state that several parts reach is counted in each.
    assert found.findings["deadlock"].found.count >= here.findings["deadlock"].found.count == 3


@pytest.mark.parametrize("mode", [exhaustive(Mode.SEARCH), Mode.PARTS])
def test_deadlocks_can_be_left_out_on_spark(local_spark, model_of, mode):
    instance = model_of(TANKS, most=3, full="3")
    found, _ = on_spark(local_spark, instance, Limits(None, MEMORY, deadlock=False), asked(mode))
    assert [verdict.bare for verdict in verdicts(found)] == ["HOLDS"]


@pytest.mark.parametrize("count_all", [exhaustive(False), True])
def test_one_search_on_spark_has_the_counts_of_the_constraint(local_spark, model_of, count_all):
    instance, limits = model_of(CONSTRAINED, most=4, small=2, step=2), Limits(None, MEMORY)
    found, _, _ = compared(local_spark, instance, limits, asked(Mode.SEARCH), count_all=count_all)
    if count_all:
        assert (found.distinct, found.generated, found.outside, found.exhausted) == (9, 21, 6, True)
    assert found.findings["stays_low"].found.path == StepPath(1, (0, 1, 1, 0))


@pytest.mark.parametrize("most", [exhaustive(2), 3, exhaustive(4)])
def test_parts_have_the_states_of_the_constraint(local_spark, model_of, most):
    """The path to the first violation ends outside for a sum of 3, and within for one of 4."""
    instance, limits = model_of(CONSTRAINED, most=most, small=2, step=2), Limits(None, MEMORY)
    found, here, spread = compared(local_spark, instance, limits, asked(Mode.PARTS, 0), count_all=True)
    assert (found.exhausted, spread.parts) == (True, 2)
    # Six steps lead outside; those from states that both parts reach are counted in both.
    assert found.outside >= here.outside == 6


NEW = ("2.8", "4.1")
"""The oldest and the newest generation in which leaders ask the controller to change the ISR."""

ALSO = [("4.1", Mode.PARTS)]
"""What `make test-exhaustive` runs; the rest runs with `make verify`."""

DEPTH = 6
EXAMPLES = 3
PLENTY = 4 << 30
"""Bytes for every drawn search: one that stops for memory counts a state once in each part that reaches it."""


@pytest.mark.parametrize(
    ("protocol", "mode"),
    sampled(
        [
            *((protocol, Mode.PARTS) for protocol in protocols_of("kafka")),
            *((protocol, Mode.SEARCH) for protocol in NEW),
        ],
        lambda one: False,
        last=lambda one: one not in ALSO,  # one search by all executors is two jobs for each level
    ),
)
def test_spark_finds_the_same_in_every_generation(local_spark, protocol, mode):
    def agree(wish: Wish) -> None:
        limits = Limits(DEPTH, PLENTY)
        compared(local_spark, wish.instance, limits, asked(mode), count_all=True, kernel=wish.kernel)

    drawn(EXAMPLES)(given(wishes("kafka", protocol, legal_shapes("kafka", protocol)))(agree))()
