"""Patterns: what they match, and that no text makes them try again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from accord.session.rules import matches_path, matches_word

WORDS = st.text("ab*", max_size=8)
PATHS = st.text("ab/", max_size=10).map(lambda text: re.sub("/+", "/", text).strip("/"))
GLOBS = st.lists(st.sampled_from(["a", "b", "/", "*", "**", "**/", "?"]), max_size=6).map("".join)


@given(WORDS, st.text("ab", max_size=10))
def test_a_star_in_a_word_stands_for_any_characters(pattern: str, word: str) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), word, re.DOTALL) is not None

    assert matches_word(pattern, word) is expected


def expression(glob: str) -> str:
    out, at = "", 0
    glob += "**" if glob.endswith("/") else ""
    for_wildcards = (("**/", "(?:.*/)?"), ("**", ".*"), ("*", "[^/]*"), ("?", "[^/]"))
    while at < len(glob):
        wildcard, meaning = next(((w, m) for w, m in for_wildcards if glob.startswith(w, at)), ("", ""))
        out += meaning or re.escape(glob[at])
        at += len(wildcard) or 1
    return out


@given(GLOBS, PATHS)
def test_a_path_pattern_means_what_the_expression_for_it_means(glob: str, path: str) -> None:
    assert matches_path(glob, path) is (re.fullmatch(expression(glob), path, re.DOTALL) is not None)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("**/x", "foox"),
        ("*a" * 20, "a" * 19 + "b"),
        ("**/" * 20 + "b", "/".join("a" * 200)),
        ("*a" * 100 + "c", "a" * 2000),
    ],
)
def test_what_would_make_an_expression_try_for_ever_is_decided(glob: str, path: str) -> None:
    assert not matches_path(glob, path)
    assert not matches_word(glob.replace("**/", "*a"), path.replace("/", "") + "z")
