"""The services of a client pass the policy: files, terminals, and calls that were completed unasked."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.client import Policy, Verdict
from accord.client.consent import REPLACED
from accord.client.question import PermissionQuestion
from accord.session.agent_requests import ReadFile, StartTerminal, WriteFile
from accord.session.tool import Diff
from accord.workspace import Workspace
from tests.client.requesting_agent import SESSION, RequestingAgent, requesting_agent
from tests.limits import limit
from tests.tables import rows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and commands: run it on Linux or macOS")

DENIED = -32003
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


@asynccontextmanager
async def working(requester: RequestingAgent, stop_reason: str = "end_turn") -> AsyncIterator[None]:
    """While the agent works on a prompt."""
    turn = requester.session.prompt("go")
    waiting = asyncio.ensure_future(turn.wait())
    asked = await requester.hand.hear()
    assert asked["method"] == "session/prompt"
    try:
        yield
    finally:
        await requester.hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"stopReason": stop_reason}})
        await asyncio.wait([waiting], timeout=limit(5))


async def update(requester: RequestingAgent, **fields: Any) -> None:
    params = {"sessionId": SESSION, "update": fields}
    await requester.hand.say({"jsonrpc": "2.0", "method": "session/update", "params": params})


async def permission(requester: RequestingAgent, **call: Any) -> Any:
    """What the client answers to a question about a call."""
    answer = await requester.ask("session/request_permission", toolCall={"toolCallId": "t", **call}, options=OPTIONS)
    return answer["outcome"].get("optionId")


async def write(requester: RequestingAgent, path: Path | str, text: str = "new") -> int | None:
    """None where it was written, else the code of the refusal."""
    try:
        await requester.ask("fs/write_text_file", path=str(path), content=text)
    except accord.RequestError as error:
        return error.code
    return None


async def run(requester: RequestingAgent, *argv: str, **params: Any) -> int | None:
    try:
        await requester.finished(await requester.start(*argv, **params))
    except accord.RequestError as error:
        return error.code
    return None


def yes(seen: list[PermissionQuestion]) -> Any:
    def answer(question: PermissionQuestion) -> bool:
        seen.append(question)
        return True

    return answer


# --- rules


@rows("rule", ["deny all", "deny edit", "deny edit:**", "deny edit:a", "deny edit:/**"])
async def test_a_write_that_a_rule_denies_is_refused_and_counted(tmp_path: Path, rule: str) -> None:
    policy = Policy([rule])
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        assert await write(requester, tmp_path / "a") == DENIED

    assert not (tmp_path / "a").exists()
    assert (policy.refused_requests, policy.denied_unasked) == (1, 0)


@rows("rule", ["deny all", "deny execute", "deny execute:touch *", "deny execute:rm *"])
async def test_a_terminal_that_a_rule_denies_is_refused(tmp_path: Path, rule: str) -> None:
    policy = Policy([rule, "allow all"])
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        line = "touch made; rm x" if "rm" in rule else "touch made"
        assert await run(requester, "sh", "-c", line) == DENIED

    assert not (tmp_path / "made").exists()


@rows("rule", ["deny execute:touch *", "deny execute:rm *", "deny execute"])
async def test_a_whole_line_in_place_of_a_program_is_judged_by_its_commands(tmp_path: Path, rule: str) -> None:
    async with requesting_agent(tmp_path, permission=Policy([rule, "allow all"])) as requester, working(requester):
        assert await run(requester, "touch made; rm -f x") == DENIED

    assert not (tmp_path / "made").exists()


async def test_a_question_about_a_line_covers_that_line_and_no_other(tmp_path: Path) -> None:
    policy = Policy(on_question=lambda question: question.request is None)
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        line = "touch made && touch more"
        await permission(requester, kind="execute", rawInput={"command": line})
        assert await run(requester, f"{line} && touch further") == DENIED
        assert await run(requester, line) is None

    assert sorted(each.name for each in tmp_path.iterdir()) == ["made", "more"]


@rows("spelling", ["{}/link/key", "{}//secret/key", "{}/x/../secret/./key", "{}/secret/key"])
async def test_a_write_is_judged_by_where_it_leads(tmp_path: Path, spelling: str) -> None:
    for folder in ("secret", "x"):
        (tmp_path / folder).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    async with (
        requesting_agent(tmp_path, permission=Policy(["deny edit:secret/**", "allow all"])) as requester,
        working(requester),
    ):
        assert await write(requester, spelling.format(tmp_path)) == DENIED
        assert await write(requester, tmp_path / "x" / "a") is None

    assert not (tmp_path / "secret" / "key").exists()


async def test_what_an_allow_rule_meets_is_done_in_a_turn(tmp_path: Path) -> None:
    verdicts: list[Verdict] = []
    policy = Policy(["allow edit:src/**", "allow execute:true"], on_verdict=verdicts.append)
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        assert await write(requester, tmp_path / "src" / "a") is None
        assert await run(requester, "true") is None

    assert [(each.by, each.is_allowed, str(each.rule)) for each in verdicts] == [
        ("rule", True, "allow edit:src/**"),
        ("rule", True, "allow execute:true"),
    ]


async def test_a_write_that_the_agent_asked_for_is_not_shown_as_unasked_where_a_rule_allows_it_too(
    tmp_path: Path,
) -> None:
    verdicts: list[Verdict] = []
    policy = Policy(["allow edit"], on_verdict=verdicts.append)
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        await permission(requester, kind="edit", locations=[{"path": str(tmp_path / "a")}])
        assert await write(requester, tmp_path / "a") is None
        assert await write(requester, tmp_path / "b") is None

    assert [each.by for each in verdicts] == ["rule", "question", "rule"]


@rows("when", ["before", "after", "cancelled"])
async def test_outside_a_running_turn_nothing_is_done_unasked_whatever_rules_allow(tmp_path: Path, when: str) -> None:
    policy = Policy(["allow all"])
    async with requesting_agent(tmp_path, permission=policy) as requester:
        if when != "before":
            async with working(requester):
                if when == "cancelled":
                    requester.session.cancel()
                    assert await write(requester, tmp_path / "a") == DENIED
        assert await write(requester, tmp_path / "a") == DENIED
        assert await run(requester, "touch", "a") == DENIED

    assert not (tmp_path / "a").exists()


async def test_where_no_rule_matches_a_read_is_served_and_the_rest_asked(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text", encoding="utf-8")
    policy = Policy(["deny read:secret/**"])
    async with requesting_agent(tmp_path, permission=policy) as requester:
        assert (await requester.ask("fs/read_text_file", path=str(tmp_path / "a")))["content"] == "text"
        assert await requester.refusal("fs/read_text_file", path=str(tmp_path / "secret" / "b")) == DENIED
        async with working(requester):
            assert await write(requester, tmp_path / "a") == DENIED
            assert await run(requester, "true") == DENIED
    assert policy.denied_unasked == 2


async def test_without_a_policy_everything_inside_is_served(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path, permission=lambda _: True) as requester:
        assert await write(requester, tmp_path / "a") is None
        assert await run(requester, "true") is None


async def test_a_policy_reports_requests_that_were_executed_and_none_that_failed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    served: list[Any] = []
    policy = Policy(["deny edit:denied", "allow all"], on_served=served.append)
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        for name in ("a", "folder", "denied"):
            await write(requester, tmp_path / name)
        await requester.ask("fs/read_text_file", path=str(tmp_path / "a"))
        await requester.refusal("fs/read_text_file", path=str(tmp_path / "missing"))
        await run(requester, "true")
        await run(requester, "./missing-program")

    assert [type(request) for request in served] == [WriteFile, ReadFile, StartTerminal]


# --- asking


async def test_who_is_asked_about_a_write_sees_path_and_difference(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old", encoding="utf-8")
    seen: list[PermissionQuestion] = []
    async with requesting_agent(tmp_path, permission=Policy(on_question=yes(seen))) as requester, working(requester):
        assert await write(requester, tmp_path / "a") is None
        assert await run(requester, "echo", "a b", cwd=str(tmp_path), env=[{"name": "LANG", "value": "C"}]) is None

    (change,) = seen[0].tool.content[0].changes  # type: ignore[union-attr]
    assert (change.path, change.old, change.new) == (str(tmp_path / "a"), "old", "new")
    assert seen[1].command is not None
    assert (seen[1].command.command, seen[1].command.cwd) == ("echo 'a b'", str(tmp_path))
    assert [each.request is not None for each in seen] == [True, True]


async def test_a_path_that_is_swapped_while_somebody_is_asked_is_refused(tmp_path: Path) -> None:
    for folder in ("safe", "secret"):
        (tmp_path / folder).mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "safe")

    def swap(_: PermissionQuestion) -> bool:
        link.unlink()
        link.symlink_to(tmp_path / "secret")
        return True

    async with requesting_agent(tmp_path, permission=Policy(on_question=swap)) as requester, working(requester):
        assert await write(requester, link / "a") == DENIED

    assert not (tmp_path / "secret" / "a").exists()
    assert not (tmp_path / "safe" / "a").exists()


async def test_a_cancel_refuses_what_somebody_is_being_asked(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def never(_: PermissionQuestion) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    async with (
        requesting_agent(tmp_path, permission=Policy(on_question=never)) as requester,
        working(requester, "cancelled"),
    ):
        writing = asyncio.ensure_future(write(requester, tmp_path / "a"))
        await asyncio.wait_for(asked.wait(), limit(5))
        requester.session.cancel()
        assert await asyncio.wait_for(writing, limit(5)) == DENIED

    assert not (tmp_path / "a").exists()


# --- allowed questions


async def test_a_request_for_what_an_open_question_allowed_passes_until_the_call_ends(tmp_path: Path) -> None:
    seen: list[PermissionQuestion] = []
    policy = Policy(on_question=yes(seen))
    async with requesting_agent(tmp_path, permission=policy) as requester:
        async with working(requester):
            assert await permission(requester, kind="edit", locations=[{"path": str(tmp_path / "a")}]) == "yes"
            assert await write(requester, tmp_path / "." / "a") is None
            assert len(seen) == 1
            assert await write(requester, tmp_path / "b") is None
            assert len(seen) == 2
            await update(requester, sessionUpdate="tool_call_update", toolCallId="t", status="completed")
            assert await write(requester, tmp_path / "a") is None
            assert len(seen) == 3
            assert (
                await permission(requester, kind="edit", locations=[{"path": str(tmp_path / "c")}], toolCallId="u")
                == "yes"
            )
        async with working(requester):
            # Another turn: what was allowed in the last one does not pass over.
            assert await write(requester, tmp_path / "c") is None
    assert len(seen) == 5


@pytest.mark.parametrize(
    ("shown", "argv", "params", "is_same"),
    [
        ({"command": "echo hi"}, ["echo", "hi"], {}, True),
        ({"command": "echo", "args": ["hi"]}, ["echo", "hi"], {}, True),
        ({"command": ["bash", "-lc", "echo hi"]}, ["sh", "-c", "echo hi"], {}, True),
        ({"command": "echo hi", "cwd": "."}, ["echo", "hi"], {}, True),
        ({"command": "echo hi"}, ["echo", "hi"], {"env": [{"name": "NO_COLOR", "value": "1"}]}, True),
        ({"command": "echo hi"}, ["echo", "ho"], {}, False),
        ({"command": "echo hi"}, ["echo", "hi", ""], {}, False),
        ({"command": "echo hi"}, ["/bin/echo", "hi"], {}, False),
        ({"command": "echo hi"}, ["echo", "hi"], {"cwd": "sub"}, False),
        ({"command": "echo hi"}, ["echo", "hi"], {"env": [{"name": "PATH", "value": "/x"}]}, False),
        ({"command": "echo hi"}, ["sh", "-c", "echo hi; echo ho"], {}, False),
        ({}, ["echo", "hi"], {}, False),
        # A variable that was shown is part of the command, and so are the lines that a program reads.
        ({"command": "echo hi", "env": {"DRY_RUN": "1"}}, ["echo", "hi"], {}, False),
        ({"command": "echo hi", "env": {"CI": "1"}}, ["echo", "hi"], {"env": [{"name": "CI", "value": "0"}]}, False),
        ({"command": "echo hi", "env": {"CI": "1"}}, ["echo", "hi"], {"env": [{"name": "CI", "value": "1"}]}, True),
        ({"command": "cat <<E\nhi\nE"}, ["sh", "-c", "cat <<E\nhi\nE"], {}, True),
        ({"command": "cat <<E\nhi\nE"}, ["sh", "-c", "cat <<E\nho\nE"], {}, False),
        ({"command": "cat < a"}, ["sh", "-c", "cat < b"], {}, False),
        ({"command": ["sh", "-ec", "echo hi"]}, ["sh", "-c", "echo hi"], {}, False),
    ],
)
async def test_a_terminal_passes_for_the_command_and_directory_that_were_allowed(
    tmp_path: Path, shown: Any, argv: list[str], params: Any, *, is_same: bool
) -> None:
    (tmp_path / "sub").mkdir()
    seen: list[PermissionQuestion] = []
    params = {**params, **({"cwd": str(tmp_path / params["cwd"])} if "cwd" in params else {})}
    async with requesting_agent(tmp_path, permission=Policy(on_question=yes(seen))) as requester, working(requester):
        assert await permission(requester, kind="execute", rawInput=shown, title="echo hi") == "yes"
        await run(requester, *argv, **params)

    assert len(seen) == (1 if is_same else 2)


async def test_a_question_about_reading_lets_nothing_be_written(tmp_path: Path) -> None:
    policy = Policy(["allow read"])
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        assert await permission(requester, kind="read", locations=[{"path": str(tmp_path / "a")}]) == "yes"
        assert await write(requester, tmp_path / "a") == DENIED


PRESENT = "one\ntwo\nthree\ntwo\n"


@rows(
    ("diffs", "written", "is_as_shown"),
    [
        ([(PRESENT, "new\n")], "new\n", True),
        ([(PRESENT, "new\n")], "new", True),
        ([(PRESENT, "new\n")], "new\r\n", True),
        ([(PRESENT, "new\n")], "other\n", False),
        # A passage of the file, once or everywhere.
        ([("two", "2")], "one\n2\nthree\ntwo\n", True),
        ([("two", "2")], "one\n2\nthree\n2\n", True),
        ([("two", "2")], "one\n2\nthree\n2\nfour\n", False),
        ([("two", "2")], "2", False),
        # Several passages, also one write for each.
        ([("one", "1"), ("three", "3")], "1\ntwo\n3\ntwo\n", True),
        ([("one", "1"), ("three", "3")], "1\ntwo\nthree\ntwo\n", True),
        ([("one", "1"), ("three", "3")], "1\ntwo\n4\ntwo\n", False),
        # It was shown as a new file, and it is none.
        ([(None, "new\n")], "new\n", False),
    ],
)
async def test_a_write_passes_for_the_change_that_was_shown(
    tmp_path: Path, diffs: Any, written: str, *, is_as_shown: bool
) -> None:
    seen: list[PermissionQuestion] = []
    file = tmp_path / "a"
    file.write_text(PRESENT, encoding="utf-8")
    content = [{"type": "diff", "path": str(file), "oldText": old, "newText": new} for old, new in diffs]
    async with requesting_agent(tmp_path, permission=Policy(on_question=yes(seen))) as requester, working(requester):
        assert await permission(requester, kind="edit", content=content) == "yes"
        assert await write(requester, file, written) is None
    assert len(seen) == (1 if is_as_shown else 2)


@rows("rules", [[], ["allow edit"]])
async def test_a_write_over_a_file_that_was_shown_as_a_new_one_is_named_so(tmp_path: Path, rules: list[str]) -> None:
    titles: list[str] = []
    (tmp_path / "a").write_text("old\n", encoding="utf-8")
    content = [{"type": "diff", "path": str(tmp_path / "a"), "newText": "new\n"}]
    policy = Policy(rules, on_question=lambda _: True, on_verdict=lambda verdict: titles.append(verdict.question.title))
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        assert await permission(requester, kind="edit", content=content) == "yes"
        for text in ("new\n", "evil\n"):
            assert await write(requester, tmp_path / "a", text) is None
    assert ["file exists" in title for title in titles] == [False, True, True]
    assert not any("without having asked" in title for title in titles)


async def test_a_new_file_is_written_as_it_was_shown(tmp_path: Path) -> None:
    seen: list[PermissionQuestion] = []
    content = [{"type": "diff", "path": str(tmp_path / "a"), "newText": "new\n"}]
    async with requesting_agent(tmp_path, permission=Policy(on_question=yes(seen))) as requester, working(requester):
        assert await permission(requester, kind="edit", content=content) == "yes"
        assert await write(requester, tmp_path / "a", "new\n") is None
        assert len(seen) == 1
        assert await write(requester, tmp_path / "a", "evil\n") is None
    assert len(seen) == 2


@rows("kind", ["delete", "move", "read", "other"])
async def test_a_question_about_anything_but_an_edit_lets_no_text_be_written(tmp_path: Path, kind: str) -> None:
    seen: list[PermissionQuestion] = []
    async with requesting_agent(tmp_path, permission=Policy(on_question=yes(seen))) as requester, working(requester):
        assert await permission(requester, kind=kind, locations=[{"path": str(tmp_path / "a")}]) == "yes"
        assert await write(requester, tmp_path / "a") is None
    assert len(seen) == 2


@rows(("content", "is_shown"), [(b"a", True), (b"\xff", False), (b"a" * (1024 * 1024 + 1), False)])
async def test_a_write_over_a_file_that_cannot_be_shown_is_not_shown_as_a_new_file(
    tmp_path: Path, content: bytes, *, is_shown: bool
) -> None:
    seen: list[PermissionQuestion] = []
    (tmp_path / "a").write_bytes(content)
    async with requesting_agent(tmp_path, permission=Policy(on_question=yes(seen))) as requester, working(requester):
        await write(requester, tmp_path / "a")
        await write(requester, tmp_path / "new")
    over, new = (diff.changes[0] for each in seen if each.tool for diff in each.tool.content if isinstance(diff, Diff))
    assert (over.old is not None) is is_shown
    assert (over.operation == REPLACED) is not is_shown
    assert (new.old, new.operation) == (None, "modify")


@rows(
    ("rule", "folder", "is_allowed"),
    [
        ("allow execute:./t", ".", True),
        ("allow execute:./t", "sub", False),
        ("allow execute:./t *", "sub", False),
        ("allow execute:sub/t", ".", True),
        ("allow execute:*", "sub", True),
        ("allow execute:*/t", "sub", True),
        ("allow execute", "sub", True),
    ],
)
async def test_a_rule_for_a_program_by_a_relative_path_means_the_one_of_the_session_s_directory(
    tmp_path: Path, rule: str, folder: str, *, is_allowed: bool
) -> None:
    (tmp_path / "sub").mkdir()
    for place in (tmp_path, tmp_path / "sub"):
        (place / "t").write_text("#!/bin/sh\n: > ran\n", encoding="utf-8")
        (place / "t").chmod(0o755)
    program = "sub/t" if "sub" in rule else "./t"
    async with requesting_agent(tmp_path, permission=Policy([rule])) as requester, working(requester):
        refused = await run(requester, program, cwd=str(tmp_path / folder))
    assert refused == (None if is_allowed else DENIED)
    assert [*tmp_path.rglob("ran")] == ([tmp_path / folder / "ran"] if is_allowed else [])


# --- what was said of a call


async def test_a_call_is_judged_by_all_that_was_said_of_it(tmp_path: Path) -> None:
    secret, src = [{"path": str(tmp_path / "secret")}], [{"path": str(tmp_path / "src")}]
    policy = Policy(["deny edit:secret", "allow edit"])
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        await update(requester, sessionUpdate="tool_call", toolCallId="t", title="x", kind="edit", locations=secret)
        await update(requester, sessionUpdate="tool_call_update", toolCallId="t", locations=src, kind="read")
        assert await permission(requester, kind="edit", locations=src) == "no"


async def test_what_is_asked_is_frozen(tmp_path: Path) -> None:
    policy: Policy
    requester: RequestingAgent
    shown: list[tuple[Any, Any]] = []

    async def look(question: PermissionQuestion) -> str:
        heard = asyncio.Event()
        requester.session.listen(lambda _: heard.set())
        before = (question.tool and question.tool.raw_input, question.subject and question.subject.targets)
        await update(
            requester,
            sessionUpdate="tool_call_update",
            toolCallId="t",
            rawInput={"command": "rm -rf /"},
            kind="execute",
        )
        await asyncio.wait_for(heard.wait(), limit(5))
        shown.append(before)
        shown.append((question.tool and question.tool.raw_input, question.subject and question.subject.targets))
        return "ever"

    policy = Policy(on_question=look)
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        await permission(requester, kind="execute", rawInput={"command": "git status"})
        assert shown[0] == shown[1]
        (answer,) = policy._consent(requester.session).answers
        assert [each.argv for each in answer.targets] == [("git", "status")]  # type: ignore[union-attr]


@rows("beside", [[], [{"path": "file://["}]])
@rows("asked_first", [False, True])
async def test_a_denied_kind_that_was_completed_unallowed_is_named(
    tmp_path: Path, beside: list[Any], *, asked_first: bool
) -> None:
    named: list[tuple[str, str]] = []
    policy = Policy(["deny edit:secret/**"], on_unasked=lambda call, rule: named.append((call.id, str(rule))))
    place = [*beside, {"path": str(tmp_path / "secret" / "a")}]
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        await update(requester, sessionUpdate="tool_call", toolCallId="t", title="x", kind="edit", locations=place)
        if asked_first:
            assert await permission(requester) == "no"
        for number in (1, 2):
            await update(
                requester, sessionUpdate="tool_call_update", toolCallId="t", status="completed", title=str(number)
            )
        await update(requester, sessionUpdate="tool_call", toolCallId="u", title="x", kind="read", status="completed")
        await requester.hand.request("session/unknown", {})

    assert named == [("t", "deny edit:secret/**")]
    assert policy.completed_unasked == 1


async def test_an_id_that_is_used_again_inherits_nothing(tmp_path: Path) -> None:
    seen: list[PermissionQuestion] = []
    place = [{"path": str(tmp_path / "a")}]
    async with requesting_agent(tmp_path, permission=Policy(on_question=yes(seen))) as requester, working(requester):
        assert await permission(requester, kind="edit", locations=place) == "yes"
        await update(requester, sessionUpdate="tool_call_update", toolCallId="t", status="completed")
        await update(requester, sessionUpdate="tool_call", toolCallId="t", title="x", kind="edit", locations=place)
        assert await write(requester, tmp_path / "a") is None
    assert len(seen) == 2


async def test_a_question_that_came_before_the_prompt_lets_nothing_pass_in_its_turn(tmp_path: Path) -> None:
    seen: list[PermissionQuestion] = []
    is_asked, may_answer = asyncio.Event(), asyncio.Event()

    async def answer(question: PermissionQuestion) -> bool:
        seen.append(question)
        is_asked.set()
        await may_answer.wait()
        return question.request is None

    path = tmp_path / "a.txt"
    async with (
        asyncio.timeout(limit(20)),
        requesting_agent(tmp_path, permission=Policy(on_question=answer)) as requester,
    ):
        call = {"toolCallId": "t", "kind": "edit", "locations": [{"path": str(path)}]}
        params = {"sessionId": SESSION, "toolCall": call, "options": OPTIONS}
        asked = await requester.hand.ask("session/request_permission", params)
        await is_asked.wait()
        async with working(requester):
            may_answer.set()
            outcome = (await requester.hand.answer_to(asked))["result"]["outcome"]
            assert outcome["optionId"] == "yes"
            assert await write(requester, path) == DENIED
    assert [question.request is None for question in seen] == [True, False]


async def test_a_request_that_came_before_the_prompt_is_outside_its_turn(tmp_path: Path) -> None:
    asked = asyncio.Event()
    go_on = threading.Event()

    def workspace(session: accord.client.Session) -> Workspace:
        made = Workspace(session._roots)
        look = made.real_path

        async def slow(path: str) -> Path:
            asked.set()
            await asyncio.to_thread(go_on.wait, 5)
            return await look(path)

        made.real_path = slow  # type: ignore[method-assign,assignment]
        return made

    async with requesting_agent(
        tmp_path, permission=Policy(["allow all"]), offer=accord.Offer(files=workspace)
    ) as requester:
        writing = asyncio.ensure_future(write(requester, tmp_path / "a"))
        await asyncio.wait_for(asked.wait(), limit(5))
        turn = requester.session.prompt("go")
        waiting = asyncio.ensure_future(turn.wait())
        while requester.session.running_turn is None:
            await asyncio.sleep(0)
        go_on.set()
        assert await asyncio.wait_for(writing, limit(5)) == DENIED
        waiting.cancel()

    assert not (tmp_path / "a").exists()


@rows(
    "later",
    [
        {"kind": "execute", "rawInput": {"command": "rm x"}},
        {"content": [{"type": "diff", "path": "secret/a", "newText": "x"}]},
        {"locations": [{"path": "secret/a"}]},
    ],
)
async def test_a_call_that_became_something_denied_after_it_was_allowed_is_named(tmp_path: Path, later: Any) -> None:
    named: list[str] = []
    policy = Policy(
        ["deny edit:secret/**", "deny execute"],
        on_question=lambda _: True,
        on_unasked=lambda call, rule: named.append(f"{call.id} {rule.kind}"),
    )
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        for each in ("t", "u"):
            place = [{"path": str(tmp_path / "a")}]
            assert await permission(requester, kind="edit", locations=place, toolCallId=each) == "yes"
        await update(requester, sessionUpdate="tool_call_update", toolCallId="t", **later)
        for each in ("t", "u"):
            await update(requester, sessionUpdate="tool_call_update", toolCallId=each, status="completed")
        await requester.hand.request("session/unknown", {})

    assert named == ["t execute" if "kind" in later else "t edit"]


async def test_a_denied_call_that_is_completed_before_the_prompt_is_named_and_history_is_not(tmp_path: Path) -> None:
    policy = Policy(["deny edit"])
    fields = {"sessionUpdate": "tool_call", "title": "x", "kind": "edit", "status": "completed"}
    async with requesting_agent(tmp_path, permission=policy) as requester:
        requester.session._is_reopening = True
        await update(requester, toolCallId="old", **fields)
        await requester.hand.request("session/unknown", {})
        requester.session._is_reopening = False
        assert policy.completed_unasked == 0
        await update(requester, toolCallId="new", **fields)
        await requester.hand.request("session/unknown", {})

    assert policy.completed_unasked == 1


async def test_a_session_that_gets_the_id_of_another_has_its_own_directories_and_no_turn(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    async with requesting_agent(tmp_path / "one", permission=Policy(["allow all"])) as requester, working(requester):
        assert await write(requester, tmp_path / "one" / "a") is None
        making = asyncio.ensure_future(requester.agent.new_session(tmp_path / "two"))
        asked = await requester.hand.hear()
        await requester.hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"sessionId": SESSION}})
        await making
        assert await write(requester, tmp_path / "one" / "b") is not None
        assert await write(requester, tmp_path / "two" / "b") == DENIED

    assert [each.name for each in tmp_path.rglob("b")] == []


# --- what was dropped, and folders


async def test_a_question_with_a_part_that_could_not_be_read_is_not_allowed_by_its_good_parts(tmp_path: Path) -> None:
    good = {"kind": "edit", "content": [{"type": "diff", "path": str(tmp_path / "src/a"), "newText": "x"}]}
    async with requesting_agent(tmp_path, permission=Policy(["allow edit:src/**"])) as requester, working(requester):
        assert await permission(requester, **good) == "yes"
        assert await permission(requester, **good, locations=[{"path": 5}]) == "no"
        await update(requester, sessionUpdate="tool_call", toolCallId="u", title="x", locations="secrets")
        assert await permission(requester, **{**good, "toolCallId": "u"}) == "no"


async def test_a_folder_that_holds_what_is_denied_is_not_deleted(tmp_path: Path) -> None:
    policy = Policy(["deny delete:secrets/**", "allow delete"])
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        for path in ("secrets", ".", "secrets/.", "/", str(tmp_path)):
            assert await permission(requester, kind="delete", locations=[{"path": path}]) == "no"
        assert await permission(requester, toolCallId="v", kind="delete", locations=[{"path": "src"}]) == "yes"


@rows(("kind", "count"), [("search", 0), ("read", 0), ("delete", 1), ("edit", 1)])
async def test_a_folder_that_was_searched_unasked_is_no_file_in_it_and_one_that_was_deleted_is(
    tmp_path: Path, kind: str, count: int
) -> None:
    policy = Policy([f"deny {each}:.env" for each in ("read", "search", "delete", "edit")])
    async with requesting_agent(tmp_path, permission=policy) as requester, working(requester):
        call = {"toolCallId": "t", "title": "x", "kind": kind, "locations": [{"path": "."}], "status": "completed"}
        await update(requester, sessionUpdate="tool_call", **call)
        assert await permission(requester, toolCallId="u", kind=kind, locations=[{"path": "."}]) == "no"
    assert policy.completed_unasked == count
