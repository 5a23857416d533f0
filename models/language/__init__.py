"""The modelling language: exports all its names; docs/language.md explains each."""

from isrcheck.models.language.declarations import *  # noqa: F403 - all names of the language
from isrcheck.models.language.declarations import __all__ as __all__
