"""The modelling language: the names that a model file imports. docs/language.md explains each name."""

from isrcheck.models.language import *  # noqa: F403 - the same table of contents
from isrcheck.models.language import __all__ as __all__
