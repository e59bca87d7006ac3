"""Policies: rules first, then what was chosen before, then the user."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accord.client import Policy, RulesFileError, Verdict, WiderAnswer, load_rules
from accord.client.question import PermissionQuestion, chosen_option, elicited, permission_given
from accord.session.agent_requests import CommandSubject
from accord.session.custom import Custom
from accord.session.entry import ToolCall
from accord.session.option import PermissionKind, PermissionOption
from accord.session.remembered import CommandTarget, PathTarget, RememberedAnswer
from accord.session.rules import Rule, wider_answers
from accord.session.tool import Diff, FileChange, Location
from tests.tables import rows

OPTIONS = (
    PermissionOption("once", "Once", "allow_once"),
    PermissionOption("ever", "Always", "allow_always"),
    PermissionOption("no", "No", "reject_once"),
    PermissionOption("never", "Never", "reject_always"),
)


class Here:
    """As much of a session as a policy looks at."""

    def __init__(self) -> None:
        self.cwd = "/work"
        self.additional_directories: tuple[str, ...] = ()
        self.running_turn: object | None = object()


HERE, ELSEWHERE = Here(), Here()


def question(
    kind: str = "edit", path: str = "/work/a.py", raw_input: Any = None, session: Here = HERE, **more: Any
) -> PermissionQuestion:
    tool = ToolCall("t", title="Do it", kind=kind, locations=[Location(path)] if path else [], raw_input=raw_input)
    return PermissionQuestion(session, "Do it", more.pop("options", OPTIONS), tool, **more)  # type: ignore[arg-type]


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

    assert answer(Policy(["allow read"], on_question=once), question("edit")) == "once"
    assert asked == ["Do it"]


def test_where_nobody_can_be_asked_the_answer_is_no() -> None:
    policy = Policy()

    assert answer(policy, question()) == OPTIONS[2]
    assert policy.denied_unasked == 1


def test_always_holds_for_exactly_what_was_shown_in_the_session_and_no_other() -> None:
    answers = ["ever", "no", "no", "no"]
    policy = Policy(on_question=lambda _: answers.pop(0))

    assert answer(policy, question()) == "ever"
    assert answer(policy, question(path="/work/./a.py")) == OPTIONS[0]
    assert answer(policy, question(path="/work/other.py")) == "no"
    assert answer(policy, question("delete")) == "no"
    assert answer(policy, question(session=ELSEWHERE)) == "no"


def test_always_for_a_command_means_this_command() -> None:
    answers: list[Any] = [OPTIONS[1], False, OPTIONS[3]]
    policy = Policy(on_question=lambda _: answers.pop(0))
    asked = question("execute", "", {"command": "git status"})

    assert answer(policy, asked) == OPTIONS[1]
    assert answer(policy, asked) == OPTIONS[0]
    assert answer(policy, question("execute", "", {"command": "git push"})) is False
    assert answer(policy, question("execute", "", {"command": "rm x"})) == OPTIONS[3]
    assert answer(policy, question("execute", "", {"command": "rm x"})) == OPTIONS[2]


def test_a_wider_scope_is_remembered_where_it_was_chosen() -> None:
    def wider(asked: PermissionQuestion) -> WiderAnswer:
        assert asked.subject is not None
        return WiderAnswer(OPTIONS[1], wider_answers(asked.subject)[0])

    policy = Policy(on_question=wider)

    assert permission_given(question(), answer(policy, question(path="/work/src/a"))).option == "ever"
    assert answer(policy, question(path="/work/src/deep/b")) == OPTIONS[0]
    assert policy._consent(HERE).answers == [RememberedAnswer("allow", "folder", kind="edit", folder="/work/src")]  # type: ignore[arg-type]


def test_a_store_keeps_what_holds_on() -> None:
    class Kept:
        def __init__(self) -> None:
            self.answers: list[RememberedAnswer] = []

        def load(self, _session: Any) -> list[RememberedAnswer]:
            return list(self.answers)

        def add(self, _session: Any, kept: RememberedAnswer) -> None:
            self.answers.append(kept)

    kept = Kept()
    assert answer(Policy(on_question=lambda _: "ever", remember=kept), question()) == "ever"
    assert answer(Policy(remember=kept), question()) == OPTIONS[0]
    assert kept.answers == [RememberedAnswer("allow", targets=(PathTarget("edit", "/work/a.py"),))]


def test_a_call_that_says_nothing_of_itself_is_not_remembered() -> None:
    answers = ["ever", "no"]
    policy = Policy(on_question=lambda _: answers.pop(0))

    assert [answer(policy, question(path="")), answer(policy, question(path=""))] == ["ever", "no"]


def test_an_explicit_deny_beats_a_remembered_answer() -> None:
    policy = Policy(["ask edit:a.py", "deny edit:b.py"], on_question=lambda _: "ever")
    both = PermissionQuestion(
        HERE,  # type: ignore[arg-type]
        "x",
        OPTIONS,
        ToolCall("t", kind="edit", locations=[Location("/work/a.py"), Location("/work/b.py")]),
    )

    assert answer(policy, question()) == "ever"
    assert answer(policy, question()) == OPTIONS[0]
    assert answer(policy, both) == OPTIONS[2]


def test_outside_a_turn_what_a_rule_allows_is_asked_unless_it_only_reads() -> None:
    idle = Here()
    idle.running_turn = None
    policy = Policy(["allow all"])

    assert answer(policy, question(session=idle)) == OPTIONS[2]
    assert answer(policy, question("read", session=idle)) == OPTIONS[0]
    assert policy.denied_unasked == 1


def test_nothing_is_remembered_where_that_is_not_wanted() -> None:
    answers = ["ever", "no"]
    policy = Policy(on_question=lambda _: answers.pop(0), remember="never")

    assert [answer(policy, question()), answer(policy, question())] == ["ever", "no"]


def test_every_decision_can_be_watched() -> None:
    seen: list[Verdict] = []
    policy = Policy(["allow read"], on_verdict=seen.append)

    answer(policy, question("read"))
    answer(policy, question("edit"))

    assert [(each.by, str(each.rule), each.is_allowed) for each in seen] == [
        ("rule", "allow read", True),
        ("nobody", "None", False),
    ]


@rows(
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


@rows("odd", ["\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\t", "\x1b"])
def test_a_rules_file_has_no_separators_but_line_feeds(tmp_path: Path, odd: str) -> None:
    (tmp_path / "rules").write_bytes(f"allow read\ndeny all # x{odd}allow all\n".encode())

    with pytest.raises(RulesFileError) as caught:
        load_rules(tmp_path / "rules")
    assert caught.value.line == 2


def test_a_rules_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "rules").write_bytes(b"\xef\xbb\xbfdeny all\n")

    assert load_rules(tmp_path / "rules") == [Rule("deny", "all")]


def test_a_rules_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RulesFileError):
        Policy(file=tmp_path / "rules")


def test_the_files_of_a_diff_are_what_is_judged() -> None:
    tool = ToolCall("t", kind="edit", content=[Diff([FileChange("/work/b", old_path="/work/./a")])])
    asked = PermissionQuestion(HERE, "x", OPTIONS, tool)  # type: ignore[arg-type]

    assert answer(Policy(["allow edit:a", "allow edit:b"]), asked) == OPTIONS[0]
    assert answer(Policy(["allow edit:b"]), asked) == OPTIONS[2]
    assert answer(Policy(["deny edit:a", "allow edit"]), asked) == OPTIONS[2]


def test_a_command_subject_is_a_command() -> None:
    asked = PermissionQuestion(HERE, "git status", OPTIONS, None, CommandSubject("rm x", "/work"))  # type: ignore[arg-type]

    assert answer(Policy(["allow execute:rm *"]), asked) == OPTIONS[0]
    assert answer(Policy(["allow execute:git *"]), asked) == OPTIONS[2]
    assert answer(Policy(["allow execute"]), PermissionQuestion(HERE, "x", OPTIONS)) == OPTIONS[2]  # type: ignore[arg-type]


@rows("separator", [*"\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029#*"])
def test_what_an_agent_calls_its_call_is_remembered_as_that_and_nothing_else(separator: str) -> None:
    line = f"echo a{separator}allow all"
    answers = ["ever", "no", "no"]
    policy = Policy(on_question=lambda _: answers.pop(0))

    assert answer(policy, question("execute", "", {"command": line})) == "ever"
    assert answer(policy, question("execute", "", {"command": line})) == OPTIONS[0]
    assert answer(policy, question("execute", "", {"command": "echo a"})) == "no"
    assert answer(policy, question("delete")) == "no"


def test_always_for_a_command_with_a_star_is_no_pattern() -> None:
    answers = ["ever", "no"]
    policy = Policy(on_question=lambda _: answers.pop(0))

    assert answer(policy, question("execute", "", {"command": "rm *"})) == "ever"
    assert answer(policy, question("execute", "", {"command": "rm *"})) == OPTIONS[0]
    assert answer(policy, question("execute", "", {"command": "rm -rf x"})) == "no"
    (kept,) = policy._consent(HERE).answers  # type: ignore[arg-type]
    assert kept.targets == (CommandTarget("/work", None, "rm *"),)


# --- options that contradict themselves


def options(*rows: tuple[str, str, PermissionKind]) -> tuple[PermissionOption, ...]:
    return tuple(PermissionOption(*row) for row in rows)


@rows(
    "offered",
    [
        options(("a", "No", "allow_once")),
        options(("a", "Reject it", "allow_always")),
        options(("a", "don\u2019t allow", "allow_once")),
        options(("a", "Do not allow", "allow_once")),
        options(("a", "\uff2e\uff4f", "allow_once")),
        options(("a", "Yes", "allow_once"), ("a", "No", "reject_once")),
        options(("a", "Yes", "allow_once"), ("a", "Yes", "allow_always")),
        options(("a", "Yes", Custom("something_else"))),
        options(("a", "Yes", Custom("allow_once_"))),
        (),
    ],
)
def test_a_rule_allows_by_no_option_that_can_be_read_otherwise(offered: tuple[PermissionOption, ...]) -> None:
    verdicts: list[Verdict] = []
    asked = question("read", options=offered)

    given = permission_given(asked, answer(Policy(["allow all"], on_verdict=verdicts.append), asked))

    assert given.option is None
    assert not verdicts[0].is_allowed


def test_an_id_that_two_options_share_cannot_be_given() -> None:
    shared = options(("a", "Yes", "allow_once"), ("a", "Always", "allow_always"))
    apart = options(("a", "Yes", "allow_once"), ("b", "Always", "allow_always"))
    assert [option.can_be_given(shared) for option in shared] == [False, False]
    assert [option.can_be_given(apart) for option in apart] == [True, True]


@rows("said", [False, "a", OPTIONS[0]])
def test_no_refusal_is_sent_as_an_id_that_also_allows(said: Any) -> None:
    asked = question(
        options=options(("a", "Yes", "allow_once"), ("a", "No", "reject_once"), ("once", "No", "allow_once"))
    )

    assert chosen_option(asked, said) is None


@rows("name", ["Don't ask again", "Never ask me again", "Notify me", "Yes, and do not ask again"])
def test_not_to_be_asked_is_no_refusal(name: str) -> None:
    assert PermissionOption("a", name, "allow_always").consent == "allow"


def test_a_subject_that_no_edition_names_is_judged_by_the_command_in_it() -> None:
    policy = Policy(["deny execute:rm *", "allow all"])
    unknown = {"type": "_deploy", "steps": [{"command": "rm -rf x"}]}
    asked = PermissionQuestion(HERE, "Deploy", OPTIONS, other=unknown)  # type: ignore[arg-type]

    assert answer(policy, asked) == OPTIONS[2]
    # What names nothing could be denied.
    bare = PermissionQuestion(HERE, "Deploy", OPTIONS, other={"a": 1})  # type: ignore[arg-type]
    assert answer(policy, bare) == OPTIONS[2]
    assert answer(Policy(policy.rules, on_question=lambda _: True), bare) is True
    assert answer(Policy(["allow all"]), bare) == OPTIONS[0]
    assert answer(Policy(["allow other"]), bare) == OPTIONS[2]


@rows("answers", [[False], [OPTIONS[1], None]])
def test_a_question_that_names_nothing_is_asked_where_a_rule_could_mean_it(answers: list[Any]) -> None:
    policy = Policy(["allow other", "deny execute:rm *"], on_question=lambda _: answers.pop(0))

    assert answer(policy, question("other", "")) in (False, OPTIONS[1])
    assert answer(Policy(policy.rules), question("other", "")) == OPTIONS[2]


def test_a_kind_that_no_option_has_is_refused_with_the_nearest_one() -> None:
    question = PermissionQuestion(Here(), "x", options(("a", "Yes", "allow_once")))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'allow_once'"):
        question.option("allow_onec")  # type: ignore[arg-type]


@rows(("said", "is_named"), [("yes", True), ("", True), (1, True), ("once", False), (False, False), (None, False)])
def test_what_is_no_answer_is_a_dismissal_that_is_in_the_log(
    caplog: pytest.LogCaptureFixture, said: Any, *, is_named: bool
) -> None:
    caplog.clear()
    asked = question(options=options(("once", "Yes", "allow_once"), ("no", "No", "reject_once")))
    given = permission_given(asked, said)
    assert given.option == {"once": "once", False: "no"}.get(said if said != 1 else None)
    assert bool(caplog.records) is is_named


@rows(("said", "is_named"), [("yes", True), (1, True), ("cancel", False), ({}, False), (True, False), (None, False)])
def test_what_is_no_answer_to_a_form_is_in_the_log(
    caplog: pytest.LogCaptureFixture, said: Any, *, is_named: bool
) -> None:
    caplog.clear()
    assert (elicited(said).action == "accept") is (said is True or said == {})
    assert bool(caplog.records) is is_named
