"""The errors that a person can cause, each one line that says what, where and the cure."""


class UsageError(Exception):
    """Bad input: an unknown name, an impossible bound, a damaged file. Ends a command with exit code 2."""


class LanguageError(UsageError):
    """A model leaves the modelling language: the message starts with FILE:LINE and ends with a hint."""


class ModelError(UsageError):
    """A model does what its own declaration forbids: a value or an index out of range, a broken initial state."""
