"""Shared by the tests of observations: small recordings, and a slow and simple second implementation of following.

The second implementation is plain Python on one state at a time (models/run.py). It tries all choices that the search
avoids: a line is passed now or later, and a checkpoint is taken in this state or in a later one.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.conformance.follow.recorded.lines import (
    Acked,
    AlterRequest,
    Disk,
    ElectRequest,
    Fault,
    HighWatermark,
    Holds,
    Line,
    LogEnd,
    Metadata,
    Read,
    Sent,
)
from isrcheck.conformance.follow.recorded.recording import Recording
from isrcheck.conformance.follow.report.tell import tell
from isrcheck.conformance.follow.search.explain import Outcome
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import Cells, State, take

Guess = tuple[tuple[int, ...], tuple[int | None, ...], frozenset[int]]
"""Of each broker: how many sightings of this process are explained, and the checkpoint that it may come back with;
and the records that were acknowledged elsewhere than recorded."""


def write(path: Path, *lines: Mapping[str, Any]) -> Path:
    """Write a recording of these lines, which get numbers, except a header."""
    texts = [json.dumps(line if line["kind"] == "header" else {"n": n, **line}) for n, line in enumerate(lines)]
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def header(least: int, *replicas: int, unclean: bool = False) -> dict[str, Any]:
    return {
        "kind": "header",
        "min.insync.replicas": least,
        "unclean.leader.election.enable": unclean,
        "replicas": list(replicas),
    }


def acked(value: str | None, offset: int | None = None) -> dict[str, Any]:
    return {"kind": "acked", "value": value, "offset": offset}


def disk(broker: int, *values: str | None, checkpoint: int | None = None) -> dict[str, Any]:
    log = [[offset, value] for offset, value in enumerate(values)]
    return {"kind": "disk", "broker": broker, "log": log, "high_watermark_checkpoint": checkpoint}


def metadata(leader: int, *isr: int, epoch: int | None = None) -> dict[str, Any]:
    return {"kind": "metadata", "leader": leader, "isr": list(isr), "leader_epoch": epoch}


def record(
    leader: int, *isr: int, epoch: int, change: int | None = None, replicas: Sequence[int] | None = None
) -> dict[str, Any]:
    """The record of the partition after so many changes (as a rule, each has begun a leader epoch)."""
    shown = {} if replicas is None else {"replicas": list(replicas)}
    return {**metadata(leader, *isr, epoch=epoch), "partition_epoch": epoch if change is None else change, **shown}


def sent(value: str | None, **acks: str) -> dict[str, Any]:
    return {"kind": "fault", "what": "send", "value": value, **acks}


def log_end(broker: int, offset: int) -> dict[str, Any]:
    return {"kind": "log_end", "broker": broker, "log_end_offset": offset}


def high_watermark(broker: int, mark: int) -> dict[str, Any]:
    return {"kind": "high_watermark", "broker": broker, "high_watermark": mark}


def put_at(said: Any, key: str, value: Any) -> None:
    """Replace the value at a place of an object, such as `log.0.1`, by a different value."""
    *steps, last = (int(word) if word.isdecimal() else word for word in key.split("."))
    for step in steps:
        said = said[step]
    assert said[last] != value
    said[last] = value


def fault(what: str, broker: int) -> dict[str, Any]:
    return {"kind": "fault", "what": what, "broker": broker}


KILL, FREEZE, THAW, START, STOP, CUT = (kind.value for kind in FaultKind)
FAULTS = {"kill": KILL, "freeze": FREEZE, "thaw": THAW, "start": START, "stop": STOP}


def read(*values: str) -> dict[str, Any]:
    return {"kind": "client_read", "records": [[offset, value] for offset, value in enumerate(values)]}


def said(text: str) -> list[dict[str, Any]]:
    """The lines of a recording that a text names, separated by semicolons.

    The words of a line are those of this example, where `hw` is a checkpoint, `mark` a high watermark, and `end` a log
    end; without brokers, `reassign` and its answer are about a cancellation:

        header 2: 1 2 unclean all_requests; metadata 1: 1 2 epoch=5; record 1: 1 2 epoch=0 change=1 replicas=1,2,3;
        disk 2: x y hw=1 epochs=0,1 cache=0@0,1@1; acked x 0 acks=1; send x; read x y; kill 1; freeze 1; thaw 1;
        start 1; stop 1; mark 1 3; end 2 3; requests 1: 1 2 epoch=0 change=1; reassign 1 2; answered 1 2;
        refused 1 2; elect unclean; applied 2 1; holds 2 0 x
    """
    return [_said(*line.split()) for line in text.split(";") if line.strip()]


def _said(kind: str, *words: str) -> dict[str, Any]:
    options = {key: value for key, is_option, value in (word.partition("=") for word in words) if is_option}
    names = [word.rstrip(":") for word in words if "=" not in word]
    numbers = [int(name) for name in names if name.lstrip("-").isdecimal()]
    epochs = {key: int(options[key]) for key in ("epoch", "change") if key in options}
    match kind:
        case "header":
            least, *brokers = numbers
            is_complete = {"all_requests": True} if "all_requests" in names else {}
            return header(least, *brokers, unclean="unclean" in names) | is_complete
        case "metadata":
            return metadata(*numbers, **epochs)
        case "record":
            replicas = [int(broker) for broker in options["replicas"].split(",")] if "replicas" in options else None
            return record(*numbers, **epochs, replicas=replicas)
        case "requests":
            leader, *isr = numbers
            of_leader = {"leader_epoch": epochs["epoch"], "partition_epoch": epochs["change"]}
            return {"kind": "alter_partition", "leader": leader, "isr": isr, **of_leader}
        case "disk":
            line = disk(numbers[0], *names[1:], checkpoint=int(options["hw"]) if "hw" in options else None)
            if "epochs" in options:
                line["batch_epochs"] = [int(epoch) for epoch in options["epochs"].split(",")]
            if "cache" in options:
                entries = [entry.split("@") for entry in options["cache"].split(",")]
                line["leader_epoch_checkpoint"] = [[int(epoch), int(start)] for epoch, start in entries]
            return line
        case "acked":
            return acked(names[0], *numbers) | options
        case "send":
            return sent(names[0])
        case "read":
            return read(*names)
        case "mark":
            return high_watermark(*numbers)
        case "end":
            return log_end(*numbers)
        case "reassign":
            return {"kind": "fault", "what": "reassign", "replicas": numbers or None}
        case "answered" | "refused":
            return {"kind": "reassigned", "replicas": numbers or None, "refused": kind == "refused"}
        case "holds":
            return {"kind": "holds", "broker": numbers[0], "records": [[numbers[1], names[2]]]}
        case "applied":
            return {"kind": "applied", "broker": numbers[0], "partition_epoch": numbers[1]}
        case "elect":
            return {"kind": "fault", "what": f"elect {names[0]}"}
    return fault(FAULTS[kind], *numbers)


def wander(
    chance: Random,
    instance: Instance,
    cells: Cells,
    brokers: Sequence[int],
    observe: Callable[[Cells], list[dict[str, Any]]],
    *,
    most: int,
    freezing: float,
    never: tuple[str, ...] = (),
    rare: tuple[str, ...] = (),
) -> tuple[list[dict[str, Any]], Cells]:
    """Take random steps, `most` at most; return the lines about faults and about each state, and the last state.

    Actions in `never` are not taken; those that begin with a word of `rare` are preferred, for they are rare among all.
    After a step, a broker freezes or thaws with the probability `freezing`.
    """
    lines, frozen = list[dict[str, Any]](), set[int]()
    steps = [step for step in instance.steps if step.action not in never]
    for _ in range(most):
        enabled = [(step, after) for step in steps if (after := take(instance, cells, step)) is not None]
        if not enabled:
            break
        preferred = [(step, after) for step, after in enabled if step.action.startswith(rare)]
        step, after = chance.choice(preferred if preferred and chance.random() < 0.7 else enabled)
        arguments = zip(instance.argument_ranges[step.action_index], step.ordinals, strict=True)
        involved = {ordinal for argument, ordinal in arguments if not argument.is_subset}
        if frozen & involved and not step.action.startswith("controller"):
            continue
        befalls = {"broker_crashes": KILL, "broker_restarts": START}.get(step.action)
        if befalls is not None:
            lines.append(fault(befalls, brokers[step.ordinals[0]]))
            frozen.discard(step.ordinals[0])
        cells = after
        lines += observe(cells)
        if chance.random() < freezing:
            up = [replica for replica in range(len(brokers)) if State(instance, cells).is_up[replica]]
            replica = chance.choice(up or [None])
            if replica is not None:
                lines.append(fault(THAW if replica in frozen else FREEZE, brokers[replica]))
                frozen ^= {replica}
    return lines, cells


def flat(outcome: Outcome) -> str:
    """The printed outcome, without line breaks."""
    return " ".join(" ".join(tell(outcome)).split())


# ------------------------------------------------------------------------------------------------- the second reading


@dataclass(frozen=True)
class Moment:
    """A state, with the number of passed lines and the choices made."""

    cells: Cells
    passed: int
    guess: Guess


class SlowReading:
    """The second implementation, for one recording and one instance of the model."""

    def __init__(self, recording: Recording, instance: Instance, *, is_idempotent: bool) -> None:
        self.recording = recording
        self.instance = instance
        self.is_idempotent = is_idempotent
        self.furthest = 0
        # These are called for every moment, and depend only on the recording.
        self.faults_before = cache(self._faults_before)
        self.sightings = cache(self._sightings)
        self.unseen_elections = cache(self._unseen_elections)

    def shortest(self) -> int | None:
        """The length of the shortest path that explains the recording, or None."""
        waiting = deque((0, moment) for moment in self.starts())
        known: set[Moment] = set()
        while waiting:
            length, moment = waiting.popleft()
            if moment in known:
                continue
            known.add(moment)
            self.furthest = max(self.furthest, moment.passed)
            if moment.passed == len(self.recording.lines):
                return length
            waiting.extendleft((length, later) for later in self.without_a_step(moment))
            for step in self.instance.steps:
                after = take(self.instance, moment.cells, step)
                if after is not None:
                    waiting.extend((length + 1, later) for later in self.by_step(moment, step, after))
        return None

    def accepts(self, steps: tuple[Step, ...], states: tuple[Cells, ...]) -> bool:
        """Whether this path explains the recording."""
        moments = self.closed({moment for moment in self.starts() if moment.cells == self._plain(states[0])})
        for step, state in zip(steps, states[1:], strict=True):
            found = {later for moment in moments for later in self.by_step(moment, step, state)}
            moments = self.closed(found)
        return any(moment.passed == len(self.recording.lines) for moment in moments)

    def closed(self, moments: set[Moment]) -> set[Moment]:
        found, open_ones = set(moments), list(moments)
        while open_ones:
            for later in self.without_a_step(open_ones.pop()):
                if later not in found:
                    found.add(later)
                    open_ones.append(later)
        return found

    def starts(self) -> Iterator[Moment]:
        count = len(self.recording.brokers)
        shown = self.metadata_from(0)
        for cells in self.instance.initial_states:
            s = State(self.instance, cells)
            if any(s.log_end_offset[r] for r in range(count)):
                continue
            # A topic is created in its first epoch, so a later one says nothing of who led at the start.
            is_first = shown is not None and (shown.leader_epoch or 0) == self.recording.first_epoch
            if shown is None or not is_first or self.recording.replica(shown.leader or 0) == s.controller_leader:
                yield Moment(self._plain(cells), 0, ((0,) * count, (0,) * count, frozenset()))

    def _plain(self, cells: Cells) -> Cells:
        """A state with full budgets, and without the records that readers saw: neither changes the possible steps."""
        s = State(self.instance, cells)
        again = ("retries",) if self.is_idempotent else ()
        for name in ("crashes", "preferred_elections", "unclean_elections", *again):
            setattr(s, f"{name}_left", getattr(self.instance.configuration, name))
        for offset in range(s.log_size):
            s.exposed_record[offset] = -1
        return s.cells

    # --------------------------------------------------------------------------------------------- between the lines

    def _faults_before(self, passed: int, broker: int) -> list[FaultKind]:
        lines = self.recording.lines[:passed]
        return [line.what for line in lines if isinstance(line, Fault) and line.broker == broker]

    def last_fault(self, passed: int, replica: int) -> FaultKind | None:
        return next(reversed(self.faults_before(passed, self.recording.brokers[replica])), None)

    def is_frozen(self, passed: int, replica: int) -> bool:
        return self.last_fault(passed, replica) is FaultKind.FREEZE

    def is_stopping(self, passed: int, replica: int) -> bool:
        return self.last_fault(passed, replica) is FaultKind.STOP

    def newest_before(self, position: int) -> int:
        told = (line for line in self.recording.lines[:position] if isinstance(line, Metadata))
        return max((line.leader_epoch or 0 for line in told), default=0)

    def metadata_from(self, position: int) -> Metadata | None:
        """The next metadata line that names a leader and is not about a past epoch."""
        for later, line in enumerate(self.recording.lines[position:], position):
            if isinstance(line, Metadata) and line.leader is not None and not line.is_before(self.newest_before(later)):
                return line
        return None

    def by_step(self, moment: Moment, step: Step, after: Cells) -> Iterator[Moment]:
        """The nodes after this step; none if the recording does not allow it."""
        if step.action in ("broker_bounces", "broker_loses_power", "broker_loses_disk"):
            return
        before, s = State(self.instance, moment.cells), State(self.instance, after)
        names = [choice.parameter.name for choice in self.instance.argument_ranges[step.action_index]]
        arguments = dict(zip(names, step.ordinals, strict=True))
        line = self.recording.lines[moment.passed] if moment.passed < len(self.recording.lines) else None
        is_befallen = isinstance(line, Fault) and self.recording.replica(line.broker) == arguments.get("broker")
        what = line.what if isinstance(line, Fault) and is_befallen else None
        sighted, checkpoints, elsewhere = moment.guess
        passed = moment.passed
        if step.action == "broker_restarts":
            replica, checkpoint = arguments["broker"], arguments["checkpoint"]
            if what is not FaultKind.START or checkpoint != self.checkpoint_at_start(moment, replica):
                return
            sighted, checkpoints = _put(sighted, replica, 0), _put(checkpoints, replica, checkpoint)
            passed += 1
        elif step.action == "broker_crashes" and self.is_stopping(passed, arguments["broker"]):
            replica = arguments["broker"]
            heirs = [r for r in range(s.replicas) if r != replica and before.controller_isr[r] and before.is_up[r]]
            if before.controller_leader == replica and heirs:
                return
        elif step.action == "broker_crashes":
            if what is not FaultKind.KILL:
                return
            passed += 1
        elif any(s.is_up[r] != before.is_up[r] for r in range(s.replicas)):
            return
        elif not step.action.startswith("controller_"):
            answers = step.action in ("leader_handles_fetch", "leader_answers_parked_fetch")
            # The follower has sent the fetch that a leader answers before.
            brokers = ("leader",) if answers else ("leader", "follower", "broker")
            if any(self.is_frozen(passed, arguments[name]) for name in brokers if name in arguments):
                return
        if step.action == "producer_retries" and self.is_idempotent:
            log = before.log_record[arguments["leader"]]
            if any(log[offset] >= arguments["record"] for offset in range(s.log_size)):
                return
        later = [line for line in self.recording.lines[moment.passed :] if isinstance(line, Sent)]
        if (
            not self.election_is_required(moment, step, before, s)
            or s.next_record > len(self.recording.values)  # an instance has one record at least
            or any(s.next_record > self.recording.record(line.value) for line in later)
        ):
            return
        actor = arguments.get("leader", arguments.get("broker"))
        for _, line in self.recording.claims(Acked):
            record = self.recording.record(line.value)
            if line.offset is not None and s.acknowledged[record] > before.acknowledged[record]:
                is_in_range = actor is not None and line.offset < s.log_size
                is_there = is_in_range and s.log_record[actor][line.offset] == record
                elsewhere |= set() if is_there else {record}
        yield Moment(self._plain(after), passed, (sighted, checkpoints, elsewhere))

    def election_is_required(self, moment: Moment, step: Step, before: State, s: State) -> bool:
        told = self.metadata_from(moment.passed)
        leader = None if told is None or told.leader is None else self.recording.replica(told.leader)
        if self.recording.has_epochs:
            if s.controller_epoch == before.controller_epoch:
                return True
            if told is None:  # perhaps the metadata say that nobody leads
                newest = self.newest_before(len(self.recording.lines)) - self.recording.first_epoch
                return bool(s.controller_epoch <= newest + self.unseen_elections())
            if told.leader_epoch is None:
                return False
            left = told.leader_epoch - self.recording.first_epoch - s.controller_epoch
            return left > 0 or (left == 0 and s.controller_leader == leader)
        if step.action.startswith("controller_") and step.action != "controller_removes_dead_follower":
            if told is None:
                return self.unseen_elections() > 0
            return bool(s.controller_leader == leader and before.controller_leader != leader)
        return True

    def _unseen_elections(self) -> int:
        """How many elections may have followed the last metadata line: none if its leader runs and nobody asks."""
        lines = self.recording.lines
        last = max((number for number, line in enumerate(lines) if isinstance(line, Metadata)), default=-1)
        later = [line for line in lines[last + 1 :] if isinstance(line, Fault | AlterRequest | ElectRequest)]
        told = lines[last] if last >= 0 else None
        isr = told.isr if isinstance(told, Metadata) else frozenset()
        away = {b for b in isr if self.faults_before(last, b)[-1:] not in ([], [FaultKind.START], [FaultKind.THAW])}
        if isinstance(told, Metadata) and told.leader is not None and told.leader not in away:
            befallen = [line for line in later if isinstance(line, Fault) and line.broker == told.leader]
            if not befallen and not any(isinstance(line, ElectRequest) for line in later):
                return 0
        return len(later) + len(away)

    # ----------------------------------------------------------------------------------------------------- the lines

    def without_a_step(self, moment: Moment) -> Iterator[Moment]:
        """The nodes without a step: the next line is passed, or a checkpoint is taken in this state."""
        s = State(self.instance, moment.cells)
        seen, comes_back, elsewhere = moment.guess
        for replica in range(s.replicas):
            values = self.sightings(moment.passed, replica)
            at = seen[replica]
            if at < len(values):
                is_again = at > 0 and values[at - 1] == values[at]
                is_first = at == 0 and comes_back[replica] == values[0]
                if is_again or is_first or s.high_watermark[replica] == values[at]:
                    # From here on it comes back with this one, unless it writes a later one.
                    changed = _put(comes_back, replica, values[at])
                    yield replace(moment, guess=(_put(seen, replica, at + 1), changed, elsewhere))
            elif s.is_up[replica] and comes_back[replica] != s.high_watermark[replica]:
                changed = _put(comes_back, replica, s.high_watermark[replica])
                yield replace(moment, guess=(seen, changed, elsewhere))
        if moment.passed < len(self.recording.lines):
            line = self.recording.lines[moment.passed]
            is_a_step = isinstance(line, Fault) and line.what in (FaultKind.KILL, FaultKind.START)
            if not is_a_step and self.is_true(moment, s, line):
                yield replace(moment, passed=moment.passed + 1)

    def process_of(self, position: int, broker: int) -> int:
        return self.faults_before(position, broker).count(FaultKind.START)

    def _sightings(self, passed: int, replica: int, until: int | None = None) -> list[int]:
        """The observed checkpoints of the broker's current or last process when this number of lines is passed."""
        broker = self.recording.brokers[replica]
        process = self.process_of(passed, broker)
        shown = self.checkpoints(broker, 0, until)
        return [value for position, value in shown if self.process_of(position, broker) == process]

    def checkpoints(self, broker: int, first: int, end: int | None) -> Iterator[tuple[int, int]]:
        """The observed checkpoints of a broker, with their positions."""
        for position, line in enumerate(self.recording.lines[first:end], first):
            if isinstance(line, Disk) and line.broker == broker and line.checkpoint is not None:
                yield position, line.checkpoint

    def stands_still_since(self, passed: int, broker: int) -> int | None:
        """The line from which on the broker cannot write, because it is killed or frozen."""
        since = None
        for position, line in enumerate(self.recording.lines[:passed]):
            if isinstance(line, Fault) and line.broker == broker:
                stops = line.what in (FaultKind.KILL, FaultKind.FREEZE)
                since = (position if since is None else since) if stops else None
        return since

    def checkpoint_at_start(self, moment: Moment, replica: int) -> int | None:
        broker, (seen, comes_back, _) = self.recording.brokers[replica], moment.guess
        if self.is_stopping(moment.passed, replica):
            return int(State(self.instance, moment.cells).high_watermark[replica])
        if seen[replica] < len(self.sightings(moment.passed, replica)):
            return None
        since = self.stands_still_since(moment.passed, broker)
        assert since is not None
        seen_since = [value for _, value in self.checkpoints(broker, since, moment.passed)]
        return seen_since[-1] if seen_since else comes_back[replica]

    def is_true(self, moment: Moment, s: State, line: Line) -> bool:
        recording, passed = self.recording, moment.passed
        if isinstance(line, Acked):
            record = recording.record(line.value)
            return bool(s.acknowledged[record]) and record not in moment.guess[2]
        if isinstance(line, Disk):
            replica = recording.replica(line.broker)
            held = [s.log_record[replica][offset] for offset in range(s.log_end_offset[replica])]
            epochs = [s.log_epoch[replica][offset] for offset in range(s.log_end_offset[replica])]
            cache = {e: s.epoch_cache[replica][e] for e in range(s.elections + 1) if s.epoch_cache[replica][e] != -1}
            told = {epoch - recording.first_epoch: start for epoch, start in line.epoch_cache or ()}
            return (
                held == [recording.record(value) for value in line.log]
                and line.batch_epochs in (None, tuple(epoch + recording.first_epoch for epoch in epochs))
                and (line.epoch_cache is None or cache == told)
                and (line.checkpoint is None or self.is_seen(moment, s, replica, line.checkpoint))
            )
        if isinstance(line, Metadata):
            if self.metadata_from(passed) is not line:
                return all(
                    other.leader == line.leader
                    for other in recording.lines[:passed]
                    if isinstance(other, Metadata) and line.leader is not None and other.leader is not None
                    if line.leader_epoch is not None and other.leader_epoch == line.leader_epoch
                )
            return (
                s.controller_leader == recording.replica(line.leader or 0)
                and line.leader_epoch in (None, s.controller_epoch + recording.first_epoch)
                and {recording.brokers[r] for r in range(s.replicas) if s.controller_isr[r]} == line.isr
            )
        if isinstance(line, HighWatermark):
            return bool(s.high_watermark[recording.replica(line.broker)] == line.high_watermark)
        if isinstance(line, LogEnd):
            replica, end, first = recording.replica(line.broker), line.log_end_offset, recording.first_epoch
            is_there = bool(s.log_end_offset[replica] == end)
            return is_there and (line.last_epoch is None or s.log_epoch[replica][end - 1] + first == line.last_epoch)
        if isinstance(line, Holds):
            replica, epochs = recording.replica(line.broker), line.batch_epochs
            return [s.log_record[replica][o] for o in line.offsets] == [*map(recording.record, line.records)] and (
                epochs is None or [s.log_epoch[replica][o] + recording.first_epoch for o in line.offsets] == [*epochs]
            )
        if isinstance(line, Read):
            return not line.records or any(
                s.leader[r] == r
                and not self.is_frozen(passed, r)
                and s.high_watermark[r] > line.offsets[-1]
                and [s.log_record[r][o] for o in line.offsets] == [*map(recording.record, line.records)]
                for r in range(s.replicas)
            )
        return True

    def is_seen(self, moment: Moment, s: State, replica: int, value: int) -> bool:
        """Whether the checkpoint in this line is explained, and a broker that could not write did not change it."""
        broker, passed = self.recording.brokers[replica], moment.passed
        if self.is_stopping(passed, replica) and not s.is_up[replica] and s.high_watermark[replica] != value:
            return False
        since = self.stands_still_since(passed, broker)
        if since is not None and any(other != value for _, other in self.checkpoints(broker, since, passed)):
            return False
        return moment.guess[0][replica] >= len(self.sightings(passed, replica, passed + 1))


def _put(values: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])
