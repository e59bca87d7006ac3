"""The verbs of the command, a module each with a `run` that takes the words behind it."""
