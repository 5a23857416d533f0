"""The modelling language, as one table of contents: see models/README.md for what each word means."""

from models.language.declare import (
    NONE,
    Domain,
    Flag,
    Subset,
    action,
    always,
    always_step,
    between,
    bound,
    field,
    initial,
    optional,
    require,
    setting,
    sometimes,
    switch,
)

__all__ = [
    "NONE",
    "Domain",
    "Flag",
    "Subset",
    "action",
    "always",
    "always_step",
    "between",
    "bound",
    "field",
    "initial",
    "optional",
    "require",
    "setting",
    "sometimes",
    "switch",
]
