"""The source text that the checker reads is the code that CPython runs.

A function that differs from its source text is refused with FILE:LINE and a cure. Changes of a module's names while it
is loaded count for all engines alike; later changes have no effect.
"""

from __future__ import annotations

import builtins
import re
import types
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import registry, run
from isrcheck.models.language.model import Instance, Model
from isrcheck.models.language.reading.reader import with_callees
from isrcheck.models.messages import UsageError

TEXT = '''"""A counter that stays below its limit."""

import functools
from enum import IntEnum

from isrcheck.language import action, always, always_step, between, field, initial, require, sometimes

LIMIT = 3


class Configuration:
    pass


class State:
    count = field(values=between(0, 5))
    is_broken = field(values=between(0, 1))


def below(s, limit):
    return s.count < limit


@action
def rise(s):
    require(below(s, LIMIT))
    s.count += 1


@always
def stays_low(s):
    return s.count <= LIMIT and s.is_broken == 0


from isrcheck.language import terminal


@terminal
def may_end(s):
    return True
'''

BREAKING = """\
def breaking(function):
    @functools.wraps(function)
    def wrapper(s):
        function(s)
        s.is_broken = 1
    return wrapper


"""

HIDING = """KEPT = []


def hiding(function):
    KEPT.append(function)
    def rise(s):
        KEPT[0](s)
        s.is_broken = 1
    rise.isrcheck = function.isrcheck
    return rise


"""

OTHER = '''\
class Eager:
    """Something that can be called, and carries the mark of what it calls."""

    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self, s):
        s.is_broken = 1

    def __eq__(self, other):
        return True


def other(s):
    s.is_broken = 1


def lower(s, limit):
    return s.count < limit - 1


'''

ACTION = "@action\ndef rise(s):"
PROPERTY = "@always\ndef stays_low"


def load(folder: Path, text: str) -> Model:
    path = folder / "counter.py"
    path.write_text(text, encoding="utf-8")
    return registry.load_file(path)


def line_of(text: str, start: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith(start))


# ------------------------------------------------------------------------------------------------------------ refused

EXCUSED = """\
@breaking
def excused(s):
    return s.count == 3


@always(permitted=excused)
def is_excused(s):
    return True
"""

REFUSED: dict[str, tuple[str, str, str]] = {
    "a decorator around an action": (
        TEXT.replace("@action\n", BREAKING + "@breaking\n@action\n"),
        "@breaking",
        "rise is wrapped in another function; leave the decorator out",
    ),
    "a decorator under the mark": (
        TEXT.replace("@action\n", BREAKING + "@action\n@breaking\n"),
        "@action",
        "rise is wrapped in another function; leave the decorator out",
    ),
    "a decorator around a helper": (
        TEXT.replace("def below", BREAKING + "@breaking\ndef below"),
        "@breaking",
        "below is wrapped in another function; leave the decorator out",
    ),
    "a decorator around what is permitted": (
        TEXT + "\n\n" + BREAKING + EXCUSED,
        "@breaking",
        "excused is wrapped in another function; leave the decorator out",
    ),
    "a wrapper that hides what it wraps": (
        TEXT.replace("@action\n", HIDING + "@hiding\n@action\n"),
        "        KEPT[0](s)",
        "in rise: this expression has no effect",
    ),
    "a decorator that gives the function back": (
        TEXT.replace("def below", "def same(function):\n    return function\n\n\ndef below").replace(
            "@action\n", "@same\n@action\n"
        ),
        "@same",
        "in rise: the decorator `@same` is not in the language; leave the decorator out",
    ),
    "an object that can be called": (
        TEXT.replace("def below", OTHER + "def below") + "\n\nrise = Eager(rise)\n",
        "@action",
        "rise is a Eager, not a function; write a plain `def`, and leave the decorator out",
    ),
    "an object with a mark of its own": (
        TEXT.replace("def below", OTHER + "def below")
        + "\n\nmark = rise.isrcheck\nrise = Eager(functools.partial(other))\nrise.isrcheck = mark\n",
        "rise = ",
        "rise is a Eager, not a function",
    ),
    "functools.partial": (
        TEXT + "\n\nmark = rise.isrcheck\nrise = functools.partial(rise)\nrise.isrcheck = mark\n",
        "rise = ",
        "rise is a partial, not a function",
    ),
    "a helper that is a partial": (
        TEXT + "\n\nbelow = functools.partial(below)\n",
        "    require(below",
        "in rise: `below(...)` cannot be called here; call helpers of the modelling language",
    ),
    "other code under the same name": (
        TEXT + "\n\n" + OTHER + "\nrise.__code__ = other.__code__\n",
        "def other",
        "other is run under the name rise; do not assign `__code__` or `__name__`",
    ),
    "code that says where it is not from": (
        TEXT + "\n\n" + OTHER + "\nhere = rise.__code__\nrise.__code__ = other.__code__.replace(co_name='rise', "
        "co_firstlineno=here.co_firstlineno)\n",
        "@action",
        "rise does not run the code of its text in the file; load the file again, and do not assign `__code__`",
    ),
    "a constant of the code": (
        TEXT.replace("s.count += 1", "s.count += 2")
        + "\n\nrise.__code__ = rise.__code__.replace(co_consts=tuple(1 if one == 2 else one"
        " for one in rise.__code__.co_consts))\n",
        "@action",
        "rise does not run the code of its text in the file",
    ),
    "default values": (
        TEXT + "\n\nbelow.__defaults__ = (1,)\n",
        "def below",
        "below has default values that its text lacks; pass every argument, and set no defaults",
    ),
    "default values by name": (
        TEXT + "\n\nbelow.__kwdefaults__ = {'limit': 1}\n",
        "def below",
        "below has default values that its text lacks",
    ),
    "exec": (
        TEXT + "\n\nnames = dict(globals())\nexec('def rise(s):\\n    s.is_broken = 1', names)\n"
        "rise = action(names['rise'])\n",
        "",
        "<string>:1: rise has no source file that can be read; define the function in a file",
    ),
    "exec in the name of the file": (
        TEXT + "\n\nnames = dict(globals())\ntext = '\\n' * LINE + '@action\\ndef rise(s):\\n    s.is_broken = 1'\n"
        "exec(compile(text, __file__, 'exec'), names)\nrise = names['rise']\n",
        "@action",
        "rise does not run the code of its text in the file",
    ),
    "a lambda": (
        TEXT + "\n\nrise = action(lambda s: None)\n",
        "rise = ",
        "<lambda> is not written as a plain `def` in this file; write a plain `def`, without a lambda or a factory",
    ),
    "a lambda for a helper": (
        TEXT + "\n\nbelow = lambda s, limit: True\n",
        "below = ",
        "<lambda> is not written as a plain `def` in this file",
    ),
    "a factory": (
        TEXT + "\n\ndef made(limit):\n    def below(s, wanted):\n        return s.count < limit\n    return below\n\n\n"
        "below = made(5)\n",
        "    def below",
        "below uses limit, which belongs to the function around it; define below at the top of the module",
    ),
    "a name that Python changes in a class": (
        TEXT + "\n\n__MORE = 1\n\n\nclass Holder:\n    def below(s, limit):\n        _Holder__MORE = 2\n"
        "        return s.count < limit + __MORE\n\n\nbelow = Holder.below\n",
        "    def below",
        "below is in a class, where Python renames __MORE; define it at the top of the module",
    ),
    "all is any": (
        TEXT.replace("def below", "all = any\n\n\ndef below").replace("below(s, LIMIT)", "all(True for i in range(2))"),
        "    require(all",
        "in rise: `all(...)` cannot be called here",
    ),
    "Python's own all is any": (
        TEXT + "\n\nimport builtins\nbuiltins.all = any\n",
        None,
        "loading the model changes Python's own `all`; do not assign to Python's module `builtins`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_function_that_differs_from_its_text_is_refused(tmp_path: Path, case: str) -> None:
    text, start, says = REFUSED[case]
    text = text.replace("LINE", str(line_of(text, "@action") - 1)) if "'\\n' * LINE" in text else text
    place = "" if start == "" else f"{tmp_path / 'counter.py'}:{1 if start is None else line_of(text, start)}: "
    with pytest.raises(UsageError, match=rf"^{re.escape(place + says)}.*\Z"):
        load(tmp_path, text)


def test_changed_builtins_are_restored(tmp_path: Path) -> None:
    genuine = builtins.all
    with pytest.raises(UsageError):
        load(tmp_path, REFUSED["Python's own all is any"][0])
    assert builtins.all is genuine


def test_a_file_that_changed_after_it_was_loaded(tmp_path: Path) -> None:
    """Python runs the loaded code, which differs from the new text."""
    changing = (
        "\n\nfrom pathlib import Path\nhere = Path(__file__)\nhere.write_text(here.read_text().replace('= 3', '=  3')"
    )
    loaded = load(tmp_path, TEXT + changing + ")\n")
    rise = loaded.actions[0].alternatives[0].python
    assert isinstance(rise, types.FunctionType) and rise.__globals__["LIMIT"] == 3
    says = "rise does not run the code of its text in the file; load the file again, and do not assign `__code__`"
    with pytest.raises(UsageError, match=says):
        load(tmp_path, TEXT + changing + ".replace('+= 1', '+= 2'))\n")


# ----------------------------------------------------------------------------------------------------------- harmless

SHY = '''

class Shy(int):
    """A number whose operators lie."""

    def __eq__(self, other):
        return True

    __lt__ = __gt__ = __le__ = __ge__ = __eq__
    __hash__ = int.__hash__

    def __index__(self):
        return 5

    __int__ = __index__


'''
LYING = """

class Lying(type(IntEnum)):
    def __getattribute__(cls, name):
        return 5 if name == "LOW" else super().__getattribute__(name)

    def __getitem__(cls, name):
        return 5


class Level(IntEnum, metaclass=Lying):
    LOW = 3

    def __eq__(self, other):
        return True

    __le__ = __gt__ = __eq__
    __hash__ = int.__hash__

    def __int__(self):
        return 5


"""
START = "\n\n@initial\ndef start(configuration):\n    "
PATCHED = "globals()['LIMIT'] = 5\n    globals()['below'] = lambda s, limit: True\n    globals()['all'] = any\n"
FORGED = """

class Forged:
    __class__ = int

    def __int__(self):
        return 3

    __index__ = __int__


"""

HARMLESS = {
    "a number that lies": TEXT.replace("LIMIT = 3\n", SHY + "LIMIT = Shy(3)\n"),
    "an enumeration that lies": TEXT.replace("LIMIT = 3\n", LYING).replace("LIMIT", "Level.LOW"),
    "a constant that is patched while the file is loaded": TEXT.replace("LIMIT = 3", "LIMIT = 5") + "\n\nLIMIT = 3\n",
    "a helper that is reassigned while the file is loaded": TEXT.replace("s.count < l", "s.count > l")
    + "\n\ndef other(s, limit):\n    return s.count < limit\n\n\nbelow = other\n",
    "names that are patched from @initial": TEXT + START + f"{PATCHED}    yield {{}}\n",
    "patched from @initial through the function": TEXT + START
    + "rise.__globals__['LIMIT'] = 5\n    below.__code__ = start.__code__\n"
    "    rise.__globals__['__builtins__'] = {}\n    yield {}\n",
    "a start that lies about its number": TEXT.replace("LIMIT = 3\n", SHY + "LIMIT = 3\n")
    + START + "yield {'count': Shy(0)}\n",
    "a mark under another name": TEXT.replace("@action\n", "step = action(shows=None)\n\n\n@step\n"),
    "a mark by way of its module": TEXT.replace("@action\n", "@language.action\n").replace(
        "from enum", "import isrcheck.models.language as language\nfrom enum"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HARMLESS)
def test_objects_with_false_metadata_have_no_effect(tmp_path: Path, case: str) -> None:
    """The counter ends at 3, for plain Python and for the kernel, and the property holds there."""
    instance = load(tmp_path, HARMLESS[case]).instance()
    assert reached(instance) == [(0, 0), (1, 0), (2, 0), (3, 0)]
    found = explore(instance, Limits(), count_all=True)
    failed = {name: each.found.count for name, each in found.findings.items()}
    assert (found.distinct, found.exhausted, failed) == (4, True, {"stays_low": 0})


def reached(instance: Instance) -> list[run.Cells]:
    """The states that CPython reaches, after a check that none fails."""
    level, seen = list(instance.initial_states), set(instance.initial_states)
    found = []
    while level:
        assert all(run.holds(instance, instance.properties[0], cells) for cells in level)
        found += level
        level = list(dict.fromkeys(after for cells in level for _, after in run.successors(instance, cells)))
        level = [cells for cells in level if cells not in seen]
        seen |= set(level)
    return found


def test_objects_that_only_claim_to_be_numbers_are_refused(tmp_path: Path) -> None:
    text = TEXT.replace("LIMIT = 3\n", FORGED + "LIMIT = Forged()\n")
    with pytest.raises(
        UsageError, match="in rise: `LIMIT` is a Forged, not a whole number; use only names of whole numbers"
    ):
        load(tmp_path, text)


def test_the_action_that_was_taken_may_be_compared_with_actions_only(tmp_path: Path) -> None:
    text = TEXT + "\n\nLIST = []\n\n\n@always_step\ndef p(before, after, taken):\n    return taken == LIST\n"
    with pytest.raises(UsageError, match="LIST is not an action of this model; name one of its actions"):
        load(tmp_path, text)


def test_a_sealed_function_uses_only_the_names_that_were_read(tmp_path: Path) -> None:
    model = load(tmp_path, TEXT)
    rise = model.actions[0].alternatives[0]
    names: dict[str, Any] = rise.python.__globals__
    assert set(names) == {"__builtins__", "LIMIT", "below", "require"}
    assert names["below"] is rise.functions["below"].python
    for function in with_callees([rise]):
        python = function.python
        assert isinstance(python, types.FunctionType) and python.__closure__ is None
        assert python.__globals__["__builtins__"] == {
            function.__name__: function for function in (min, max, abs, all, any, sum, len, range, set)
        }


def test_every_function_of_the_models_of_this_project_is_sealed() -> None:
    for name in ("kafka", "published", "examples/two_phase_commit"):
        model, _ = registry.load(name)
        roots = [one for action in model.actions for one in action.alternatives]
        roots += [one.function for one in (*model.properties, *model.lemmas)]
        for function in with_callees(roots):
            assert "__name__" not in function.python.__globals__
            assert function.names["__name__"].startswith("isrcheck.models.")
