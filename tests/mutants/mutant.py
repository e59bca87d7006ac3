"""A patch that breaks one promise in the smallest way, and the test that must notice."""

from typing import NamedTuple


class Mutant(NamedTuple):
    promise: str
    name: str
    file: str
    """Below src/accord."""
    before: str
    after: str
    test: str
    long: bool = False
    """Whether the test is one of `--long`, and not of the default run."""
