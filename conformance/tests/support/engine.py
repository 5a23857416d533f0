"""Models for the tests of Z3 and of proofs, and functions that run `check`, also up to Ctrl-C."""

import json
import re
from dataclasses import replace

from conformance.tests.support.small_models import (
    action,
    block,
    claim,
    define,
    domain,
    entries,
    helper,
    in_the_language,
    model,
    state,
    write_model,
)
from isrcheck.checker.proofs import proof_cache
from isrcheck.checker.results.verdict import Word
from isrcheck.checker.running.session import SearchSession
from isrcheck.commands.exit_codes import USAGE
from isrcheck.models import registry

COUNTER = '''\
"""A counter that goes too far."""

from isrcheck.language import action, always, between, field, require


class State:
    count = field(values=between(0, 3))


@action
def counter_steps(s):
    require(s.count < 3)
    s.count += 1


@always
def stays_small(s):
    return s.count < 2


from isrcheck.language import terminal


@terminal
def may_end(s):
    return True
'''

LAMPS = in_the_language(
    model(
        '"""Somebody switches lamps, and a storm puts them out. Every behaviour ends."""\n',
        entries(
            'lamps = bound(2, "lamps", least=1, option="--lamps")',
            'most = bound(3, "how often they are switched", least=1, option="--most")',
            'limit = setting(2, "how often they may be switched in peace", option="--limit")',
            'speaks_of_storms = setting(1, "whether anything is said of storms", most=1)',
        ),
        domain("Lamp", '"lamps"'),
        block("Lamps(Subset, of=Lamp)", "pass"),
        state("is_on[Lamp]: Flag", 'switched: between(0, "most")', "is_stormy: Flag"),
        define(
            "initial",
            "starts(configuration)",
            "yield {}",
            'yield {"is_on": [lamp == 0 for lamp in range(configuration.lamps)]}',
        ),
        action(
            "person_switches(s, chosen: Lamps)",
            "require(s.switched < s.most)",
            "require(any(chosen[lamp] for lamp in range(s.lamps)))",
            "for lamp in range(s.lamps):",
            "    if chosen[lamp]:",
            "        s.is_on[lamp] = not s.is_on[lamp]",
            "s.switched += 1",
        ),
        action("storm_comes(s)", "require(not s.is_stormy)", "s.is_stormy = True"),
        action(
            "lamp_fails(s, lamp: Lamp)",
            "require(s.is_stormy)",
            "require(s.is_on[lamp])",
            "s.is_on[lamp] = False",
        ),
        helper("storms(s)", "s.is_stormy"),
        # A storm may break it, after two steps; and so may a third switch, which nothing excuses.
        claim("always(permitted=storms)", "calm(s)", "s.switched <= s.limit and not (s.is_stormy and s.switched > 0)"),
        claim("always", "some_are_off(s)", "not all(s.is_on[lamp] for lamp in range(s.lamps))"),
        claim(
            "always_step(permitted=storms)",
            "only_persons_switch_off(before, after, taken)",
            "taken == person_switches or not any(before.is_on[lamp] and not after.is_on[lamp]"
            " for lamp in range(before.lamps))",
        ),
        claim(
            "always(applies=lambda configuration: configuration.speaks_of_storms == 1)",
            "storms_stay(s)",
            "s.switched <= s.most",
        ),
        claim(
            "sometimes",
            "dark_after_a_storm(s)",
            "s.is_stormy and s.switched == s.most and not any(s.is_on[lamp] for lamp in range(s.lamps))",
        ),
        claim("sometimes", "one_at_a_time(before, after)", "before.switched == 2 and after.switched == 3"),
        claim(
            "sometimes",
            "never_to_be_seen(s)",
            "s.switched == 0 and all(s.is_on[lamp] for lamp in range(s.lamps)) and s.lamps > 1",
        ),
        claim("terminal", "may_end(s)", "True"),
    )
)

JUGS = (
    model(
        entries(
            'limit = setting(8, "what is promised of the right jug", option="--limit")',
            'EXCUSED = setting(0, "nothing is promised at all", most=1)',
        ),
        state("left: between(0, 20), initially=4", "right: between(0, 20), initially=4"),
        action(
            "somebody_pours_right(s)", "require(s.left > 0)", "require(s.right < 20)", "s.left -= 1", "s.right += 1"
        ),
        action("somebody_pours_left(s)", "require(s.right > 0)", "require(s.left < 20)", "s.right -= 1", "s.left += 1"),
        helper("is_excused(s)", "s.EXCUSED == 1"),
        define(
            "always(permitted=is_excused)",
            "right_stays_low(s)",
            '"""The right jug stays low."""',
            "return s.right <= s.limit",
        ),
    )
    + "\n"
)
"""Water goes from one jug to the other."""

ALL_THE_WATER = claim("lemma", "no_water_is_lost(s)", "s.left + s.right == 8") + "\n"
"""All the water is in one jug or the other."""

ENDS = "\n" + claim("terminal", "may_end(s)", "True")
"""Appended to the text of a model, it lets the model end in any state, so that no state is a deadlock."""


def checking(main, capsys):
    """Run `main` with some words; return the exit code, stdout, and stderr without notes on compilation."""

    def run(*words):
        code = main(words)
        out, err = capsys.readouterr()
        return code, out, "".join(line for line in err.splitlines(True) if not line.startswith("compiling "))

    return run


def assert_refused(ended, says):
    """Bad input of `check` ends with exit code 2, and with one line on stderr, which begins with this."""
    code, out, err = ended
    assert (code, out, err.count("\n")) == (USAGE, "", 1), err
    assert err.startswith(f"check: {says}"), err


HOLDS = (
    "HOLDS: no behaviour breaks a property, however long: every state that can be reached within these bounds was"
    " searched"
)


def none_to(depth):
    """The verdict of a search to this depth that finds nothing."""
    steps = f"{depth} step{'s' * (depth != 1)}"
    says = f"no behaviour of at most {steps} breaks a property; longer ones were not searched"
    return f"NO VIOLATION TO DEPTH {depth}: {says}"


def searched_to(depth):
    """How far a search came before a limit ended it."""
    steps = f"{depth} step{'s' * (depth != 1)}"
    return f"only behaviours of at most {steps} were searched; a longer one may break a property"


VERDICT = re.compile(rf"(?:{'|'.join(Word)})(?: \d+)?: ")


def verdict_of(text):
    """The line with the verdict, joined if it was wrapped; the last line if there is no verdict."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if VERDICT.match(line)]
    if not starts:
        return lines[-1]
    end = starts[-1] + 1
    while end < len(lines) and lines[end].startswith("    "):
        end += 1
    return " ".join(line.strip() for line in lines[starts[-1] : end])


def proving(main, tmp_path, monkeypatch, capsys):
    """Run `check model.py --prove` on the text of a model, which may end anywhere. The proof cache is new; compiled
    kernels are shared."""
    monkeypatch.setattr(proof_cache, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    check = checking(main, capsys)

    def run(text, *words):
        write_model(tmp_path / "model.py", text + ENDS if "@terminal" not in text else text)
        return check("model.py", "--prove", *words)

    return run


def with_rows(table, folder, numbers):
    """A table of recorded figures (checker/comparisons/published.py) that has only the rows with these numbers."""
    header, *lines = [one for one in table.file.read_text(encoding="utf-8").splitlines() if not one.startswith("#")]
    path = folder / table.file.name
    path.write_text("\n".join([header, *(lines[number] for number in numbers)]), encoding="utf-8")
    return replace(table, file=path)


def interrupt_search_after(monkeypatch, count, *, raises):
    """Press Ctrl-C in the search of a session that follows `count` others: during the search, which ends early, or
    before it begins (`raises`). Returns a list that gains an entry with each search."""
    explore, searches = SearchSession.explore, []

    def interrupted(self, *given, **more):
        searches.append(given)
        if len(searches) <= count:
            return explore(self, *given, **more)
        if raises:
            raise KeyboardInterrupt
        return replace(explore(self, *given, **more), stopped="interrupt")

    monkeypatch.setattr(SearchSession, "explore", interrupted)
    return searches


def told(check, *words):
    """The exit code and the run of --json."""
    code, out, err = check(*words, "--json")
    assert err == ""
    (run,) = json.loads(out)["runs"]
    return code, run


def decided(run):
    """The findings on each property, without paths and counts."""
    return [(one["name"], one["verdict"], one["depth"], one["permitted_depth"]) for one in run["properties"]]


def proofs_of(check, text, *words):
    """The exit code, the verdicts by name, and the object under `proofs`."""
    code, run = told(check, text, *words)
    return code, {one["name"]: one["verdict"] for one in run["properties"]}, run["proofs"]


def instance_of(tmp_path, text, **values):
    """An instance of the model with this text."""
    return registry.load_file(write_model(tmp_path / "model.py", text)).instance(None, values)


def joined(text):
    """A wrapped report as one line."""
    return " ".join(text.split())
