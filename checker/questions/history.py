"""The trace of a history, replayed in plain Python without a search.

In:  a `History` of a finding: the steps of a model, as text.
Out: the certified `Trace`, from which texts and pages are made.
"""

from __future__ import annotations

import shlex

from isrcheck.checker.questions.finding import History
from isrcheck.commands.settings import words_of_name, words_of_values
from isrcheck.models import registry
from isrcheck.models.kafka.failures.catalogue import pairs
from isrcheck.models.language.model import Instance, parse
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.certify import behaviour, step_named
from isrcheck.traces.format.trace import Trace


def instance_of(model: str, protocol: str, configuration: str) -> Instance:
    """The instance of a model with these entries, as on the command line. Raises UsageError."""
    loaded, _ = registry.load(model)
    texts = pairs(configuration)
    for name in texts:
        if name not in loaded.entries:
            raise UsageError(f"{model} has no configuration entry {name}; the history is of another version")
    return loaded.instance(protocol, {name: parse(name, loaded.entries[name], text) for name, text in texts.items()})


def trace_of(history: History) -> Trace:
    """Take every step again. Raises UsageError if a step is not possible, or if the verdict is another one."""
    instance = instance_of(history.model, history.protocol, history.configuration)
    command = shlex.join(["check", *words_of_name(history.model, instance), *words_of_values(instance)])
    return behaviour(
        instance,
        history.start,
        [step_named(instance, text) for text in history.steps],
        history.property_name,
        command,
        history.verdict,
        history.loop,
    )
