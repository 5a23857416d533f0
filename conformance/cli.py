"""The command `conform`: compares systems with the model, and recorded runs with its behaviours."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from isrcheck.commands.declarations import Command, Subcommand
from isrcheck.conformance.cluster.log.storage import StorageError

SUBCOMMANDS = (
    Subcommand(
        name="replay",
        help="replay traces on the executable cluster and compare after every step",
        module="isrcheck.conformance.replay.replay_command",
        examples=(
            "conform replay counterexamples",
            "conform replay --walks 5",
            "conform replay --walks 5 --protocol 0.10 --coverage",
        ),
    ),
    Subcommand(
        name="run",
        help="run the cluster under random faults and check the run against the model",
        module="isrcheck.conformance.follow.run_command",
        examples=(
            "conform run --steps 200",
            "conform run --seed 3 --steps 200 --protocol 0.10",
            "conform run --steps 200 --log my_run.ndjson",
        ),
    ),
    Subcommand(
        name="follow",
        help="check whether a recorded run is a behaviour of the model",
        module="isrcheck.conformance.follow.follow_command",
        examples=(
            "conform follow my_run.ndjson",
            "conform follow my_run.ndjson --most-states 100000",
            "conform follow runs",
        ),
    ),
    Subcommand(
        name="audit",
        help="check log folders of stopped brokers against the invariants of replication",
        module="isrcheck.conformance.audit.audit_command",
        examples=(
            "conform audit broker1 broker2 broker3",
            "conform audit broker1 broker2 broker3 --acked acked.txt",
            "conform audit broker1 broker2 --candidates --metadata controller1",
        ),
    ),
    Subcommand(
        name="metadata",
        help="show the history of leader, ISR, ELR and epochs from Kafka's metadata log and text logs",
        module="isrcheck.conformance.metadata_log.metadata_command",
        examples=(
            "conform metadata __cluster_metadata-0 --partition orders-0",
            "conform metadata __cluster_metadata-0 server.log controller.log",
            "conform metadata __cluster_metadata-0 --page history.html",
        ),
    ),
    Subcommand(
        name="convert",
        help="convert a recording of Kafka's network traffic to observations",
        module="isrcheck.conformance.follow.wire.convert_command",
        examples=(
            "conform convert recording -o observations.ndjson",
            "conform convert recording/wire.ndjson -o observations.ndjson",
            "conform convert recording --out seen.ndjson",
        ),
    ),
    Subcommand(
        name="serve",
        help="serve the cluster to real Kafka clients, or replay a trace while they run",
        module="isrcheck.conformance.wire.serve_command",
        examples=(
            "conform serve --seconds 1",
            "conform serve --protocol 0.11 --replicas 2 --verbose --seconds 1",
            "conform serve --trace counterexamples/latest",
        ),
    ),
    Subcommand(
        name="record",
        help="pass on and record the traffic of a real Kafka; hold back messages by a script",
        module="isrcheck.conformance.wire.recording.record_command",
        examples=(
            "conform record --node 1=29501:localhost:9092 --seconds 0.5 -o recorded",
            "conform record --node 2=29502:kafka:9092 --node controller=29590:kafka:9093 --seconds 0.5 -o recorded",
            "conform record --node 3=29503:localhost:9092 --seconds 0.5 --verbose -o recorded",
        ),
    ),
    Subcommand(
        name="script",
        help="write a script with which a person repeats a trace on a real Kafka",
        module="isrcheck.conformance.wire.recording.script_command",
        examples=(
            "conform script counterexamples/latest",
            "conform script counterexamples/latest --first-broker 1",
            "conform script counterexamples/latest --first-broker 1 --controller controller-100",
        ),
    ),
    Subcommand(
        name="report",
        help="write a folder about a known failure, from which an issue of Kafka can be filed",
        module="isrcheck.conformance.report.report_command",
        examples=(
            "conform report 8.24 -o report",
            "conform report stale_record -o report --force",
            "conform report -o reports",
        ),
    ),
)

COMMAND = Command(
    name="conform",
    description="Compare systems with the model, and recorded runs with its behaviours.",
    subcommands=SUBCOMMANDS,
    bad_input=(StorageError,),
)


def main(words: Sequence[str] | None = None, began: float | None = None) -> int:
    """Run `conform` and return its exit code. `began`: when the command started, by time.monotonic() (default: now)."""
    return COMMAND.run(sys.argv[1:] if words is None else words, began)
