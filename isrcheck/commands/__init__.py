"""One way to declare a command, for check, trace, conform and isrcheck: options, subcommands, exit codes, guarded main.

In:  declarations, which are values; the words of the command line.
Out: parsed values, the instance of a model, one line on stderr for every error, an exit code.
May import: models.
"""
