"""One way to declare a command, for check, trace, conform and isrcheck: options, subcommands, exit codes, guarded main.

Declarations are values; the words of a command line become parsed values, or one line on stderr and an exit code.
May import: models.
"""
