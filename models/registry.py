"""The built-in models by name, and the loader for a user's own model.

A name such as `kafka` or `examples/two_phase_commit` means a model; `published/kip_101` means the protocol `kip_101`
of the model `published`.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib
import importlib.util
import os
import re
import sys
from functools import cache
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING

from isrcheck.models import language
from isrcheck.models.language.declarations import DeclarationError
from isrcheck.models.messages import LanguageError, UsageError, escaped, nearest

if TYPE_CHECKING:
    from isrcheck.models.language.model import Model

FAMILIES = {
    "kafka": "isrcheck.models.kafka.generations",
    "exactly_once": "isrcheck.models.exactly_once",
    "transactions": "isrcheck.models.transactions.generations",
    "coordinator": "isrcheck.models.coordinator.runtime",
    "consumer_commits": "isrcheck.models.coordinator.consumer_commits",
    "kafka_liveness": "isrcheck.models.kafka.liveness",
    "kafka_scenarios": "isrcheck.models.kafka.scenarios",
    "transactions_liveness": "isrcheck.models.transactions.liveness",
    "tier": "isrcheck.models.tier",
    "quorum": "isrcheck.models.quorum.variants",
    "quorum_liveness": "isrcheck.models.quorum.liveness",
    "quorum_schemes": "isrcheck.models.quorum.schemes",
    "published": "isrcheck.models.published",
}
"""The models whose package or module assembles a base and its variants into an object `MODEL`.

kafka_liveness, kafka_scenarios and transactions_liveness have the actions of kafka and transactions, and properties of
their own."""

EXAMPLES = (
    "two_phase_commit",
    "isr_changes",
    "isr_propagation",
    "tla/alternating_bit",
    "tla/barriers",
    "tla/bcast_byz",
    "tla/chang_roberts",
    "tla/coffee_can",
    "tla/dining_philosophers",
    "tla/elevator",
    "tla/ewd840",
    "tla/lamport_mutex",
    "tla/paxos",
    "tla/simple_allocator",
    "tla/spanning_tree",
    "tla/tcommit",
    "tla/termination",
    "tla/token_ring",
)
"""The names of the models that consist of one module below models/examples/."""

LANGUAGE = str(Path(language.__file__).parent)
"""The folder of the language's own files."""

PUBLISHED = ("truncate_to_high_watermark", "kip_101", "kip_279", "kip_320_first_try", "kip_320")
"""The protocols of the model family `published`. They are listed here so that their names are known before it is
loaded."""

OTHERS = ("atomic_commitment", "kip_966", "raft_mongo", "voting")
"""The names of the models that other people published; each is one module below models/published/others/."""

SINGLE = {
    "isr_propagation": "isrcheck.models.isr.propagation",
    "isr_by_lag": "isrcheck.models.isr.by_lag",
    "placement": "isrcheck.models.placement.failures",
    "cap": "isrcheck.models.cap.cuts",
    **{f"examples/{name}": f"isrcheck.models.examples.{name.replace('/', '.')}" for name in EXAMPLES},
    **{f"published/others/{name}": f"isrcheck.models.published.others.{name}" for name in OTHERS},
}


def names() -> list[str]:
    """Return all names that `load` accepts."""
    published = [f"published/{protocol}" for protocol in PUBLISHED]
    return [*(name for name in FAMILIES if name != "published"), *published, *SINGLE]


def load(name: str) -> tuple[Model, str | None]:
    """Return the model with this name, and the protocol in the name (None if the name has no protocol). Raises
    UsageError for an unknown name."""
    family, _, protocol = name.partition("/")
    if name in SINGLE:
        return _single(name), None
    if family in FAMILIES:
        model: Model = importlib.import_module(FAMILIES[family]).MODEL
        if protocol and protocol not in model.protocols:
            raise UsageError(f"no model {name}; {nearest(name, names())}")
        return model, protocol or None
    raise UsageError(f"no model {name}; {nearest(name, names())} (for a model in a file: check FILE.py)")


def is_registered(model: Model) -> bool:
    """Whether the model is built in. A user's file may define another model with the name of a built-in model."""
    try:
        return load(model.name)[0] is model
    except UsageError:
        return False


@cache
def _single(name: str) -> Model:
    from isrcheck.models.language.model import assemble

    return assemble(name, importlib.import_module(SINGLE[name]))


def load_file(path: Path) -> Model:
    """Execute the user's FILE.py and return its model. Raises UsageError if the file cannot be read or executed, and
    LanguageError if the model is not in the modelling language."""
    from isrcheck.models.language.model import assemble

    if path.suffix != ".py" or not path.is_file():
        raise UsageError(f"{path}: there is no such Python file; give the path of a model, such as my_protocol.py")
    # Files with the same name become different modules, and no file hides an installed module.
    unique = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:12]
    specification = importlib.util.spec_from_file_location(f"isrcheck_model_{unique}", path.resolve())
    from isrcheck.models.language.reading.source import former_names  # here, because only a user's file needs it

    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    # Helper modules beside the file can be imported by their plain names.
    sys.path.insert(0, str(path.resolve().parent))
    # Python checks only date and size of compiled code; here the source is read every time.
    kept = sys.dont_write_bytecode, sys.pycache_prefix
    sys.dont_write_bytecode, sys.pycache_prefix = True, os.devnull
    before = dict(vars(builtins))
    try:
        with former_names():
            specification.loader.exec_module(module)
    except DeclarationError as error:
        raise LanguageError(f"{_declared_at(path, error)}: {error}") from None
    except UsageError:
        raise
    except SyntaxError as error:
        raise UsageError(f"{error.filename or path}:{error.lineno or 1}: not Python: {error.msg}") from None
    except ValueError as error:
        # Python up to 3.11.3 reports a file with null bytes this way, without a line.
        if "null bytes" not in str(error):
            raise _failed(path, error) from None
        raise UsageError(f"{path}:1: not Python: {error}") from None
    except (Exception, SystemExit) as error:
        raise _failed(path, error) from None
    finally:
        sys.dont_write_bytecode, sys.pycache_prefix = kept
        sys.path.remove(str(path.resolve().parent))
        changed = [name for name in before if vars(builtins).get(name) is not before[name] and name != "_"]
        vars(builtins).update(before)
    if changed:
        what = f"{path}:1: loading the model changes Python's own `{changed[0]}`"
        raise UsageError(f"{what}; do not assign to Python's module `builtins`")
    return assemble(escaped(path.stem), module)


def _failed(path: Path, error: BaseException) -> UsageError:
    from isrcheck.models.language.reading.source import raised_at  # here, because only a user's file needs it

    line, reason = raised_at(str(path.resolve()), error), escaped(" ".join(str(error).split()))
    called = re.fullmatch(r"(\w+)(?:\.__\w+__)?\(\) (.*)", reason) if isinstance(error, TypeError) else None
    if called is not None and called[1] in language.__all__:  # a declaration with arguments that it does not have
        return LanguageError(f"{path}:{line}: {called[1]}(...) {called[2]}; docs/language.md says what it takes")
    return UsageError(f"{path}:{line}: loading the model failed: {type(error).__name__}: {reason}")


def _declared_at(path: Path, error: BaseException) -> str:
    """Return FILE:LINE of an invalid declaration, which raised `error` in the model's file or in an imported file."""
    place = f"{path}:1"
    for frame, line in walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file.endswith(".py") and not file.startswith(LANGUAGE):
            place = f"{path if file == str(path.resolve()) else file}:{line}"
    return place
