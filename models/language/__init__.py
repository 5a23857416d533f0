"""The modelling language. This package exports all of its names; docs/language.md explains each name."""

from isrcheck.models.language.declarations import *  # noqa: F403 - all names of the language
from isrcheck.models.language.declarations import __all__ as __all__
