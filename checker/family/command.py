"""`check family`: declares the form. This module does not import the search.

In:  `Options`.
Out: `FORM`.
"""

from __future__ import annotations

from isrcheck.checker.command.check_options import DESCRIBE, FILES, OF_A_MODEL, TABLES_WITH, TOPIC_NAME_ALONE
from isrcheck.checker.command.form import Form

FAMILY = "family"

FORM = Form(
    name=FAMILY,
    word=FAMILY,
    module="isrcheck.checker.comparisons.family",
    usage=(("check family [NAME ...]", "small models around replication: what each case breaks, as recorded"),),
    examples=("check family isr_by_lag", "check family placement cap", "check family isr_propagation --json"),
    as_in="check family isr_by_lag",
    refusals={
        **dict.fromkeys((*FILES, DESCRIBE), "{option} does not go with family, whose models have cases of their own"),
        **dict.fromkeys(
            (*OF_A_MODEL, "--bound"),
            "{option} does not go with family, whose cases are recorded; search the model itself, as in:"
            " check isr_by_lag {option} ...",
        ),
        **dict.fromkeys(
            ("--engine", "--prove", "--continue", "--counterexamples"),
            "{typed} does not go with family, whose cases are searched explicitly; leave {option} out",
        ),
        "--strict": "--strict does not go with family: what is permitted is recorded; leave --strict out",
        "--tables": TABLES_WITH,
        "--topic-name": TOPIC_NAME_ALONE,
        "--report": "--report goes with the matrix, one model, a sweep or a cluster; leave --report out",
    },
)
