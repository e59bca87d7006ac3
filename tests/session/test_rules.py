"""Permission rules: what they are made of, and what they match."""

from __future__ import annotations

import pytest

from accord.session.rules import Rule, RuleError, Subject, decide, parse_rule

ROOTS = ("/work/project", "/data")


def edit(*paths: str) -> Subject:
    return Subject("edit", paths, None, ROOTS)


def execute(command: str) -> Subject:
    return Subject("execute", (), command, ROOTS)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("allow all", Rule("allow", "all")),
        ("allow read", Rule("allow", "read")),
        ("allow edit:src/**", Rule("allow", "edit", "src/**")),
        ("deny execute:rm *", Rule("deny", "execute", "rm *")),
        ("  ask   fetch ", Rule("ask", "fetch")),
        ("deny _vendor:x", Rule("deny", "_vendor", "x")),
        ("allow edit:C:/x", Rule("allow", "edit", "C:/x")),
    ],
)
def test_a_rule_is_read_and_written_in_one_form(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule
    assert parse_rule(str(rule)) == rule


def test_an_effect_may_be_given_beside_the_text() -> None:
    assert parse_rule("edit:src/**", "deny") == Rule("deny", "edit", "src/**")


@pytest.mark.parametrize("text", ["", "allow", "maybe read", "allow raed", "allow edit:", "allow edit: "])
def test_what_is_no_rule_says_what_one_is(text: str) -> None:
    with pytest.raises(RuleError, match=r"one of|pattern"):
        parse_rule(text)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("src/**", "/work/project/src/a/b.py", True),
        ("src/**", "/work/project/src/b.py", True),
        ("src/**", "/work/project/srcs/b.py", False),
        ("src/*", "/work/project/src/a/b.py", False),
        ("src/", "/work/project/src/a/b.py", True),
        ("**/b.py", "/work/project/b.py", True),
        ("**/b.py", "/work/project/x/y/b.py", True),
        ("*.py", "/data/a.py", True),
        ("?.py", "/data/ab.py", False),
        ("a.py", "/elsewhere/a.py", False),
        ("/etc/*", "/etc/passwd", True),
        ("/etc/*", "/work/project/etc/passwd", False),
        ("a+b.py", "/data/a+b.py", True),
        ("a+b.py", "/data/aab.py", False),
    ],
)
def test_a_path_glob_is_matched_inside_the_roots(pattern: str, path: str, *, matches: bool) -> None:
    effect, _ = decide([Rule("allow", "edit", pattern)], edit(path), "ask")

    assert (effect == "allow") is matches


@pytest.mark.parametrize(
    ("pattern", "command", "matches"),
    [
        ("git *", "git status", True),
        ("git *", "git", True),
        ("git *", "gitk x", False),
        ("git status", "git status -s", False),
        ("npm run te*", "npm run test", True),
        ("npm run te*", "npm run test lint", False),
        ("*", "anything at all", True),
        ("echo 'a b'", "echo 'a b'", False),
        ("cat a b", "cat 'a' b", True),
        ("say it's", "say it's", True),
    ],
)
def test_a_command_pattern_is_matched_word_by_word(pattern: str, command: str, *, matches: bool) -> None:
    effect, _ = decide([Rule("deny", "execute", pattern)], execute(command), "ask")

    assert (effect == "deny") is matches


@pytest.mark.parametrize("tail", ["; rm -rf /", "&& rm x", "| sh", "> /etc/passwd", "$(rm x)", "`rm x`", "\nrm x"])
def test_what_allows_a_command_does_not_allow_what_a_shell_would_add(tail: str) -> None:
    rules = [Rule("allow", "execute", "git *")]

    assert decide(rules, execute("git status"), "ask")[0] == "allow"
    assert decide(rules, execute(f"git status {tail}"), "ask")[0] == "ask"


def test_what_denies_a_command_also_denies_it_with_a_tail() -> None:
    assert decide([Rule("deny", "execute", "rm *")], execute("rm x; true"), "ask")[0] == "deny"


def test_the_first_match_wins() -> None:
    rules = [parse_rule("deny edit:secret/**"), parse_rule("allow edit"), parse_rule("deny all")]

    assert decide(rules, edit("/data/secret/key"))[0] == "deny"
    assert decide(rules, edit("/data/a")) == ("allow", Rule("allow", "edit"))
    assert decide(rules, execute("ls"))[0] == "deny"


def test_without_a_match_the_default_holds() -> None:
    assert decide([], edit("/data/a")) == ("ask", None)
    assert decide([], edit("/data/a"), "deny") == ("deny", None)


def test_what_allows_must_match_every_file_and_what_denies_any_of_them() -> None:
    both = edit("/data/src/a", "/data/other/b")

    assert decide([Rule("allow", "edit", "src/**")], both)[0] == "ask"
    assert decide([Rule("deny", "edit", "src/**")], both)[0] == "deny"


def test_a_pattern_matches_nothing_where_there_is_nothing_to_match() -> None:
    assert decide([Rule("allow", "edit", "**")], edit())[0] == "ask"
    assert decide([Rule("allow", "read", "**")], Subject("read", roots=ROOTS))[0] == "ask"
