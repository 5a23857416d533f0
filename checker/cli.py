"""The command `check`: the one place where engines, reports and traces are put together.

In:  the words that a person typed. Out: text or JSON on stdout, progress and errors on stderr, an exit code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from checker import answer, matrix, published, report
from checker.console import ProgressLine, give_up_stdout, interrupts, prepare_streams
from checker.explore import Exploration, Limits, explore
from checker.kernel import kernel_of
from checker.options import Options, command_of, instance_of, read_options
from checker.properties_file import PropertiesError
from checker.report import Run
from checker.verdict import (
    DISAGREE,
    INTERRUPTED,
    SAFE,
    UNDECIDED,
    UNEXPECTED,
    USAGE,
    VIOLATED,
    Verdict,
    Word,
    exit_code,
    verdicts,
)
from models.errors import UsageError
from models.language.declare import Kind
from models.language.model import Instance
from traces.certify import from_steps
from traces.folder import write as write_trace
from traces.show import view
from traces.trace import Trace


def main(words: Sequence[str] | None = None) -> int:
    """Run `check`; returns its exit code."""
    prepare_streams()
    with interrupts() as seen:
        return _guarded(sys.argv[1:] if words is None else words, seen)


def _guarded(words: Sequence[str], seen: list[int]) -> int:
    """Run `check`, and turn whatever goes wrong into one line and an exit code."""
    try:
        code = _run(read_options(words), seen)
        sys.stdout.flush()
        return code
    except (UsageError, PropertiesError) as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        print("check: interrupted before anything was found", file=sys.stderr)
        return INTERRUPTED
    except MemoryError:
        return _complain("this machine does not give that much memory; ask for less with --memory")
    except OSError as error:
        give_up_stdout()
        return _complain(f"{error.filename or 'output'}: {error.strerror}; make room, or write elsewhere")
    except AssertionError as error:
        # The kernel and the reference have to agree; this is an error of ours, never the user's.
        print(f"check: the engines disagree, which is an error in isrcheck: {error}", file=sys.stderr)
        return DISAGREE


def _complain(message: str) -> int:
    print(f"check: {message}", file=sys.stderr)
    return USAGE


def _run(options: Options, seen: list[int]) -> int:
    searches = _Searches(options, seen)
    if options.config:
        return _answer_configuration(options, searches)
    if options.target is None:
        return _matrix(options, searches)
    if options.target == "published" and options.protocol is None:
        return _published(options)
    return _one_model(options, searches)


class _Traces:
    """Writes certified traces; the first failure to write is kept, so that the report still comes out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failure = ""
        self.shortest: dict[str, Trace] = {}

    def write(self, target: str, instance: Instance, found: Sequence[Verdict]) -> Mapping[str, Path]:
        """A trace for every failure of a property, whether it breaks a promise or is permitted."""
        files: dict[str, Path] = {}
        for verdict in found:
            if verdict.prop.kind is Kind.SOMETIMES:
                continue
            name = verdict.prop.name
            witnesses = []
            if verdict.word is Word.VIOLATED and verdict.witness is not None:
                witnesses.append((name, verdict.witness, "VIOLATED"))
            if verdict.permitted is not None and verdict.permitted.witness is not None:
                key = name if verdict.word is Word.PERMITTED else f"{name} (permitted)"
                witnesses.append((key, verdict.permitted.witness, "PERMITTED"))
            for key, witness, word in witnesses:
                command = command_of(target, instance, witness.depth)
                trace = from_steps(instance, witness.initial, witness.steps, name, command, word)
                self.shortest[key] = trace
                try:
                    if not self.failure:
                        files[key] = write_trace(trace, self.folder)
                except UsageError as error:
                    self.failure = str(error)
        return files


class _Searches:
    """Searches one after the other, for the options that were given; `seen` notes that Ctrl-C was pressed."""

    def __init__(self, options: Options, seen: list[int]) -> None:
        self.options = options
        self.seen = seen

    def run(
        self,
        instance: Instance,
        target: str,
        traces: _Traces,
        *,
        limits: Limits,
        only: Sequence[str] = (),
        want_permitted: bool = False,
    ) -> Run:
        """Search an instance, judge what was found, and write its traces."""
        progress = ProgressLine(report.title(instance))
        kernel = kernel_of(instance, progress.announce)
        if self.seen:
            raise KeyboardInterrupt
        exploration = explore(
            instance,
            limits,
            count_all=self.options.count_all,
            only=only,
            want_permitted=want_permitted,
            kernel=kernel,
            report=progress.report,
        )
        progress.clear()
        found = verdicts(exploration)
        command = command_of(target, instance, limits.depth)
        return Run(exploration, found, command, self.options.count_all, traces.write(target, instance, found))


def _finish(options: Options, text: str, content: Mapping[str, Any], traces: _Traces, code: int, stopped: bool) -> int:
    if options.as_json:
        text = json.dumps(content, indent=2)
    try:
        print(text, flush=True)
    except BrokenPipeError:
        give_up_stdout()
    if stopped:
        print("check: interrupted; this is what was found so far", file=sys.stderr)
        return INTERRUPTED
    return _complain(traces.failure) if traces.failure else code


def _was_interrupted(explorations: Sequence[Exploration]) -> bool:
    return any(exploration.stopped == "interrupt" for exploration in explorations)


def _one_model(options: Options, searches: _Searches) -> int:
    assert options.target is not None
    instance = instance_of(options)
    traces = _Traces(options.out)
    run = searches.run(instance, options.target, traces, limits=options.limits)
    content = {"runs": [report.as_object(run)], "verdict": run.word.value}
    code = exit_code(run.word, strict=options.strict, found=run.verdicts)
    return _finish(options, report.text(run), content, traces, code, _was_interrupted([run.exploration]))


def _matrix(options: Options, searches: _Searches) -> int:
    traces = _Traces(options.out)
    pairs = []
    for record in matrix.recorded():
        target = record.instance.model.name
        run = searches.run(record.instance, target, traces, limits=options.limits)
        pairs.append((record, run))
        if run.exploration.stopped == "interrupt":
            break
    matches = [cell for record, run in pairs for cell in matrix.judged(record, run).values()]
    worst = next((match for match in matrix.Match if match in matches), matrix.Match.SAME)
    code = {matrix.Match.NEW: VIOLATED, matrix.Match.MISSING: UNEXPECTED, matrix.Match.OPEN: UNDECIDED}.get(worst, SAFE)
    words = [run.word for _, run in pairs]
    if code == SAFE and options.strict and Word.PERMITTED in words:
        code = VIOLATED
    content = {
        "runs": [report.as_object(run) for _, run in pairs],
        "cells": [
            {
                "model": r.instance.model.name,
                "protocol": r.instance.protocol.name,
                "property": name,
                "record": match.value,
            }
            for r, run in pairs
            for name, match in matrix.judged(r, run).items()
        ],
        "record": worst.value,
        "verdict": next(word for word in Word if word in words).value,
    }
    closing = {
        matrix.Match.SAME: "as recorded: every cell shows what models/verdicts.toml says",
        matrix.Match.OPEN: "UNDECIDED: a search was cut short before its bound",
        matrix.Match.MISSING: "NOT FOUND: a recorded violation or a `sometimes` does not show",
        matrix.Match.NEW: "VIOLATED: a failure shows that is not recorded",
    }[worst]
    text = f"{matrix.text(pairs)}\n\n{closing}"
    return _finish(options, text, content, traces, code, _was_interrupted([run.exploration for _, run in pairs]))


def _published(options: Options) -> int:
    if options.bound is not None:
        raise UsageError("check published compares whole state spaces: leave --bound out, or name one model")
    lines = [[*published.SIZES, *published.FIGURES]]
    lines[0].insert(0, "variant")
    runs, stopped, differing, cut = [], False, 0, False
    rows = list(published.rows())
    for row in rows:
        progress = ProgressLine(f"{row.variant} {' '.join(map(str, row.sizes.values()))}")
        try:
            exploration, ours = published.compare(row, options.limits, progress.report, progress.announce)
        except KeyboardInterrupt:
            cut = stopped = True
            break
        progress.clear()
        run = Run(
            exploration, verdicts(exploration), command_of(f"published/{row.variant}", row.instance(), None), True
        )
        runs.append(report.as_object(run) | {"figures": ours, "tlc": row.figures})
        if not exploration.is_complete:
            cut = True
            stopped = stopped or exploration.stopped == "interrupt"
            if stopped:
                break
            continue
        differing += ours != row.figures
        lines.append(published.line(row, ours))
    same = len(lines) - 1 - differing
    closing = f"{same} of {len(rows)} rows equal TLC's figures (ours = TLC's; states@level of the first violation)"
    if cut:
        closing = f"UNDECIDED: {closing}; at least one row was cut short"
    code = UNEXPECTED if differing else UNDECIDED if cut else SAFE
    verdict = "as published" if code == SAFE else Word.UNDECIDED.value if code == UNDECIDED else "differs"
    text = "\n".join([*report.table(lines), "", closing])
    return _finish(options, text, {"runs": runs, "verdict": verdict}, _Traces(options.out), code, stopped)


def _answer_configuration(options: Options, searches: _Searches) -> int:
    question = answer.read_question(options.config, options.kafka_version)
    traces, aside_traces = _Traces(options.out), _Traces(options.out)
    if question.instance is None:
        text, content = answer.refusal(question), answer.refusal_object(question)
        return _finish(options, text, content, traces, UNDECIDED, False)
    seconds = options.limits.seconds if options.limits.seconds is not None else answer.SECONDS
    asides = []
    for says, instance in question.asides():
        limits = replace(options.limits, seconds=seconds * answer.ASIDE_SHARE)
        run = searches.run(instance, "kafka", aside_traces, limits=limits, only=(answer.PROMISE,), want_permitted=True)
        if run.exploration.stopped == "interrupt":
            cut = replace(question, why_undecided="it was interrupted before the cluster itself was searched")
            return _finish(options, answer.refusal(cut), answer.refusal_object(cut), traces, UNDECIDED, True)
        asides.append((says, run))
    # What the questions on the side leave of the time belongs to the verdict; compiling takes none of it.
    left = max(seconds - sum(run.exploration.seconds for _, run in asides), seconds * answer.ASIDE_SHARE)
    main_run = searches.run(question.instance, "kafka", traces, limits=replace(options.limits, seconds=left))
    word = answer.word_of(main_run)
    rests_on = [verdict.prop.name for verdict in answer.promises(main_run) if verdict.word is word]
    rests_on.sort(key=lambda name: name != answer.PROMISE)
    told = next((traces.shortest[name] for name in rests_on if name in traces.shortest), None)
    history = "" if told is None else "\n".join(view(told))
    traces.failure = traces.failure or aside_traces.failure
    content = answer.answer_object(question, main_run, asides)
    code = exit_code(word, strict=options.strict, found=answer.promises(main_run))
    stopped = _was_interrupted([main_run.exploration, *(run.exploration for _, run in asides)])
    return _finish(options, answer.text(question, main_run, asides, history), content, traces, code, stopped)
