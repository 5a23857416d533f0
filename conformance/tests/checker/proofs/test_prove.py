"""`check --prove`: proved properties, the premises of proofs; without a proof the step that prevents it, its trace, and
the explorer's verdict."""

from __future__ import annotations

import ctypes
import json
import re
import shlex
import signal
from dataclasses import replace

import pytest
import z3

from conformance.tests.sampling import sampled
from conformance.tests.support.engine import (
    ALL_THE_WATER,
    ENDS,
    JUGS,
    instance_of,
    joined,
    proofs_of,
    proving,
    verdict_of,
)
from conformance.tests.support.small_models import action, claim, define, entries, model, state, write_model
from isrcheck.checker import cli
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.proofs import induction, proof_cache, prove
from isrcheck.checker.resources.limits import Answer, Interrupts
from isrcheck.checker.results.exploration import Finding, StepPath
from isrcheck.checker.results.proofs import Phase, Proof, Proofs
from isrcheck.checker.results.verdict import Verdict, Word, exit_code, verdicts, with_proofs
from isrcheck.checker.running import session, trace_writer
from isrcheck.checker.symbolic.solver import Solver
from isrcheck.commands import exit_codes
from isrcheck.models import registry
from isrcheck.models.language.declarations import Kind
from isrcheck.models.messages import UsageError
from isrcheck.traces.cli import main as trace
from isrcheck.traces.format.certify import certify
from isrcheck.traces.format.files import read
from isrcheck.traces.format.trace import HOLDS, NOT_INDUCTIVE, PERMITTED, VIOLATED

RING = model(
    state("place: between(0, 9)"),
    action("token_goes_on(s)", "require(s.place <= 2)", "s.place = 0 if s.place == 2 else s.place + 1"),
    action("token_waits(s)", "require(s.place == 5)", "s.place = 5"),
    action("token_falls(s)", "require(s.place == 5)", "s.place = 6"),
    claim("always", "never_fallen(s)", "s.place != 6"),
)
"""A token goes around; from some places, where it never is, it falls."""

LATER = "\n\n@action\ndef token_comes_near_{0}(s):\n    require(s.place == {0})\n    s.place = {1}\n"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    return proving(cli.main, tmp_path, monkeypatch, capsys)


# -------------------------------------------------------------------------------------------------------------- proved


def test_an_inductive_property_is_proved_without_a_lemma(check):
    text = JUGS + ALL_THE_WATER.replace("@lemma", "@always")
    code, found, proofs = proofs_of(check, text)
    assert (code, found) == (0, {"right_stays_low": "PROVED", "no_water_is_lost": "PROVED"})
    by_name = {one["property"]: one for one in proofs["proved"]}
    assert by_name["no_water_is_lost"]["lemmas"] == []
    assert by_name["right_stays_low"]["lemmas"] == ["no_water_is_lost"]
    assert {(one["k"], one["every_length"]) for one in proofs["proved"]} == {(1, False)}
    assert (proofs["not_proved"], proofs["stopped"]) == ([], None)


def test_a_proof_names_its_lemma_and_premises(check):
    code, out, err = check(JUGS + ALL_THE_WATER)
    assert (code, err) == (0, "")
    assert re.search(r"^PROVED +right_stays_low$", out, re.MULTILINE)
    assert "right_stays_low: PROVED: at any depth" in joined(out)
    assert "induction, with no_water_is_lost (true in every initial state, preserved by every step)" in joined(out)
    nothing = "no step and no property leaves its declared range in a reachable state"
    assert f"premise in_range (proved): {nothing}: proved by induction, without a lemma" in joined(out)
    assert "premise initial states (checked): every claim about states was evaluated in the initial" in joined(out)
    assert "premise lemmas (proved): each was proved for this configuration, together with" in joined(out)
    assert verdict_of(out) == "PROVED: every property holds at every depth; the basis of each proof is given above"
    assert "no_water_is_lost  " not in out


def test_an_unneeded_lemma_is_not_named(check):
    more = "@lemma\ndef nothing_is_owed(s):\n    return s.left >= 0 and s.right >= 0\n"
    _, _, proofs = proofs_of(check, JUGS + ALL_THE_WATER + more)
    (proof,) = proofs["proved"]
    assert proof["lemmas"] == ["no_water_is_lost"]


def test_the_lemmas_of_a_lemma_are_named(check):
    """The first lemma is inductive only with the second one."""
    first = "@lemma\ndef right_is_low(s):\n    return s.right <= 8\n\n"
    text = JUGS + first + ALL_THE_WATER + "@always_step\ndef right_never_leaps(before, after):\n"
    _, found, proofs = proofs_of(check, text + "    return after.right != before.right and before.right < 9\n")
    assert set(found.values()) == {"PROVED"}
    by_name = {one["property"]: one["lemmas"] for one in proofs["proved"]}
    assert "no_water_is_lost" in by_name["right_never_leaps"]


def test_step_properties_are_proved_unless_a_step_violates_them(check):
    steps = """\
@always_step
def nothing_evaporates(before, after, taken):
    return taken == somebody_pours_left or before.left + before.right == after.left + after.right

@always_step
def right_is_never_overfull(before, after):
    return after.right < 9 or after.right < before.right
"""
    code, found, proofs = proofs_of(check, JUGS + steps, "--limit", "20")
    assert (code, found["nothing_evaporates"], found["right_is_never_overfull"]) == (3, "PROVED", "HOLDS")
    code, found, _ = proofs_of(check, JUGS + steps + "\n\n" + ALL_THE_WATER, "--limit", "20")
    assert (code, set(found.values())) == (0, {"PROVED"})
    (lost,) = (one for one in proofs["not_proved"] if one["property"] == "right_is_never_overfull")
    assert (lost["kind"], lost["why"], lost["step"]) == ("always_step", "a step violates it", "somebody_pours_right")


def test_a_property_false_in_the_initial_state_is_not_proved(check):
    """Every step preserves the lemma, but it is false in one initial state."""
    start = "@initial\ndef starts(configuration):\n    yield {}\n    yield {'left': 20, 'right': 0}\n\n"
    text = JUGS.replace("@action", start + "@action", 1)
    code, found, proofs = proofs_of(check, text + ALL_THE_WATER, "--bound", "3")
    assert (code, found) == (3, {"right_stays_low": "NO VIOLATION TO DEPTH"})
    lost = {one["property"]: (one["why"], one["kind"]) for one in proofs["not_proved"]}
    assert lost["no_water_is_lost"] == ("it is false in an initial state", "lemma")


def test_proposed_lemmas_are_true_of_every_initial_state(tmp_path):
    """Even of one that is not in the sample: the first step from the second of many states violates the lemma."""
    text = model(
        state("is_doomed: Flag", "is_broken: Flag"),
        define("initial", "starts(configuration)", "yield {}", 'yield {"is_doomed": True}'),
        action("it_breaks(s)", "require(s.is_doomed)", "s.is_broken = True"),
        claim("always", "stays_whole(s)", "not s.is_broken"),
    )
    instance = instance_of(tmp_path, text)
    first, _ = instance.initial_states
    found = prove.prove(instance, instance.properties, Phase.WITH_MORE, sample=[first])
    assert list(found.proofs) == ["in_range"]
    other = instance_of(tmp_path, text.replace("True}", "False}"))
    found = prove.prove(other, other.properties, Phase.WITH_MORE, sample=[first])
    assert sorted(found.proofs) == ["in_range", "stays_whole"]


def test_a_proof_with_a_proposed_lemma_says_so(check):
    text = model(
        entries('faults = budget(1, "how often it fails")'),
        state("is_open: Flag", "is_used: Flag", "is_lost: Flag", "faults_left: Flag"),
        define("initial", "starts(configuration)", 'yield {"faults_left": configuration.faults == 1}'),
        action("it_opens(s)", "s.is_open = True"),
        action("somebody_uses_it(s)", "require(s.is_open)", "s.is_used = True"),
        action("it_is_lost(s)", "require(s.is_used)", "require(not s.is_open)", "s.is_lost = True"),
        claim("always", "nothing_is_lost(s)", "not s.is_lost"),
    )
    code, found, proofs = proofs_of(check, text)
    assert (code, found) == (0, {"nothing_is_lost": "PROVED"})
    (proof,) = proofs["proved"]
    assert proof["lemmas"] == ["is_used implies is_open"]
    # Nobody can say what a proposed lemma asks about: no budget is called free.
    assert proof["scope"] == "at any depth, with faults=1"
    # What is proved in the end is not told as not proved on the way.
    assert [one for one in proofs["not_proved"] if not one["every_length"]] == []
    code, out, _ = check(text)
    assert "with is_used implies is_open" in joined(out)
    assert "not proved" not in out


# --------------------------------------------------------------------------------------------------------- k-induction


@pytest.mark.parametrize(("more", "steps"), [("", 2), (LATER.format(4, 5), 3)])
def test_k_induction_over_simple_paths(check, more, steps):
    """The token could wait forever: only simple paths rule that out."""
    code, found, proofs = proofs_of(check, RING + more)
    assert (code, found) == (0, {"never_fallen": "PROVED"})
    (proof,) = proofs["proved"]
    assert (proof["k"], proof["lemmas"]) == (steps, [])
    assert proof["rests_on"].startswith(
        f"{steps}-induction over simple paths, without a lemma (true in the first {steps}"
    )


def test_k_induction_terminates(check):
    code, found, proofs = proofs_of(check, RING + LATER.format(4, 5) + LATER.format(3, 4))
    assert (code, found) == (3, {"never_fallen": "HOLDS"})
    assert proofs["proved"] == []


@pytest.mark.parametrize(("start", "depth"), [(6, 0), (5, 1), (4, 2)])
def test_k_induction_needs_a_base_case(check, tmp_path, start, depth):
    """Every longer path is safe, and yet the token falls in the first steps."""
    text = (RING + LATER.format(4, 5)).replace("between(0, 9)", f"between(0, 9), initially={start}")
    for bound in range(depth):
        code, found, _ = proofs_of(check, text, "--bound", str(bound))
        assert (code, found) == (3, {"never_fallen": "NO VIOLATION TO DEPTH"})
    instance = instance_of(tmp_path, text)
    assert list(prove.prove(instance, instance.properties, Phase.WITH_MORE).proofs) == ["in_range"]
    code, found, _ = proofs_of(check, text, "--bound", str(depth))
    assert (code, found) == (12, {"never_fallen": "VIOLATED"})


def test_k_induction_of_a_property_of_steps(check):
    text = RING.replace("@always\ndef never_fallen(s):\n    return s.place != 6", "").replace("always,", "always_step,")
    text += "@always_step\ndef never_falls(before, after, taken):\n    return taken != token_falls\n"
    code, found, proofs = proofs_of(check, text)
    assert (code, found) == (0, {"never_falls": "PROVED"})
    (proof,) = proofs["proved"]
    assert proof["k"] == 2


@pytest.mark.parametrize("bound", [0, 1, 2])
def test_the_violating_step_may_close_a_cycle(check, bound):
    """The violating path returns to its first state: it is not simple, and yet counts."""
    text = RING[: RING.index("@always\n")].replace("always,", "always_step,")
    text += "@always_step\ndef never_back(before, after):\n    return after.place != 0\n"
    code, found, proofs = proofs_of(check, text, "--bound", str(bound))
    assert (code, found, proofs["proved"]) == (3, {"never_back": "NO VIOLATION TO DEPTH"}, [])


# ----------------------------------------------------------------------------------------------------------- cut short


def test_without_time_nothing_is_proved_and_nothing_is_called_unprovable(check, tmp_path):
    # Without a compiled kernel the search would not begin, and nothing would be proved for that reason.
    assert kernel_of(instance_of(tmp_path, JUGS + ALL_THE_WATER + ENDS))
    code, out, err = check(JUGS + ALL_THE_WATER, "--seconds", "1e-9")
    assert (code, err) == (3, "")
    assert "the proofs were cut short: the time limit was reached" in out
    assert "PROVED" not in out
    code, found, proofs = proofs_of(check, JUGS + ALL_THE_WATER, "--seconds", "1e-9")
    assert (code, found) == (3, {"right_stays_low": "UNDECIDED", "in_range": "UNDECIDED"})
    assert (proofs["stopped"], proofs["proved"], proofs["not_proved"]) == ("seconds", [], [])


@pytest.mark.sampled
@pytest.mark.parametrize("why", [Answer.SECONDS, Answer.MEMORY, Answer.UNKNOWN])
def test_an_unknown_answer_proves_nothing(check, monkeypatch, why):
    """Not by induction, with proposed lemmas, by k-induction, or for every length."""
    with monkeypatch.context() as patched:
        patched.setattr(induction, "once", lambda *given: (why, None))
        code, found, proofs = proofs_of(check, JUGS + ALL_THE_WATER)
    assert (code, found, proofs["proved"], proofs["stopped"]) == (3, {"right_stays_low": "HOLDS"}, [], why.value)
    monkeypatch.setattr(Solver, "check", lambda *given: why)
    code, found, proofs = proofs_of(check, RING)
    assert (code, found, proofs["proved"], proofs["stopped"]) == (3, {"never_fallen": "HOLDS"}, [], why.value)
    instance = registry.load("kafka")[0].instance("2.1", {"HW_CLAMPED_AT_TRUNCATION": 1})
    found = prove.prove(instance, [p for p in instance.properties if p.every_length], Phase.EVERY_LENGTH)
    assert (found.proofs, found.stopped) == ({}, why.value)


class Interrupted:
    """A stand-in for Z3 that consumes one Ctrl-C at its n-th query, and gives up."""

    def __init__(self, at):
        self.at, self.asked, self.was_interrupted = at, 0, False
        self.check, self.why = z3.Solver.check, z3.Solver.reason_unknown

    def patch(self, monkeypatch):
        monkeypatch.setattr(z3.Solver, "check", lambda solver, *assumed: self.answer(solver, *assumed))
        monkeypatch.setattr(
            z3.Solver,
            "reason_unknown",
            lambda solver: "interrupted from keyboard" if self.was_interrupted else self.why(solver),
        )

    def answer(self, solver, *assumed):
        self.asked += 1
        self.was_interrupted = self.asked == self.at
        return z3.unknown if self.was_interrupted else self.check(solver, *assumed)


@pytest.mark.parametrize("text", [JUGS + ALL_THE_WATER, RING], ids=["induction", "k-induction"])
def test_no_interrupt_of_z3_is_lost(check, monkeypatch, tmp_path, text):
    """For every query that it can interrupt, even one that only refines an answer."""
    position = 0
    while True:
        position += 1
        monkeypatch.setattr(proof_cache, "cache_folder", lambda at=position: tmp_path / f"cache {at}")
        with monkeypatch.context() as patched:
            interrupted = Interrupted(position)
            interrupted.patch(patched)
            code, _, err = check(text)
        if interrupted.asked < position:
            break
        assert (code, err) == (130, "check: interrupted; this is what was found so far\n"), position
    assert position > 3
    assert code == 0


def converted(*given):
    """Python raises the interrupt within ctypes, which converts it to another error."""
    raise ctypes.ArgumentError("argument 1: KeyboardInterrupt: ")


DROPPED = [(Interrupts, "listen", lambda seen: None), (Interrupts, "seen", [signal.SIGINT])]
"""Python has dropped the interrupt, which is noticed after the next query."""


@pytest.mark.parametrize("patches", [DROPPED, [(Solver, "add", converted)]], ids=["dropped", "converted"])
def test_an_interrupt_that_python_hides_counts(check, monkeypatch, patches):
    for patch in patches:
        monkeypatch.setattr(*patch)
    code, out, err = check(JUGS)
    assert (code, err) == (130, "check: interrupted; this is what was found so far\n")
    assert "the proofs were cut short: interrupted" in out


@pytest.mark.parametrize("why", ["seconds", "memory", "interrupt", "unknown"])
def test_the_reason_why_proofs_ended_early(check, monkeypatch, why):
    monkeypatch.setattr(session, "proved", lambda *given, **more: Proofs(stopped=why))
    code, out, err = check(JUGS)
    assert code == (130 if why == "interrupt" else 3)
    assert ("interrupted" in err) == (why == "interrupt")
    assert re.search(r"^HOLDS \(proof undecided\) +right_stays_low$", out, re.MULTILINE)
    assert "  the proofs were cut short: " in out
    assert verdict_of(out).startswith("UNDECIDED: the proofs were cut short: ")


def test_an_interrupted_search_is_not_followed_by_proofs(check, monkeypatch):
    explore = session.explore

    def interrupted(*given, **more):
        exploration = explore(*given, **more)
        exploration.stopped = "interrupt"
        return exploration

    def unwanted(*given, **more):
        raise AssertionError("proofs are looked for")

    monkeypatch.setattr(session, "explore", interrupted)
    monkeypatch.setattr(session, "proved", unwanted)
    assert check(JUGS)[0] == exit_codes.INTERRUPTED


def test_an_unproved_property_exits_3_even_if_others_are_proved(tmp_path):
    instance = instance_of(tmp_path, JUGS + ALL_THE_WATER.replace("@lemma", "@always"))
    from isrcheck.checker.explicit.explore import explore
    from isrcheck.checker.resources.limits import Limits

    found = verdicts(explore(instance, Limits()))
    water = next(prop for prop in instance.properties if prop.name == "no_water_is_lost")
    judged = with_proofs(found, Proofs({water.name: Proof(water, (), False, 1, 0.0)}))
    assert [verdict.text for verdict in judged] == ["HOLDS (not proved)", "PROVED"]
    assert exit_code(Word.HOLDS, strict=False, found=judged) == 3
    assert exit_code(Word.HOLDS, strict=False, found=found) == 0


def test_a_model_without_properties_has_nothing_to_prove(check):
    text = JUGS.replace("@always(permitted=is_excused)\n", "")
    code, out, _ = check(text)
    assert (code, verdict_of(out).startswith("n/a: the model has no property")) == (0, True)
    code, found, _ = proofs_of(check, text + "@sometimes\ndef right_is_full(s):\n    return s.right == 8\n")
    assert (code, found) == (0, {"right_is_full": "REACHED"})


# ---------------------------------------------------------------------------------------------------- for every length


@pytest.mark.parametrize(
    "protocol", sampled(registry.load("kafka")[0].protocols, lambda one: False, last=lambda one: one != "4.1")
)
def test_offsets_are_ordered_in_logs_of_every_length(protocol):
    """With the high watermark kept within the log, as Kafka does since 2.4; without that a follower truncates below."""
    model, _ = registry.load("kafka")
    for clamped in (1, 0) if protocol in ("0.10", "2.1") else (1,):
        instance = model.instance(protocol, {"HW_CLAMPED_AT_TRUNCATION": clamped})
        promises = [prop for prop in instance.properties if prop.kind is not Kind.SOMETIMES]
        found = prove.prove(instance, promises, Phase.EVERY_LENGTH)
        assert found.stopped is None
        assert found.lost == {}
        told = {"offsets_ordered", "high_watermark_monotonic"} if clamped else {"high_watermark_monotonic"}
        assert set(found.proofs) == told
        assert all(proof.every_length for proof in found.proofs.values())
        assert [attempt.prop.name for attempt in found.attempts] == ([] if clamped else ["offsets_ordered"])


REPAIRS = {"EQUAL_PARTITION_EPOCH_REPLACES": 0, "REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER": 0}
RULES = {**REPAIRS, "RESPONSE_EPOCH_MATCHED": 1}
"""The repairs, and a rule that 4.1 has itself (KAFKA-18991)."""


@pytest.mark.recorded
def test_every_promise_of_4_1_is_proved_with_two_repairs():
    instance = registry.load("kafka")[0].instance("4.1", REPAIRS)
    promises = [prop for prop in instance.properties if prop.kind is not Kind.SOMETIMES]
    found = prove.prove(instance, promises, Phase.WITHIN_BOUNDS)
    assert found.stopped is None
    assert set(found.proofs) == {prop.name for prop in promises} | {"in_range"}


@pytest.mark.parametrize("rule", RULES)
def test_without_one_of_the_rules_no_lemma_about_clean_elections_is_claimed(rule):
    """They are false then."""
    model = registry.load("kafka")[0]
    lemma = "later_leaders_hold_what_may_be_committed"
    assert lemma in {one.name for one in model.instance("4.1", REPAIRS).lemmas}
    mistaken = REPAIRS | {rule: 1 - RULES[rule]}
    assert lemma not in {one.name for one in model.instance("4.1", mistaken).lemmas}


@pytest.fixture
def kafka(monkeypatch, tmp_path, capsys):
    """Run `check kafka ... --prove`, which looks for proofs for every length only."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "Phase", [Phase.EVERY_LENGTH])

    def run(*words):
        code = cli.main(["kafka", "--protocol", "2.1", "--prove", "--details", *words])
        return code, capsys.readouterr().out

    return run


@pytest.mark.recorded
def test_a_proof_for_every_length_names_the_open_entries(kafka):
    code, out = kafka("--switch", "HW_CLAMPED_AT_TRUNCATION=on", "--bound", "1")
    assert code == 3  # for the other promises no proof was looked for here
    assert re.search(r"^offsets_ordered +PROVED for every length$", out, re.MULTILINE)
    assert re.search(r"^acked_not_lost +NO VIOLATION TO DEPTH 1 \(not proved\)$", out, re.MULTILINE)
    told = "offsets_ordered: PROVED for every length: any records, log size, elections, delete records, transactions,"
    rest = (
        "any faults and settings, from the initial states of this configuration; with replicas=3, partition_changes=0,"
    )
    rest += " fencings=0, shutdowns=0, reassignments=0, min_isr_changes=0,"  # and what else KRaft alone has
    end = "DIVERGING_ANSWER_IS_SPLIT=off, HW_WAIT=OFF; as long as every index into an unbounded array stays within it"
    assert end in joined(out)
    assert f"{told} {rest}" in joined(out)


@pytest.mark.recorded
def test_a_property_that_the_abstraction_cannot_decide_is_reported_as_such(kafka):
    code, out = kafka("--bound", "1")
    assert code == 3
    assert re.search(r"^offsets_ordered +NO VIOLATION TO DEPTH 1 \(not proved\)$", out, re.MULTILINE)
    told = "offsets_ordered: not proved for every length: a step violates it: follower_reconciles"
    far = "the explorer does not reach (these bounds searched to depth 1); the unbounded abstraction cannot decide it"
    assert told in joined(out) and far in joined(out)
    assert re.search(r"^    log_end_offset [\d ]+ -> [\d ]+$", out, re.MULTILINE)


@pytest.mark.recorded
def test_the_explorers_counterexample_is_shown_with_a_failed_proof(kafka):
    code, out = kafka("--unclean-elections", "1", "--records", "1", "--crashes", "1", "--bounces", "0", "--bound", "7")
    assert code == 3
    assert re.search(r"^offsets_ordered +PERMITTED at step 7", out, re.MULTILINE)
    assert "offsets_ordered: not proved for every length: a step violates it" in joined(out)


@pytest.mark.recorded
def test_a_proof_for_every_length_that_the_search_contradicts_exits_70(kafka, monkeypatch, capsys):
    explore = session.explore

    def wrongly(*given, **more):
        found = explore(*given, **more)
        found.findings["high_watermark_monotonic"].found = Finding(1, StepPath(0, ()))
        return found

    monkeypatch.setattr(session, "explore", wrongly)
    monkeypatch.setattr(trace_writer.TraceWriter, "write", lambda *given: {})
    code = cli.main(["kafka", "--protocol", "2.1", "--prove", "--bound", "1"])
    out, err = capsys.readouterr()
    assert (code, out) == (70, "")
    assert "high_watermark_monotonic is proved, and the search found it VIOLATED at step 0" in err


# ---------------------------------------------------------------------------------------------------------- not proved


def test_a_property_that_is_not_inductive_is_not_proved(check, capsys):
    code, out, err = check(JUGS)
    assert (code, err) == (3, "")
    assert re.search(r"^HOLDS \(not proved\) +right_stays_low$", out, re.MULTILINE)
    told = (
        "right_stays_low: not proved: a step violates it: somebody_pours_right, from a state that the explorer does not"
    )
    assert f"{told} reach (an exhaustive search within these bounds); a lemma has to exclude that state" in joined(out)
    assert verdict_of(out).endswith("; not proved: right_stays_low")
    shown = re.search(r"trace show \S+ --model model\.py", joined(out))
    assert shown is not None
    assert trace(shlex.split(shown[0])[1:]) == 0
    view = capsys.readouterr().out
    assert re.search(r"^ +0  from this state ", view, re.MULTILINE)
    assert re.search(r"^ +1  somebody_pours_right ", view, re.MULTILINE)
    assert "NOT INDUCTIVE at step 1: right_stays_low: The right jug stays low." in view
    assert "may be unreachable" in view
    assert "right_stays_low is false" in view
    assert view.splitlines()[-1] == "reproduce: check model.py --prove"
    assert trace(["list"]) == 0
    assert re.search(
        r"model_right_stays_low_not-inductive_\w+_1\.itf\.json .* NOT INDUCTIVE +1 ", capsys.readouterr().out
    )


def test_the_depth_of_the_explorer_is_reported(check):
    _, out, _ = check(JUGS, "--bound", "2")
    told = (
        "the explorer does not reach (these bounds searched to depth 2); the state is reached later, or a lemma has to"
    )
    assert f"{told} exclude it" in joined(out)
    assert re.search(r"^NO VIOLATION TO DEPTH 2 \(not proved\) +right_stays_low$", out, re.MULTILINE)


def test_the_json_object_agrees(check):
    code, _, proofs = proofs_of(check, JUGS)
    assert code == 3
    assert set(proofs) == {"solver", "seconds", "stopped", "proved", "premises", "not_proved"}
    assert proofs["solver"].startswith("Z3 ")
    (one,) = proofs["not_proved"]
    file = one.pop("trace")
    assert one == {
        "property": "right_stays_low",
        "kind": "always",
        "every_length": False,
        "why": "a step violates it",
        "step": "somebody_pours_right",
        "reached_at_depth": None,
    }
    assert file.startswith("counterexamples/model_right_stays_low_not-inductive_")


def test_a_lemma_violated_in_a_reachable_state_is_false(check):
    wrong = "@lemma\ndef left_is_never_low(s):\n    return s.left >= 3\n"
    code, out, _ = check(JUGS + ALL_THE_WATER + wrong)
    assert code == 0
    assert "lemma left_is_never_low is false: in a state that the explorer reaches at depth 2" in joined(out)
    _, _, proofs = proofs_of(check, JUGS + ALL_THE_WATER + wrong)
    (lost,) = proofs["not_proved"]
    assert (lost["property"], lost["kind"], lost["reached_at_depth"]) == ("left_is_never_low", "lemma", 1)
    # Nothing rests on a lemma that was lost.
    assert [one["lemmas"] for one in proofs["proved"]] == [["no_water_is_lost"]]


def test_a_lemma_false_in_an_initial_state_is_dropped_and_never_a_premise(check):
    code, out, _ = check(JUGS + "@lemma\ndef right_is_empty(s):\n    return s.right == 0 and s.left < 8\n")
    assert code == 3
    assert "lemma right_is_empty is false: in an initial state" in joined(out)
    assert re.search(r"^HOLDS \(not proved\) +right_stays_low$", out, re.MULTILINE)


def test_an_undeclared_lemma_is_not_used(check):
    off = ALL_THE_WATER.replace("@lemma", "@lemma(applies=lambda configuration: configuration.limit > 8)")
    assert proofs_of(check, JUGS + off)[0] == 3
    assert proofs_of(check, JUGS + off, "--limit", "9")[0] == 0


def test_the_absence_of_range_errors_is_a_proved_or_searched_premise(check):
    text = JUGS.replace("    require(s.right < 20)\n", "")
    nothing = "no step and no property leaves its declared range in a reachable state"
    proved = f"premise in_range (proved): {nothing}: proved by induction, with no_water_is_lost"
    assert proved in joined(check(text + ALL_THE_WATER)[1])
    weaker = text + ALL_THE_WATER.replace("== 8", "< 30")
    code, out, _ = check(weaker, "--limit", "20")
    assert (code, "PROVED: at any depth" in joined(out)) == (0, True)
    assert f"premise in_range (searched): {nothing}: an exhaustive search visited all 9 of them" in joined(out)
    code, out, _ = check(weaker, "--limit", "20", "--bound", "3")
    assert (code, "PROVED" in out) == (3, False)
    assert "in_range: not proved: a step violates it: somebody_pours_right, which leaves its range:" in joined(out)
    assert "right_stays_low: not proved: its proof rests on in_range, which is not proved" in joined(out)


# ------------------------------------------------------------------------------------------ traces that need no start


def counterexample(check, tmp_path):
    check(JUGS)
    (path,) = (tmp_path / "counterexamples").glob("*not-inductive*")
    return read(path, registry.load_file(tmp_path / "model.py"))


def with_cell(states, at, cell, value):
    changed = [list(cells) for cells in states]
    changed[at][cell] = value
    return tuple(map(tuple, changed))


def test_a_counterexample_to_induction_is_certified_unless_tampered_with(check, tmp_path):
    found = counterexample(check, tmp_path)
    (left, right), after = found.states
    assert (right, after, found.verdict) == (8, (left - 1, 9), NOT_INDUCTIVE)
    certify(found)
    other = next(step for step in found.instance.steps if step.action == "somebody_pours_left")
    lower = replace(found, states=((left, 4), (left - 1, 5)))
    for tampered, says in [
        (replace(found, verdict=VIOLATED), "not an initial state"),
        (replace(found, verdict=PERMITTED), "not an initial state"),
        (replace(found, verdict=HOLDS), "not an initial state"),
        (replace(found, steps=(other,)), "leads to another state|is not enabled"),
        (replace(found, states=with_cell(found.states, 1, 0, left)), "leads to another state"),
        (replace(found, states=with_cell(found.states, 0, 0, 21)), "outside 0..20"),
        (replace(found, states=((left, 9), (left - 1, 10))), "does not become false in the last step"),
        (lower, "does not become false in the last step"),
        (replace(found, states=found.states[:1], steps=()), "does not become false in the last step"),
        (replace(found, property_name=None), "a property without a verdict"),
    ]:
        with pytest.raises(UsageError, match=says):
            certify(tampered)


def test_an_unreached_goal_is_no_counterexample(check, tmp_path):
    found = counterexample(check, tmp_path)
    model = JUGS + "@sometimes\ndef right_is_high(s):\n    return s.right != 9\n"
    with pytest.raises(UsageError, match="does not become false in the last step"):
        certify(replace(found, instance=instance_of(tmp_path, model), property_name="right_is_high"))


def test_an_unwritable_folder_does_not_prevent_the_report(check, tmp_path):
    write_model(tmp_path / "file", "mine")
    code, out, err = check(JUGS, "--out", "file/below")
    assert (code, err.count("\n")) == (2, 1)
    assert "--out DIR" in err
    assert "right_stays_low: not proved: a step violates it" in joined(out)
    assert re.search(r"^    right 8 -> 9$", out, re.MULTILINE)


# ---------------------------------------------------------------------------------------------- beside the explorer


def test_a_violated_property_is_no_hypothesis_and_no_permitted_failure_needs_a_proof(check):
    for whole in ("", " and s.left + s.right == 8"):  # with which it would prove the other one
        code, found, proofs = proofs_of(check, JUGS + f"@always\ndef left_stays(s):\n    return s.left >= 2{whole}\n")
        assert (code, found) == (12, {"right_stays_low": "HOLDS", "left_stays": "VIOLATED"})
        assert {lost["property"] for lost in proofs["not_proved"]} == {"right_stays_low"}
    text = JUGS.replace("setting(0", "setting(1") + ALL_THE_WATER
    assert check(text, "--limit", "6")[0] == 0
    assert check(text, "--limit", "6", "--strict")[0] == exit_codes.VIOLATED
    assert proofs_of(check, text, "--limit", "6")[1] == {"right_stays_low": "PERMITTED"}


def test_a_proof_needs_no_search(check):
    """The search ended early, which does not matter after a proof."""
    code, found, _ = proofs_of(check, JUGS + ALL_THE_WATER, "--bound", "0")
    assert (code, found) == (0, {"right_stays_low": "PROVED"})
    reached = "@sometimes\ndef right_is_full(s):\n    return s.right == 8\n"
    code, found, _ = proofs_of(check, JUGS + ALL_THE_WATER + reached, "--bound", "1")
    assert (code, found["right_stays_low"]) == (0, "PROVED")
    assert found["right_is_full"] == "NOT REACHED TO DEPTH"


def test_proofs_beside_both_engines(check):
    code, out, _ = check(JUGS + ALL_THE_WATER, "--engine", "all", "--bound", "3")
    assert code == 0
    assert "the engines agree on every property to depth 3" in out.splitlines()
    assert "right_stays_low: PROVED" in joined(out)
    _, out, _ = check(JUGS, "--engine", "all", "--bound", "3", "--json")
    assert json.loads(out)["runs"][0]["command"] == "check model.py --bound 3 --engine all --prove"


def proof(instance, name):
    (prop,) = (prop for prop in instance.properties if prop.name == name)
    return Proof(prop, (), False, 1, 0.0)


@pytest.mark.parametrize("words", [(), ("--engine", "all", "--bound", "5")], ids=str)
def test_a_proof_that_contradicts_the_search_exits_70(check, monkeypatch, words):
    def wrongly(instance, *given, **more):
        return Proofs({"right_stays_low": proof(instance, "right_stays_low")})

    monkeypatch.setattr(session, "proved", wrongly)
    code, _, err = check(JUGS, "--limit", "6", *words)
    assert (code, err.count("\n")) == (70, 1)
    assert "right_stays_low is proved, and the search found it VIOLATED at step 3" in err


@pytest.mark.parametrize("word", list(Word))
def test_only_properties_left_open_by_the_search_are_proved(tmp_path, word):
    instance = instance_of(tmp_path, JUGS)
    verdict = Verdict(instance.properties[0], word)
    found = Proofs({"right_stays_low": proof(instance, "right_stays_low")})
    if word in (Word.HOLDS, Word.NO_VIOLATION, Word.UNDECIDED):
        assert with_proofs([verdict], found)[0].word is Word.PROVED
    else:
        with pytest.raises(AssertionError, match="right_stays_low is proved, and the search found it"):
            with_proofs([verdict], found)
