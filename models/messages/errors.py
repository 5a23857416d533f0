"""The errors that a user can cause. Each is one line that says what is wrong, where, and how to cure it."""


class UsageError(Exception):
    """Bad input: an unknown name, an impossible bound, a damaged file. Ends a command with exit code 2."""


class LanguageError(UsageError):
    """A model is not in the modelling language: the message starts with FILE:LINE and ends with a hint."""


class ModelError(UsageError):
    """A model violates its own declaration: a value or an index out of range, an invalid initial state."""
