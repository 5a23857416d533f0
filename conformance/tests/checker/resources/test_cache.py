"""The cache is read only if it belongs to the user: foreign files and folders, links, and renamed files are ignored.

A change of a constant that a model imports from a package in another folder changes the digest of the model, and no
results for the old value are used: kernels, proofs, sweeps, checkpoints, traces, recorded verdicts.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.checker.spark.test_search import asked, on_spark
from conformance.tests.checker.test_process import run
from conformance.tests.support.small_models import action, claim, define, entries, model, state, write_model
from isrcheck.checker import cli
from isrcheck.checker.comparisons import matrix_record as matrix
from isrcheck.checker.compile.instance_specification import InstanceSpecification
from isrcheck.checker.compile.kernel import Kernels
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.proofs import proof_cache
from isrcheck.checker.proofs.proof_cache import proved
from isrcheck.checker.resources import cache
from isrcheck.checker.resources.cache import keep, kept, why_not_kept
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.proofs import Phase
from isrcheck.checker.spark.request import Mode
from isrcheck.checker.spark.session import Session
from isrcheck.commands.exit_codes import VIOLATED
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, Model
from isrcheck.models.messages import UsageError
from isrcheck.traces import cli as trace_cli
from isrcheck.traces.format import files as itf
from isrcheck.traces.format.certify import behaviour

CURE = "set ISRCHECK_CACHE to a folder of your own"

MODEL = model(
    state("count: between(0, 9)"),
    action("counter_steps(s)", "require(s.count < 8)", "s.count += {step}"),
    claim("always", "is_not_three(s)", "s.count != 3"),
    claim("terminal", "may_end(s)", "True"),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file in the cache."""
    path = tmp_path / "cache" / "kernels" / "one.o"
    keep(path, b"content")
    assert kept(path) == b"content"
    return path


def test_folders_are_private_to_the_user(file: Path) -> None:
    modes = [path.stat().st_mode & 0o7777 for path in (file.parent.parent, file.parent, file)]
    assert modes == [0o700, 0o700, 0o600]
    assert list(file.parent.iterdir()) == [file]


def test_content_is_bound_to_its_name(file: Path) -> None:
    for other in (file.with_name("two.o"), file.parent.parent / "proofs" / "one.o"):
        other.parent.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(file, other)
        assert kept(other) is None


def test_a_changed_byte_is_detected(file: Path) -> None:
    content = file.read_bytes()
    assert len(content) == cache.DIGEST_BYTES + len(b"content")
    for place in range(0, len(content), 3):
        changed = bytearray(content)
        changed[place] ^= 1
        file.write_bytes(changed)
        assert kept(file) is None


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702])
@pytest.mark.parametrize("above", [0, 1])
def test_a_folder_that_others_can_write_to_is_not_used(file: Path, mode: int, above: int) -> None:
    folder = file.parents[above]
    folder.chmod(mode)
    assert kept(file) is None
    assert why_not_kept(file) == f"other users can write to {folder}; run chmod go-w {folder}, or {CURE}"
    keep(file.with_name("two.o"), b"more")
    assert not file.with_name("two.o").exists()
    folder.chmod(0o755)
    assert (kept(file), why_not_kept(file)) == (b"content", "")


def test_a_folder_of_another_user_is_not_used(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache.os, "geteuid", lambda: file.stat().st_uid + 1)
    assert kept(file) is None
    assert why_not_kept(file) == f"{file.parent.parent} belongs to another user; {CURE}"
    keep(file.with_name("two.o"), b"more")
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("above", [-1, 0, 1])
def test_a_file_or_folder_of_another_owner_is_not_used(file: Path, monkeypatch: pytest.MonkeyPatch, above: int) -> None:
    path = file if above < 0 else file.parents[above]
    given_away, fstat = path.stat().st_ino, os.fstat

    def owned(number: int) -> os.stat_result:
        status = fstat(number)
        return os.stat_result((*status[:4], status.st_uid + 1, *status[5:])) if status.st_ino == given_away else status

    monkeypatch.setattr(cache.os, "fstat", owned)
    assert kept(file) is None
    # A file of somebody else in a folder of ours is replaced.
    keep(file, b"anew")
    assert kept(file) == (b"anew" if above < 0 else None)


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_a_file_that_others_can_write_to_is_rebuilt(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert kept(file) is None
    keep(file, b"content")
    assert kept(file) == b"content"


def test_links_below_the_cache_are_not_followed(file: Path, tmp_path: Path) -> None:
    elsewhere = file.rename(tmp_path / "elsewhere")
    file.symlink_to(elsewhere)
    assert kept(file) is None
    keep(file, b"anew")
    assert (kept(file), file.is_symlink()) == (b"anew", False)
    folder = file.parent.rename(tmp_path / "kernels")
    file.parent.symlink_to(folder)
    assert kept(file) is None
    assert why_not_kept(file) == f"{file.parent} is a symbolic link; remove it, or {CURE}"


def test_the_cache_itself_may_be_a_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file.parent.parent)
    assert kept(tmp_path / "link" / "kernels" / "one.o") == b"content"


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_anything_but_a_regular_file_is_ignored(file: Path, kind: str) -> None:
    file.unlink()
    if kind == "folder":
        file.mkdir()
    else:
        os.mkfifo(file, 0o600)
    assert kept(file) is None


@pytest.mark.exhaustive
def test_the_code_of_one_model_is_not_used_for_another(tmp_path: Path) -> None:
    write_model(tmp_path / "model.py", MODEL.format(step=2))
    assert check(tmp_path)[::2] == (0, "compiling model (once for these bounds) ...\n")
    (good,) = (tmp_path / "cache" / "kernels").iterdir()
    write_model(tmp_path / "model.py", MODEL.format(step=1))
    assert check(tmp_path)[0] == VIOLATED
    (bad,) = set((tmp_path / "cache" / "kernels").iterdir()) - {good}
    shutil.copy(good, bad)
    code, out, err = check(tmp_path)
    assert (code, "VIOLATED at step 3" in out) == (VIOLATED, True)
    assert err == f"compiling model again ({bad} is damaged) ...\n"


@pytest.mark.exhaustive
def test_a_cache_that_others_can_write_to_is_reported_once(tmp_path: Path) -> None:
    write_model(tmp_path / "model.py", MODEL.format(step=2))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    for _ in range(2):
        code, _, err = check(tmp_path)
        assert (code, err) == (0, (
            f"compiling model (uncached: other users can write to {tmp_path}/cache; run chmod go-w {tmp_path}/cache,"
            f" or {CURE})"
            " ...\n"
        ))  # fmt: skip
    assert list((tmp_path / "cache").iterdir()) == []


def check(folder: Path) -> tuple[int, str, str]:
    """Run `check model.py` in that folder, in a separate process."""
    return run(folder, "model.py", ISRCHECK_CACHE=str(folder / "cache"))


TEXT = model(
    '"""A counter that goes up to five."""\n',
    "from lib.limits import LIMIT\n",
    entries('start = setting(0, "where it starts", most=5, option="--start")'),
    state("count: between(0, 9)"),
    action("rise(s)", '"""It goes up by one."""', "require(s.count < 5)", "s.count += 1"),
    claim("always", "stays_low(s)", "s.count <= LIMIT"),
    claim("terminal", "may_end(s)", "True"),
)

STARTS_AT = define("initial", "starts(configuration)", 'yield {"count": min(configuration.start, limits.LIMIT)}')
STARTING = model(TEXT, STARTS_AT)
BY_MODULE = "import lib.limits as limits\n"

Load = Callable[..., Model]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Load the model with a value of the constant, as in a new process."""
    shared = tmp_path / "shared"
    (shared / "lib").mkdir(parents=True)
    (tmp_path / "own").mkdir()
    monkeypatch.syspath_prepend(str(shared))
    monkeypatch.chdir(tmp_path / "own")

    def loaded(limit: str, text: str = TEXT, more: str = "") -> Model:
        write_model(tmp_path / "own" / "counter.py", text)
        (shared / "lib" / "limits.py").write_text(f"LIMIT = {limit}\n{more}")
        forget()
        return registry.load_file(tmp_path / "own" / "counter.py")

    return loaded


def forget() -> None:
    """Forget the modules that a new process would not have imported yet."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "lib"]:
        del sys.modules[name]


# ------------------------------------------------------------------------------------------------- what it depends on

IMPORT = "from lib.limits import LIMIT\n"
OF_MODULE = TEXT.replace("class Conf", "LIMIT = limits.LIMIT\n\nclass Conf")
"""The constant is taken from the module, which is still to be imported."""

UNUSED = TEXT.replace("= LIMIT", "= 5")
"""The constant is imported, and still to be used."""

STARTS = STARTING.replace("= LIMIT", "= 5")

WAYS = {
    "from a module": TEXT,
    "by the module": OF_MODULE.replace(IMPORT, BY_MODULE),
    "from the package": OF_MODULE.replace(IMPORT, "from lib import limits\n"),
    "under another name": TEXT.replace("import LIMIT", "import LIMIT as HIGHEST").replace("= LIMIT", "= HIGHEST"),
    "by what starts it": STARTS.replace(IMPORT, BY_MODULE),
    "by what applies": UNUSED.replace("@always\n", "@always(applies=lambda configuration: LIMIT > 3)\n"),
    "by a contradiction": f"{UNUSED}\n\n@contradiction\ndef c(configuration):\n    return LIMIT > 9\n",
    "by a size": UNUSED.replace("between(0, 9)", "between(0, lambda configuration: LIMIT)"),
    "by the bounds of a field": UNUSED.replace("between(0, 9)", "between(0, LIMIT + 4)"),
    "by a default": UNUSED.replace("setting(0", "setting(LIMIT"),
    "inside a function that starts it": STARTS.replace(IMPORT, "").replace(
        '    yield {"', '    from lib import limits\n    yield {"'
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("way", WAYS)
def test_a_constant_of_another_folder_counts(load: Load, way: str) -> None:
    text = WAYS[way]
    first = load("5", text)
    assert load("5", text).digest == first.digest
    assert load("4", text).digest != first.digest
    assert load("int('5')", text, "# of another text\n").instance().configuration == first.instance().configuration


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""It goes up by one."""', '"""It rises."""'),
        ('    """It goes up by one."""\n', ""),
        ("A counter that", "Something that"),
        ("require(s.count < 5)", "require((s.count   <  5))  # five"),
        ("@always\n", "# what is promised\n\n@always\n"),
    ],
)
@pytest.mark.parametrize("text", [TEXT, STARTING.replace("limits.LIMIT", "LIMIT")], ids=["plain", "starting"])
def test_an_equivalent_text_keeps_the_digest(load: Load, text: str, old: str, new: str) -> None:
    assert old in text
    assert load("5", text).digest == load("5", text.replace(old, new)).digest
    assert load("5", text).digest == load("5", text, '"""A text."""\n# and a comment\n').digest


@pytest.mark.sampled
def test_constructs_of_the_language_count_by_meaning(load: Load) -> None:
    """If the model uses plain Python, the text of all files counts."""
    unused, says = TEXT + "\nUNUSED = 1\n", TEXT.replace('"where it starts"', '"its start"')
    assert {load("5", text).digest for text in (unused, says)} == {load("5").digest}
    starting = STARTING.replace("limits.LIMIT", "LIMIT")
    assert load("5", starting).digest != load("5", starting + "\nUNUSED = 1\n").digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("s.count += 1", "s.count += 2"),
        ("s.count < 5", "s.count <= 5"),
        ("def rise", "def goes"),
        ("@always\n", "@always(every_length=True)\n"),
        ("between(0, 9)", "between(0, 8)"),
        ("most=5", "most=6"),
        ("setting(0", "setting(1"),
        ("start = setting", "begin = setting"),
        ("values=between(0, 9)", "values=between(0, 9), initially=1"),
    ],
)
def test_a_change_of_meaning_changes_the_digest(load: Load, old: str, new: str) -> None:
    assert old in TEXT
    assert load("5").digest != load("5", TEXT.replace(old, new)).digest


def test_the_digest_of_an_instance_depends_on_the_effective_configuration(load: Load) -> None:
    model = load("5", STARTING.replace("limits.LIMIT", "LIMIT"))
    digests = [model.instance(None, {"start": start}).digest for start in (0, 1, 0)]
    assert digests[0] == digests[2] != digests[1]
    assert len(set(digests[0])) > 8 and len(digests[0]) == 64


def test_the_digest_covers_imports_from_any_folder(load: Load, tmp_path: Path) -> None:
    assert load("5").sources == {
        str(tmp_path / "own" / "counter.py"): "counter.py",
        str(tmp_path / "shared" / "lib" / "limits.py"): "lib/limits.py",
    }
    folders = {"/".join(path.split("/")[:2]) for path in registry.load("kafka")[0].sources.values()}
    assert folders == {"isrcheck/models"}


# ------------------------------------------------------------------------------------------------------- what is kept


def test_kernels(load: Load) -> None:
    kernels = Kernels()
    first, second = load("5").instance(), load("3").instance()
    assert kernels.of(first) is kernels.of(load("5").instance())
    assert kernels.of(first) is not kernels.of(second)
    assert [depth_of(one, kernels) for one in (first, second)] == [None, 4]


def depth_of(instance: Instance, kernels: Kernels) -> int | None:
    found = explore(instance, Limits(), kernel=kernels.of(instance)).findings["stays_low"].found.path
    return None if found is None else found.depth


def test_proofs(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_cache, "cache_folder", lambda: tmp_path / "cache")

    def proofs(limit: str, more: str = "") -> tuple[bool, list[str]]:
        instance = load(limit, TEXT, more).instance()
        proofs = proved(instance, instance.properties, Phase.WITHIN_BOUNDS)
        return proofs.is_kept, list(proofs.proofs)

    assert proofs("5") == (False, ["stays_low", "in_range"])
    assert proofs("5", "# a comment\n") == (True, ["stays_low", "in_range"])
    assert proofs("3") == (False, ["in_range"])


def test_sweeps(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    def swept(limit: str) -> tuple[int, bool]:
        load(limit)
        forget()
        code = cli.main(["sweep", "counter.py", "--vary", "start=0,1", "--out", "kept"])
        return code, "resuming from" in capsys.readouterr().err

    assert [swept("5"), swept("5"), swept("3")] == [(0, False), (0, True), (12, False)]


def test_a_sweep_from_other_initial_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Initial states may be read from a file that is not part of the model's text."""
    text = STARTING.replace("from lib.limits import LIMIT", "import os").replace("= LIMIT", "= 5")
    text = text.replace("min(configuration.start, limits.LIMIT)", 'int(os.environ["STARTS_AT"])')
    write_model(tmp_path / "counter.py", text)
    monkeypatch.chdir(tmp_path)

    def swept(starts_at: str) -> tuple[int, str]:
        monkeypatch.setenv("STARTS_AT", starts_at)
        InstanceSpecification.instance.cache_clear()  # as in a process of its own
        code = cli.main(["sweep", "counter.py", "--vary", "start=0,1", "--out", "kept"])
        return code, capsys.readouterr().err

    assert [swept("0")[0], swept("0")[0]] == [0, 0]
    code, err = swept("6")
    assert code == 2
    assert "start=0 was searched from other initial states, or for other properties; delete the file" in err


def test_checkpoints_and_executors(load: Load, local_spark: Session, tmp_path: Path) -> None:
    """The package is sent with the model, and a checkpoint of the old model is not resumed."""

    def levels(limit: str) -> list[int]:
        request = asked(Mode.SEARCH, checkpoint=tmp_path / "kept")
        return on_spark(local_spark, load(limit).instance(), Limits(2, 1 << 28), request)[0].levels

    assert levels("5") == [1, 1, 1]
    with pytest.raises(UsageError, match=r"kept: the folder belongs to another search \(model differs\); give a new"):
        levels("3")


def test_all_parts_of_a_model_are_sent_to_executors(load: Load) -> None:
    subject = InstanceSpecification.of(load("5").instance())
    assert [path for path, _ in subject.files] == ["counter.py", "lib/limits.py"]
    assert subject.files[1][1] == "LIMIT = 5\n"
    others = InstanceSpecification.of(load("3").instance()).files
    with pytest.raises(UsageError, match="counter: an executor of Spark has another version of this model"):
        replace(subject, files=others).instance()


def test_traces(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    model = load("3")
    instance = model.instance()
    history = behaviour(instance, 0, list(instance.steps) * 4, "stays_low", "check counter.py", "VIOLATED")
    Path("found.itf.json").write_text(itf.to_text(history))
    assert trace_cli.main(["show", "found.itf.json", "--model", "counter.py"]) == 0
    other = load("4")
    capsys.readouterr()
    forget()
    assert trace_cli.main(["show", "found.itf.json", "--model", "counter.py"]) == 2
    assert (
        f"written with another version of model counter (digest {model.digest[:8]}; the given version has"
        f" {other.digest[:8]}); write the trace again with check" in capsys.readouterr().err
    )


# ------------------------------------------------------------------------------------------------- recorded verdicts

RECORD = """
[digest]
"examples/two_phase_commit" = "DIGEST"

[[run]]
model = "examples/two_phase_commit"
explored = "exhausted"
[run.configuration]
resource_managers = 2
[run.violated]
[run.permitted]
"""


@pytest.mark.parametrize("depth", ["", "consistent = 3"])
def test_recorded_verdicts_on_another_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], depth: str
) -> None:
    monkeypatch.chdir(tmp_path)
    today = registry.load("examples/two_phase_commit")[0].digest
    record_of = matrix.recorded

    def compared(digest: str) -> tuple[int, list[str], str]:
        content = RECORD.replace("DIGEST", digest).replace("[run.violated]", f"[run.violated]\n{depth}")
        Path("verdicts.toml").write_text(content)
        monkeypatch.setattr(matrix, "recorded", lambda: record_of(Path("verdicts.toml")))
        code = cli.main(["--details"])
        lines = capsys.readouterr().out.splitlines()
        assert cli.main(["--json"]) == code
        return code, lines[-2:], json.loads(capsys.readouterr().out)["record"]

    changed = (
        "examples/two_phase_commit has changed since models/verdicts.toml was recorded (digest 00000000, now"
        f' {today[:8]}): check every cell, then write examples/two_phase_commit = "{today}" under [digest] in that file'
    )
    if depth:  # what is missing is graver
        assert compared(today)[::2] == (10, "recorded, but not found")
        assert compared("0" * 64) == (10, [changed, matrix.CLOSING[matrix.Match.MISSING]], "recorded, but not found")
    else:
        assert compared(today) == (0, ["", matrix.CLOSING[matrix.Match.SAME]], "as recorded")
        assert compared("0" * 64) == (10, [changed, matrix.CLOSING[matrix.Match.STALE]], "recorded of another model")


def test_the_recorded_verdicts_are_on_the_current_model() -> None:
    """If this test fails, check every cell of the matrix before writing the new digest."""
    records = matrix.recorded()
    assert {record.digest for record in records} == {registry.load("kafka")[0].digest}
    assert not any(record.is_of_another_model for record in records)
