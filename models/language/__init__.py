"""The modelling language. This package exports all names of the language, which docs/language.md explains."""

from isrcheck.models.language.declarations import *  # noqa: F403 - all names of the language
from isrcheck.models.language.declarations import __all__ as __all__
