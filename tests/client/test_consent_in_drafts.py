"""The drafts of v2 on their own wire: what an agent says in any place of a message is judged and shown."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.cli.show.question import question_lines, sentence_of
from accord.client import Policy
from accord.client.question import PermissionQuestion
from accord.session.option import PermissionKind
from tests.connection.rig import Hand
from tests.limits import limit
from tests.tables import rows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of POSIX: run it on Linux or macOS")

SESSION = "s"
ORIGINAL = "accord/original"
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
DRAFTS = ("2", "2-june")


class AskingAgent:
    """An agent of a draft, by hand, in the middle of a turn."""

    def __init__(self, hand: Hand, edition: str) -> None:
        self.hand = hand
        self.edition = edition

    async def update(self, tag: str, **fields: Any) -> None:
        params = {"sessionId": SESSION, "update": {"sessionUpdate": tag, **fields}}
        await self.hand.notify("session/update", params)

    async def report(self, **call: Any) -> None:
        await self.update("tool_call_update", toolCallId="t", **call)

    async def ask(self, **call: Any) -> Any:
        """The id of the option that a question about a call is answered with."""
        report = {"toolCallId": "t", **call}
        if self.edition == "2":
            return await self.ask_about({"type": "tool_call", "toolCall": report})
        return await self._ask(toolCall=report)

    async def ask_about(self, subject: Any) -> Any:
        """The same for any subject of v2."""
        return await self._ask(title="Claim", subject=subject)

    async def _ask(self, **params: Any) -> Any:
        asked = {"sessionId": SESSION, "options": OPTIONS, **params}
        answer = await self.hand.request("session/request_permission", asked)
        return answer["result"]["outcome"].get("optionId")


@asynccontextmanager
async def asking(edition: Any, cwd: Path, policy: Policy) -> AsyncIterator[AskingAgent]:
    """A client that has sent a prompt, and the agent that works on it."""
    ours, theirs = accord.memory_pair()
    hand = Hand(theirs)
    agent = accord.connect(ours, edition=edition, permission=policy)
    async with asyncio.timeout(limit(30)):
        opening = asyncio.ensure_future(agent.open())
        asked = await hand.hear()
        info = {"info" if edition == "2" else "agentInfo": {"name": "asking", "version": "1"}}
        result = {"protocolVersion": 2, "capabilities": {"session": {}}, **info}
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": result})
        await opening
        making = asyncio.ensure_future(agent.new_session(cwd))
        asked = await hand.hear()
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"sessionId": SESSION}})
        session = await making
        turn = asyncio.ensure_future(session.prompt("go").wait())
        asked = await hand.hear()
        asking_agent = AskingAgent(hand, edition)
        if edition == "2":
            await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"messageId": "u"}})
            await asking_agent.update("state_update", state="running")
        try:
            yield asking_agent
            if edition == "2":
                await asking_agent.update("state_update", state="idle", stopReason="end_turn")
            else:
                await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"stopReason": "end_turn"}})
            await turn
        finally:
            await agent.close()


class Person:
    """Answers questions, and keeps what was shown."""

    def __init__(self, *answers: PermissionKind) -> None:
        self.answers = list(answers)
        self.shown: list[str] = []
        self.sentences: list[str] = []

    def __call__(self, question: PermissionQuestion) -> Any:
        self.shown.append("\n".join("".join(span.text for span in line) for line in question_lines(question)))
        self.sentences.append(sentence_of(question))
        return question.option(self.answers.pop(0) if self.answers else "reject_once")


def patch_of(path: Path, old: str, new: str) -> str:
    return f"diff --git {path} {path}\n--- {path}\n+++ {path}\n@@ -1 +1 @@\n-{old}\n+{new}\n"


def texts(old: str, new: str) -> dict[str, Any]:
    return {ORIGINAL: {"old": old, "new": new}}


# --- originals in metadata


async def test_a_patch_is_judged_whatever_its_metadata_says_of_it(tmp_path: Path) -> None:
    change = {"operation": "modify", "path": str(tmp_path / "open"), "_meta": texts("a\n", "b\n")}
    patch = {"format": "git_patch", "text": patch_of(tmp_path / "closed", "a", "b")}
    diff = {"type": "diff", "changes": [change], "patch": patch, "_meta": {ORIGINAL: {"made": True}}}
    async with asking("2", tmp_path, Policy(["deny edit:closed", "allow edit:open"])) as agent:
        assert await agent.ask(kind="edit", content=[diff]) == "no"


async def test_a_patch_is_shown_and_not_the_texts_that_contradict_it(tmp_path: Path) -> None:
    path = tmp_path / "open"
    change = {"operation": "modify", "path": str(path), "_meta": texts("harmless\n", "as well\n")}
    diff = {"type": "diff", "changes": [change], "patch": {"format": "git_patch", "text": patch_of(path, "a", "worse")}}
    person = Person()
    async with asking("2", tmp_path, Policy(on_question=person)) as agent:
        await agent.ask(kind="edit", content=[{**diff, "_meta": {ORIGINAL: {"made": True}}}])
    assert "+ worse" in person.shown[0]
    assert "as well" not in person.shown[0]


@rows("edition", DRAFTS)
async def test_a_report_is_judged_by_its_own_fields_and_not_by_an_original(edition: str, tmp_path: Path) -> None:
    forged = {ORIGINAL: {"kind": "read", "raw_input": None}}
    async with asking(edition, tmp_path, Policy(["deny execute:rm *", "allow read"])) as agent:
        assert await agent.ask(kind="execute", rawInput={"command": "rm -rf x"}, _meta=forged) == "no"
    async with asking(edition, tmp_path, Policy(["deny execute:rm *", "allow other"])) as agent:
        forged = {ORIGINAL: {"raw_input": None}}
        assert await agent.ask(kind="other", rawInput={"command": "rm -rf x"}, _meta=forged) == "no"
    # A question without its input would be denied by the rules above, too.
    async with asking(edition, tmp_path, Policy(["allow execute:ls"])) as agent:
        assert await agent.ask(kind="execute", rawInput={"command": "ls"}, _meta=forged) == "yes"


@rows("edition", DRAFTS)
async def test_a_call_that_is_completed_is_so_whatever_an_original_says(edition: str, tmp_path: Path) -> None:
    policy = Policy(["deny execute:rm *"])
    async with asking(edition, tmp_path, policy) as agent:
        forged = {ORIGINAL: {"status": "paused"}}
        await agent.report(kind="execute", rawInput={"command": "rm x"}, status="completed", _meta=forged)
    assert policy.completed_unasked == 1


async def test_a_new_text_is_shown_also_where_an_original_says_that_the_file_is_gone(tmp_path: Path) -> None:
    forged = {ORIGINAL: {"change": {"operation": "delete", "gone": True}}}
    diff = {"type": "diff", "path": str(tmp_path / "a"), "oldText": "old\n", "newText": "worse\n", "_meta": forged}
    person = Person()
    async with asking("2-june", tmp_path, Policy(["deny edit:b"], on_question=person)) as agent:
        await agent.ask(kind="other", content=[diff])
        assert await agent.ask(toolCallId="u", kind="other", content=[{**diff, "path": str(tmp_path / "b")}]) == "no"
    assert "+ worse" in person.shown[0]
    assert person.sentences == ["allow the edit of a?"]


# --- terminals of the agent


@rows("first", ["terminal", "call"])
async def test_the_command_of_a_terminal_is_a_command_of_the_call_that_shows_it(first: str, tmp_path: Path) -> None:
    person = Person()
    async with asking("2", tmp_path, Policy(["allow read"], on_question=person)) as agent:
        if first == "terminal":
            await agent.update("terminal_update", terminalId="e", command="rm -rf x", cwd="/etc")
        await agent.report(kind="read", locations=[{"path": "a"}], content=[{"type": "terminal", "terminalId": "e"}])
        if first == "call":
            await agent.update("terminal_update", terminalId="e", command="rm -rf x", cwd="/etc")
        await agent.report(content=None)
        await agent.ask()
    assert "run   rm -rf x" in person.shown[0]
    assert "in /etc" in person.shown[0]
    assert person.sentences == ["allow this?"]


async def test_a_terminal_without_a_command_is_one_that_is_not_known(tmp_path: Path) -> None:
    person = Person()
    async with asking("2", tmp_path, Policy(["allow read"], on_question=person)) as agent:
        await agent.ask(kind="read", locations=[{"path": "a"}], content=[{"type": "terminal", "terminalId": "e"}])
    assert "run   something that is not named" in person.shown[0]
    assert person.sentences == ["allow this?"]


async def test_a_denied_command_in_a_terminal_that_was_completed_unasked_is_named(tmp_path: Path) -> None:
    policy = Policy(["deny execute:rm *"])
    async with asking("2", tmp_path, policy) as agent:
        await agent.update("terminal_update", terminalId="e", command="rm -rf x")
        await agent.update("tool_call_content_chunk", toolCallId="t", content={"type": "terminal", "terminalId": "e"})
        await agent.report(status="completed")
    assert policy.completed_unasked == 1


async def test_a_denied_command_in_a_terminal_that_no_call_shows_is_named_once(tmp_path: Path) -> None:
    named: list[str | None] = []
    policy = Policy(["deny execute:rm *"], on_unasked=lambda call, _: named.append(call.title))
    async with asking("2", tmp_path, policy) as agent:
        for id_, command in (("t", "rm -rf x"), ("u", "ls")):
            await agent.update("terminal_update", terminalId=id_, command=command, cwd=str(tmp_path))
            for _ in range(2):
                await agent.update("terminal_update", terminalId=id_, exitStatus={"exitCode": 0})
        # The ids of terminals and of calls are independent.
        await agent.report(title="rm y", kind="execute", rawInput={"command": "rm y"}, status="completed")
    assert named == ["rm -rf x", "rm y"]
    assert policy.completed_unasked == 2


async def test_a_command_for_a_terminal_that_has_another_one_is_shown_with_both(tmp_path: Path) -> None:
    person, subject = Person(), {"type": "command", "command": "ls", "cwd": str(tmp_path), "terminalId": "e"}
    async with asking("2", tmp_path, Policy(["allow execute:ls"], on_question=person)) as agent:
        assert await agent.ask_about(subject) == "yes"
        await agent.update("terminal_update", terminalId="e", command="rm -rf x")
        assert await agent.ask_about(subject) == "no"
    assert "run   ls" in person.shown[0]
    assert "run   rm -rf x" in person.shown[0]


# --- remembered answers


@rows("edition", DRAFTS)
@rows(
    "other",
    [
        {"locations": [{"path": "/etc/shadow"}]},
        {"locations": [{"path": "a"}, {"path": "/etc/shadow"}]},
        {"content": [{"type": "content", "content": {"type": "text", "text": "to Eve"}}]},
        {"rawInput": {"amount": 2}},
        {"kind": "fetch"},
    ],
)
async def test_always_for_a_call_is_for_its_files_and_texts_too(edition: str, other: Any, tmp_path: Path) -> None:
    call = {
        "kind": "other", "rawInput": {"amount": 1}, "locations": [{"path": "a"}],
        "content": [{"type": "content", "content": {"type": "text", "text": "to Bob"}}],
    }  # fmt: skip
    person = Person("allow_always")
    async with asking(edition, tmp_path, Policy(on_question=person)) as agent:
        assert await agent.ask(**call) == "ever"
        assert await agent.ask(**{**call, "toolCallId": "same"}) == "yes"
        assert await agent.ask(**{**call, "toolCallId": "other", **other}) == "no"
    assert len(person.shown) == 2


# --- further shapes of v2


async def test_every_file_of_an_operation_without_a_name_is_claimed_and_shown(tmp_path: Path) -> None:
    changes = [{"operation": "_swap", "path": "a", "otherPath": "/etc/passwd"}, {"operation": "_wipe", "size": 7}]
    person = Person()
    async with asking("2", tmp_path, Policy(["allow edit:a"], on_question=person)) as agent:
        await agent.ask(kind="edit", content=[{"type": "diff", "changes": changes}])
    for fact in ("a (_swap)", "edit  /etc/passwd", "a file that is not named (_wipe)", '"size": 7'):
        assert fact in person.shown[0]
    assert person.sentences == ["allow this?"]


async def test_a_call_that_only_reads_by_its_name_is_shown_by_its_changes(tmp_path: Path) -> None:
    changes = [{"operation": "delete", "path": str(tmp_path / "a"), "fileType": "directory"}]
    person = Person()
    async with asking("2", tmp_path, Policy(["allow read"], on_question=person)) as agent:
        await agent.ask(kind="read", content=[{"type": "diff", "changes": changes}])
        changes.append({"operation": "modify", "path": str(tmp_path / "b")})
        await agent.ask(toolCallId="u", kind="read", content=[{"type": "diff", "changes": changes}])
    assert "delete a (directory)" in person.shown[0]
    assert "edit  a (delete, directory), b" in person.shown[1]


async def test_content_of_a_kind_that_no_edition_names_is_shown(tmp_path: Path) -> None:
    resource = {"uri": "file:///x/run.sh", "text": "the script"}
    content = [
        {"type": "_transfer", "amount": 1000},
        {"type": "content", "content": {"type": "resource", "resource": resource}},
    ]
    person = Person()
    async with asking("2", tmp_path, Policy(on_question=person)) as agent:
        await agent.ask(kind="other", content=content)
    for fact in ('"amount": 1000', "file:///x/run.sh", "| the script"):
        assert fact in person.shown[0]


@rows("edition", DRAFTS)
async def test_a_draft_serves_no_files_and_no_terminals(edition: str, tmp_path: Path) -> None:
    async with asking(edition, tmp_path, Policy(["allow all"])) as agent:
        for method, params in (
            ("fs/write_text_file", {"path": str(tmp_path / "a"), "content": "x"}),
            ("fs/read_text_file", {"path": "/etc/passwd"}),
            ("terminal/create", {"command": "touch", "args": [str(tmp_path / "b")]}),
        ):
            answer = await agent.hand.request(method, {"sessionId": SESSION, **params})
            assert answer["error"]["code"] == -32601
    assert list(tmp_path.iterdir()) == []


# --- what was dropped, and folders


@pytest.mark.parametrize("edition", DRAFTS)
async def test_a_part_that_could_not_be_read_is_not_allowed_by_the_good_ones(tmp_path: Path, edition: str) -> None:
    file = str(tmp_path / "src/a")
    change = {"changes": [{"operation": "modify", "path": file}]} if edition == "2" else {"path": file, "newText": "x"}
    good = {"kind": "edit", "content": [{"type": "diff", **change}]}
    async with asking(edition, tmp_path, Policy(["allow edit:src/**"])) as agent:
        assert await agent.ask(**good) == "yes"
        assert await agent.ask(**good, toolCallId="u", locations=["secrets/key"]) == "no"
        assert await agent.ask(**{**good, "content": [*good["content"], {"type": "diff"}]}, toolCallId="v") == "no"
        await agent.update("tool_call_update", toolCallId="w", locations=[{"path": 5}])
        assert await agent.ask(**good, toolCallId="w") == "no"


@pytest.mark.parametrize("edition", DRAFTS)
async def test_a_folder_that_holds_what_is_denied_is_not_moved(tmp_path: Path, edition: str) -> None:
    policy = Policy(["deny move:secrets/**", "allow move"])
    async with asking(edition, tmp_path, policy) as agent:
        for number, ends in enumerate((("secrets", "a"), ("a", "secrets"), (".", "a"), ("a", "/"))):
            raw_input = dict(zip(("from", "to"), ends, strict=True))
            assert await agent.ask(kind="move", rawInput=raw_input, toolCallId=f"n{number}") == "no"
        assert await agent.ask(kind="move", rawInput={"from": "a", "to": "b"}, toolCallId="u") == "yes"
