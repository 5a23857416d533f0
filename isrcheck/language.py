"""The modelling language: what a model file imports. docs/language.md says what each word means."""

from isrcheck.models.language import *  # noqa: F403 - the same table of contents
from isrcheck.models.language import __all__ as __all__
