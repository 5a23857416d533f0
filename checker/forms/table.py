"""The declarations of the built-in forms of `check`.

In:  nothing.
Out: `FORMS`.
"""

from __future__ import annotations

from dataclasses import replace

from isrcheck.checker.command.check_options import (
    DESCRIBE,
    EXAMPLES,
    FILES,
    MATRIX,
    MODEL,
    MUTATE,
    OF_A_MODEL,
    PUBLISHED,
    SIMULATE_WITH,
    SIMULATION,
)
from isrcheck.checker.command.form import Form, Options
from isrcheck.models.messages import UsageError

ENGINE = ("--engine", "--prove")
NAME_A_MODEL = "{option} does not go with {form}; name a model, as in: check kafka {option} ..."
NAME_ONE_ALONE = (
    "{option} does not go with {form}, which compares every model; search one, as in: check published/kip_101"
)
ABOUT_ONE_MODEL = "{typed} works only with one model; name the model, as in: check kafka --protocol 2.1 {typed}"
NO_REPORT = "--report goes with the matrix, one model, a sweep or a cluster, as in: check kafka --report DIR"


SIMULATED = frozenset(
    {
        *OF_A_MODEL,
        *(option.name for option in SIMULATION),
        *("--engine", "--memory", "--threads", "--seconds", "--no-deadlock", "--strict", "--json", "--out", "--report"),
    }
)
"""The options that have an effect on a simulation."""


def _refuse_for_simulation(options: Options) -> None:
    """Raise UsageError for options that do not go with a simulation, or for parts of its options."""
    own = options.own
    if own["simulate"] is None:
        for name in ("depth", "seed", "weight"):
            if own[name] not in (None, ()):
                raise UsageError(f"--{name} goes with --simulate; add --simulate 1000, or leave --{name} out")
        return
    if own["depth"] is None:
        raise UsageError("--simulate needs --depth, the most steps of a walk, as in: --simulate 1000 --depth 100")
    if options.engine != "local":
        raise UsageError(f"--simulate walks with compiled code; leave --simulate or --engine {options.engine} out")
    for name in (word.partition("=")[0] for word in options.words):
        if name in options.reserved and name not in SIMULATED:
            raise UsageError(f"--simulate does not search; leave --simulate or {name} out")


def _refuse_for_model(options: Options) -> None:
    """Raise UsageError for options that the selected engine does not support."""
    _refuse_for_simulation(options)
    engine = options.engine
    if engine in ("z3", "all") and options.bound is None:
        raise UsageError(f"--engine {engine} searches depth by depth: give a bound, as in --bound 6")
    if engine == "spark" and options.prove:
        raise UsageError("--prove does not go with --engine spark; leave out one of them")
    if engine == "z3" and options.prove:
        raise UsageError("--prove needs the explicit-state search as well: leave --engine z3 out")
    if engine in ("z3", "all") and options.count_all:
        raise UsageError(f"--continue counts states, which Z3 does not do: leave out --continue or --engine {engine}")
    if options.tables is not None and engine == "z3":
        raise UsageError("--tables counts states, which Z3 does not do: leave out --tables or --engine z3")
    if options.counterexamples is not None and engine != "local":
        raise UsageError(f"--counterexamples does not go with --engine {engine}; leave out one of them")


def _refuse_for_comparison(options: Options) -> None:
    if options.bound is not None:
        raise UsageError(f"{options.form.name} compares whole state spaces: leave --bound out, or name one model")


def _refuse_for_mutants(options: Options) -> None:
    if options.target is None:
        raise UsageError(f"{MUTATE} takes a model, as in: check {MUTATE} kafka --protocol 2.1")


_WITHOUT_MODEL = dict.fromkeys(OF_A_MODEL, NAME_A_MODEL) | dict.fromkeys(ENGINE, ABOUT_ONE_MODEL)

_MATRIX = Form(
    name=MATRIX,
    module="isrcheck.checker.forms.matrix",
    usage=(("check [--bound N]", "every generation against every property: the matrix"),),
    examples=("check --bound 6",),
    refusals=_WITHOUT_MODEL,
    rest=NAME_A_MODEL,
)

_PUBLISHED = Form(
    name=PUBLISHED,
    module="isrcheck.checker.forms.comparison",
    usage=(("check published", "published models, compared with TLC's figures"),),
    refusals=_WITHOUT_MODEL | {"--report": NO_REPORT},
    rest=NAME_ONE_ALONE,
    refuse=_refuse_for_comparison,
)

_EXAMPLES = replace(
    _PUBLISHED,
    name=EXAMPLES,
    usage=(("check examples/tla", "public TLA+ examples, compared with TLC's figures"),),
)

_MODEL = Form(
    name=MODEL,
    module="isrcheck.checker.forms.model",
    usage=(
        ("check MODEL [--protocol P] [--bound N] ...", "one model (kafka, published/kip_101, ...)"),
        ("check FILE.py [--bound N] ...", "a model that you wrote, in the same language"),
        (
            "check MODEL --counterexamples K [--bound N]",
            "several counterexamples with different causes",
        ),
        ("check MODEL --simulate N --depth D", "random walks, for bounds that are too large to search"),
    ),
    own=SIMULATION,
    goes_with=SIMULATE_WITH,
    examples=("check kafka --protocol 0.10 --bound 6",),
    refuse=_refuse_for_model,
)

_MUTATE = Form(
    name=MUTATE,
    word=MUTATE,
    module="isrcheck.checker.forms.mutants",
    usage=(("check mutate MODEL [--bound N] ...", "remove each guard in turn: which property detects it?"),),
    examples=(
        "check mutate kafka --protocol 0.10 --bound 3",
        "check mutate examples/two_phase_commit",
        "check mutate published/kip_101 --bound 3",
    ),
    as_in="check mutate kafka --protocol 2.1",
    refusals={
        **dict.fromkeys(
            (*FILES, DESCRIBE),
            "{option} does not go with mutate, which takes a model: check mutate kafka --protocol 2.1",
        ),
        **dict.fromkeys(ENGINE, "{typed} does not go with mutate: mutants are searched explicitly; leave {option} out"),
        **dict.fromkeys(
            ("--continue", "--strict"),
            "{option} does not go with mutate: each search ends at the first worse verdict; leave {option} out",
        ),
        "--report": NO_REPORT,
    },
    refuse=_refuse_for_mutants,
)

FORMS = (_MATRIX, _PUBLISHED, _EXAMPLES, _MODEL, _MUTATE)
