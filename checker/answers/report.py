"""The answers as text, as a table of the whole cluster, and as the object of --json, which docs/json.md describes.

The text about one case has its headline, at most fifteen more lines, what is assumed, and with --details the details.
The table has a row for each distinct case, the worst first. Names from files are made printable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

from isrcheck.checker.answers.answer import Answer, Exposure, Kind, Tried, about_brokers, why_open
from isrcheck.checker.answers.findings import Finding, Result, Search, Source, description_of
from isrcheck.checker.answers.questions import (
    FEWER_IN_SYNC,
    KAFKA,
    TRANSACTIONS,
    Case,
    Question,
    Topic,
    defects_of,
    is_in,
    loses_acknowledged,
    loses_data,
)
from isrcheck.checker.cluster.cluster import LEAST_ISR, UNREAD, Cluster
from isrcheck.checker.cluster.contents import Partition, listed
from isrcheck.checker.cluster.ignored import WhyIgnored
from isrcheck.checker.cluster.releases import NEWEST_LISTED_RELEASE, Role, version_of_binaries
from isrcheck.checker.results.terminal import counted, grouped, table
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import Failure, History, named, pairs

# --- The state of the partitions now ---


GROUPS = ("without_leader", "below_min_isr", "under_replicated")
"""The groups of partitions in `Now`."""


@dataclass(frozen=True)
class Now:
    """Partitions that are in trouble now; a partition with several troubles is only in the first of these fields."""

    without_leader: tuple[Partition, ...] = ()
    below_min_isr: tuple[Partition, ...] = ()
    under_replicated: tuple[Partition, ...] = ()
    uncleanly: bool = False
    """Whether a partition without a leader allows unclean elections."""
    of_controllers: tuple[str, ...] = ()
    """What shows that no controller is active, or that a controller that votes need not be up."""

    def lines(self) -> Iterator[str]:
        """Yield a line for each kind of trouble: no leader; writes refused; new records on only one replica; and
        for each trouble of controllers."""
        yield from self.of_controllers
        if self.without_leader:
            until = who_can_lead(self.without_leader, uncleanly=self.uncleanly)
            yield f"{_have(self.without_leader, 'no leader')}: nothing can be written or read until {until}"
        if self.below_min_isr:
            partitions = _have(self.below_min_isr, "an ISR below min.insync.replicas")
            yield f"{partitions}: writes with acks=all are refused"
        alone = [partition for partition in self.under_replicated if len(partition.isr) == 1]
        if alone:
            yield f"{_have(alone, 'one replica in sync')}: new records are acknowledged with one copy"


def now_of(clusters: Iterable[Cluster], of_controllers: Iterable[str] = ()) -> Now:
    """Sort the partitions of these clusters into groups by what is wrong with each partition now. `of_controllers` says
    what is wrong with the controllers."""
    groups, uncleanly = {each: list[Partition]() for each in GROUPS}, False
    for cluster in clusters:
        least = cluster.min_insync_replicas.value
        for partition in cluster.partitions:
            if partition.leader is None:
                groups["without_leader"].append(partition)
                uncleanly = uncleanly or cluster.unclean_election.value
            elif len(partition.isr) < min(least, len(partition.replicas)):
                groups["below_min_isr"].append(partition)
            elif not {*partition.target} <= {*partition.isr}:
                groups["under_replicated"].append(partition)
    in_order = {name: tuple(sorted(group, key=attrgetter("topic", "number"))) for name, group in groups.items()}
    return Now(**in_order, uncleanly=uncleanly, of_controllers=tuple(of_controllers))


def _have(partitions: Sequence[Partition], state: str) -> str:
    names = listed([partition.name for partition in partitions])
    if len(partitions) == 1:
        return f"{names} has {state}"
    return f"{counted(len(partitions), 'partition')} have {state} ({names})"


def who_can_lead(partitions: Sequence[Partition], *, uncleanly: bool) -> str:
    """Return what has to happen before partitions get a leader again; for several partitions, in general words.
    `uncleanly` says that Kafka elects a replica outside ISR and ELR if no other is up."""
    if len(partitions) > 1:
        until = "a broker of their ISR or ELR is up"
        if not all(partition.isr or partition.elr for partition in partitions):
            until = "a broker of their ISR or ELR or, if both are empty, their last known leader is up"
        return f"{until}; {keep_down()}" if uncleanly else until
    (partition,) = partitions
    last_known = () if partition.strangers else partition.last_known_elr
    may_lead = partition.isr or partition.elr or last_known
    if not may_lead and uncleanly:
        return ANY_REPLICA
    others = [replica for replica in partition.replicas if replica not in may_lead]
    beware = f"; {keep_down(others)}" if others and uncleanly else ""
    if partition.isr:
        return f"a broker of its ISR ({_ids(partition.isr)}) is up{beware}"
    if partition.elr:
        return f"a broker of its ELR ({_ids(partition.elr)}) is up{beware}"
    if partition.strangers:
        strangers = f"brokers that are no replicas ({_ids(partition.strangers)})"
        return f"{BY_HAND}, as its ELR names only {strangers}"
    if last_known:
        return f"its last known leader ({_ids(last_known)}) is up{beware or ', or an unclean election is allowed'}"
    return "an unclean election is allowed, as no broker is in its ISR or ELR"


BY_HAND = "an unclean election is made by hand (kafka-leader-election)"
ANY_REPLICA = "a replica is up, which is elected although it can lack records (unclean.leader.election.enable=true)"


def keep_down(brokers: Iterable[int] = ()) -> str:
    """Return a warning that these brokers, or any replicas that may not lead, can be elected uncleanly."""
    ids = sorted(brokers)
    who = f"broker{'s' * (len(ids) > 1)} {_ids(ids)}" if ids else "the other replicas"
    one, them = ("it", "it") if len(ids) == 1 else ("one of them", "them")
    can = f"{who} can be elected as soon as {one} is up, and lack records: keep {them} down"
    return f"with unclean.leader.election.enable=true, {can}"


def _ids(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, brokers))


# --- Eligible leader replicas, and the topics of coordinators ---

# What eligible leader replicas (ELR, KIP-966) ask of operators, and what defects do to the coordinators' own topics.
# Each line rests on runs of a real cluster and on searches; docs/eligible_leader_replicas.md says which.

OPERATIONS = (
    "with eligible leader replicas, these can lose acknowledged records or leave a partition without a leader: a"
    " reassignment to fewer replicas; deleting a replica's folder after a clean stop; and, while fewer replicas are in"
    " sync than min.insync.replicas asks for, any reassignment, a change of min.insync.replicas, or unregistering a"
    " broker (docs/eligible_leader_replicas.md)"
)


def claim(case: Case, finding: Finding) -> str:
    """Return a remark that KIP-966 claims this result; empty without ELR, or if a loss is possible or undecided."""
    if not case.has_elr or finding.fails or not finding.is_known:
        return ""
    return ", as eligible leader replicas claim (KIP-966)"


def operator_rows(case: Case, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield labelled lines: operators' acts that endanger a cluster with ELR, and topics that ELR does not protect."""
    if not case.has_elr:
        return
    # The setting as given. If it is above the number of replicas (of the smallest partition), it counts as that number.
    texts = (setting.text for setting in cluster.understood if setting.key == LEAST_ISR and setting.text != UNREAD)
    least = int(next(texts, "0"))
    unequal = [partition.name for partition in _without_protection(cluster.partitions, least)]
    if case.replication_factor > 1 or unequal:
        yield "Beware", OPERATIONS
    if unequal:
        yield (
            "",
            f"{listed(unequal)}: partition 0 has fewer replicas than min.insync.replicas; the controller replaces"
            " min.insync.replicas by that number of replicas for the whole topic, and keeps no eligible leaders of a"
            " partition whose leader still waits for more replicas",
        )


def _without_protection(partitions: tuple[Partition, ...], least: int) -> Iterator[Partition]:
    """Yield the partitions for which the controller uses a smaller min.insync.replicas than the leader. The controller
    uses at most the number of replicas of partition 0 (ReplicationControlManager.getTopicEffectiveMinIsr)."""
    first = {partition.topic: len(partition.replicas) for partition in partitions if partition.number == 0}
    for partition in partitions:
        of_controller = min(least, first.get(partition.topic, len(partition.replicas)))
        if of_controller < min(least, len(partition.replicas)):
            yield partition


OFFSETS_REPLICAS = "offsets.topic.replication.factor"


def coordinator_rows(cluster: Cluster, defects: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield labelled lines on what `defects` (numbers) do to the topics __transaction_state and __consumer_offsets."""
    if not defects:
        return
    lose = f"{'defect' if len(defects) == 1 else 'defects'} {listed(defects)} can lose records of"
    if cluster.transactions is not None:
        undone = "a transaction is undone after its client heard that it is committed"
        yield "Transactions", f"{lose} __transaction_state too: {undone}"
    if Role.CONSUMER in cluster.given_roles:
        undone = "offsets go back after the group heard that they are committed"
        yield "Groups", f"{lose} __consumer_offsets too: {undone}"


# --- Text ---

MOST_LINES = 15
"""The most lines of an answer after its first line, without --details; lines that say what is assumed do not count."""

MOST_CHANGES = 3
"""The most changes that are shown, if several equally small changes help."""

ALLOWED = "your settings allow this"

SETTINGS = ("min.insync.replicas", "acks")
"""The settings that a short answer repeats."""


def answer_lines(answer: Answer, now: Now, remarks: Sequence[str] = (), *, details: bool) -> list[str]:
    """Return the whole text of an answer; `remarks` say what is missing in the files."""
    before = [*(("Now", line) for line in now.lines()), *(("Files", line) for line in remarks), *_first_rows(answer)]
    defects, after = list(_defect_rows(answer, details=details)), list(_beside_rows(answer))
    room = MOST_LINES + len(answer.cluster.assumed) - len(before) - len(after)
    if not details and len(defects) > room:
        # A line for each: its title, and what avoids it.
        defects = [
            ("Defect", f"{exposure.failure.number} {exposure.failure.title}; {_avoid(exposure, answer)}")
            for exposure in answer.exposed
        ]
    if not details and len(defects) > max(room, 0):
        kept = max(room - 1, 0)
        others = ", ".join(exposure.failure.number for exposure in answer.exposed[kept:])
        label, count = ("", f"and {len(defects) - kept} more") if kept else ("Defect", f"{len(defects)}")
        defects = [*defects[:kept], (label, f"{count} known defects ({others}); --details shows all")]
    lines = [answer.headline, *table([*before, *defects, *after], "  ")]
    return [*lines, *detail_lines(answer)] if details else lines


def _first_rows(answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield the first lines, each with its label: which cluster the answer is for, and whether records can be lost."""
    yield "For", subject(answer.cluster)
    yield from (("Assumed", line) for line in answer.cluster.assumed)
    yield from (("Ignored", line) for line in left_out(answer.cluster))
    cluster = answer.cluster
    is_of_nearest = answer.kind is Kind.UNKNOWN and cluster.generation.why_undecided is not None and not cluster.unread
    if is_of_nearest and answer.nearest is not Kind.UNKNOWN:
        yield "Nearest", f"generation {answer.case.protocol} is the nearest: {answer.line_of(answer.nearest)}"
    if answer.kind is Kind.BROKEN:
        yield "Change", f"min.insync.replicas={answer.cluster.replication_factor.value} or less, or more replicas"
    if answer.loss is not None:
        yield from _loss_rows(answer, answer.loss)


def how_lost(answer: Answer) -> str | None:
    """Return how an acknowledged record is lost; None if no record is lost, or if there is no history of a loss."""
    loss = answer.loss
    if loss is not None and loss.fails:
        return None if loss.history is None else description_of(loss.history).how
    if not answer.loses_with_one_broker:
        return None
    alone = "the only replica" if answer.case.replication_factor == 1 else "the leader, to which the ISR had shrunk,"
    return f"An acknowledged record is lost: {alone} is lost for good, and nobody else has it"


def _needs(history: History) -> str:
    return f"{description_of(history).needs}, in {counted(len(history.steps), 'step')}"


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
            all_fail = "; every further replica that is in sync has to fail as well" * (loss.rule == FEWER_IN_SYNC)
            yield "Takes", f"{_needs(loss.history)}{all_fail}"
        yield from _change_rows(answer)
    elif loss.is_known:
        yield "Searched", f"no acknowledged record is lost, {reach(loss)}: {scenarios(loss)}"
    of_brokers = [finding for topic in (Topic.WRITES, Topic.READS) for finding in about_brokers(answer.findings, topic)]
    has_brokers = not answer.changes and any(finding.is_known for finding in of_brokers)
    if has_brokers:
        yield "Brokers", f"all in sync, {available(answer.findings)}"
    if answer.tolerated is not None and answer.case.replication_factor > 1:
        yield "" if has_brokers else "Brokers", survives(answer)


def _change_rows(answer: Answer) -> Iterator[tuple[str, str]]:
    for tried in answer.changes[:MOST_CHANGES]:
        change = tried.change
        yield "Change", f"{change.spelled} ({change.how}): then no loss is found, {reach(tried.finding)}"
        yield "", cost(answer.findings, tried.availability)
        if numbers := _more_defects(answer, tried):
            yield "", f"known defects of this release that may lose a record then: {', '.join(numbers)}"
    if not answer.changes:
        yield "Change", answer.why_no_change or "nothing was tried"


def _more_defects(answer: Answer, tried: Tried) -> list[str]:
    """Return the numbers of the known defects that can lose records only after the change. There can be some if the
    change sets acks=all: without acks=all, the producer has no promise that a defect could break."""
    release, changed = answer.cluster.release, tried.change.of(answer.case)
    before = defects_of(answer.case, release)
    new = [named(question.name) for question in defects_of(changed, release) if question not in before]
    return [failure.number for failure in new if loses_acknowledged(failure) and not loses_data(failure)]


def _defect_rows(answer: Answer, *, details: bool) -> Iterator[tuple[str, str]]:
    """Yield lines on each defect: its title, the events it takes, what avoids it, and with `details` the advice."""
    for exposure in answer.exposed:
        yield "Defect", f"{exposure.failure.number} {exposure.failure.title}"
        if exposure.finding.history is not None:
            yield "", f"takes {_needs(exposure.finding.history)}"
        avoid = _avoid(exposure, answer)
        yield "", avoid
        if details and exposure.failure.known_as:
            yield "", f"known as {', '.join(exposure.failure.known_as)}"
        if details and avoid != exposure.failure.advice:
            yield "", f"advice: {exposure.failure.advice}"


def _avoid(exposure: Exposure, answer: Answer) -> str:
    failure, before = exposure.failure, answer.findings
    has_repair = bool(failure.repaired) and not is_in(failure, answer.cluster.release)
    if exposure.avoided_by:
        says = f"avoid it with {' or '.join(_avoided(tried, before) for tried in exposure.avoided_by[:MOST_CHANGES])}"
    elif without_elr := next((change for change in failure.changes if change.change == "ELR=off"), None):
        says = f"avoid it with {without_elr.what}"
    elif not exposure.is_tried:
        says = "not every setting could be tried"
    elif has_repair:
        # An older protocol or format of the cluster keeps the repair from working.
        return failure.advice
    else:
        says = "no single setting avoids it"
    return says + _repair(failure, answer)


def _repair(failure: Failure, answer: Answer) -> str:
    """Return a remark on the next release that repairs a failure. The remark is empty if no release repairs it, or if
    the cluster's release does not have it."""
    release = answer.cluster.release
    if not failure.repaired or not is_in(failure, release):
        return ""
    return f"; repaired in {next(repair for repair in failure.repaired if not release.has_patch(repair))}"


def _avoided(tried: Tried, before: Mapping[Question, Finding]) -> str:
    """Return a change as text, with its cost: the least number of down brokers at which the change stops writes."""
    writes = (about_brokers(findings, Topic.WRITES) for findings in (before, tried.availability or {}))
    worked = [(works(old), works(new)) for old, new in zip(*writes, strict=False)]
    stops = ("yes", "no")
    costs = f"; no write with {counted(worked.index(stops), 'broker')} down" if stops in worked else ""
    return f"{tried.change.spelled} ({tried.change.how}{costs})"


def _beside_rows(answer: Answer) -> Iterator[tuple[str, str]]:
    yield from _loss_of_data_rows(answer)
    yield from _resend_rows(answer)
    finding = answer.findings.get(Question(Topic.TRANSACTIONS))
    if finding is not None:
        breaks = description_of(finding.history).how if finding.history else f"{finding.property_name} can fail"
        # The known defects may need faults that the question does not have.
        failures = [exposure.failure for exposure in answer.exposed]
        defects = [failure for failure in failures if failure.history and failure.history.model == TRANSACTIONS]
        but = f", but for known defects of this release: {_titled(defects)}" if defects else ""
        says = breaks if finding.fails else f"no promise breaks, {reach(finding)}{but}"
        yield "Transactions", says if finding.is_known else f"undecided: {why_open(finding)}"
    transactions = answer.cluster.transactions
    if transactions is not None and (why := transactions.why_none_begins or transactions.why_unsearched):
        yield "Transactions", f"{'none can begin' if transactions.why_none_begins else 'not searched'}: {why}"
    if transactions is not None and transactions.only_copy:
        assumed = "the searches assume that the coordinators' log (__transaction_state) loses nothing"
        only_copy = f"{transactions.only_copy} lets one broker have the only copy of what committed"
        yield "Transactions", f"{only_copy}: {assumed}"
    given = {(ignored.key, ignored.value) for ignored in answer.cluster.ignored}
    if Role.CONSUMER in answer.cluster.given_roles and (OFFSETS_REPLICAS, "1") in given:
        yield "Groups", f"{OFFSETS_REPLICAS}=1 lets one broker have the only copy of what groups committed"
    yield from coordinator_rows(answer.cluster, answer.defects_of_partitions)
    yield from operator_rows(answer.case, answer.cluster)
    if answer.findings:
        yield "Source", source_of(answer.every_finding)
    if unknown := [failure for failure, _ in answer.unsearched if not loses_data(failure)]:
        yield "Unknown", f"known defects of this release that cannot be searched: {_titled(unknown)}"
    if answer.open_exposures:
        yield "Undecided", _undecided(answer.open_exposures, answer)


def _loss_of_data_rows(answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield lines on losses of power or disks, of one broker or of all: how a record is lost, and what that takes."""
    for label, asked in (
        ("Power", {Topic.POWER: "of one broker", Topic.POWER_OF_ALL: "of all brokers"}),
        ("Disk", {Topic.DISK: "of one broker"}),
    ):
        findings = {topic: found for topic in asked if (found := answer.findings.get(Question(topic))) is not None}
        for place, (topic, finding) in enumerate(findings.items()):
            yield "" if place else label, f"{asked[topic]}: {_loss_of_data(answer.case, topic, finding)}"
        of_defects = [exposure for exposure in answer.exposures if exposure.is_of_disks and exposure.is_shown]
        if shown := [exposure.failure for exposure in of_defects if _is_of(exposure.failure, label)]:
            is_claimed = any(finding.is_known and not finding.fails for finding in findings.values())
            says = "but known defects of this release lose one then" if is_claimed else "known defects of this release"
            yield "", f"{says}: {_titled(shown)}"
        if others := [failure for failure, _ in answer.unsearched if loses_data(failure) and _is_of(failure, label)]:
            yield "", f"known defects that are not searched: {_titled(others)}"


def _is_of(failure: Failure, label: str) -> bool:
    """Whether a known failure belongs under `label`: Power if it needs a loss of power, Disk if it needs none."""
    history = failure.history
    needs_power = history is not None and "power_losses" in pairs(history.configuration)
    return needs_power is (label == "Power")


def _loss_of_data(case: Case, topic: Topic, finding: Finding) -> str:
    if not finding.is_known:
        return f"undecided: {why_open(finding)}"
    if finding.word is Word.NOT_APPLICABLE:
        return f"makes no difference{claim(case, finding)}"
    if not finding.fails:
        return f"loses no acknowledged record, {reach(finding)}{claim(case, finding)}"
    says = "can lose an acknowledged record"
    if finding.history is not None:
        description = description_of(finding.history)
        if topic is Topic.POWER_OF_ALL and description.counts.get("power_losses", 0) < min(2, case.replication_factor):
            says = f"{says}, as that of one broker can"
        else:
            says = f"{description.how}; takes {_needs(finding.history)}"
    if topic is Topic.POWER_OF_ALL:
        return f"{says}; no release claims to survive it (8.14)"
    return says if finding.word is Word.VIOLATED else f"{says}; this release does not claim to survive it"


def _resend_rows(answer: Answer) -> Iterator[tuple[str, str]]:
    says = {Topic.DUPLICATES: "a record can appear twice", Topic.ORDER: "records can change order"}
    resends = {topic: finding for topic in says if (finding := answer.findings.get(Question(topic))) is not None}
    for topic, finding in resends.items():
        if not finding.is_known:
            yield "Resends", f"{topic.value} undecided: {why_open(finding)}"
    if failing := {topic: finding for topic, finding in resends.items() if finding.fails}:
        allowed = f"; {ALLOWED}" if all(finding.word is Word.PERMITTED for finding in failing.values()) else ""
        yield "Resends", f"{' and '.join(says[topic] for topic in failing)}{allowed}"
    for topic, finding in resends.items():
        if finding.word is Word.NOT_APPLICABLE:
            yield "Resends", f"{topic.value} not searched: {finding.note}"


def _titled(failures: Sequence[Failure]) -> str:
    return ", ".join(f"{failure.number} {failure.title}" for failure in failures)


def _undecided(exposures: Sequence[Exposure], answer: Answer) -> str:
    """Return which known defects may or may not affect the cluster, and why the first of them is undecided."""
    if len(exposures) == 1:
        failure = exposures[0].failure
        known_as = f" ({', '.join(failure.known_as)}{_repair(failure, answer)})" if failure.known_as else ""
        shown = f"{failure.number} {failure.title}{known_as}"
    else:
        shown = ", ".join(exposure.failure.number for exposure in exposures)
    return f"{shown}: {exposures[0].why_open}"


# ------------------------------------------------------------------------------------------------------ parts of lines


def subject(cluster: Cluster) -> str:
    """Return which cluster an answer is for: the topics, the release, and the settings that matter most."""
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
    if cluster.unclean_election.value and not cluster.unread:
        shown.append("unclean.leader.election.enable=true")
    return f"{topics}Kafka {cluster.release}, {', '.join(shown)}"


def left_out(cluster: Cluster) -> list[str]:
    """Return the ignored settings that may change the answer: misspelt, not modelled, or unknown to this release."""
    lines = [ignored.line for ignored in cluster.ignored if ignored.may_matter]
    others = [ignored for ignored in cluster.ignored if not ignored.may_matter]
    if unknown := [ignored.key for ignored in others if ignored.why is WhyIgnored.UNKNOWN]:
        lines.append(f"{counted(len(unknown), 'setting')} unknown to this Kafka: {listed(unknown)}")
    return lines


def reach(finding: Finding) -> str:
    """Return how far a question was searched: to the end, to a depth, or not at all (perhaps a rule answers it)."""
    if not finding.parts:
        return "by a rule" if finding.source is Source.RULE else "not searched"
    least = finding.least_depth
    if least is None:
        return "searched to the end"
    whole = sum(result.is_exhausted for _, result in finding.parts)
    ended = f" (to the end in {whole} of {len(finding.parts)} searches)" if whole else ""
    return f"searched to depth {least}{ended}" if least >= 0 else f"not searched to any depth{ended}"


def scenarios(finding: Finding) -> str:
    """Return the faults that were searched, in words."""
    return "; ".join(dict.fromkeys(search.says for search, _ in finding.parts))


def works(finding: Finding) -> str:
    """Return whether writes or reads work with brokers down: yes, no, 2 of 3 (sets of brokers), n/a, ? (undecided)."""
    if finding.word is Word.UNDECIDED:
        return "?"
    if finding.word is Word.NOT_APPLICABLE:
        return "n/a"
    total = sum(search.choices for search, _ in finding.parts)
    count = sum(search.choices for search, result in finding.parts if result.word is Word.REACHED)
    return f"{count} of {total}" if 0 < count < total else "yes" if count else "no"


def available(findings: Mapping[Question, Finding]) -> str:
    """Return whether writes and reads work with brokers down, as one line."""
    (downs, writes), (_, reads) = (_works_with(findings, topic) for topic in (Topic.WRITES, Topic.READS))
    return f"with {downs} down, a write is acknowledged: {writes}; a committed record is read: {reads}"


def _works_with(findings: Mapping[Question, Finding], topic: Topic) -> tuple[str, str]:
    """Return two texts: the numbers of brokers down (0, 1, 2), and whether writes or reads work then (yes, yes, no)."""
    of_brokers = about_brokers(findings, topic)
    return ", ".join(map(str, range(len(of_brokers)))), ", ".join(map(works, of_brokers))


def survives(answer: Answer) -> str:
    """Return how many brokers can be lost for good, at worst, without the loss of a committed record, as one line."""
    assert answer.tolerated is not None
    in_sync = counted(min(answer.case.min_insync_replicas, answer.case.replication_factor), "replica")
    lost = counted(answer.tolerated, "broker") if answer.tolerated else "no broker"
    return f"at worst, with {in_sync} in sync: a committed record survives the loss of {lost}"


def cost(before: Mapping[Question, Finding], after: Mapping[Question, Finding] | None) -> str:
    """Return what a change costs: whether writes and reads work with brokers down, before and after it."""
    if after is None:
        return "its cost is undecided"
    texts = []
    for topic in (Topic.WRITES, Topic.READS):
        (_, was), (downs, becomes) = (_works_with(findings, topic) for findings in (before, after))
        if was != becomes:
            texts.append(f"{topic.value} with {downs} brokers down: {was} before, {becomes} after")
    return f"costs {'; '.join(texts)}" if texts else "costs no availability"


def source_of(findings: Sequence[Finding]) -> str:
    """Return where the findings come from: the record of the atlas, with its date, or searches of this command."""
    searched = [finding for finding in findings if finding.parts]
    days = sorted({finding.recorded for finding in searched if finding.recorded})
    fresh = sum(not finding.recorded for finding in searched)
    is_whole = all(result.is_exhausted for finding in searched for _, result in finding.parts)
    how_far = "searched to the end" if is_whole else "searched, but not everything to the end (--details)"
    if not days:
        return f"{how_far} just now" if is_whole else f"{how_far}, just now"
    just_now = f", {counted(fresh, 'answer')} just now" if fresh else ""
    on = f" on {days[-1]}" if is_whole else f", on {days[-1]}"
    return f"recorded, {how_far}{on}{just_now}; --fresh searches again"


# ------------------------------------------------------------------------------------------------------------- details


def detail_lines(answer: Answer) -> list[str]:
    """Return the lines of --details: the settings that were understood or ignored, all findings and all searches."""
    cluster = answer.cluster
    lines = ["", cluster.generation.taken, "", *understood_lines(cluster)]
    findings = {question.text: finding for question, finding in answer.main_findings.items()}
    findings |= {f"{known.failure.number} {known.failure.name}": known.finding for known in answer.exposures}
    if findings:
        rows = [[name, *cells(finding)] for name, finding in findings.items()]
        lines += ["", "Found", *table([["question", "answer", "how far", "from"], *rows], "  ")]
    if parts := [part for finding in findings.values() for part in finding.parts]:
        lines += ["", f"Searched{_other_generation(answer)}", *table(searched_rows(parts), "  ")]
    if about_brokers(answer.findings, Topic.WRITES):
        lines += ["", "Availability", f"  {available(answer.findings)}"]
    if answer.unsearched:
        lines += ["", "Known defects of this release that cannot be searched"]
        lines += [f"  {failure.number} {failure.title}: {why}" for failure, why in answer.unsearched]
    loss = answer.loss
    if loss is not None and loss.history is not None:
        lines += ["", "Steps", *step_lines(loss.history)]
    return lines


def searched_rows(parts: Sequence[tuple[Search, Result]]) -> list[list[str]]:
    """Return a row for each search: its faults, its model, how far it went, and the number of its states."""
    return [
        [search.says, f"{search.model} {search.protocol}", result.reach, f"{result.states:,} states"]
        for search, result in parts
    ]


def step_lines(history: History) -> list[str]:
    """Return the numbered steps of a history."""
    return [f"  {place:>3}  {text}" for place, text in enumerate(history.steps, start=1)]


def _other_generation(answer: Answer) -> str:
    """Return the remark that some searches are in another generation than the cluster's; empty if none are."""
    searches = [search for finding in answer.main_findings.values() for search, _ in finding.parts]
    if all(search.protocol == answer.case.protocol for search in searches if search.model == KAFKA):
        return ""
    return " (all but the known defects: in a generation in which these are repaired)"


def cells(finding: Finding) -> list[str]:
    """Return the answer of a finding, how far its searches went, and where it comes from."""
    depth = f" at step {finding.depth}" if finding.depth is not None and finding.fails else ""
    allowed = f" ({ALLOWED})" if finding.word is Word.PERMITTED else ""
    word = f"{finding.word.value}{depth}{allowed}" if finding.is_known else f"{finding.word.value}: {finding.note}"
    origin = finding.source.value if finding.source is not Source.RULE else f"rule {finding.rule}"
    return [word, reach(finding), f"{origin} {finding.recorded}".rstrip()] if finding.parts else [word, "-", "-"]


def understood_lines(cluster: Cluster) -> list[str]:
    """Return lines with the settings that the answer uses, and with those that it ignores and why."""
    understood = [(f"{one.key}={one.text}", one.meaning, f"({one.source})") for one in cluster.understood]
    lines = ["Understood", *table(understood, "  ")]
    for why, settings_ignored in grouped((ignored.why, ignored) for ignored in cluster.ignored).items():
        if why is WhyIgnored.NO_BEARING:
            names = ", ".join(sorted({ignored.key for ignored in settings_ignored}))
            lines += ["", f"Ignored, no bearing on replication: {names}"]
        else:
            lines += ["", f"Ignored, {why.value}:", *(f"  {ignored.line}" for ignored in settings_ignored)]
    newest = version_of_binaries(NEWEST_LISTED_RELEASE)
    if cluster.is_version_given and cluster.release.is_newer_than(newest):
        lines += ["", f"Settings that Kafka has since {newest} are known to isrcheck only as far as it uses them"]
    return lines


# --- A table of the whole cluster ---


@dataclass(frozen=True)
class Row:
    """A row of the table: the answers that have the same case and the same first line."""

    answers: tuple[Answer, ...]

    @property
    def first(self) -> Answer:
        """The first answer, which represents all answers of the row."""
        return self.answers[0]

    @property
    def topics(self) -> list[str]:
        """The names of the topics, in order."""
        return sorted(name for answer in self.answers for name in answer.cluster.topics)

    @property
    def partitions(self) -> int | None:
        """The number of partitions of the row's topics; None if that of a topic is unknown."""
        return _total(answer.cluster.partition_count for answer in self.answers)


def _total(counts: Iterable[int | None]) -> int | None:
    """Return the sum of counts; None if one of them is unknown."""
    known = list(counts)
    return None if None in known else sum(count or 0 for count in known)


def rows_of(answers: Sequence[Answer]) -> list[Row]:
    """Return the rows, worst first; of equally bad rows, first those with more known defects, then more partitions."""
    alike = grouped(((answer.case, answer.headline), answer) for answer in answers)
    rows = [Row(tuple(group)) for group in alike.values()]
    kinds = list(Kind)
    return sorted(
        rows,
        key=lambda row: (kinds.index(row.first.kind), -len(row.first.exposed), -(row.partitions or 0), row.topics),
    )


def table_lines(answers: Sequence[Answer], now: Now, remarks: Sequence[str] = ()) -> list[str]:
    """Return the table, with the state of the partitions before it; `remarks` say what is missing in the files."""
    rows = rows_of(answers)
    worst = rows[0].first
    release = worst.cluster.kafka_version
    topics, partitions = sum(len(row.topics) for row in rows), _total(row.partitions for row in rows)
    lines = [worst.headline, ""]
    lines += [f"  Now: {line}" for line in now.lines()]
    lines += [f"  Files: {remark}" for remark in remarks]
    ignored = dict.fromkeys(line for answer in answers for line in left_out(answer.cluster))
    lines += [f"  Ignored: {line}" for line in ignored]
    if now.under_replicated:
        names = [partition.name for partition in now.under_replicated]
        lines.append(f"  Now: not every replica is in sync: {counted(len(names), 'partition')} more ({listed(names)})")
    of_topics = "? partitions" if partitions is None else counted(partitions, "partition")
    lines.append(
        f"  {counted(topics, 'topic')} with {of_topics}, {counted(len(rows), 'distinct case')},"
        f" Kafka {release.value} ({release.source})"
    )
    cells = [["answer", "topics", "partitions", "settings", "change", "which"]]
    for row in rows:
        counts = [f"{len(row.topics):,}", "?" if row.partitions is None else f"{row.partitions:,}"]
        cells.append([row.first.headline, *counts, settings_of(row.first), change_of(row.first), listed(row.topics)])
    lines += ["", *table(cells, "  ", frozenset({1, 2})), ""]
    assumed = dict.fromkeys(line for answer in answers for line in answer.cluster.assumed)
    lines += [f"  Assumed: {line}" for line in assumed]
    findings = [finding for row in rows for finding in row.first.every_finding]
    if findings:
        lines.append(f"  Source: {source_of(findings)}")
    lines.append("  --topic-name NAME shows one topic in full")
    return lines


def settings_of(answer: Answer) -> str:
    """Return, as text, the settings in which the cases of a cluster usually differ."""
    case = answer.case
    replicas = case.replication_factor if answer.cluster.is_replication_given else "?"
    least = "?" if answer.cluster.min_insync_replicas.text == UNREAD else case.min_insync_replicas
    words = [f"replicas={replicas}", f"min.insync={least}", f"acks={case.acks}"]
    words += ["unclean election"] if case.unclean_election else []
    words += ["flushed"] if case.flushes_every_message else []
    return " ".join(words)


def change_of(answer: Answer) -> str:
    """Return as text the smallest change against lost records, or a change for each known defect; "-" if none helps."""
    if answer.kind is Kind.BROKEN:
        return f"min.insync.replicas={answer.cluster.replication_factor.value} or less"
    alternatives = answer.changes or (answer.exposed[0].avoided_by if len(answer.exposed) == 1 else ())
    if alternatives:
        return " or ".join(tried.change.spelled for tried in alternatives[:2])
    avoiding = [exposure.avoided_by[0] for exposure in answer.exposed if exposure.avoided_by]
    if cures := dict.fromkeys(tried.change.spelled for tried in avoiding):
        without = [exposure.failure.number for exposure in answer.exposed if not exposure.avoided_by]
        return "; ".join(cures) + (f"; nothing against {', '.join(without)}" if without else "")
    loss = answer.loss
    if answer.kind is Kind.KEEPS and loss is not None:
        return f"- ({reach(loss)})" if loss.word is not Word.NOT_APPLICABLE else "-"
    return "-"


# --- JSON ---


def as_object(answers: Sequence[Answer], now: Now, remarks: Sequence[str]) -> dict[str, Any]:
    """Return the object of --json: the headline of the worst answer, and every distinct case with its topics."""
    rows = rows_of(answers)
    worst = rows[0].first
    return {
        **first_line(worst),
        "answers": [_answer(row.first) | {"topics": row.topics, "partitions": row.partitions} for row in rows],
        "now": {
            **{group: [partition.name for partition in getattr(now, group)] for group in GROUPS},
            "of_controllers": list(now.of_controllers),
        },
        "remarks": list(remarks),
    }


def first_line(answer: Answer) -> dict[str, str]:
    """Return the fields that say in one line what an answer is."""
    return {"headline": answer.headline, "kind": answer.kind.value, "verdict": answer.verdict.value}


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        **first_line(answer),
        "why": answer.why_unknown or answer.why_broken,
        "nearest": answer.nearest.value if answer.cluster.generation.why_undecided else None,
        "how": how_lost(answer),
        "is_allowed": answer.is_allowed,
        "changes": [_tried(tried) for tried in answer.changes],
        "defects": [_exposure(exposure) for exposure in answer.exposures],
        "unsearched": {failure.number: why for failure, why in answer.unsearched},
        "availability": _availability(answer.findings),
        "tolerated_losses_of_brokers": answer.tolerated,
        "beware": [says for _, says in operator_rows(answer.case, answer.cluster)],
        "coordinators": {
            topic.lower(): says for topic, says in coordinator_rows(answer.cluster, answer.defects_of_partitions)
        },
        "cluster": _cluster(answer.cluster),
        "case": answer.case.as_object(),
        "findings": {question.text: _finding(finding) for question, finding in answer.main_findings.items()},
    }


def _tried(tried: Tried) -> dict[str, Any]:
    return {
        "change": tried.change.spelled,
        "settings": {setting.key: setting.text for setting in tried.change.settings},
        "how": tried.change.how,
        "finding": _finding(tried.finding),
        "availability": None if tried.availability is None else _availability(tried.availability),
    }


def _exposure(exposure: Exposure) -> dict[str, Any]:
    return {
        "number": exposure.failure.number,
        "name": exposure.failure.name,
        "title": exposure.failure.title,
        "since": exposure.failure.since,
        "repaired": list(exposure.failure.repaired),
        "needs_a_disk": exposure.is_of_disks,
        "is_exposed": exposure.is_shown,
        "finding": _finding(exposure.finding),
        "avoided_by": [_tried(tried) for tried in exposure.avoided_by],
        "every_setting_was_tried": exposure.is_tried,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    history = finding.history
    return vars(finding) | {
        "history": None if history is None else asdict(history),
        "parts": [_part(*part) for part in finding.parts],
        "witnesses": [_part(*part) for part in finding.witnesses],
        "needs": None if history is None else dict(description_of(history).counts),
    }


def _part(search: Search, result: Result) -> dict[str, Any]:
    of_search = ("says", "model", "protocol", "configuration")
    of_result = ("word", "depth", "judged", "is_exhausted", "states", "stopped")
    fields = {name: getattr(search, name) for name in of_search} | {name: getattr(result, name) for name in of_result}
    return fields | {"choices": search.choices}


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
            {"key": setting.key, "value": setting.text, "meaning": setting.meaning, "source": setting.source}
            for setting in cluster.understood
        ],
        "ignored": [
            {name: value for name, value in vars(ignored).items() if name != "meant"} | {"why": ignored.why.value}
            for ignored in cluster.ignored
        ],
    }
