"""The answer as text: the first line, at most fifteen lines about it, what is assumed, and the details on request.

In:  an `Answer` for one case.
Out: lines. Names from files are printable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isrcheck.checker.doctor.answer import Answer, Availability, Exposure, Kind, Tried, why_open
from isrcheck.checker.doctor.eligible_leaders import claim, coordinator_rows, operator_rows
from isrcheck.checker.doctor.history import told
from isrcheck.checker.doctor.now import Now
from isrcheck.checker.kafka_config.cluster import Cluster
from isrcheck.checker.kafka_config.describe import listed
from isrcheck.checker.kafka_config.ignored import WhyIgnored
from isrcheck.checker.kafka_settings.keys import NEWEST_LISTED_RELEASE
from isrcheck.checker.kafka_settings.releases import version_of_binaries
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import (
    KAFKA,
    NEEDS_ALL_ACKS,
    TRANSACTIONS,
    defects_of,
    is_in,
    loses_data,
)
from isrcheck.checker.questions.finding import Finding, Source
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.rules import FEWER_IN_SYNC
from isrcheck.checker.results.terminal import counted, table
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import Failure, named, pairs

MOST_LINES = 15
"""The most lines after the first one, without --details, and beside those that say what is assumed."""

MOST_CHANGES = 3
"""The most equally small changes that are shown."""

ALLOWED = "your settings allow this"

_LOG = "the searches take the coordinators' log to lose nothing"

SETTINGS = ("min.insync.replicas", "acks")
"""The settings that a short answer repeats."""


def answer_lines(answer: Answer, now: Now, remarks: Sequence[str] = (), *, details: bool) -> list[str]:
    """Return the whole text of an answer; `remarks` say what is missing in the files."""
    before = [("Now", line) for line in now.lines()] + [("Files", line) for line in remarks]
    before += _rows(answer)
    defects, after = _defect_rows(answer, details=details), list(_beside_rows(answer))
    room = MOST_LINES + len(answer.cluster.assumed) - len(before) - len(after)
    if not details and len(defects) > room:
        defects = _short_defect_rows(answer)
    if not details and len(defects) > max(room, 0):
        kept = max(room - 1, 0)
        more = ", ".join(one.failure.number for one in answer.exposed[kept:])
        label, count = ("", f"and {len(defects) - kept} more") if kept else ("Defect", f"{len(defects)}")
        defects = [*defects[:kept], (label, f"{count} known defects ({more}); --details shows all")]
    lines = [answer.headline, *table([*before, *defects, *after], "  ")]
    return [*lines, *detail_lines(answer)] if details else lines


def _rows(answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield the first lines, each with its label: whose answer it is, and what is said about lost records."""
    yield "For", subject(answer.cluster)
    for line in answer.cluster.assumed:
        yield "Assumed", line
    for line in left_out(answer.cluster):
        yield "Ignored", line
    if answer.kind is Kind.UNKNOWN and answer.cluster.generation.why_undecided is not None:
        nearest = answer.nearest
        if nearest is not Kind.UNKNOWN:
            yield "Nearest", f"generation {answer.case.protocol} is the nearest: {answer.line_of(nearest)}"
    if answer.kind is Kind.BROKEN:
        yield "Change", f"min.insync.replicas={answer.cluster.replication_factor.value} or less, or more replicas"
    if answer.loss is not None:
        yield from _loss_rows(answer, answer.loss)


def how_lost(answer: Answer) -> str | None:
    """Return how an acknowledged record is lost; None if none is, or if there is no history of it."""
    loss = answer.loss
    if loss is not None and loss.fails:
        return None if loss.history is None else told(loss.history).how
    if not answer.loses_with_one_broker:
        return None
    alone = "the only replica" if answer.case.replication_factor == 1 else "the leader, to which the ISR had shrunk,"
    return f"An acknowledged record is lost: {alone} is lost for good, and nobody else has it"


def _loss_rows(answer: Answer, loss: Finding) -> Iterator[tuple[str, str]]:
    if answer.loses_with_one_broker and not loss.fails:
        is_alone = answer.case.replication_factor == 1
        yield "How", f"{how_lost(answer)}; {ALLOWED}"
        yield "Takes", "1 lost broker" + ("" if is_alone else ", while no other replica is in sync")
        if is_alone:
            yield "Brokers", "with 1 down, no write is acknowledged, and no record is read"
        yield from _change_rows(answer)
    elif loss.fails:
        allowed = f"; {ALLOWED}{_allowed_by(answer.case)}" if answer.is_allowed else ""
        yield "How", (how_lost(answer) or "An acknowledged record is lost") + allowed
        if loss.history is not None:
            more = "; every further replica that is in sync has to fail as well" if loss.rule == FEWER_IN_SYNC else ""
            yield "Takes", f"{told(loss.history).needs}, in {counted(len(loss.history.steps), 'step')}{more}"
        yield from _change_rows(answer)
    elif loss.is_known:
        yield "Searched", f"no acknowledged record is lost, {reach(loss)}: {scenarios(loss)}"
    known = [one for one in (*answer.availability.writes, *answer.availability.reads) if one.is_known]
    if not answer.advice.changes and known:
        yield "Brokers", f"all in sync, {available(answer.availability)}"
    if answer.tolerated is not None and answer.case.replication_factor > 1:
        yield "" if not answer.advice.changes and known else "Brokers", survives(answer)


def _change_rows(answer: Answer) -> Iterator[tuple[str, str]]:
    """What to change against the loss of records, and what that costs."""
    advice = answer.advice
    for tried in advice.changes[:MOST_CHANGES]:
        yield (
            "Change",
            f"{tried.change.spelled} ({tried.change.how}): then no loss is found, {reach(tried.finding)}",
        )
        yield "", cost(answer.availability, tried.availability)
        if numbers := _more_defects(answer, tried):
            yield "", f"known defects of this release that may lose a record then: {', '.join(numbers)}"
    if not advice.changes:
        yield "Change", advice.says or "nothing was tried"


def _more_defects(answer: Answer, tried: Tried) -> list[str]:
    """The numbers of known defects that lose records, and are about the case only with a change: without acks=all no
    promise is there to be broken."""
    release, changed = answer.cluster.release, tried.change.of(answer.case)
    before = defects_of(answer.case, release)
    more = [named(one.name) for one in defects_of(changed, release) if one not in before]
    return [
        one.number
        for one in more
        if one.history is not None and one.history.property_name in NEEDS_ALL_ACKS and not loses_data(one)
    ]


def _allowed_by(case: Case) -> str:
    """The setting that gives up the promise, if one alone does."""
    if case.acks != "all":
        return f" (acks={case.acks})"
    return " (unclean.leader.election.enable=true)" if case.unclean_election else ""


def _short_defect_rows(answer: Answer) -> list[tuple[str, str]]:
    """Return a line for each defect: its title, and what avoids it."""
    return [("Defect", f"{one.failure.number} {one.failure.title}; {_avoid(one, answer)}") for one in answer.exposed]


def _defect_rows(answer: Answer, *, details: bool) -> list[tuple[str, str]]:
    """Return three lines for each defect: its title, what it takes, and what avoids it; and the advice as a detail."""
    rows: list[tuple[str, str]] = []
    for one in answer.exposed:
        rows.append(("Defect", f"{one.failure.number} {one.failure.title}"))
        if one.finding.history is not None:
            steps = counted(len(one.finding.history.steps), "step")
            rows.append(("", f"takes {told(one.finding.history).needs}, in {steps}"))
        avoid = _avoid(one, answer)
        rows.append(("", avoid))
        if details and one.failure.known_as:
            rows.append(("", f"known as {', '.join(one.failure.known_as)}"))
        if details and avoid != one.failure.advice:
            rows.append(("", f"advice: {one.failure.advice}"))
    return rows


def _avoid(one: Exposure, answer: Answer) -> str:
    failure, before = one.failure, answer.availability
    has_repair = bool(failure.repaired) and not is_in(failure, answer.cluster.release)
    if one.avoided_by:
        says = f"avoid it with {' or '.join(_avoided(tried, before) for tried in one.avoided_by[:MOST_CHANGES])}"
    elif without_elr := next((each for each in failure.changes if each.change == "ELR=off"), None):
        says = f"avoid it with {without_elr.what}"
    elif not one.is_tried:
        says = "not every setting could be tried"
    elif has_repair:
        # An older protocol or format of the cluster keeps the repair from working.
        return failure.advice
    else:
        says = "no single setting avoids it"
    return says + _repair(failure, answer)


def _repair(failure: Failure, answer: Answer) -> str:
    """The nearest release without a known failure; empty if there is none, or if the cluster's has the repair."""
    release = answer.cluster.release
    if not failure.repaired or not is_in(failure, release):
        return ""
    return f"; repaired in {next(each for each in failure.repaired if not release.has_patch(each))}"


def _avoided(tried: Tried, before: Availability) -> str:
    less = _lost(before.writes, tried.availability.writes) if tried.availability is not None else None
    costs = "" if less is None else f"; no write with {counted(less, 'broker')} down"
    return f"{tried.change.spelled} ({tried.change.how}{costs})"


def _lost(before: Sequence[Finding], after: Sequence[Finding]) -> int | None:
    """The least number of brokers down with which writes work before, and not after; None if there is none."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((down for down, (old, new) in pairs if works(old) == "yes" and works(new) == "no"), None)


def _beside_rows(answer: Answer) -> Iterator[tuple[str, str]]:
    yield from _loss_of_data_rows(answer)
    yield from _resend_rows(answer)
    found = answer.findings.get(Question(Topic.TRANSACTIONS))
    if found is not None:
        breaks = told(found.history).how if found.history is not None else f"{found.property_name} can fail"
        says = breaks if found.fails else f"no promise breaks, {reach(found)}{_but_for_defects(answer)}"
        yield "Transactions", says if found.is_known else f"undecided: {why_open(found)}"
    transactions = answer.cluster.transactions
    if transactions is not None and (why := transactions.why_none_begins or transactions.why_unsearched):
        yield "Transactions", f"{'none can begin' if transactions.why_none_begins else 'not searched'}: {why}"
    if transactions is not None and transactions.only_copy:
        yield "Transactions", f"{transactions.only_copy} lets one broker have the only copy of what committed: {_LOG}"
    yield from coordinator_rows(answer.cluster, answer.defects_of_partitions)
    yield from operator_rows(answer.case, answer.cluster)
    if answer.findings:
        yield "Source", source_of(answer.every_finding)
    unknown = [one for one, _ in answer.unsearched if not loses_data(one)]
    if unknown:
        yield "Unknown", f"known defects of this release that cannot be searched: {_titled(unknown)}"
    if answer.open_exposures:
        yield "Undecided", _undecided(answer.open_exposures, answer)


def _but_for_defects(answer: Answer) -> str:
    """The known defects of transactions, whose faults may be others than those of the question."""
    histories = [(one.failure, one.failure.history) for one in answer.exposed]
    exposed = [failure for failure, history in histories if history is not None and history.model == TRANSACTIONS]
    return f", but for known defects of this release: {_titled(exposed)}" if exposed else ""


def _loss_of_data_rows(answer: Answer) -> Iterator[tuple[str, str]]:
    """What a loss of power and of a disk can do: of one broker and of all, how it comes about, and what it takes."""
    for label, questions in (
        ("Power", (("of one broker", Topic.POWER), ("of all brokers", Topic.POWER_OF_ALL))),
        ("Disk", (("of one broker", Topic.DISK),)),
    ):
        findings: list[Finding] = []
        for whose, topic in questions:
            found = answer.findings.get(Question(topic))
            if found is not None:
                yield label if not findings else "", f"{whose}: {_loss_of_data(answer.case, topic, found)}"
                findings.append(found)
        of_defects = [one for one in answer.exposures if one.is_of_disks and one.is_shown]
        shown = [one.failure for one in of_defects if _is_of(one.failure, label)]
        if shown:
            is_claimed = any(found.is_known and not found.fails for found in findings)
            what = "but known defects of this release lose one then" if is_claimed else "known defects of this release"
            yield "", f"{what}: {_titled(shown)}"
        unsearched = [one for one, _ in answer.unsearched if loses_data(one) and _is_of(one, label)]
        if unsearched:
            yield "", f"known defects that are not searched: {_titled(unsearched)}"


def _is_of(failure: Failure, label: str) -> bool:
    """Whether a known failure needs a loss of power, or else one of a disk."""
    history = failure.history
    needs_power = history is not None and "power_losses" in pairs(history.configuration)
    return needs_power is (label == "Power")


def _loss_of_data(case: Case, topic: Topic, found: Finding) -> str:
    if not found.fails:
        return f"{_loses_nothing(found)}{claim(case, found)}"
    says = "can lose an acknowledged record"
    if found.history is not None:
        what = told(found.history)
        if topic is Topic.POWER_OF_ALL and what.counts.get("power_losses", 0) < min(2, case.replication_factor):
            says = f"{says}, as that of one broker can"
        else:
            says = f"{what.how}; takes {what.needs}, in {counted(len(found.history.steps), 'step')}"
    if topic is Topic.POWER_OF_ALL:
        return f"{says}; no release claims to survive it (8.14)"
    return says if found.word is Word.VIOLATED else f"{says}; this release does not claim to survive it"


def _resend_rows(answer: Answer) -> Iterator[tuple[str, str]]:
    """What requests that are sent again do to records: undecided, found, or not searched."""
    says = {Topic.DUPLICATES: "a record can appear twice", Topic.ORDER: "records can change order"}
    resends = {topic: found for topic in says if (found := answer.findings.get(Question(topic))) is not None}
    for topic, found in resends.items():
        if not found.is_known:
            yield "Resends", f"{topic.value} undecided: {why_open(found)}"
    failing = {topic: found for topic, found in resends.items() if found.fails}
    if failing:
        allowed = f"; {ALLOWED}" if all(found.word is Word.PERMITTED for found in failing.values()) else ""
        yield "Resends", f"{' and '.join(says[topic] for topic in failing)}{allowed}"
    for topic, found in resends.items():
        if found.word is Word.NOT_APPLICABLE:
            yield "Resends", f"{topic.value} not searched: {found.note}"


def _titled(failures: Sequence[Failure]) -> str:
    return ", ".join(f"{one.number} {one.title}" for one in failures)


def _undecided(exposures: Sequence[Exposure], answer: Answer) -> str:
    """Say which known defects are not decided, all of them, and why the first one is not."""
    if len(exposures) == 1:
        failure = exposures[0].failure
        known_as = f" ({', '.join(failure.known_as)}{_repair(failure, answer)})" if failure.known_as else ""
        shown = f"{failure.number} {failure.title}{known_as}"
    else:
        shown = ", ".join(one.failure.number for one in exposures)
    return f"{shown}: {exposures[0].why_open}"


def _loses_nothing(found: Finding) -> str:
    if not found.is_known:
        return f"undecided: {why_open(found)}"
    return (
        "makes no difference" if found.word is Word.NOT_APPLICABLE else f"loses no acknowledged record, {reach(found)}"
    )


# ------------------------------------------------------------------------------------------------------ parts of lines


def subject(cluster: Cluster) -> str:
    """Return whose answer it is: the topics, the release, and the settings that matter most."""
    topics = ""
    if cluster.topics:
        kind = "topic" if len(cluster.topics) == 1 else counted(len(cluster.topics), "topic") + ":"
        topics = f"{kind} {listed(cluster.topics)}, "
    values = {one.key: one.value for one in cluster.understood}
    release = cluster.kafka_version.value if cluster.kafka_version else values.get("Kafka version", "")
    replicas = counted(cluster.replication_factor.value, "replica")
    shown = [replicas if cluster.is_replication_given else "an unknown number of replicas"]
    shown += [f"{key}={values[key]}" for key in SETTINGS if key in values]
    if cluster.is_min_insync_limited:
        shown[1] += f" (counts as {cluster.min_insync_replicas.value}, the number of replicas)"
    if cluster.unclean_election.value:
        shown.append("unclean.leader.election.enable=true")
    return f"{topics}Kafka {release}, {', '.join(shown)}"


def left_out(cluster: Cluster) -> list[str]:
    """Return the ignored settings that may change the answer: those that were probably meant for others, those whose
    mechanism the answer leaves out, and those that this release of Kafka does not know."""
    found = [f"{one.key}={one.value} ({one.source}): {one.reason}" for one in cluster.ignored if one.is_told]
    unknown = [one for one in cluster.ignored if one.why is WhyIgnored.UNKNOWN and not one.is_told]
    if unknown:
        names = listed([one.key for one in unknown])
        found.append(f"{counted(len(unknown), 'setting')} unknown to this Kafka: {names}")
    return found


def reach(found: Finding) -> str:
    """Return how far a question was searched: to the end, or to a depth."""
    if not found.parts:
        return "by a rule" if found.source is Source.RULE else "not searched"
    least = found.least_depth
    if least is None:
        return "searched to the end"
    whole = sum(part.is_exhausted for part in found.parts)
    some = f" (to the end in {whole} of {len(found.parts)} searches)" if whole else ""
    return f"searched to depth {least}{some}" if least >= 0 else f"not searched to any depth{some}"


def scenarios(found: Finding) -> str:
    """Return the faults that were searched, in words."""
    return "; ".join(dict.fromkeys(part.says for part in found.parts))


def works(found: Finding) -> str:
    """Return whether something works with so many brokers down: yes, no, for some sets of them (2 of 3), n/a, or ?."""
    if found.word is Word.UNDECIDED:
        return "?"
    if found.word is Word.NOT_APPLICABLE:
        return "n/a"
    total = sum(part.choices for part in found.parts)
    count = sum(part.choices for part in found.parts if part.word is Word.REACHED)
    return f"{count} of {total}" if 0 < count < total else "yes" if count else "no"


def available(found: Availability) -> str:
    """Return the availability as one line."""
    downs = ", ".join(str(down) for down in range(len(found.writes)))
    writes, reads = (", ".join(map(works, some)) for some in (found.writes, found.reads))
    return f"with {downs} down, a write is acknowledged: {writes}; a committed record is read: {reads}"


def survives(answer: Answer) -> str:
    """Return how many brokers can be lost for good at worst, as one line."""
    assert answer.tolerated is not None
    in_sync = counted(min(answer.case.min_insync_replicas, answer.case.replication_factor), "replica")
    lost = counted(answer.tolerated, "broker") if answer.tolerated else "no broker"
    return f"at worst, with {in_sync} in sync: a committed record survives the loss of {lost}"


def cost(before: Availability, after: Availability | None) -> str:
    """Return what a change costs: writes and reads with so many brokers down, before and after it."""
    if after is None:
        return "its cost is undecided"
    texts = []
    for what, old, new in (("writes", before.writes, after.writes), ("reads", before.reads, after.reads)):
        was, becomes = (", ".join(map(works, some)) for some in (old, new))
        if was != becomes:
            downs = ", ".join(str(down) for down in range(len(new)))
            texts.append(f"{what} with {downs} brokers down: {was} before, {becomes} after")
    return f"costs {'; '.join(texts)}" if texts else "costs no availability"


def source_of(findings: Sequence[Finding]) -> str:
    """Return where the answers come from: the record, with its date, or searches that ended just now."""
    searched = [one for one in findings if one.parts]
    days = sorted({one.recorded for one in searched if one.recorded})
    fresh = sum(not one.recorded for one in searched)
    is_whole = all(part.is_exhausted for one in searched for part in one.parts)
    how_far = "searched to the end" if is_whole else "searched, but not everything to the end (--details)"
    if not days:
        return f"{how_far} just now" if is_whole else f"{how_far}, just now"
    more = f", {counted(fresh, 'answer')} just now" if fresh else ""
    on = f" on {days[-1]}" if is_whole else f", on {days[-1]}"
    return f"recorded, {how_far}{on}{more}; --fresh searches again"


# ------------------------------------------------------------------------------------------------------------- details


def detail_lines(answer: Answer) -> list[str]:
    """Return all that was understood, ignored and searched, and what was found."""
    cluster = answer.cluster
    lines = ["", cluster.generation.taken, "", *understood_lines(cluster)]
    rows = [["question", "answer", "how far", "from"]]
    for question, found in answer.findings.items():
        rows.append([question.text, *_cells(found)])
    rows += [[f"{one.failure.number} {one.failure.name}", *_cells(one.finding)] for one in answer.exposures]
    if len(rows) > 1:
        lines += ["", "Found", *table(rows, "  ")]
    parts = [part for found in answer.findings.values() for part in found.parts]
    parts += [part for one in answer.exposures for part in one.finding.parts]
    if parts:
        searched = [
            [part.says, f"{part.model} {part.protocol}", part.reach, f"{part.states:,} states"] for part in parts
        ]
        lines += ["", f"Searched{_why_another(answer)}", *table(searched, "  ")]
    if answer.availability.writes:
        lines += ["", "Availability", f"  {available(answer.availability)}"]
    if answer.unsearched:
        lines += ["", "Known defects of this release that cannot be searched"]
        lines += [f"  {one.number} {one.title}: {why}" for one, why in answer.unsearched]
    loss = answer.loss
    if loss is not None and loss.history is not None:
        lines += ["", "Steps", *(f"  {place:>3}  {text}" for place, text in enumerate(loss.history.steps, start=1))]
    return lines


def _why_another(answer: Answer) -> str:
    """Why searches are in another generation than that of the cluster; empty if none is."""
    protocols = {part.protocol for found in answer.findings.values() for part in found.parts if part.model == KAFKA}
    if protocols <= {answer.case.protocol}:
        return ""
    return " (all but the known defects: in a generation in which these are repaired)"


def _cells(found: Finding) -> list[str]:
    depth = f" at step {found.depth}" if found.depth is not None and found.fails else ""
    allowed = f" ({ALLOWED})" if found.word is Word.PERMITTED else ""
    word = f"{found.word.value}{depth}{allowed}" if found.is_known else f"{found.word.value}: {found.note}"
    origin = found.source.value if found.source is not Source.RULE else f"rule {found.rule}"
    return [word, reach(found), f"{origin} {found.recorded}".rstrip()] if found.parts else [word, "-", "-"]


def understood_lines(cluster: Cluster) -> list[str]:
    """Return lines with the settings that the answer uses, and with those that it ignores and why."""
    lines = [
        "Understood",
        *table([[f"{u.key}={u.value}", u.meaning, f"({u.source})"] for u in cluster.understood], "  "),
    ]
    groups: dict[WhyIgnored, list[str]] = {}
    for ignored in cluster.ignored:
        groups.setdefault(ignored.why, []).append(f"{ignored.key}={ignored.value} ({ignored.source}): {ignored.reason}")
    for why, found in groups.items():
        if why is WhyIgnored.NO_BEARING:
            names = ", ".join(sorted({ignored.key for ignored in cluster.ignored if ignored.why is why}))
            lines += ["", f"Ignored, no bearing on replication: {names}"]
        else:
            lines += ["", f"Ignored, {why.value}:", *(f"  {one}" for one in found)]
    newest = version_of_binaries(NEWEST_LISTED_RELEASE)
    if cluster.kafka_version and version_of_binaries(cluster.kafka_version.value).is_newer_than(newest):
        lines += ["", f"Settings that Kafka has since {newest} are known to isrcheck only as far as it uses them"]
    return lines
