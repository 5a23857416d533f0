"""The errors that a user can cause. Each message is one line: the fault, its place, and the cure."""


class UsageError(Exception):
    """Bad input: an unknown name, an impossible bound, a damaged file. Ends a command with exit code 2."""


class LanguageError(UsageError):
    """A function is not in the modelling language: the message starts with FILE:LINE and ends with a hint."""


class ModelError(UsageError):
    """A model breaks its own declarations: a value or an index is out of range, or an initial state is invalid."""
