"""`check failures`: declares the form and its options. This module does not import the search.

In:  `Options`.
Out: `FORM`.
"""

from __future__ import annotations

from isrcheck.checker.command.check_options import (
    DESCRIBE,
    FAILURES,
    FILES,
    OF_A_MODEL,
    TABLES_WITH,
    TOPIC_NAME_ALONE,
)
from isrcheck.checker.command.form import Form
from isrcheck.checker.command.option import Option
from isrcheck.checker.command.option_values import folder

OWN_BOUNDS = "{option} does not go with failures: each failure has bounds of its own; leave {option} out"
SEARCHED_HERE = "{typed} does not go with failures, which are searched explicitly; leave {option} out"

FORM = Form(
    name=FAILURES,
    word=FAILURES,
    module="isrcheck.checker.failures.run",
    usage=(("check failures [ID ...]", "the library of known failures: each found, and gone with its repair"),),
    examples=(
        "check failures KIP-101 KAFKA-14402",
        "check failures --kafka-version 0.10.2",
        "check failures 8.12 --page failures",
    ),
    as_in="check failures KIP-101",
    own=(
        Option(
            name="--page",
            metavar="DIR",
            help="failures: write a page for each failure, and an index, to DIR",
            read=folder,
        ),
    ),
    goes_with="--page goes with failures, as in: check failures --page {value}; a page of a trace: trace page FILE -o"
    " OUT.html",
    refusals={
        **dict.fromkeys(
            (*FILES, DESCRIBE), "{option} does not go with failures, which have configurations of their own"
        ),
        **dict.fromkeys((*OF_A_MODEL, "--bound"), OWN_BOUNDS),
        **dict.fromkeys(("--engine", "--prove", "--continue", "--counterexamples"), SEARCHED_HERE),
        "--strict": "--strict does not go with failures: what is permitted is recorded; leave --strict out",
        "--tables": TABLES_WITH,
        "--topic-name": TOPIC_NAME_ALONE,
        "--report": "--report does not go with failures; use --page DIR",
    },
)
