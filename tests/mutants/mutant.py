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
