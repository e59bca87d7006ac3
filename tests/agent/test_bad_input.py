"""Bad input: one row for each kind, with the answer in every edition.

Each answer has a code, a sentence, and says in `data` where and what instead. None of them repeats what was received
(but the id of a session, by which a client finds what it asked), and after each of them the connection lives.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent, Session, Turn
from accord.errors import LocalProtocolError
from accord.stores import MemoryStore
from accord.transport import memory_pair
from tests.agent.rig import EDITIONS, IN_EVERY_EDITION, Hand, Heard, agent_of, noting, served, until
from tests.agent.sessions import CWD, error_of, reopening
from tests.limits import limit
from tests.tables import rows

Ask = Callable[[Hand, str], tuple[str, dict[str, Any]]]
"""A request to an agent that has a session of this id."""

MARK = "x7-received-value"
UNKNOWN = "nobody-7"


@dataclass(frozen=True)
class Row:
    """One kind of bad input: what is asked, and what is answered."""

    name: str
    ask: Ask
    code: int
    message: str
    data: dict[str, Any]
    editions: tuple[str, ...] = EDITIONS
    handles_prompts: bool = True

    def __str__(self) -> str:
        return self.name


def opening(**more: Any) -> Ask:
    return lambda _, __: ("session/new", {"cwd": CWD, "mcpServers": [], **more})


def prompting(*blocks: Any) -> Ask:
    return lambda _, session: ("session/prompt", {"sessionId": session, "prompt": list(blocks)})


def setting(session: str | None, option: str, value: str) -> Ask:
    def ask(hand: Hand, own: str) -> tuple[str, dict[str, Any]]:
        params = {"sessionId": session or own, "configId": option, "value": value}
        return "session/set_config_option", {**params, **({"type": "id"} if hand.edition == "v2" else {})}

    return ask


def again(session: str | None, *, replay: bool, **more: Any) -> Ask:
    return lambda hand, own: reopening(hand, session or own, replay=replay, **more)


def server(**config: Any) -> Ask:
    return opening(mcpServers=[{"name": MARK, "url": "http://localhost:1/", "headers": [], **config}])


ABSOLUTE = "The path must be absolute"
NO_SESSION = "There is no such session: open it with session/new first"
NO_CONTENT = "This agent does not take such content"
NO_SERVER = "This agent cannot reach such an MCP server"
DATA = "aGk="
TEXT = {"type": "text", "text": "hello"}
TAKEN = "one of text, resource_link"


def field(name: str, expected: str) -> dict[str, Any]:
    return {"field": name, "expected": expected}


ROWS = [
    Row("a relative directory", opening(cwd=f"relative/{MARK}"), -32602, ABSOLUTE, field("cwd", "an absolute path")),
    Row("an empty directory", opening(cwd=""), -32602, ABSOLUTE, field("cwd", "an absolute path")),
    Row(
        "a directory with a zero byte",
        opening(cwd=f"/{MARK}\0"),
        -32602,
        ABSOLUTE,
        field("cwd", "an absolute path"),
    ),
    Row(
        "a relative further root",
        opening(additionalDirectories=["/tmp", f"./{MARK}"]),  # noqa: S108
        -32602,
        ABSOLUTE,
        field("additionalDirectories.1", "an absolute path"),
    ),
    Row(
        "a relative directory to load from",
        again(None, replay=True, cwd=MARK),
        -32602,
        ABSOLUTE,
        field("cwd", "an absolute path"),
    ),
    Row(
        "a relative directory to resume from",
        again(None, replay=False, cwd=MARK),
        -32602,
        ABSOLUTE,
        field("cwd", "an absolute path"),
    ),
    Row(
        "a relative directory to list",
        lambda _, __: ("session/list", {"cwd": MARK}),
        -32602,
        ABSOLUTE,
        field("cwd", "an absolute path"),
    ),
    Row(
        "another directory than the session's",
        again(None, replay=True, cwd=f"/{MARK}"),
        -32602,
        "The session belongs to another directory",
        field("cwd", "the directory that the session was made with"),
    ),
    Row(
        "a cursor that is none of ours",
        lambda _, __: ("session/list", {"cursor": MARK}),
        -32602,
        "This cursor is not one of this agent's",
        field("cursor", "a nextCursor"),
    ),
    Row(
        "a prompt to an unknown session",
        lambda _, __: ("session/prompt", {"sessionId": UNKNOWN, "prompt": [TEXT]}),
        -32002,
        NO_SESSION,
        {"sessionId": UNKNOWN},
    ),
    Row("an option of an unknown session", setting(UNKNOWN, "mode", "ask"), -32002, NO_SESSION, {"sessionId": UNKNOWN}),
    Row(
        "a mode of an unknown session",
        lambda _, __: ("session/set_mode", {"sessionId": UNKNOWN, "modeId": "ask"}),
        -32002,
        NO_SESSION,
        {"sessionId": UNKNOWN},
        ("v1",),
    ),
    Row("a load of an unknown session", again(UNKNOWN, replay=True), -32002, NO_SESSION, {"sessionId": UNKNOWN}),
    Row("a resume of an unknown session", again(UNKNOWN, replay=False), -32002, NO_SESSION, {"sessionId": UNKNOWN}),
    Row(
        "the end of a tool call of an unknown session",
        lambda _, __: ("tool_call/cancel", {"sessionId": UNKNOWN, "toolCallId": "x"}),
        -32002,
        NO_SESSION,
        {"sessionId": UNKNOWN},
        ("v2",),
    ),
    Row(
        "the end of an unknown tool call",
        lambda _, session: ("tool_call/cancel", {"sessionId": session, "toolCallId": MARK}),
        -32602,
        "This tool call cannot be cancelled",
        field("toolCallId", "a running tool call that can be cancelled"),
        ("v2",),
    ),
    Row(
        "an empty prompt",
        prompting(),
        -32602,
        "A prompt must not be empty",
        field("prompt", "at least one block"),
        ("v1", "v2_june"),
    ),
    Row(
        "an empty prompt, where the schema has no room for one",
        prompting(),
        -32602,
        "Invalid params",
        field("prompt", "at least 1 item"),
        ("v2",),
    ),
    Row(
        "an image that is not taken",
        prompting(TEXT, {"type": "image", "data": DATA, "mimeType": "image/png"}),
        -32602,
        NO_CONTENT,
        field("prompt.1.type", TAKEN),
    ),
    Row(
        "a sound that is not taken",
        prompting({"type": "audio", "data": DATA, "mimeType": "audio/wav"}),
        -32602,
        NO_CONTENT,
        field("prompt.0.type", TAKEN),
    ),
    Row(
        "an embedded resource that is not taken",
        prompting({"type": "resource", "resource": {"uri": "file:///x", "text": MARK}}),
        -32602,
        NO_CONTENT,
        field("prompt.0.type", TAKEN),
    ),
    Row(
        "content of an unknown type",
        prompting({"type": MARK, "data": 1}),
        -32602,
        NO_CONTENT,
        field("prompt.0.type", TAKEN),
        ("v2", "v2_june"),
    ),
    Row(
        "an unknown mode",
        lambda _, session: ("session/set_mode", {"sessionId": session, "modeId": MARK}),
        -32602,
        "There is no such mode",
        field("modeId", "one of ask, code"),
        ("v1",),
    ),
    Row(
        "an unknown option",
        setting(None, MARK, "ask"),
        -32602,
        "There is no such option",
        field("configId", "one of mode"),
    ),
    Row(
        "an unknown value",
        setting(None, "mode", MARK),
        -32602,
        "This option has no such value",
        field("value", "one of ask, code"),
    ),
    Row(
        "an unknown command, where there is nothing but commands",
        prompting({"type": "text", "text": f"/{MARK} it"}),
        -32602,
        "There is no such command",
        field("prompt", "one of /plan"),
        handles_prompts=False,
    ),
    Row(
        "plain text, where there is nothing but commands",
        prompting({"type": "text", "text": MARK}),
        -32602,
        "There is no such command",
        field("prompt", "one of /plan"),
        handles_prompts=False,
    ),
    Row(
        "a replay from an unknown place",
        again(None, replay=True, replayFrom={"type": MARK}),
        -32602,
        "Invalid params",
        field("replayFrom.type", "start"),
        ("v2",),
    ),
    Row(
        "an MCP server that is reached in an unknown way",
        server(type=MARK),
        -32602,
        NO_SERVER,
        field("mcpServers.0.type", "one of http, sse, stdio"),
        ("v2", "v2_june"),
    ),
    Row(
        "an MCP server over SSE, where the edition has none",
        server(type="sse"),
        -32602,
        NO_SERVER,
        field("mcpServers.0.type", "one of http, stdio"),
        ("v2", "v2_june"),
    ),
]

CASES = [pytest.param(row, edition, id=f"{row}-{edition}") for row in ROWS for edition in row.editions]


def agent(*, handles_prompts: bool, calls: list[str]) -> Agent:
    made = Agent("tested", store=MemoryStore(), mcp=True)
    made.modes(["ask", "code"])
    made.command("plan", "Make a plan")(lambda _, __: calls.append("plan"))
    if handles_prompts:
        made.prompt(lambda _: calls.append("prompt"))
    return made


@rows(("row", "edition"), CASES)
async def test_bad_input_gets_an_answer_that_says_what_to_do(row: Row, edition: str) -> None:
    calls: list[str] = []
    async with served(agent(handles_prompts=row.handles_prompts, calls=calls), edition) as hand:
        session = await hand.new_session()
        await hand.drain()
        start = len(hand.received)
        error = error_of(await hand.request(*row.ask(hand, session)))
        assert error == {"code": row.code, "message": row.message, "data": row.data}
        assert MARK not in str(error)
        assert Heard(hand.received[start:]).updates == []
        assert await hand.is_alive()
        assert calls == []
        listed = (await hand.request("session/list", {}))["result"]["sessions"]
        assert [info["sessionId"] for info in listed] == [session]
        # And a good one works as ever.
        assert (await hand.turn(session, "/plan")).stop_reason == "end_turn"
    assert calls == ["plan"]


async def test_content_of_an_unknown_type_does_not_fit_v1_at_all() -> None:
    async with served(agent(handles_prompts=True, calls=[]), "v1") as hand:
        session = await hand.new_session()
        error = error_of(await hand.request(*prompting({"type": MARK})(hand, session)))
        assert error["code"] == -32602
        assert MARK not in str(error)
        assert await hand.is_alive()


@IN_EVERY_EDITION
async def test_cancelling_what_is_not_there_is_passed_over(edition: str) -> None:
    calls: list[str] = []
    async with served(agent(handles_prompts=True, calls=calls), edition) as hand:
        await hand.cancel(UNKNOWN)
        session = await hand.new_session()
        await hand.drain()
        await hand.cancel(session)
        assert await hand.drain() == []
        assert (await hand.turn(session)).stop_reason == "end_turn"
    assert calls == ["prompt"]


@IN_EVERY_EDITION
async def test_a_closed_session_is_as_unknown_as_any_other(edition: str) -> None:
    async with served(agent(handles_prompts=True, calls=[]), edition) as hand:
        session = await hand.new_session()
        await hand.request("session/close", {"sessionId": session})
        for ask in (prompting(TEXT), setting(session, "mode", "code")):
            error = error_of(await hand.request(*ask(hand, session)))
            assert error == {"code": -32002, "message": NO_SESSION, "data": {"sessionId": session}}
        await hand.cancel(session)
        assert await hand.is_alive()


@IN_EVERY_EDITION
async def test_a_second_prompt_is_held_and_each_ends_on_its_own(edition: str) -> None:
    order: list[str] = []
    go = asyncio.Event()

    async def work(turn: Turn) -> None:
        order.append(f"begin {turn.text}")
        await turn.say(turn.text)
        await go.wait()
        order.append(f"end {turn.text}")

    async with served(agent_of(work), edition) as hand:
        session = await hand.new_session()
        first = await hand.prompt(session, "one")
        second = await hand.prompt(session, "two")
        await hand.said("one")
        go.set()
        assert (await hand.ended(first)).stop_reason == "end_turn"
        assert (await hand.ended(second)).stop_reason == "end_turn"
    assert order == ["begin one", "end one", "begin two", "end two"]


@IN_EVERY_EDITION
async def test_params_of_the_wrong_shape_are_refused_and_the_connection_lives(edition: str) -> None:
    calls: list[str] = []
    async with served(agent(handles_prompts=True, calls=calls), edition) as hand:
        session = await hand.new_session()
        for method, params in (
            ("session/new", {"cwd": 7, "mcpServers": []}),
            ("session/new", {}),
            ("session/prompt", {"sessionId": session, "prompt": MARK}),
            ("session/prompt", {"sessionId": session}),
            ("session/close", {}),
            ("session/set_config_option", {"sessionId": session, "configId": "mode"}),
        ):
            error = error_of(await hand.request(method, params))
            assert error["code"] == -32602
            assert error["data"]["field"]
            assert MARK not in str(error)
        assert await hand.is_alive()
    assert calls == []


async def test_a_notification_before_the_handshake_is_passed_over() -> None:
    made, seen = agent(handles_prompts=True, calls=[]), []
    made.notification("_note")(lambda call: seen.append(call.params))
    ours, theirs = memory_pair()
    serving = asyncio.ensure_future(made.serve(ours))
    hand = Hand(theirs, "v1")
    await hand.notify("_note", {})
    error = error_of(await hand.request("session/new", {"cwd": CWD, "mcpServers": []}))
    assert error["code"] == -32600
    await theirs.close()
    async with asyncio.timeout(limit(10)):
        await serving
    assert seen == []


# --- a client that vanishes


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.usefixtures("short_graces")
@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_nothing_is_left_of_a_client_that_vanishes_in_a_turn(edition: str, tmp_path: Path) -> None:
    """Not the handler, not the command that it started, not what ran beside it."""
    ended: list[str] = []
    pids: list[int] = []

    async def beside() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("beside")

    async def work(turn: Turn) -> None:
        turn.session.spawn(beside())
        try:
            async with turn.tool("Run") as tool:
                script = "import os,time; print(os.getpid(), flush=True); time.sleep(600)"
                started = await turn.terminals.start([sys.executable, "-c", script])
                await tool.show(started)
                async with asyncio.timeout(limit(20)):
                    while not (output := (await started.output()).text.strip()):
                        await asyncio.sleep(0)
                pids.append(int(output))
                await turn.say("working")
                await asyncio.Event().wait()
        finally:
            ended.append("handler")

    tasks = asyncio.all_tasks()
    async with served(agent_of(work), edition) as hand:
        session = await hand.new_session(str(tmp_path))
        await hand.prompt(session)
        await hand.said("working")
        assert alive(pids[0])
    assert sorted(ended) == ["beside", "handler"]
    await until(lambda: not alive(pids[0]))
    await until(lambda: asyncio.all_tasks() <= tasks)


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_an_mcp_server_is_gone_with_its_client(edition: str, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = f"import os,sys; open({str(pid_file)!r},'w').write(str(os.getpid())); sys.stdin.read()"
    config = {"name": "sleeper", "command": sys.executable, "args": ["-c", script], "env": []}
    if edition != "v1":
        config["type"] = "stdio"
    async with served(agent_of(lambda _: None, mcp=True), edition) as hand:
        await hand.new_session(str(tmp_path), mcpServers=[config])
        await until(lambda: pid_file.exists() and pid_file.read_text() != "")
        pid = int(pid_file.read_text())
    await until(lambda: not alive(pid))


@IN_EVERY_EDITION
async def test_an_mcp_server_that_fails_is_reported_and_not_fatal(edition: str, tmp_path: Path) -> None:
    """As a notice where the client can show one, otherwise as a message in the turn that uses the servers."""
    sessions: list[Session] = []
    configs: list[dict[str, Any]] = [
        {"name": "broken", "command": str(tmp_path / "no-such-program"), "args": [], "env": []}
    ]
    if edition != "v1":
        configs[0]["type"] = "stdio"

    async def work(turn: Turn) -> None:
        assert [failure.server for failure in (await turn.mcp()).failures] == ["broken"]
        await turn.say("on")

    made = agent_of(work, mcp=True)
    made.on_session(noting(sessions))
    async with served(made, edition) as hand:
        session = await hand.new_session(str(tmp_path), mcpServers=configs)
        if edition == "v2":
            notice = await hand.update_of("notice")
            assert notice["title"] == "MCP server broken is not available"
            assert (await hand.turn(session)).text == "on"
        else:
            heard = await hand.turn(session)
            assert heard.text.endswith("on")
            assert "MCP server broken is not available" in heard.text
        assert (await hand.turn(session)).text == "on"
    with pytest.raises(LocalProtocolError, match="closed"):
        await sessions[0].mcp()
