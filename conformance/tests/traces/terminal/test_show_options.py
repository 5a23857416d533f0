"""`trace show` with one step, with only the reason, and with expressions that are evaluated in every state."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.tests.support.trace import CLASSIC, COMMITTED, fast_fail_over, kafka, trace
from conformance.tests.traces.test_cli import complaint, shown
from isrcheck.models.language.model import Model
from isrcheck.models.messages import UsageError
from isrcheck.traces.format import files
from isrcheck.traces.format.certify import from_any_state
from isrcheck.traces.format.trace import HOLDS, Trace
from isrcheck.traces.lanes.table import Ink, Look
from isrcheck.traces.terminal.show import parse_expression, view, view_step, why


@pytest.fixture(scope="module")
def parcels(own: Model) -> Trace:
    return trace(own.instance(), ["clerk_shelves {a,c} 1", "clerk_loses c"], "nothing_is_lost")


@pytest.fixture(scope="module")
def classic() -> Trace:
    return kafka(CLASSIC, "acked_not_lost")


def refused(of: Trace, text: str) -> str:
    with pytest.raises(UsageError) as error:
        view(of, expressions=[parse_expression(of.instance, text)])
    return str(error.value)


def values_of(of: Trace, text: str) -> str:
    """The values of an expression in the states of a trace."""
    expression = parse_expression(of.instance, text)
    return " ".join(expression.value_in(cells, "") for cells in of.states)


# ------------------------------------------------------------------------------------------------------------ one step

LAST_STEP = """\
parcels, default configuration

step 2 of 2: clerk_loses c

changed:
  top[1]      c -> none
  lies[c][1]  true -> false
  is_lost[c]  false -> true
  last        none -> 2

the state:
  top      [none none]
  lies     [{1} {} {}]
  mood_of  [CALM BUSY]
  is_lost  {c}
  count    2
  last     2
  s.top[1]  none

false here:
  nothing_is_lost (VIOLATED)
    number == s.count is false
      number = 1, s.count = 2
  every_parcel_stays (VIOLATED)
    is_somewhere(s, parcel) is false for parcel = b
      given parcel < s.count
      s.lies[b][0] = false, s.lies[b][1] = false
  all_three (VIOLATED)
    s.last == NONE is false
      s.last = 2
  either (VIOLATED)
    s.count == 0 or not any(s.lies[p][x] for p in range(s.parcels) for x in range(s.shelves) if x == 1) is false
      s.count == 0 is false
        s.count = 2
      s.lies[p][x] is true for p = a, x = 1
        given x == 1
        s.lies[a][1] = true
"""


def test_one_step(parcels: Trace) -> None:
    found = view_step(parcels, -1, expressions=[parse_expression(parcels.instance, "s.top[1]")])
    assert found == LAST_STEP.splitlines()


def test_the_first_state_has_no_step(parcels: Trace) -> None:
    found = view_step(parcels, 0)
    assert found[:5] == ["parcels, default configuration", "", "step 0 of 2: initially", "", "the state:"]
    assert found[-2:] == ["", "false here: none of 7 properties"]


def test_the_steps_are_counted_from_both_ends(classic: Trace) -> None:
    assert view_step(classic, -7) == view_step(classic, 0)
    assert view_step(classic, 6) == view_step(classic, -1)
    for number in (7, -8):
        with pytest.raises(UsageError) as error:
            view_step(classic, number)
        assert str(error.value) == (
            f"--step {number}: no such state; the trace has the states 0..6; -1 is the last state, -2"
            " the state before it"
        )


def test_properties_that_turn_false_and_goals_that_are_reached(classic: Trace) -> None:
    assert view_step(classic, 5)[-6:] == [
        "false here:",
        "  isr_is_complete (VIOLATED)",
        "    s.log_record[member][offset] == s.exposed_record[offset] is false for member = 1, offset = 0",
        "      given s.controller_isr[member] and s.exposed_record[offset] != NONE and offset >= s.deleted_before",
        "      s.log_record[1][0] = none, s.exposed_record[0] = a",
        "reached here: a_committed_record_is_read, a_record_is_exposed, a_follower_truncates",
    ]


def test_a_property_of_transitions_is_judged_on_its_step(own: Model) -> None:
    found = view_step(trace(own.instance(), ["clerk_shelves {a} 0"], "count_stays"), 1)
    assert found[found.index("  count_stays (VIOLATED)") + 1 :][:3] == [
        "    taken != clerk_shelves or after.count == before.count is false",
        "      taken != clerk_shelves is false",
        "      after.count == before.count is false",
    ]


def test_a_step_from_a_possibly_unreachable_state(own: Model) -> None:
    instance = own.instance()
    empty = instance.initial_states[0]
    found = from_any_state(instance, empty, instance.step(instance.number("clerk_shelves", (1, 0))), "count_stays", "x")
    assert view_step(found, 0)[2] == "step 0 of 1: from this state"


@pytest.mark.parametrize("width", [1, 20, 80])
def test_one_step_fits(classic: Trace, width: int) -> None:
    for number in range(7):
        found = view_step(classic, number, Look(width, Ink(), fits=True))
        assert max(map(len, found)) <= width


# ------------------------------------------------------------------------------------------------------------- the why


def test_the_option_that_shows_only_the_reason(classic: Trace, own: Model) -> None:
    assert why(classic) == view(classic)[13:-1]
    assert why(classic)[0].startswith("VIOLATED at step 6: acked_not_lost: ")
    assert why(classic)[-1].startswith("not permitted: ")
    assert why(trace(own.instance(), [], "nothing_is_lost", HOLDS)) == ["HOLDS ON THIS PATH: nothing_is_lost"]
    assert why(trace(own.instance(), [], None)) == ["a behaviour without a property"]


# --------------------------------------------------------------------------------------------------------- expressions

EVALUATED = """\
  #  step                   shelf 0       shelf 1       global           s.top[1]  shelved(s)  s.lies[2][1]
  0  initially              top none      top none      lies [{} {} {}]  none      0           false
                            mood_of CALM  mood_of CALM  is_lost {}
                                                        count 0
                                                        last none
  1  clerk_shelves {a,c} 1  ·             top c         lies[a] {1}      c         2           true
                                          mood_of BUSY  lies[c] {1}
                                                        count 2
  2  clerk_loses c          ·             top none      lies[c] {}       none      1           false
                                                        is_lost {c}
                                                        last 2
"""


def test_an_expression_is_a_column(parcels: Trace) -> None:
    expressions = [parse_expression(parcels.instance, text) for text in ("s.top[1]", "shelved(s)", "s.lies[2][1]")]
    assert view(parcels, expressions=expressions)[2:13] == EVALUATED.splitlines()


def test_an_unchanged_value_is_not_repeated(parcels: Trace) -> None:
    lines = view(parcels, expressions=[parse_expression(parcels.instance, "s.top[0]")])
    assert [line.split()[-1] for line in lines if line[:4].strip().isdigit()] == ["none", "·", "·"]


def test_an_expression_in_the_full_view_and_in_a_narrow_one(parcels: Trace) -> None:
    expressions = [parse_expression(parcels.instance, "s.top[1]")]
    assert [line for line in view(parcels, True, expressions=expressions) if "s.top" in line] == [
        "       s.top[1]  none",
        "       s.top[1]  c",
        "       s.top[1]  none",
    ]
    narrow = view(parcels, look=Look(30, Ink(), fits=True), expressions=expressions)
    assert [line for line in narrow if "s.top" in line] == [
        "    s.top[1]: none",
        "    s.top[1]: c",
        "    s.top[1]: none",
    ]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("s.top[0]", "none b b"),
        ("s.top[0] if s.count > 0 else NONE", "none b b"),
        ("s.mood_of[0] if s.count > 0 else NONE", "-1 BUSY BUSY"),
        ("s.top[0] if s.count > 0 else s.mood_of[1]", "0 1 1"),
        ("min(s.top[0], s.top[1])", "none none none"),
        ("max(s.top[0], s.top[1])", "none b b"),
        ("s.top[0] + 1", "0 2 2"),
        ("s.mood_of[0]", "CALM BUSY BUSY"),
        ("s.mood_of[0] == Mood.BUSY", "false true true"),
        ("s.lies[1][0]", "false true true"),
        ("s.last", "none none 2"),
        ("is_somewhere(s, 1)", "false true true"),
        ("sum(1 for p in range(s.parcels) if s.lies[p][0])", "0 2 1"),
        ("any(s.is_lost[p] for p in range(s.parcels))", "false false true"),
        ("nothing_is_lost(s)", "true true false"),
        ("not s.LOCKED and s.mood == Mood.CALM", "true true true"),
        ("  s.count - -1", "1 3 3"),
    ],
)
def test_values_in_readable_form(own: Model, text: str, values: str) -> None:
    assert values_of(trace(own.instance(), ["clerk_shelves {a,b} 0", "clerk_loses a"], None), text) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("last_stable_offset(s, 0)", "0 0 0 0 1 1 1"),
        ("first_read(s, 0)", "none none none none a a a"),
        ("s.high_watermark[0] <= s.log_end_offset[0]", "true true true true true true true"),
        ("s.log_record[1][0]", "none none none a a none none"),
        ("acked_not_lost(s)", "true true true true true true false"),
    ],
)
def test_helpers_of_kafka_and_letters_through_them(classic: Trace, text: str, values: str) -> None:
    assert values_of(classic, text) == values


LANGUAGE = (
    "use only numbers, truth values, names, cells, + - * // %, comparisons, and/or/not, if-else,"
    " min max abs all any sum len and helpers"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: invalid syntax; write an expression about the state `s`"),
        ("s.count +", "column 1: invalid syntax; write an expression about the state `s`"),
        ("s.count; s.last", "column 8: invalid syntax; write an expression about the state `s`"),
        ("s.count = 1", "column 9: invalid syntax; write an expression about the state `s`"),
        ("1 if s.count > 0 else s.conut", "column 23: the state has no field `conut`; did you mean count?"),
        ("s.count + shelvd(s)", "column 11: there is no name `shelvd`; did you mean shelved?"),
        ("s.top", "column 1: the field `top` takes 1 index, not 0; write every index: the language has no"),
        ("s", "column 1: the whole state `s` is used as a value; read fields of the state, or pass it to a helper"),
        ("'a'", "column 1: the constant 'a' is no value of the language; use whole numbers and truth values"),
        (
            "9999999999",
            "column 1: the constant 9999999999 does not fit in 32 bits; write a number in -2147483648..2147483647",
        ),
        ("shelved", "column 1: `shelved` is a function, not a whole number; use only names of whole numbers"),
        ("clerk_loses(s, 0)", "column 1: there is no name `clerk_loses`; there are: s, NONE, Mood, Shelf, Parcel, "),
        ("[s.count]", f"column 1: the expression `[s.count]` is not in the language; {LANGUAGE}"),
        ("(lambda: 0)()", "column 1: `lambda: 0(...)` does not call a plain name; call helpers by their plain name"),
        ("s.count == (yield)", f"column 13: the expression `(yield)` is not in the language; {LANGUAGE}"),
        ("(x := 1)", f"column 2: the expression `(x := 1)` is not in the language; {LANGUAGE}"),
        ("f'{s}'", f"column 1: the expression `f'{{s}}'` is not in the language; {LANGUAGE}"),
        (
            "__import__('os').system('x')",
            "column 1: `__import__('os').system(...)` does not call a plain name; call helpers by their plain name",
        ),
        ("Mood.__class__", "column 1: Mood has no member __class__; it has CALM, BUSY"),
        ("s._cells", "column 1: the state has no field `_cells`; "),
        (
            "shelved.__globals__",
            "column 1: `shelved.__globals__` is an attribute of neither a state nor an IntEnum; read s.field, or a",
        ),
        ("__builtins__", "column 1: there is no name `__builtins__`; there are: s, "),
        ("open(0)", "column 1: there is no name `open`; "),
    ],
)
def test_an_expression_outside_the_language_is_refused(parcels: Trace, text: str, message: str) -> None:
    found = refused(parcels, text)
    assert found.startswith(f"--eval `{text}`, {message}")
    assert "\n" not in found


def test_an_expression_with_line_breaks_is_refused(parcels: Trace) -> None:
    assert refused(parcels, "s.count\n+ 1").startswith(
        r"--eval `'s.count\n+ 1'`: an expression is one line of text; remove the control characters"
    )
    assert refused(parcels, "\x1b[2J").startswith(r"--eval `'\x1b[2J'`: an expression is one line of text")
    assert refused(parcels, "1" * 1001) == (
        "--eval the expression has 1001 characters, more than 1000; define it as a helper"
    )
    assert "\n" not in refused(parcels, "(" * 900)
    deep = "-" * 900 + "1"
    assert refused(parcels, deep) == f"--eval `{deep}` is nested more than 60 deep; simplify the expression"


def test_an_invalid_index_is_reported_with_step_and_column(parcels: Trace) -> None:
    assert refused(parcels, "s.count == 0 or s.lies[s.top[0] - 1][0]") == (
        "--eval `s.count == 0 or s.lies[s.top[0] - 1][0]`, column 17: at step 1 (clerk_shelves {a,c} 1):"
        " index -2 of lies is outside 0..2; test the index before it is used"
    )
    assert refused(parcels, "any(s.lies[p - 1][0] for p in range(s.parcels))").startswith(
        "--eval `any(s.lies[p - 1][0] for p in range(s.parcels))`, column 5: at the initial state: index -1 of lies"
    )


def test_an_expression_cannot_reach_python(parcels: Trace) -> None:
    expression = parse_expression(parcels.instance, "s.count > NONE and nothing_is_lost(s)").function
    names = expression.python.__globals__
    assert sorted(names["__builtins__"]) == ["abs", "all", "any", "len", "max", "min", "range", "set", "sum"]
    assert names.keys() == {"NONE", "__builtins__", "nothing_is_lost"}
    assert {"Mood", "NONE", "shelved", "nothing_is_lost"} <= expression.names.keys()
    assert not {"clerk_loses", "Shelf", "IntEnum", "require", "field", "__name__", "__loader__"} & names.keys()


# --------------------------------------------------------------------------------------------------------- the command


def test_the_options_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = fast_fail_over("log_matching")
    show = "show", files.write(found, tmp_path)
    texts = "s.controller_epoch", "latest_epoch(s, 1)"
    expressions = [parse_expression(found.instance, text) for text in texts]
    options = [word for text in texts for word in ("--eval", text)]
    for words, lines in (
        (["--why"], why(found)),
        (["--step", "-2"], view_step(found, 10)),
        (options, view(found, expressions=expressions)),
        (["--full", *options], view(found, full=True, expressions=expressions)),
        (["--step", "3", *options], view_step(found, 3, expressions=expressions)),
    ):
        assert shown(capsys, *show, *words).splitlines() == lines
    for words, message in (
        (["--why", *options], "--why shows no states, so --eval would have no effect; leave one of them out"),
        (["--why", "--full"], "argument --full: not allowed with argument --why; see trace show --help"),
        (["--step", "x"], "--step x: not a whole number"),
        (["--eval", "s.foo"], "--eval `s.foo`, column 1: the state has no field `foo`; "),
    ):
        assert complaint(capsys, *show, *words).startswith(message)


def test_an_expression_in_a_file_is_not_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = files.write(kafka(COMMITTED, None), tmp_path)
    path.write_text(path.read_text().replace("check something", "trace show --eval print(1)"))
    assert "print(1)" not in shown(capsys, "show", path)
