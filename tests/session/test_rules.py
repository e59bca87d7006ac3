"""Permission rules: what they are made of, and what they match."""

from __future__ import annotations

import pytest

from accord.session.remembered import CommandTarget, PathTarget, RememberedAnswer
from accord.session.rules import Access, Effect, Glob, Rule, RuleError, Subject, judge, parse_rule, wider_answers
from accord.session.shell_line import parse_shell_line
from tests.tables import rows

ROOTS = ("/work/project", "/data")


def edit(*paths: str) -> Subject:
    accesses = tuple(Access("edit", path, path, target=PathTarget("edit", path)) for path in paths)
    return Subject(accesses or (Access("edit"),), ROOTS)


def execute(line: str) -> Subject:
    parsed = parse_shell_line(line)
    target = CommandTarget("/work/project", None, line)
    accesses = [
        Access("execute", command=each, is_understood=parsed.understood, target=target) for each in parsed.commands
    ]
    return Subject(tuple(accesses) or (Access("execute", is_understood=False),), ROOTS)


def decide(rules: list[Rule], subject: Subject, default: Effect = "ask") -> tuple[Effect, Rule | None]:
    decision = judge(rules, subject, default=default)
    return decision.effect, decision.rule


@rows(
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


@rows("text", ["", "allow", "maybe read", "allow raed", "allow edit:", "allow edit: "])
def test_what_is_no_rule_says_what_one_is(text: str) -> None:
    with pytest.raises(RuleError, match=r"one of|pattern"):
        parse_rule(text)


@rows(
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


@rows(
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


@rows("tail", ["; rm -rf /", "&& rm x", "| sh", "$(rm x)", "`rm x`", "\nrm x"])
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


def test_what_is_not_known_is_refused_by_every_pattern_and_allowed_by_none() -> None:
    for unknown in (edit(), Subject((Access("execute", is_understood=False),), ROOTS)):
        kind = unknown.accesses[0].kind
        assert decide([Rule("allow", kind, "**")], unknown)[0] == "ask"
        assert decide([Rule("deny", kind, "x")], unknown)[0] == "deny"
        assert decide([Rule("deny", "all", "x")], unknown)[0] == "deny"
        assert decide([Rule("allow", kind)], unknown)[0] == "allow"


@rows(
    "line",
    [
        "/bin/rm x", "\\rm x", "r''m x", "sudo rm x", "env rm x", "sh -c 'rm x'", "true; rm x", "true && rm x",
        "echo $(rm x)", "echo `rm x`", "true\nrm x", "ls | xargs rm", "A=b rm x", "(rm x)", "{ rm x; }", "rm",
        "nohup rm x &", "time rm x", "bash -lc 'cd a && rm x'", "$RM x", "if true; then rm x; fi", "eval rm x",
        "cat <<EOF\n$(rm x)\nEOF", "rm $x", "! rm x", "command rm x", "exec rm x", "timeout 5 rm x",
    ],
)  # fmt: skip
def test_however_a_command_is_spelt_a_deny_meets_it(line: str) -> None:
    assert decide([Rule("deny", "execute", "rm *"), Rule("allow", "execute")], execute(line))[0] == "deny"


@rows("line", [
        "/opt/git status", "./git status", "git status; ls", "git $(ls)", "git `ls`", "PATH=/tmp git status",
        "$GIT status",
        "git status\u2028ls", "git 'status", "sudo git status", "git status & ls",
    ])  # fmt: skip
def test_an_allow_meets_only_what_is_wholly_understood(line: str) -> None:
    assert decide([Rule("allow", "execute", "git *")], execute(line))[0] == "ask"


@rows("line", ["git status", "git status && git log", "git add *.py", "git log $RANGE", "git 'a b'"])
def test_an_allow_with_a_star_meets_whatever_words_follow(line: str) -> None:
    assert decide([Rule("allow", "execute", "git *")], execute(line))[0] == "allow"
    assert decide([Rule("allow", "execute", "git")], execute(line))[0] == "ask"


def test_a_pattern_for_every_kind_also_meets_a_path_beside_a_command() -> None:
    command = parse_shell_line("ls").commands[0]
    subject = Subject((Access("execute", command=command, mentioned=("/data/secret/key",)),), ROOTS)

    assert decide([Rule("deny", "all", "secret/**")], subject)[0] == "deny"
    assert decide([Rule("allow", "all", "secret/**")], subject)[0] == "ask"


def test_a_deny_meets_the_spelt_path_and_the_real_one_and_an_allow_only_the_real_one() -> None:
    linked = Subject((Access("edit", "/outside/vault/key", "/data/secret/key"),), ROOTS)
    into = Subject((Access("edit", "/data/secret/key", "/data/src/key"),), ROOTS)

    assert decide([Rule("deny", "edit", "secret/**")], linked)[0] == "deny"
    assert decide([Rule("deny", "edit", "secret/**")], into)[0] == "deny"
    assert decide([Rule("allow", "edit", "secret/**")], linked)[0] == "ask"
    assert decide([Rule("allow", "edit", "src/**")], into)[0] == "ask"


def test_the_places_that_a_pattern_leads_to_count_as_its_own() -> None:
    rule = Rule("deny", "edit", "secret/**", (Glob("/vault", "**"),))

    assert decide([rule], edit("/vault/key"))[0] == "deny"
    assert decide([rule], edit("/vaulted/key"))[0] == "ask"
    assert Glob("/vault/key", "").matches("/vault/key")


def test_a_shell_around_a_line_needs_no_permission_of_its_own_but_can_be_denied() -> None:
    shell, git = parse_shell_line("sh -c 'git status'").commands[0], parse_shell_line("git status").commands[0]
    subject = Subject((Access("execute", command=shell, transparent=True), Access("execute", command=git)), ROOTS)

    assert decide([Rule("allow", "execute", "git *")], subject)[0] == "allow"
    assert decide([Rule("deny", "execute", "sh *"), Rule("allow", "execute")], subject)[0] == "deny"


# --- remembered answers


def test_a_remembered_answer_speaks_only_where_no_rule_allows_or_denies() -> None:
    subject = edit("/data/a")
    allowed = (RememberedAnswer("allow", targets=subject.targets or ()),)

    assert judge([], subject, allowed).answer == allowed[0]
    assert judge([Rule("ask", "edit")], subject, allowed).effect == "allow"
    assert judge([Rule("deny", "edit")], subject, allowed).effect == "deny"
    assert judge(
        [Rule("allow", "edit")], subject, (RememberedAnswer("deny", targets=subject.targets or ()),)
    ).effect == ("allow")
    assert judge([], edit("/data/b"), allowed).effect == "ask"
    assert judge([], edit("/data/a", "/data/b"), allowed).effect == "ask"


@rows(
    ("answer", "met", "missed"),
    [
        (
            RememberedAnswer("allow", "folder", kind="edit", folder="/data/src"),
            edit("/data/src/x/a"),
            edit("/data/srcs/a"),
        ),
        (RememberedAnswer("allow", "kind", kind="edit"), edit("/anywhere"), execute("ls")),
        (RememberedAnswer("allow", "program", program="git"), execute("git push -f"), execute("git push; rm x")),
        (RememberedAnswer("allow", "program", program="git"), execute("git a && git b"), execute("/opt/git a")),
    ],
)
def test_a_wider_answer_covers_what_its_name_says(answer: RememberedAnswer, met: Subject, missed: Subject) -> None:
    assert judge([], met, (answer,)).effect == "allow"
    assert judge([], missed, (answer,)).effect == "ask"


def test_wider_answers_are_offered_from_the_narrowest_on() -> None:
    assert [each.scope for each in wider_answers(edit("/data/src/a", "/data/src/b"))] == ["folder", "kind"]
    assert [each.scope for each in wider_answers(edit("/data/a", "/data/src/b"))] == ["kind"]
    assert [each.program for each in wider_answers(execute("git status"))] == ["git"]
    assert wider_answers(execute("git status; ls")) == ()
    assert wider_answers(execute("$GIT")) == ()
    assert wider_answers(Subject((*edit("/data/a").accesses, *execute("ls").accesses), ROOTS)) == ()


@rows("separator", ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\0"])
def test_a_rule_is_one_line(separator: str) -> None:
    with pytest.raises(RuleError, match="one line"):
        parse_rule(f"allow edit:a{separator}allow all")
