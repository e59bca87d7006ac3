"""The lines of a permission question: facts from every report of the call, the agent's own words apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accord.cli.show.answer import (
    wide_choices,
)
from accord.cli.show.question import (
    can_be_shown_whole,
    host_text,
    question_lines,
    sentence_of,
    whole_lines,
)
from accord.client.question import MachineRequest, PermissionQuestion
from accord.session.agent_requests import CommandSubject, StartTerminal
from accord.session.claims import claims_of
from accord.session.content import Text
from accord.session.entry import ToolCall
from accord.session.option import PermissionOption
from accord.session.tool import Diff, FileChange, Location, Shown
from accord.workspace.subject import SubjectResolver

OPTIONS = (PermissionOption("y", "Yes", "allow_once"), PermissionOption("n", "No", "reject_once"))


class Here:
    """As much of a session as is shown."""

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        self.running_turn = None


def asked(tool: ToolCall | None, title: str = "Claim", cwd: str = "/w", **more: Any) -> PermissionQuestion:
    claims = None if tool is None else claims_of(tool)
    subject = None if claims is None else SubjectResolver(cwd, []).of_call(claims)
    return PermissionQuestion(Here(cwd), title, OPTIONS, tool, claims=claims, subject=subject, **more)  # type: ignore[arg-type]


def shown(question: PermissionQuestion) -> str:
    return "\n".join("".join(span.text for span in line) for line in question_lines(question))


def test_a_command_is_shown_with_arguments_directory_and_environment() -> None:
    tool = ToolCall(
        "t", "List files", "execute",
        raw_input={"command": "git", "args": ["push", "--force"], "cwd": "/elsewhere", "env": {"GIT_SSH": "/x/ssh"}},
    )  # fmt: skip
    text = shown(asked(tool, "List files"))
    assert "run   git push --force" in text
    assert "in /elsewhere" in text
    assert "with GIT_SSH=/x/ssh" in text
    assert "the agent calls it: List files" in text
    assert sentence_of(asked(tool, "List files")) == "allow to run git push --force?"


@pytest.mark.parametrize("directory", [None, ".", "/w"])
def test_a_command_is_shown_once_with_the_directory_of_the_session(directory: str | None) -> None:
    raw_input = {"command": ["python", "a.py"], **({} if directory is None else {"cwd": directory})}
    tool = ToolCall("t", "python a.py", "execute", raw_input=raw_input, locations=[Location("/w")])
    question = asked(tool, "python a.py", command=CommandSubject("python a.py", "/w"))
    assert shown(question).split() == ["run", "python", "a.py", "in", "/w"]
    assert sentence_of(question) == "allow to run python a.py?"


def test_a_place_that_is_not_the_directory_of_the_command_is_shown() -> None:
    tool = ToolCall("t", "x", "execute", raw_input={"command": "make"}, locations=[Location("/w/sub")])
    assert "run   sub" in shown(asked(tool))


@pytest.mark.parametrize("kind", ["read", "think", "other", "_private"])
def test_a_command_is_shown_whatever_kind_the_call_says_it_is(kind: str) -> None:
    assert "run   rm -rf /" in shown(asked(ToolCall("t", "Think", kind, raw_input={"cmd": ["rm", "-rf", "/"]})))


def test_every_file_of_an_edit_is_shown_with_its_diff() -> None:
    changes = [FileChange(f"/w/{name}", f"old {name}\n", f"new {name}\n") for name in ("a", "b", "c")]
    tool = ToolCall("t", "Fix a typo", "edit", content=[Diff(changes)], locations=[Location("/w/d")])
    text = shown(asked(tool, "Fix a typo"))
    for name in ("a", "b", "c"):
        assert f"- old {name}" in text
        assert f"+ new {name}" in text
    assert "edit  d" in text
    assert sentence_of(asked(tool)) == "allow this?"


def test_input_that_names_nothing_is_shown_as_clipped_json() -> None:
    tool = ToolCall("t", "Harmless", "other", raw_input={"amount": 7, "to": "x" * 5000})
    text = shown(asked(tool))
    assert '{"amount": 7, "to": "xxx' in text
    assert len(text) < 2000
    assert can_be_shown_whole(asked(tool))
    assert "x" * 5000 in "".join(span.text for line in whole_lines(asked(tool)) for span in line)


END = "; rm -rf ~"
LONG = "x" * 5000 + END


@pytest.mark.parametrize(
    "question",
    [
        asked(ToolCall("t", kind="execute", raw_input={"command": LONG})),
        asked(ToolCall("t", kind="execute", raw_input={"command": "make", "args": [LONG]})),
        asked(ToolCall("t", kind="execute", raw_input={"command": "make", "env": {"PATH": LONG}})),
        asked(ToolCall("t", kind="execute", raw_input={"command": "make", "cwd": LONG})),
        asked(ToolCall("t", kind="execute", raw_input={"commands": [*(f"a{n}" for n in range(30)), END]})),
        asked(ToolCall("t", kind="execute", raw_input={"command": "a", "env": {f"A{n}": END for n in range(30)}})),
        asked(ToolCall("t", kind="edit", locations=[Location(LONG)])),
        asked(ToolCall("t", kind="edit", locations=[*(Location(f"a{n}") for n in range(50)), Location(END)])),
        asked(ToolCall("t", content=[Shown(Text("a\n" * 50 + END))])),
        asked(None, request=StartTerminal("s", "sh", ["-c", LONG])),
        asked(None, command=CommandSubject(LONG, "/w")),
        asked(None, other={"x": LONG}),
        asked(None, command=CommandSubject("make", "/w"), description="a\n" * 50 + END),
        asked(None, open_calls=[ToolCall("t", kind="execute", raw_input={"command": LONG})]),
    ],
)
def test_what_is_too_long_at_first_can_be_seen_whole(question: PermissionQuestion) -> None:
    count = 30 if "A0=" in shown(question) else 1
    assert shown(question).count(END) < count
    assert can_be_shown_whole(question)
    assert "".join(span.text for line in whole_lines(question) for span in line).count(END) >= count
    short = "".join(span.text for line in whole_lines(question, max_characters=1000) for span in line)
    assert LONG not in short


def test_what_is_shown_at_once_needs_no_second_look() -> None:
    assert not can_be_shown_whole(
        asked(ToolCall("t", kind="execute", raw_input={"command": "make", "env": {"A": "b"}}))
    )
    assert not can_be_shown_whole(asked(ToolCall("t", kind="edit", locations=[Location("a")])))


def test_a_question_that_names_no_call_is_shown_with_the_calls_that_run() -> None:
    running = ToolCall("t", "Deploy to production", "execute", "in_progress")
    text = shown(asked(None, "Go on?", open_calls=(running,)))
    assert "running now: execute Deploy to production" in text
    assert "the agent calls it: Go on?" in text
    assert sentence_of(asked(None, "Go on?")) == "allow this?"


def test_the_title_is_left_out_where_it_only_repeats_the_facts() -> None:
    tool = ToolCall("t", "Edit a.py", "edit", locations=[Location("/w/a.py")])
    assert "the agent calls it" not in shown(asked(tool, "Edit a.py"))
    assert sentence_of(asked(tool, "Edit a.py")) == "allow the edit of a.py?"


def test_where_a_link_leads_is_shown(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    tool = ToolCall("t", "Edit", "edit", locations=[Location(str(tmp_path / "link"))])
    assert f"leads to {(tmp_path / 'real').resolve()}" in shown(asked(tool, cwd=str(tmp_path)))


@pytest.mark.parametrize(
    "spelling",
    ["./link", "x/../link", "file:link", "file://{}/link", "{}/./link", "folder/../hidden", "{}/folder/../hidden"],
)
@pytest.mark.parametrize("as_diff", [False, True])
def test_where_a_link_leads_is_shown_for_every_spelling_of_its_path(
    tmp_path: Path, spelling: str, *, as_diff: bool
) -> None:
    (tmp_path / "out" / "sub").mkdir(parents=True)
    (tmp_path / "out" / "hidden").write_text("x", encoding="utf-8")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "link").symlink_to(tmp_path / "out" / "hidden")
    (tmp_path / "w" / "folder").symlink_to(tmp_path / "out" / "sub")
    cwd = str(tmp_path / "w")
    path = spelling.format(cwd)
    tool = ToolCall("t", "Edit", "edit", locations=[Location(path)])
    if as_diff:
        tool = ToolCall("t", "Edit", "edit", content=[Diff([FileChange(path, "a\n", "b\n")])])
    assert f"leads to {(tmp_path / 'out' / 'hidden').resolve()}" in shown(asked(tool, cwd=cwd))


@pytest.mark.parametrize("spelling", ["a", "./a", "{}/a"])
def test_a_link_before_the_session_s_directory_is_not_shown_with_each_file(tmp_path: Path, spelling: str) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "here").symlink_to(tmp_path / "w")
    cwd = str(tmp_path / "here")
    tool = ToolCall("t", "Edit", "edit", locations=[Location(spelling.format(cwd))])
    assert "leads to" not in shown(asked(tool, cwd=cwd))


def test_a_file_that_is_moved_is_shown_with_the_place_it_comes_from() -> None:
    diff = Diff([FileChange("/w/new", "a\n", "b\n", old_path="/etc/old", operation="move")])
    assert "/etc/old → new" in shown(asked(ToolCall("t", "Edit", "edit", content=[diff])))


def test_a_request_for_a_terminal_is_shown_with_its_environment() -> None:
    request: MachineRequest = StartTerminal("s", "make", ["all"], env=[("PATH", "/evil")], cwd="/w/sub")
    question = asked(None, "Own words", command=CommandSubject("make all", "/w/sub"), request=request)
    text = shown(question)
    assert "run   make all" in text
    assert "in /w/sub" in text
    assert "with PATH=/evil" in text
    assert sentence_of(question) == "allow to run make all?"


def test_nothing_that_is_shown_steers_a_terminal() -> None:
    bad = "\x1b[2J\u202e\u061c\x9b\U000e0041"
    tool = ToolCall(
        "t", bad, bad, raw_input={"command": f"ls {bad}", "cwd": bad, "env": {bad: bad}}, name=bad,
        content=[Shown(Text(bad)), Diff([FileChange(f"/w/{bad}", bad, bad)])],
    )  # fmt: skip
    text = shown(asked(tool, bad, description=bad))
    assert not set("\x1b\u202e\u061c\x9b\U000e0041") & set(text)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://host.example/a?b", "host.example"),
        ("https://good.example@host.example:80/", "host.example"),
        ("https://g\u043e\u043eg.example/", "xn--gg-fmca.example (g\u043e\u043eg.example)"),
        ("https://a..\u043e/", "a..\u043e (no valid name)"),
        ("https:///host.example", "an address without a host"),
        ("https://[", "an address without a host"),
    ],
)
def test_an_address_is_shown_with_its_host_as_it_is_looked_up(address: str, host: str) -> None:
    assert host_text(address) == host


def test_wider_scopes_are_named() -> None:
    edit = asked(ToolCall("t", "Edit", "edit", locations=[Location("/w/src/a.py")]))
    assert [(each.key, each.name) for each in wide_choices(edit)] == [
        ("f", "every edit below src/"),
        ("e", "every edit"),
    ]
    command = asked(ToolCall("t", "Run", "execute", raw_input={"command": "git status"}))
    assert [(each.key, each.name) for each in wide_choices(command)] == [("p", "every command of git")]
    unknown = asked(ToolCall("t", "Run", "execute"))
    assert wide_choices(unknown) == []


def test_a_name_of_the_agent_s_own_in_a_wider_scope_is_in_quotes() -> None:
    odd = asked(ToolCall("t", "Odd", "read  [n] no", locations=[Location("/w/src/a.py")]))
    assert [each.name for each in wide_choices(odd)] == [
        'every call that the agent calls "read  [n] no" below src/',
        'every call that the agent calls "read  [n] no"',
    ]
    command = asked(ToolCall("t", "Run", "execute", raw_input={"argv": ["git  [n] no", "x"]}))
    assert [each.name for each in wide_choices(command)] == ["every command of 'git  [n] no'"]


def test_a_kind_that_the_call_had_before_is_shown_where_it_names_nothing() -> None:
    first = claims_of(ToolCall("t", "Run", "execute"))
    tool = ToolCall("t", "Read", "read", locations=[Location("/w/a")])
    question = replace(asked(tool), claims=claims_of(tool).joined(first))
    assert "run   something that is not named" in shown(question)
    assert sentence_of(question) == "allow this?"


def test_the_name_of_a_tool_does_not_look_like_a_path() -> None:
    text = shown(asked(ToolCall("t", "Read", "read", name="README.md")))
    assert 'read  the tool "README.md"' in text
    assert "what it touches is not said" in shown(asked(ToolCall("t", "Read", "read")))


@pytest.mark.parametrize("raw_input", [{"command": "git", "args": {"0": "rm"}}, {"run": {"step": ["rm", 1]}}])
def test_a_command_that_cannot_be_read_is_shown_as_it_is(raw_input: Any) -> None:
    text = shown(asked(ToolCall("t", "Run", "execute", raw_input=raw_input)))
    assert "a command that could not be read" in text
    assert '"rm"' in text


def test_the_agent_s_words_are_broken_into_marked_rows_and_commands_are_not() -> None:
    command = "git  commit -m" + " word" * 20
    tool = ToolCall("t", "x", "execute", raw_input={"command": command})
    question = asked(tool, "A title of many words " * 4, description="A sentence of many words " * 4)
    rows = ["".join(span.text for span in line) for line in question_lines(question, columns=40)]
    assert f"  run   {command}" in rows
    words = rows[rows.index("        the agent says:") + 1 :]
    assert len(words) > 1
    assert all(row.startswith("        | ") and len(row) <= 40 for row in words)
    assert max(len(row) for row in rows if row != f"  run   {command}") <= 40
