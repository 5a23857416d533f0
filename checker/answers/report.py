"""The answers as text, as a table of the whole cluster, and as the object of --json, which docs/json.md describes.

In:  an `Answer` for each distinct configuration of a topic, and the state of the partitions.
Out: lines, of which the first is the headline, about one case: at most fifteen, what is assumed, and the details on
     request; or each distinct case once, the worst first; a mapping of plain values. Names from files are printable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from isrcheck.checker.answers.answer import Answer, Exposure, Kind, Tried, about_brokers, why_open
from isrcheck.checker.answers.findings import Finding, Result, Search, Source, told
from isrcheck.checker.answers.questions import (
    FEWER_IN_SYNC,
    KAFKA,
    NEEDS_ALL_ACKS,
    TRANSACTIONS,
    Case,
    Question,
    Topic,
    defects_of,
    is_in,
    loses_data,
)
from isrcheck.checker.cluster.cluster import LEAST_ISR, Cluster
from isrcheck.checker.cluster.describe import Partition, listed
from isrcheck.checker.cluster.ignored import WhyIgnored
from isrcheck.checker.cluster.releases import NEWEST_LISTED_RELEASE, Role, version_of_binaries
from isrcheck.checker.results.terminal import counted, table
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import Failure, named, pairs

# --- The state of the partitions now ---


@dataclass(frozen=True)
class Now:
    """The partitions of several topics that are not as they should be; each is in the first group that fits."""

    without_leader: tuple[Partition, ...] = ()
    below_min_isr: tuple[Partition, ...] = ()
    under_replicated: tuple[Partition, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield a line for each group that cannot be read or written now, or whose new records have one copy."""
        if self.without_leader:
            until = _who_can_lead(self.without_leader)
            yield f"{_have(self.without_leader, 'no leader')}: nothing can be written or read until {until}"
        if self.below_min_isr:
            what = _have(self.below_min_isr, "an ISR below min.insync.replicas")
            yield f"{what}: writes with acks=all are refused"
        alone = [one for one in self.under_replicated if len(one.isr) == 1]
        if alone:
            yield f"{_have(alone, 'one replica in sync')}: new records are acknowledged with one copy"


def now_of(clusters: Iterable[Cluster]) -> Now:
    """Return the state of all partitions of these clusters."""
    found: tuple[list[Partition], ...] = ([], [], [])
    for cluster in clusters:
        least = cluster.min_insync_replicas.value
        for one in cluster.partitions:
            if one.leader is None:
                found[0].append(one)
            elif len(one.isr) < min(least, len(one.replicas)):
                found[1].append(one)
            elif not {*one.target} <= {*one.isr}:
                found[2].append(one)
    return Now(*(tuple(sorted(group, key=lambda one: (one.topic, one.number))) for group in found))


def _have(partitions: Sequence[Partition], what: str) -> str:
    names = listed([one.name for one in partitions])
    if len(partitions) == 1:
        return f"{names} has {what}"
    return f"{counted(len(partitions), 'partition')} have {what} ({names})"


def _who_can_lead(partitions: Sequence[Partition]) -> str:
    """Which broker has to come back; for several partitions, only in general."""
    one = partitions[0]
    if len(partitions) > 1:
        return "a broker of their ISR or ELR is up"
    if one.isr:
        return f"a broker of its ISR ({_ids(one.isr)}) is up"
    if one.elr:
        return f"a broker of its ELR ({_ids(one.elr)}) is up"
    if one.strangers:
        strangers = f"brokers that are no replicas ({_ids(one.strangers)})"
        return f"an unclean election is made by hand (kafka-leader-election), as its ELR names only {strangers}"
    if one.last_known_elr:
        return f"its last known leader ({_ids(one.last_known_elr)}) is up, or an unclean election is allowed"
    return "an unclean election is allowed, as no broker is in its ISR or ELR"


def _ids(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, brokers))


# --- Eligible leader replicas, and the topics of coordinators ---

# What eligible leader replicas (ELR, KIP-966) ask of operators, and what defects do to the coordinators' own topics.
# Each line rests on runs of a real cluster and on searches; docs/eligible_leader_replicas.md says which.

PAGE = "docs/eligible_leader_replicas.md"

OPERATIONS = (
    "with eligible leader replicas, these can lose acknowledged records or leave a partition without a leader: a"
    " reassignment to fewer replicas; deleting a replica's folder after a clean stop; and, while fewer replicas are in"
    " sync than min.insync.replicas asks for, any reassignment, a change of min.insync.replicas, or unregistering a"
    f" broker ({PAGE})"
)


def claim(case: Case, found: Finding) -> str:
    """Return what the release claims about losses of power and disks: only eligible leader replicas are meant to
    survive them."""
    if not case.has_elr or found.fails or not found.is_known:
        return ""
    return ", as eligible leader replicas claim (KIP-966)"


def operator_rows(case: Case, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield which acts of operators endanger a cluster with ELR, and which topics have no protection by it."""
    if not case.has_elr:
        return
    # The setting itself, which counts as the number of replicas if it is above it: those of the smallest partition.
    least = next(int(setting.text) for setting in cluster.understood if setting.key == LEAST_ISR)
    unequal = list(_without_protection(cluster.partitions, least))
    if case.replication_factor > 1 or unequal:
        yield "Beware", OPERATIONS
    if unequal:
        names = listed([one.name for one in unequal])
        yield (
            "",
            f"{names}: partition 0 has fewer replicas than min.insync.replicas; the controller takes its number for the"
            " whole topic, and keeps no eligible leaders where the leader still waits for more replicas",
        )


def _without_protection(partitions: tuple[Partition, ...], least: int) -> Iterator[Partition]:
    """Yield the partitions for which the controller takes a smaller minimum than the leader does.

    Kafka: ReplicationControlManager.getTopicEffectiveMinIsr takes the replicas of partition 0."""
    first = {one.topic: len(one.replicas) for one in partitions if one.number == 0}
    for one in partitions:
        of_controller = min(least, first.get(one.topic, len(one.replicas)))
        if of_controller < min(least, len(one.replicas)):
            yield one


def coordinator_rows(cluster: Cluster, defects: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what `defects`, those by which a partition loses records, do to the topics in which coordinators keep what
    clients committed."""
    if not defects:
        return
    which = f"{'defect' if len(defects) == 1 else 'defects'} {listed(defects)}"
    if cluster.transactions is not None:
        yield (
            "Transactions",
            f"{which} can lose records of __transaction_state too: a transaction is undone after its client heard that"
            " it is committed",
        )
    if Role.CONSUMER in cluster.given_roles:
        yield (
            "Groups",
            f"{which} can lose records of __consumer_offsets too: offsets go back after the group heard that they are"
            " committed",
        )


# --- Text ---

MOST_LINES = 15
"""The most lines after the first, without --details, not counting those that say what is assumed."""

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
        # A line for each: its title, and what avoids it.
        defects = [
            ("Defect", f"{one.failure.number} {one.failure.title}; {_avoid(one, answer)}") for one in answer.exposed
        ]
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
    """Return how an acknowledged record is lost; None if no record is lost, or if there is no history of a loss."""
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
        allowed = f"; {ALLOWED}" if answer.is_allowed else ""
        if answer.is_allowed and answer.case.acks != "all":  # this setting alone gives up the promise
            allowed += f" (acks={answer.case.acks})"
        elif answer.is_allowed and answer.case.unclean_election:
            allowed += " (unclean.leader.election.enable=true)"
        yield "How", (how_lost(answer) or "An acknowledged record is lost") + allowed
        if loss.history is not None:
            more = "; every further replica that is in sync has to fail as well" if loss.rule == FEWER_IN_SYNC else ""
            yield "Takes", f"{told(loss.history).needs}, in {counted(len(loss.history.steps), 'step')}{more}"
        yield from _change_rows(answer)
    elif loss.is_known:
        yield "Searched", f"no acknowledged record is lost, {reach(loss)}: {scenarios(loss)}"
    asked = [one for topic in (Topic.WRITES, Topic.READS) for one in about_brokers(answer.findings, topic)]
    has_brokers = not answer.changes and any(one.is_known for one in asked)
    if has_brokers:
        yield "Brokers", f"all in sync, {available(answer.findings)}"
    if answer.tolerated is not None and answer.case.replication_factor > 1:
        yield "" if has_brokers else "Brokers", survives(answer)


def _change_rows(answer: Answer) -> Iterator[tuple[str, str]]:
    """What to change against the loss of records, and what that costs."""
    for tried in answer.changes[:MOST_CHANGES]:
        yield (
            "Change",
            f"{tried.change.spelled} ({tried.change.how}): then no loss is found, {reach(tried.finding)}",
        )
        yield "", cost(answer.findings, tried.availability)
        if numbers := _more_defects(answer, tried):
            yield "", f"known defects of this release that may lose a record then: {', '.join(numbers)}"
    if not answer.changes:
        yield "Change", answer.why_no_change or "nothing was tried"


def _more_defects(answer: Answer, tried: Tried) -> list[str]:
    """The numbers of known defects that lose records, and concern the case only with a change: without acks=all there
    is no promise to break."""
    release, changed = answer.cluster.release, tried.change.of(answer.case)
    before = defects_of(answer.case, release)
    more = [named(one.name) for one in defects_of(changed, release) if one not in before]
    return [
        one.number
        for one in more
        if one.history is not None and one.history.property_name in NEEDS_ALL_ACKS and not loses_data(one)
    ]


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
    failure, before = one.failure, answer.findings
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


def _avoided(tried: Tried, before: Mapping[Question, Finding]) -> str:
    """A change with what it costs: the least number of brokers down with which writes work before, and not after."""
    costs, after = "", about_brokers(tried.availability or {}, Topic.WRITES)
    for down, (old, new) in enumerate(zip(about_brokers(before, Topic.WRITES), after, strict=False)):
        if works(old) == "yes" and works(new) == "no":
            costs = f"; no write with {counted(down, 'broker')} down"
            break
    return f"{tried.change.spelled} ({tried.change.how}{costs})"


def _beside_rows(answer: Answer) -> Iterator[tuple[str, str]]:
    yield from _loss_of_data_rows(answer)
    yield from _resend_rows(answer)
    found = answer.findings.get(Question(Topic.TRANSACTIONS))
    if found is not None:
        breaks = told(found.history).how if found.history is not None else f"{found.property_name} can fail"
        histories = [(one.failure, one.failure.history) for one in answer.exposed]
        known = [failure for failure, history in histories if history is not None and history.model == TRANSACTIONS]
        # Their faults may be others than those of the question.
        but = f", but for known defects of this release: {_titled(known)}" if known else ""
        says = breaks if found.fails else f"no promise breaks, {reach(found)}{but}"
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
    if not found.is_known:
        return f"undecided: {why_open(found)}"
    if found.word is Word.NOT_APPLICABLE:
        return f"makes no difference{claim(case, found)}"
    if not found.fails:
        return f"loses no acknowledged record, {reach(found)}{claim(case, found)}"
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


# ------------------------------------------------------------------------------------------------------ parts of lines


def subject(cluster: Cluster) -> str:
    """Return whose answer it is: the topics, the release, and the settings that matter most."""
    topics = ""
    if cluster.topics:
        kind = "topic" if len(cluster.topics) == 1 else counted(len(cluster.topics), "topic") + ":"
        topics = f"{kind} {listed(cluster.topics)}, "
    values = {setting.key: setting.text for setting in cluster.understood}
    replicas = counted(cluster.replication_factor.value, "replica")
    shown = [replicas if cluster.is_replication_given else "an unknown number of replicas"]
    shown += [f"{key}={values[key]}" for key in SETTINGS if key in values]
    if cluster.is_min_insync_limited:
        shown[1] += f" (counts as {cluster.min_insync_replicas.value}, the number of replicas)"
    if cluster.unclean_election.value:
        shown.append("unclean.leader.election.enable=true")
    return f"{topics}Kafka {cluster.release}, {', '.join(shown)}"


def left_out(cluster: Cluster) -> list[str]:
    """Return the ignored settings that may change the answer: those that were probably meant for others, those whose
    mechanism the answer leaves out, and those that this release of Kafka does not know."""
    lines = [f"{one.key}={one.value} ({one.source}): {one.reason}" for one in cluster.ignored if one.may_matter]
    unknown = [one.key for one in cluster.ignored if one.why is WhyIgnored.UNKNOWN and not one.may_matter]
    if unknown:
        lines.append(f"{counted(len(unknown), 'setting')} unknown to this Kafka: {listed(unknown)}")
    return lines


def reach(found: Finding) -> str:
    """Return how far a question was searched: to the end, or to a depth."""
    if not found.parts:
        return "by a rule" if found.source is Source.RULE else "not searched"
    least = found.least_depth
    if least is None:
        return "searched to the end"
    whole = sum(result.is_exhausted for _, result in found.parts)
    some = f" (to the end in {whole} of {len(found.parts)} searches)" if whole else ""
    return f"searched to depth {least}{some}" if least >= 0 else f"not searched to any depth{some}"


def scenarios(found: Finding) -> str:
    """Return the faults that were searched, in words."""
    return "; ".join(dict.fromkeys(search.says for search, _ in found.parts))


def works(found: Finding) -> str:
    """Return whether something works with so many brokers down: yes, no, for some sets of them (2 of 3), n/a, or ?."""
    if found.word is Word.UNDECIDED:
        return "?"
    if found.word is Word.NOT_APPLICABLE:
        return "n/a"
    total = sum(search.choices for search, _ in found.parts)
    count = sum(search.choices for search, result in found.parts if result.word is Word.REACHED)
    return f"{count} of {total}" if 0 < count < total else "yes" if count else "no"


def available(findings: Mapping[Question, Finding]) -> str:
    """Return whether writes and reads work with brokers down, as one line."""
    writes, reads = (about_brokers(findings, topic) for topic in (Topic.WRITES, Topic.READS))
    downs = ", ".join(str(down) for down in range(len(writes)))
    write, read = (", ".join(map(works, some)) for some in (writes, reads))
    return f"with {downs} down, a write is acknowledged: {write}; a committed record is read: {read}"


def survives(answer: Answer) -> str:
    """Return how many brokers can be lost for good at worst, as one line."""
    assert answer.tolerated is not None
    in_sync = counted(min(answer.case.min_insync_replicas, answer.case.replication_factor), "replica")
    lost = counted(answer.tolerated, "broker") if answer.tolerated else "no broker"
    return f"at worst, with {in_sync} in sync: a committed record survives the loss of {lost}"


def cost(before: Mapping[Question, Finding], after: Mapping[Question, Finding] | None) -> str:
    """Return what a change costs: writes and reads with so many brokers down, before and after it."""
    if after is None:
        return "its cost is undecided"
    texts = []
    for topic in (Topic.WRITES, Topic.READS):
        was, becomes = (", ".join(map(works, about_brokers(some, topic))) for some in (before, after))
        if was != becomes:
            downs = ", ".join(str(down) for down in range(len(about_brokers(after, topic))))
            texts.append(f"{topic.value} with {downs} brokers down: {was} before, {becomes} after")
    return f"costs {'; '.join(texts)}" if texts else "costs no availability"


def source_of(findings: Sequence[Finding]) -> str:
    """Return where the answers come from: the record, with its date, or searches that ended just now."""
    searched = [one for one in findings if one.parts]
    days = sorted({one.recorded for one in searched if one.recorded})
    fresh = sum(not one.recorded for one in searched)
    is_whole = all(result.is_exhausted for one in searched for _, result in one.parts)
    how_far = "searched to the end" if is_whole else "searched, but not everything to the end (--details)"
    if not days:
        return f"{how_far} just now" if is_whole else f"{how_far}, just now"
    more = f", {counted(fresh, 'answer')} just now" if fresh else ""
    on = f" on {days[-1]}" if is_whole else f", on {days[-1]}"
    return f"recorded, {how_far}{on}{more}; --fresh searches again"


# ------------------------------------------------------------------------------------------------------------- details


def detail_lines(answer: Answer) -> list[str]:
    """Return everything that was understood, ignored, searched and found."""
    cluster = answer.cluster
    lines = ["", cluster.generation.taken, "", *understood_lines(cluster)]
    rows = [["question", "answer", "how far", "from"]]
    for question, found in answer.main_findings.items():
        rows.append([question.text, *_cells(found)])
    rows += [[f"{one.failure.number} {one.failure.name}", *_cells(one.finding)] for one in answer.exposures]
    if len(rows) > 1:
        lines += ["", "Found", *table(rows, "  ")]
    parts = [part for found in answer.main_findings.values() for part in found.parts]
    parts += [part for one in answer.exposures for part in one.finding.parts]
    if parts:
        searched = [
            [search.says, f"{search.model} {search.protocol}", result.reach, f"{result.states:,} states"]
            for search, result in parts
        ]
        lines += ["", f"Searched{_why_another(answer)}", *table(searched, "  ")]
    if about_brokers(answer.findings, Topic.WRITES):
        lines += ["", "Availability", f"  {available(answer.findings)}"]
    if answer.unsearched:
        lines += ["", "Known defects of this release that cannot be searched"]
        lines += [f"  {one.number} {one.title}: {why}" for one, why in answer.unsearched]
    loss = answer.loss
    if loss is not None and loss.history is not None:
        lines += ["", "Steps", *(f"  {place:>3}  {text}" for place, text in enumerate(loss.history.steps, start=1))]
    return lines


def _why_another(answer: Answer) -> str:
    """Why searches are in a generation other than the cluster's; empty if none is."""
    parts = [part for found in answer.main_findings.values() for part in found.parts]
    protocols = {search.protocol for search, _ in parts if search.model == KAFKA}
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
        *table([[f"{u.key}={u.text}", u.meaning, f"({u.source})"] for u in cluster.understood], "  "),
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
    if cluster.is_version_given and cluster.release.is_newer_than(newest):
        lines += ["", f"Settings that Kafka has since {newest} are known to isrcheck only as far as it uses them"]
    return lines


# --- A table of the whole cluster ---

ORDER = list(Kind)


@dataclass(frozen=True)
class Row:
    """Answers with the same case and the same first line, and how many topics and partitions they are for."""

    answers: tuple[Answer, ...]

    @property
    def first(self) -> Answer:
        """The answer that represents all of them."""
        return self.answers[0]

    @property
    def topics(self) -> list[str]:
        """The names of the topics, in order."""
        return sorted(name for one in self.answers for name in one.cluster.topics)

    @property
    def partitions(self) -> int:
        """The number of described partitions."""
        return sum(len(one.cluster.partitions) for one in self.answers)


def rows_of(answers: Sequence[Answer]) -> list[Row]:
    """Return the rows, the worst first; of equally bad ones, those with most known defects, then most partitions."""
    alike: dict[tuple[Case, str], list[Answer]] = {}
    for one in answers:
        alike.setdefault((one.case, one.headline), []).append(one)
    rows = [Row(tuple(some)) for some in alike.values()]
    return sorted(
        rows, key=lambda row: (ORDER.index(row.first.kind), -len(row.first.exposed), -row.partitions, row.topics)
    )


def table_lines(answers: Sequence[Answer], now: Now, remarks: Sequence[str] = ()) -> list[str]:
    """Return the table, with the state of the partitions before it; `remarks` say what is missing in the files."""
    rows = rows_of(answers)
    worst = rows[0].first
    release = worst.cluster.kafka_version
    topics, partitions = sum(len(row.topics) for row in rows), sum(row.partitions for row in rows)
    lines = [worst.headline, ""]
    lines += [f"  Now: {line}" for line in now.lines()]
    lines += [f"  Files: {remark}" for remark in remarks]
    lines += [f"  Ignored: {line}" for line in dict.fromkeys(line for one in answers for line in left_out(one.cluster))]
    if now.under_replicated:
        count = counted(len(now.under_replicated), "partition")
        lines.append(
            f"  Now: not every replica is in sync: {count} more ({listed([one.name for one in now.under_replicated])})"
        )
    lines.append(
        f"  {counted(topics, 'topic')} with {counted(partitions, 'partition')}, {counted(len(rows), 'distinct case')},"
        f" Kafka {release.value} ({release.source})"
    )
    cells = [["answer", "topics", "partitions", "settings", "change", "which"]]
    cells += [
        [
            row.first.headline,
            f"{len(row.topics):,}",
            f"{row.partitions:,}",
            settings_of(row.first),
            change_of(row.first),
            listed(row.topics),
        ]
        for row in rows
    ]
    lines += ["", *table(cells, "  ", frozenset({1, 2})), ""]
    assumed = dict.fromkeys(line for one in answers for line in one.cluster.assumed)
    lines += [f"  Assumed: {line}" for line in assumed]
    findings = [found for row in rows for found in row.first.every_finding]
    if findings:
        lines.append(f"  Source: {source_of(findings)}")
    lines.append("  --topic-name NAME shows one topic in full")
    return lines


def settings_of(answer: Answer) -> str:
    """Return the settings in which the cases of a cluster usually differ."""
    case = answer.case
    replicas = case.replication_factor if answer.cluster.is_replication_given else "?"
    words = [f"replicas={replicas}", f"min.insync={case.min_insync_replicas}", f"acks={case.acks}"]
    words += ["unclean election"] if case.unclean_election else []
    words += ["flushed"] if case.flushes_every_message else []
    return " ".join(words)


def change_of(answer: Answer) -> str:
    """Return the smallest change that helps: against the loss of records, or one against each of the known defects."""
    if answer.kind is Kind.BROKEN:
        return f"min.insync.replicas={answer.cluster.replication_factor.value} or less"
    alternatives = answer.changes or (answer.exposed[0].avoided_by if len(answer.exposed) == 1 else ())
    if alternatives:
        return " or ".join(one.change.spelled for one in alternatives[:2])
    cures = list(dict.fromkeys(one.avoided_by[0].change.spelled for one in answer.exposed if one.avoided_by))
    if cures:
        without = [one.failure.number for one in answer.exposed if not one.avoided_by]
        return "; ".join(cures) + (f"; nothing against {', '.join(without)}" if without else "")
    loss = answer.loss
    if answer.kind is Kind.KEEPS and loss is not None:
        return f"- ({reach(loss)})" if loss.word is not Word.NOT_APPLICABLE else "-"
    return "-"


# --- JSON ---


def as_object(answers: Sequence[Answer], now: Now, remarks: Sequence[str]) -> dict[str, Any]:
    """Return the object: the headline of the worst answer, and every distinct case with the topics that have it."""
    rows = rows_of(answers)
    worst = rows[0].first
    return {
        "headline": worst.headline,
        "kind": worst.kind.value,
        "verdict": worst.verdict.value,
        "answers": [_answer(row.first) | {"topics": row.topics, "partitions": row.partitions} for row in rows],
        "now": {
            "without_leader": [one.name for one in now.without_leader],
            "below_min_isr": [one.name for one in now.below_min_isr],
            "under_replicated": [one.name for one in now.under_replicated],
        },
        "remarks": list(remarks),
    }


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "headline": answer.headline,
        "kind": answer.kind.value,
        "verdict": answer.verdict.value,
        "why": answer.why_unknown or answer.why_broken,
        "nearest": answer.nearest.value if answer.cluster.generation.why_undecided else None,
        "how": how_lost(answer),
        "is_allowed": answer.is_allowed,
        "changes": [_tried(one) for one in answer.changes],
        "defects": [_exposure(one) for one in answer.exposures],
        "unsearched": {one.number: why for one, why in answer.unsearched},
        "availability": _availability(answer.findings),
        "tolerated_losses_of_brokers": answer.tolerated,
        "beware": [says for _, says in operator_rows(answer.case, answer.cluster)],
        "coordinators": {
            label.lower(): says for label, says in coordinator_rows(answer.cluster, answer.defects_of_partitions)
        },
        "cluster": _cluster(answer.cluster),
        "case": answer.case.as_object(),
        "findings": {question.text: _finding(found) for question, found in answer.main_findings.items()},
    }


def _tried(one: Tried) -> dict[str, Any]:
    return {
        "change": one.change.spelled,
        "settings": {setting.key: setting.text for setting in one.change.settings},
        "how": one.change.how,
        "finding": _finding(one.finding),
        "availability": None if one.availability is None else _availability(one.availability),
    }


def _exposure(one: Exposure) -> dict[str, Any]:
    return {
        "number": one.failure.number,
        "name": one.failure.name,
        "title": one.failure.title,
        "since": one.failure.since,
        "repaired": list(one.failure.repaired),
        "needs_a_disk": one.is_of_disks,
        "is_exposed": one.is_shown,
        "finding": _finding(one.finding),
        "avoided_by": [_tried(tried) for tried in one.avoided_by],
        "every_setting_was_tried": one.is_tried,
    }


def _finding(found: Finding) -> dict[str, Any]:
    return {
        "word": found.word,
        "property_name": found.property_name,
        "depth": found.depth,
        "history": None if found.history is None else asdict(found.history),
        "parts": [_part(*one) for one in found.parts],
        "note": found.note,
        "source": found.source,
        "rule": found.rule,
        "recorded": found.recorded,
        "witnesses": [_part(*one) for one in found.witnesses],
        "needs": None if found.history is None else dict(told(found.history).counts),
    }


def _part(search: Search, result: Result) -> dict[str, Any]:
    of_search, of_result = asdict(search), asdict(result)
    return (
        {name: of_search[name] for name in ("says", "model", "protocol", "configuration")}
        | {name: of_result[name] for name in ("word", "depth", "judged", "is_exhausted", "states", "stopped")}
        | {"choices": search.choices}
    )


def _availability(findings: Mapping[Question, Finding]) -> list[dict[str, Any]]:
    writes, reads = (about_brokers(findings, topic) for topic in (Topic.WRITES, Topic.READS))
    return [
        {"brokers_down": down, "writes": works(write), "reads": works(read)}
        for down, (write, read) in enumerate(zip(writes, reads, strict=True))
    ]


def _cluster(cluster: Cluster) -> dict[str, Any]:
    return {
        "kafka_version": str(cluster.release) if cluster.is_version_given else None,
        "protocol": cluster.generation.protocol,
        "is_nearest": cluster.generation.why_undecided is not None,
        "taken": cluster.generation.taken,
        "assumed": list(cluster.assumed),
        "understood": [
            {"key": u.key, "value": u.text, "meaning": u.meaning, "source": u.source} for u in cluster.understood
        ],
        "ignored": [
            {"key": i.key, "value": i.value, "why": i.why.value, "reason": i.reason, "source": i.source}
            for i in cluster.ignored
        ],
    }
