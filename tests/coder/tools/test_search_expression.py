"""Which regular expressions are taken."""

from __future__ import annotations

import pytest

from accord.coder.tools.call import BadArguments
from accord.coder.tools.search import check_expression
from tests.tables import rows


@rows("pattern", ["def \\w+", "a.*b.*c", "(ab)+", "(?:x{1,3})+", "^\\s*#", "(a|b)*c", "[a-z]+", ""])
def test_what_comes_to_an_end_is_taken(pattern: str) -> None:
    assert check_expression(pattern).pattern == pattern


@rows("pattern", ["(a+)+b", "(a*)*", "((a|b)+x?)*c", "(?:(?:a+)?)+", "(a+?)*?", "(?=(a+)+)b", "(a{1,99})+"])
def test_what_may_run_for_ever_is_refused(pattern: str) -> None:
    with pytest.raises(BadArguments, match="for ever"):
        check_expression(pattern)


@rows("pattern", ["(", "[", "a{3,1}", "(?P<x"])
def test_what_is_no_expression_is_refused(pattern: str) -> None:
    with pytest.raises(BadArguments, match="no regular expression"):
        check_expression(pattern)
