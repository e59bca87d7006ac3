"""The code lines of each package, held to the budgets of `scripts/size.toml`."""

from scripts import size
from tests.architecture.sources import sources

SAMPLE = '''"""A module
of two lines."""

import sys
from typing import (
    Any,
)

__all__ = [
    "f",
]
# A comment.


class C:
    """One line."""

    x: int = 0
    text = """a

    b"""

    def f(self) -> Any:
        """Several

        lines."""
        import json

        return json.dumps(  # the reason
            sys.argv,
        )
'''


def test_lines_without_code_do_not_count() -> None:
    # class, x, two of text, def, and three of the return.
    assert size.code_lines(SAMPLE) == 8


def test_every_package_is_within_its_budget() -> None:
    lines = {source.name: size.code_lines(source.text, source.tree) for source in sources()}
    found, allowed = size.by_package(lines), size.budgets()
    over = {name: lines for name, lines in found.items() if name != size.GENERATED and lines > allowed.get(name, 0)}
    assert over == {}, "delete something, or raise the budget in scripts/size.toml in a commit that says what it buys"
    assert set(allowed) <= set(found), "a budget without its package"
