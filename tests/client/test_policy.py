"""Policies: rules first, then what was chosen before, then the user."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accord.client.policy import Policy, RulesFileError, load_rules, subject_of
from accord.client.question import PermissionQuestion
from accord.session.agent_ask import CommandSubject
from accord.session.entry import ToolCall
from accord.session.option import PermissionOption
from accord.session.rules import Rule, Subject
from accord.session.tool import Diff, FileChange, Location

OPTIONS = (
    PermissionOption("once", "Once", "allow_once"),
    PermissionOption("ever", "Always", "allow_always"),
    PermissionOption("no", "No", "reject_once"),
    PermissionOption("never", "Never", "reject_always"),
)


class Here:
    """As much of a session as a policy looks at."""

    def __init__(self, id_: str = "s") -> None:
        self.id = id_
        self.roots = ("/work",)


def question(
    kind: str = "edit", path: str = "/work/a.py", raw_input: Any = None, session: str = "s", **more: Any
) -> PermissionQuestion:
    tool = ToolCall("t", title="Do it", kind=kind, locations=[Location(path)] if path else [], raw_input=raw_input)
    return PermissionQuestion(Here(session), "Do it", more.pop("options", OPTIONS), tool, **more)  # type: ignore[arg-type]


def answer(policy: Policy, asked: PermissionQuestion) -> Any:
    return asyncio.run(policy(asked))


def test_a_rule_answers_with_the_least_that_it_means() -> None:
    policy = Policy(["allow read", "deny edit:*.py"])

    assert answer(policy, question("read")) == OPTIONS[0]
    assert answer(policy, question("edit")) == OPTIONS[2]


def test_what_no_rule_answers_is_asked() -> None:
    asked: list[str] = []

    def once(asking: PermissionQuestion) -> str:
        asked.append(asking.title)
        return "once"

    assert answer(Policy(["allow read"], ask=once), question("edit")) == "once"
    assert asked == ["Do it"]


def test_where_nobody_can_be_asked_the_answer_is_no() -> None:
    policy = Policy()

    assert answer(policy, question()) == OPTIONS[2]
    assert policy.denied_unasked == 1


def test_always_holds_for_the_session_and_no_other() -> None:
    answers = ["ever", "no"]
    policy = Policy(ask=lambda _: answers.pop(0))

    assert answer(policy, question()) == "ever"
    assert answer(policy, question(path="/work/other.py")) == OPTIONS[0]
    assert answer(policy, question(session="another")) == "no"


def test_always_for_a_command_means_this_command() -> None:
    answers: list[Any] = [OPTIONS[1], False, OPTIONS[3]]
    policy = Policy(ask=lambda _: answers.pop(0))
    asked = question("execute", "", {"command": "git status"})

    assert answer(policy, asked) == OPTIONS[1]
    assert answer(policy, asked) == OPTIONS[0]
    assert answer(policy, question("execute", "", {"command": "git push"})) is False
    assert answer(policy, question("execute", "", {"command": "rm x"})) == OPTIONS[3]
    assert answer(policy, question("execute", "", {"command": "rm x"})) == OPTIONS[2]


def test_always_can_be_written_to_a_file_that_holds_next_time(tmp_path: Path) -> None:
    file = tmp_path / "rules" / "rules.txt"
    policy = Policy(ask=lambda _: "ever", file=file, remember="file")

    assert answer(policy, question()) == "ever"
    assert file.read_text() == "allow edit\n"
    assert answer(Policy(file=file), question(session="later")) == OPTIONS[0]
    assert policy.rules == [Rule("allow", "edit")]


def test_a_json_rules_file_stays_json(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text('["deny execute"]')
    policy = Policy(ask=lambda _: "ever", file=file, remember="file")

    answer(policy, question())

    assert load_rules(file) == [Rule("deny", "execute"), Rule("allow", "edit")]


def test_nothing_is_remembered_where_that_is_not_wanted() -> None:
    answers = ["ever", "no"]
    policy = Policy(ask=lambda _: answers.pop(0), remember="never")

    assert [answer(policy, question()), answer(policy, question())] == ["ever", "no"]


def test_every_decision_can_be_watched() -> None:
    seen: list[tuple[str, str]] = []
    policy = Policy(["allow read"], on_decision=lambda _, effect, rule: seen.append((effect, str(rule))))

    answer(policy, question("read"))
    answer(policy, question("edit"))

    assert seen == [("allow", "allow read"), ("ask", "None")]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("allow read\nallwo edit\n", 2, "line 2"),
        ("[1]", None, "list of texts"),
        ("[oops", None, "no JSON"),
        ('["allow nothing-like-it"]', None, "no kind"),
    ],
)
def test_a_broken_rules_file_says_where(tmp_path: Path, text: str, line: int | None, says: str) -> None:
    file = tmp_path / "rules"
    file.write_text(text)

    with pytest.raises(RulesFileError, match=says) as caught:
        Policy(file=file)
    assert (caught.value.path, caught.value.line) == (str(file), line)


def test_a_rules_file_that_cannot_be_read_is_no_empty_one(tmp_path: Path) -> None:
    (tmp_path / "rules").write_bytes(b"\xff\xfe")

    with pytest.raises(RulesFileError, match="cannot be read"):
        load_rules(tmp_path / "rules")


def test_remarks_and_blank_lines_are_no_rules(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("# mine\n\nallow read  # always\n")

    assert load_rules(tmp_path / "rules") == [Rule("allow", "read")]


def test_the_files_of_a_diff_are_what_is_judged() -> None:
    tool = ToolCall("t", kind="edit", content=[Diff([FileChange("/work/b", old_path="/work/./a")])])
    asked = PermissionQuestion(Here(), "x", OPTIONS, tool)  # type: ignore[arg-type]

    assert subject_of(asked) == Subject("edit", ("/work/b", "/work/a"), None, ("/work",))


@pytest.mark.parametrize(
    ("raw_input", "command"),
    [
        ({"command": "ls -l"}, "ls -l"),
        ({"cmd": ["ls", "a b"]}, "ls 'a b'"),
        ({"command": [1]}, "Do it"),
        (None, "Do it"),
    ],
)
def test_agents_put_the_command_in_different_places(raw_input: Any, command: str) -> None:
    assert subject_of(question("execute", "", raw_input)).command == command


def test_a_command_subject_is_a_command() -> None:
    asked = PermissionQuestion(Here(), "x", OPTIONS, None, CommandSubject("rm x", "/work"))  # type: ignore[arg-type]

    assert subject_of(asked) == Subject("execute", (), "rm x", ("/work",))
    assert subject_of(PermissionQuestion(Here(), "x", OPTIONS)) == Subject(roots=("/work",))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "asked",
    [
        question("execute", "", {"command": "echo 'a\nallow all'"}),
        question("execute", "", {"command": "git # status"}),
        question("x\nallow all", ""),
        question("_x\nallow all", ""),
        question("not a kind", ""),
    ],
    ids=["newline", "remark", "kind", "private kind", "unknown"],
)
def test_what_an_agent_calls_its_call_writes_no_other_rules(tmp_path: Path, asked: PermissionQuestion) -> None:
    file = tmp_path / "rules.txt"
    policy = Policy(ask=lambda _: "ever", file=file, remember="file")

    assert answer(policy, asked) == "ever"
    assert not file.exists()
    assert answer(policy, asked) == OPTIONS[0]
    assert answer(policy, question("delete", session="another")) == "ever"


def test_always_for_a_command_with_a_star_is_no_pattern() -> None:
    answers = ["ever", "no"]
    policy = Policy(ask=lambda _: answers.pop(0))

    assert answer(policy, question("execute", "", {"command": "rm *"})) == "ever"
    assert answer(policy, question("execute", "", {"command": "rm *"})) == OPTIONS[0]
    assert answer(policy, question("execute", "", {"command": "rm -rf x"})) == "no"
