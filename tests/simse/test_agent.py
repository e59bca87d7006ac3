"""An agent with simse's plug-in on, and a client that was written after the page alone: two real programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import accord
from accord import simse
from tests.forking_python import forking_python
from tests.limits import limit

CLIENT = Path(__file__).with_name("page_client.py")
BOUND_SECONDS = limit(60.0)
pytestmark = pytest.mark.usefixtures("forked_interpreters")


class Talk:
    """What the client wrote down."""

    def __init__(self, written: str) -> None:
        self.notes: list[tuple[str, dict[str, Any]]] = [tuple(json.loads(line)) for line in written.splitlines()]

    def received(self, kind: str) -> list[dict[str, Any]]:
        """The params of every update of a kind that the client got, without the session's id."""
        updates = [
            dict(message["params"])
            for way, message in self.notes
            if way == "heard" and message.get("method") == "session/update"
        ]
        session = self.answers("session/new")[0]["result"]["sessionId"]
        assert all(update.pop("sessionId") == session for update in updates)
        return [update for update in updates if kind in (update.get("type"), update.get("sessionUpdate"))]

    @property
    def text(self) -> str:
        """All that the agent said."""
        return "".join(update["content"]["text"] for update in self.received("agent_message_chunk"))

    def answers(self, method: str) -> list[dict[str, Any]]:
        """The answers to the client's requests of a method, each of which has exactly one."""
        asked = [m["id"] for way, m in self.notes if way == "sent" and m.get("method") == method and "id" in m]
        found = [m for way, m in self.notes if way == "heard" and "method" not in m and m["id"] in asked]
        assert sorted(answer["id"] for answer in found) == sorted(asked)
        return found

    def check_every_request_has_one_answer(self) -> None:
        asked = [m["id"] for way, m in self.notes if way == "sent" and "method" in m and "id" in m]
        answered = [m["id"] for way, m in self.notes if way == "heard" and "method" not in m]
        assert sorted(id_ for id_ in answered if id_ is not None) == sorted(asked)


def page_agent() -> tuple[str, str]:
    return str(forking_python()), str(Path(__file__).with_name("page_agent.py"))


def talk(folder: Path, *prompts: str, **plan: Any) -> Talk:
    """A whole conversation."""
    command = [str(forking_python()), str(CLIENT), json.dumps({"prompts": prompts, **plan}), *page_agent()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    talked = Talk(done.stdout)
    talked.check_every_request_has_one_answer()
    return talked


@pytest.mark.parametrize("plan", [{}, {"initialize": True}, {"initialize": True, "new": {"mcpServers": []}}])
def test_a_string_is_answered_by_streamed_text_and_a_stop_reason(tmp_path: Path, plan: dict[str, Any]) -> None:
    talked = talk(tmp_path, "say one two three", "say four", **plan)
    pieces = [update["content"]["text"] for update in talked.received("agent_message_chunk")]
    assert pieces == ["one ", "two ", "three ", "four "]
    assert [answer["result"]["stopReason"] for answer in talked.answers("session/prompt")] == ["end_turn", "end_turn"]


@pytest.mark.parametrize("shape", ["flat", "nested", "request", "reply"])
def test_a_permission_is_asked_inside_an_update_and_each_answer_reaches_the_author(tmp_path: Path, shape: str) -> None:
    words = ["allow_once", "allow_always", "reject_once", "reject_always"]
    talked = talk(tmp_path, "say first\nask a\nask b\nask c\nask d", answers=words, shape=shape)
    questions = talked.received("request_permission")
    assert len({question.pop("requestId") for question in questions}) == 4
    assert questions == [
        {"type": "request_permission", "action": name, "description": f"Use {name}"} for name in ("a", "b", "c", "d")
    ]
    assert talked.text.splitlines() == [
        "first a: yes True False", "b: ever True True", "c: no False False", "d: never False True",
    ]  # fmt: skip


@pytest.mark.parametrize(("word", "given"), [("allow_always", "ever True True"), ("reject_always", "never False True")])
def test_always_holds_for_the_action_and_the_rest_of_the_session(tmp_path: Path, word: str, given: str) -> None:
    talked = talk(tmp_path, "ask delete\nask delete\nask write", "ask delete", answers=[word, "allow_once"])
    assert [question["action"] for question in talked.received("request_permission")] == ["delete", "write"]
    lines = talked.text.splitlines()
    assert lines == [f"delete: {given}", f"delete: {given}", "write: yes True False", f"delete: {given}"]


def test_a_once_holds_once(tmp_path: Path) -> None:
    talked = talk(tmp_path, "ask delete\nask delete", answers=["allow_once", "reject_once"])
    assert talked.text.splitlines() == ["delete: yes True False", "delete: no False False"]


def test_an_always_that_the_author_did_not_offer_is_a_once_and_a_rejection_still_holds(tmp_path: Path) -> None:
    words = ["allow_always", "allow_always", "reject_always"]
    talked = talk(tmp_path, "ask-once a\nask-once a\nask-once b\nask-once b", answers=words)
    assert talked.text.splitlines() == [
        "a: yes True False", "a: yes True False", "b: no False False", "b: no False False",
    ]  # fmt: skip
    assert len(talked.received("request_permission")) == 3


def test_an_answer_that_is_none_of_the_four_words_rejects(tmp_path: Path) -> None:
    words = ["maybe", "", 7, {"one": "reject_once", "other": "allow_once"}]
    talked = talk(tmp_path, "ask a\nask a\nask a\nask a", answers=words)
    assert talked.text == "a: no False False\n" * 4


def test_a_question_about_no_tool_leaves_no_tool_behind(tmp_path: Path) -> None:
    talked = talk(tmp_path, "question May I", answers=["allow_once"])
    [question] = talked.received("request_permission")
    assert (question["action"], question["description"], talked.text) == ("May I", "May I\nreally", "May I True\n")
    assert talked.received("tool_call") == talked.received("tool_call_update") == []


@pytest.mark.parametrize("shape", ["flat", "nested", "request"])
def test_the_client_runs_a_tool_and_one_that_fails(tmp_path: Path, shape: str) -> None:
    talked = talk(tmp_path, 'say now\nrun add {"a": 2, "b": 3}\nrun break\nrun quick\nstates', shape=shape)
    orders = talked.received("tool_call")
    assert len({order.pop("toolCallId") for order in orders}) == 3
    tags = {"sessionUpdate": "tool_call", "type": "tool_call"}
    assert orders == [
        {**tags, "toolName": "add", "input": {"a": 2, "b": 3}},
        {**tags, "toolName": "break", "input": {}},
        {**tags, "toolName": "quick", "input": {}},
    ]
    said, states = talked.text.rsplit("\n", 1)
    assert said.splitlines() == ["now add gave 5", "break failed: break went wrong", 'quick gave {"quick": true}']
    assert json.loads(states) == [
        ["add", "completed", 5],
        ["break", "failed", None],
        ["quick", "completed", {"quick": True}],
    ]
    assert talked.received("tool_call_update") == []
    kinds = [m["params"]["sessionUpdate"] for way, m in talked.notes if way == "heard" and "method" in m]
    assert kinds[:3] == ["agent_message_chunk", "tool_call", "agent_message_chunk"]  # in the order of the turn


def test_tools_run_side_by_side_and_one_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    talked = talk(tmp_path, "run-shortly never\nstates", "run-both")
    given_up, rest = talked.text.split("\n", 1)
    assert given_up.startswith("never failed: ")
    assert rest == '[["never", "failed", null]][2, 4]'


def test_tools_of_the_agents_own_are_told_and_never_ordered(tmp_path: Path) -> None:
    talked = talk(tmp_path, "work")
    tags = {"sessionUpdate": "tool_call_update", "type": "tool_call_update"}
    told = talked.received("tool_call_update")
    assert len({update.pop("toolCallId") for update in told}) == 2
    assert told == [
        {**tags, "title": "Read it", "status": "in_progress"},
        {**tags, "title": "Read it", "status": "completed", "output": "the text"},
        {**tags, "title": "Break it", "status": "in_progress"},
        {**tags, "title": "Break it", "status": "completed", "error": "it broke"},
    ]
    kinds = {m["params"].get("sessionUpdate") for way, m in talked.notes if way == "heard" and "method" in m}
    assert kinds == {"tool_call_update"}  # and nothing that the page does not name


@pytest.mark.parametrize(
    ("prompt", "kind", "answers"),
    [
        ("wait", "agent_message_chunk", []),
        ("ask delete", "request_permission", [None]),
        ("run never", "tool_call", []),
    ],
)
def test_a_cancel_ends_the_turn_wherever_it_is_and_the_next_one_works(
    tmp_path: Path, prompt: str, kind: str, answers: list[None]
) -> None:
    talked = talk(tmp_path, prompt, 'run add {"a": 1, "b": 2}', cancel_at=kind, answers=answers)
    reasons = [answer["result"]["stopReason"] for answer in talked.answers("session/prompt")]
    assert reasons == ["cancelled", "end_turn"]
    assert talked.text.endswith("add gave 3\n")


BROKEN = [
    "no json",
    "[]",
    "7",
    '{"jsonrpc":"2.0","method":"session/update"}',
    '{"jsonrpc":"2.0","method":"session/update","params":[]}',
    '{"jsonrpc":"2.0","method":"session/update","params":{"update":7,"type":{},"sessionUpdate":[]}}',
    '{"jsonrpc":"2.0","method":"session/update","params":{"requestId":["x"],"response":"allow_once"}}',
    '{"jsonrpc":"2.0","method":"session/update","params":{"requestId":"permission-9","response":"allow_once"}}',
    '{"jsonrpc":"2.0","method":"session/update","params":{"type":"tool_call_update","toolCallId":{"a":1}}}',
    '{"jsonrpc":"2.0","method":["x"],"params":{"requestId":{}}}',
    '{"jsonrpc":"2.0","id":{"a":1},"result":"allow_once"}',
    '{"jsonrpc":"2.0","id":"permission-1","result":"allow_once"}',
]


def test_no_line_ends_the_connection(tmp_path: Path) -> None:
    talked = talk(tmp_path, "ask delete\nsay on", lines=BROKEN, answers=["reject_once"])
    assert talked.text == "delete: no False False\non "


def test_a_request_that_nothing_waits_for_is_answered_with_an_error(tmp_path: Path) -> None:
    # Both in interpreters of their own, the client's without any package.
    late = {"sessionId": "s", "type": "permission_response", "requestId": "permission-5", "response": "allow_once"}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": late})
        for id_, method in (("a", "session/update"), ("b", "session/permission"))
    ]
    command = [
        sys.executable,
        "-I",
        "-S",
        str(CLIENT),
        json.dumps({"prompts": ["say on"], "lines": lines}),
        *page_agent(),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=BOUND_SECONDS, check=True)
    heard = [message for way, message in Talk(done.stdout).notes if way == "heard"]
    assert {m["id"]: m["error"]["code"] for m in heard if "error" in m} == {"a": -32602, "b": -32601}


# --- other clients of the same agent


@pytest.mark.parametrize("edition", ["1", "2", "2-june"])
async def test_an_ordinary_client_is_served_as_before(edition: Any, tmp_path: Path) -> None:
    chosen: list[str] = []

    def permission(question: accord.client.PermissionQuestion) -> str:
        chosen.append(question.title or "")
        return "ever"

    async with accord.connect(*page_agent(), edition=edition, permission=permission) as agent:
        session = await agent.new_session(tmp_path)
        turn = await session.prompt('ask delete\nask delete\nrun add {"a": 1, "b": 1}\nwork')
        titles = [call.title for call in session.transcript.tool_calls.values()]
    assert turn.text.splitlines() == ["delete: ever True True"] * 2 + ["add cannot be run: client"]
    assert (chosen, titles) == (["Use delete"] * 2, ["Use delete"] * 2 + ["Read it", "Break it"])


async def test_our_client_and_our_agent_understand_each_other_in_the_dialect(tmp_path: Path) -> None:
    def add(given: dict[str, Any]) -> int:
        return int(given["a"] + given["b"])

    def fail(_given: dict[str, Any]) -> None:
        raise accord.RequestError("it is full")

    dialect = simse.SimseDialect({"add": add, "fail": fail})
    client = accord.connect(*page_agent(), permission=lambda _: "allow_always").use_dialect(dialect)
    async with client as agent:
        session = await agent.new_session(tmp_path)
        turn = await session.prompt('ask delete\nask delete\nrun add {"a": 1, "b": 1}\nrun fail\nrun unknown')
    assert turn.text.splitlines() == [
        "delete: ever True True",
        "delete: ever True True",
        "add gave 2",
        "fail failed: it is full",
        "unknown failed: this client has no such tool",
    ]


async def test_an_agent_without_the_plug_in_has_no_tools_to_run(tmp_path: Path) -> None:
    agent = accord.Agent("plain", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say(str(await simse.runs_tools(turn)))

    async with accord.connect(agent) as remote:
        assert (await (await remote.new_session(tmp_path)).prompt("?")).text == "False"
