"""Agents that do as the tests of this room need them; each is a program by `accord.testing.program`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from accord.testing import AgentPeer, JsonRpcMessage
from accord.time_scale import scaled

DIFF = {"type": "diff", "path": "", "oldText": "one\ntwo\n", "newText": "one\nthree\n"}
ALWAYS = [
    {"optionId": "once", "name": "Just this once", "kind": "allow_once"},
    {"optionId": "ever", "name": "From now on", "kind": "allow_always"},
    {"optionId": "no", "name": "Rather not", "kind": "reject_once"},
]


def _note(text: str) -> None:
    """Write something down where the test finds it."""
    with Path("journal").open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def _text_of(prompt: JsonRpcMessage) -> str:
    return "".join(block.get("text", "") for block in prompt.params["prompt"])


async def _begin(peer: AgentPeer, **capabilities: Any) -> JsonRpcMessage:
    _note(f"pid {os.getpid()}")
    await peer.greet("v1", capabilities)
    await peer.open_session("s-1234567890")
    return await peer.take_prompt()


async def plain(peer: AgentPeer) -> None:
    """Says one word."""
    prompt = await _begin(peer)
    await peer.chunk("s-1234567890", "hel")
    await peer.chunk("s-1234567890", "lo")
    await peer.end(prompt)


async def counts(peer: AgentPeer) -> None:
    """Says how many letters it was told."""
    prompt = await _begin(peer, promptCapabilities={"image": True})
    kinds = [block["type"] for block in prompt.params["prompt"]]
    await peer.chunk("s-1234567890", f"{len(_text_of(prompt))} letters, {' '.join(kinds)}")
    await peer.end(prompt)


async def fails_silently(peer: AgentPeer) -> None:
    """Reports a failed tool call, whose reason is on stderr alone; "with a reason" shows one as well."""
    prompt = await _begin(peer)
    sys.stderr.write("KeyError: 'colour'\n")
    sys.stderr.flush()
    reason = [{"type": "content", "content": {"type": "text", "text": "no such colour"}}]
    shown = [{**DIFF, "path": "/a"}, *(reason if _text_of(prompt) == "with a reason" else [])]
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Paint", "status": "failed", "content": shown}
    await peer.update("s-1234567890", call)
    await peer.end(prompt)


async def repeats(peer: AgentPeer) -> None:
    """Says what it was told."""
    prompt = await _begin(peer)
    await peer.chunk("s-1234567890", _text_of(prompt))
    await peer.end(prompt)


async def banner(peer: AgentPeer) -> None:
    """Prints something before it speaks, and in between."""
    await peer.say(b"Welcome to the agent!")
    prompt = await _begin(peer)
    await peer.say(b"Debugger attached.")
    await peer.chunk("s-1234567890", "hello")
    await peer.end(prompt)


async def shows_a_screen(peer: AgentPeer) -> None:
    """Draws a screen for a user, as some agents do at their first start."""
    for line in ("╭────────────────────╮", "│ Trust this folder? │", "╰────────────────────╯"):
        await peer.say(line)
    peer.exit(1)


async def exits(peer: AgentPeer) -> None:
    """Is gone before it has said anything."""
    sys.stderr.write("no licence found\n")
    peer.exit(3)


async def hangs(peer: AgentPeer) -> None:
    """Says nothing at all."""
    _note(f"pid {os.getpid()}")
    await peer.stay()


async def hangs_at_session(peer: AgentPeer) -> None:
    """Shakes hands, and then no more."""
    await peer.greet()
    await peer.stay()


async def silent(peer: AgentPeer) -> None:
    """Takes a prompt and says nothing, not even when it is told to stop."""
    await _begin(peer)
    _note("prompted")
    await peer.stay()


async def stalls(peer: AgentPeer) -> None:
    """Begins to work, and then is silent; stops when it is told to."""
    peer.patience_seconds = 60.0
    prompt = await _begin(peer)
    await peer.chunk("s-1234567890", "one moment")
    await peer.expect("session/cancel")
    await peer.end(prompt, "cancelled")


async def drips(peer: AgentPeer) -> None:
    """Says a word every now and then, for ever."""
    prompt = await _begin(peer)
    for _ in range(1000):
        await peer.chunk("s-1234567890", "drip ")
        await asyncio.sleep(0.05)
    await peer.end(prompt)


async def patient(peer: AgentPeer) -> None:
    """Works until it is told to stop, and then stops."""
    peer.patience_seconds = scaled(60.0)
    prompt = await _begin(peer)
    await peer.chunk("s-1234567890", "working on it\n")
    await peer.expect("session/cancel")
    await peer.end(prompt, "cancelled")


async def dies(peer: AgentPeer) -> None:
    """Dies in the middle of a turn."""
    await _begin(peer)
    await peer.chunk("s-1234567890", "I will now ")
    sys.stderr.write("out of memory\n")
    peer.exit(9)


async def dies_once(peer: AgentPeer) -> None:
    """Dies between its session and the first prompt, once; knows its session again."""
    again = Path("journal").exists()
    _note(f"pid {os.getpid()}")
    await peer.greet("v1", {"loadSession": True})
    if not again:
        await peer.open_session("s-1234567890")
        peer.exit(1)
    await peer.answer(await peer.expect("session/load"))
    prompt = await peer.take_prompt()
    await peer.chunk("s-1234567890", "here I am again")
    await peer.end(prompt)


async def wants_login(peer: AgentPeer) -> None:
    """Opens no session before somebody has logged in; the login is a call."""
    await peer.greet("v1", authMethods=[{"id": "browser", "name": "In the browser"}])
    async for request in peer.requests():
        if request.method == "authenticate":
            Path("logged-in").write_text(request.params["methodId"], encoding="utf-8")
            await peer.answer(request)
        elif request.method == "session/new":
            sys.stderr.write("Error handling request: Authentication required\n")
            await peer.fail(request, -32000, "Authentication required")


async def offers_no_login(peer: AgentPeer) -> None:
    """Opens no session before somebody has logged in, and does not say how."""
    await peer.greet("v1")
    async for request in peer.requests():
        await peer.fail(request, -32000, "Authentication required")


async def two_logins(peer: AgentPeer) -> None:
    """Can be logged in to in two ways."""
    ways = [{"id": "browser", "name": "In the browser"}, {"id": "key", "name": "By a key"}]
    await peer.greet("v1", authMethods=ways)
    async for request in peer.requests():
        if request.method == "authenticate":
            Path("logged-in").write_text(request.params["methodId"], encoding="utf-8")
            await peer.answer(request)


async def future(peer: AgentPeer) -> None:
    """Speaks a version that nobody knows."""
    peer.always("initialize", {"protocolVersion": 99, "agentCapabilities": {}})
    await peer.expect_end()


async def refuses(peer: AgentPeer) -> None:
    """Does not want to."""
    await peer.end(await _begin(peer), "refusal")


async def full(peer: AgentPeer) -> None:
    """Comes to the end of its tokens."""
    await peer.end(await _begin(peer), "max_tokens")


async def fails(peer: AgentPeer) -> None:
    """Answers a prompt with an error."""
    await peer.fail(await _begin(peer), -32603, "Internal error", {"details": "the model is on fire"})


async def fails_with_data(peer: AgentPeer) -> None:
    """Answers a prompt with an error that says more in its data."""
    await peer.fail(await _begin(peer), -32603, "Internal error", {"field": "model", "title": "\x1b]0;gotcha\x07"})


async def fails_with_a_traceback(peer: AgentPeer) -> None:
    """Answers a prompt with an error that gives its reason, and writes where it happened to stderr."""
    prompt = await _begin(peer)
    sys.stderr.write("TimeoutError: in line 73\n")
    await peer.fail(prompt, -31002, "Invalid API key (from the variable KEY)")


async def fails_without_a_reason(peer: AgentPeer) -> None:
    """Answers a prompt with an error whose reason is in its stderr alone."""
    prompt = await _begin(peer)
    sys.stderr.write("TimeoutError: in line 73\n")
    await peer.fail(prompt, -32603, "Internal error", {"correlationId": "c-1"})


async def forgets(peer: AgentPeer) -> None:
    """Can load sessions, and never has the one that is wanted."""
    await peer.greet("v1", {"loadSession": True})
    async for request in peer.requests():
        if request.method == "session/new":
            await peer.answer(request, {"sessionId": "s-1234567890"})
        elif request.method == "session/load":
            await peer.fail(request, -32002, "Session not found")
        elif request.method == "session/prompt":
            await peer.answer(request, {"stopReason": "end_turn"})


async def asks(peer: AgentPeer) -> None:
    """Asks for each edit and each command, until a prompt says otherwise; can resume its session."""
    _note(f"pid {os.getpid()}")
    await peer.greet("v1", {"sessionCapabilities": {"resume": {}}})
    async for request in peer.requests():
        if request.method == "session/new":
            await peer.answer(request, {"sessionId": "s-1234567890"})
        elif request.method == "session/resume":
            await peer.answer(request)
        elif request.method == "session/prompt":
            await _ask(peer, request)


async def _ask(peer: AgentPeer, prompt: JsonRpcMessage) -> None:
    session, place = str(prompt.session), str(Path("file.txt").absolute())
    kind = "execute" if "command" in _text_of(prompt) else "edit"
    tool: dict[str, Any] = {"toolCallId": "t1", "title": "make it", "kind": kind, "status": "pending"}
    if kind == "edit":
        tool |= {"content": [{**DIFF, "path": place}], "locations": [{"path": place}]}
    else:
        tool |= {"rawInput": {"command": "make all"}, "title": "make all"}
    await peer.chunk(session, "Let me see.")
    await peer.update(session, {"sessionUpdate": "tool_call", **tool})
    answer = await peer.permit(session, {"toolCallId": "t1"}, ALWAYS)
    outcome = answer.result["outcome"]
    chosen = outcome.get("optionId", outcome["outcome"])
    status = "completed" if chosen in {"once", "ever"} else "failed"
    await peer.update(session, {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": status})
    await peer.chunk(session, f"chosen: {chosen}")
    await peer.end(prompt)


async def uses_files(peer: AgentPeer) -> None:
    """Writes a file, reads it and runs a command; the same with a directory, a missing file and a missing program."""
    prompt = await _begin(peer)
    for place in ("file.txt", "folder"):
        params = {"sessionId": "s-1234567890", "path": str(Path(place).absolute())}
        await peer.call("fs/write_text_file", {**params, "content": "text"})
        await peer.call("fs/read_text_file", params)
    for program in ("true", "./missing-program"):
        await peer.call("terminal/create", {"sessionId": "s-1234567890", "command": program})
    await peer.end(prompt)


async def everything(peer: AgentPeer) -> None:
    """Says all that an agent can say in v1, and some things that no edition names."""
    prompt = await _begin(peer)
    session = "s-1234567890"
    place = str(Path("b.txt").absolute())
    await peer.chunk(session, "I should look first.", "agent_thought_chunk")
    entries = [
        {"content": "look", "priority": "high", "status": "completed"},
        {"content": "change", "priority": "low", "status": "pending"},
    ]
    updates: list[dict[str, Any]] = [
        {"sessionUpdate": "plan", "entries": entries},
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "r",
            "title": "Read",
            "kind": "read",
            "locations": [{"path": place}],
        },
        {"sessionUpdate": "tool_call_update", "toolCallId": "r", "status": "completed"},
        {"sessionUpdate": "tool_call", "toolCallId": "e", "title": "Edit", "kind": "edit", "status": "in_progress"},
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "e",
            "status": "completed",
            "content": [{**DIFF, "path": place}],
        },
        {"sessionUpdate": "tool_call", "toolCallId": "x", "title": "make \x1b[31mred", "kind": "execute"},
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "x",
            "status": "failed",
            "content": [{"type": "content", "content": {"type": "text", "text": "\x1b[1mno rule\x1b[0m to make red"}}],
        },
        {"sessionUpdate": "usage_update", "used": 1200, "size": 200000, "cost": {"amount": 0.25, "currency": "USD"}},
        {"sessionUpdate": "weather", "sky": "blue"},
        {"sessionUpdate": "session_info_update", "title": "A day outside"},
    ]
    for update in updates:
        await peer.update(session, update)
    await peer.chunk(session, "All \x1b]0;gotcha\x07done.")
    await peer.end(prompt)


async def floods(peer: AgentPeer) -> None:
    """Talks until it is told to stop."""
    peer.patience_seconds = 60.0
    prompt = await _begin(peer)
    await peer.flood("s-1234567890", 5_000, "words and more words\n")
    _note("flooded")
    await peer.expect("session/cancel")
    _note("cancelled")
    await peer.end(prompt, "cancelled")


async def floods_later(peer: AgentPeer) -> None:
    """Talks a lot as soon as a file is there, and until it is told to stop."""
    peer.patience_seconds = 60.0
    prompt = await _begin(peer)
    await peer.chunk("s-1234567890", "well\n")
    _note("prompted")
    while not Path("go-on").exists():
        await asyncio.sleep(0.01)
    await peer.flood("s-1234567890", 20_000, "words and more words\n" * 20)
    _note("flooded")
    await peer.expect("session/cancel")
    await peer.end(prompt, "cancelled")


async def settings(peer: AgentPeer) -> None:
    """Has a model, a mode and a switch."""
    options: list[dict[str, Any]] = [
        {
            "id": "model",
            "name": "Model",
            "type": "select",
            "category": "model",
            "currentValue": "small",
            "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
        },
        {"id": "loud", "name": "Loud", "type": "boolean", "currentValue": False},
    ]
    await peer.greet("v1", {})
    async for request in peer.requests():
        if request.method == "session/new":
            await peer.answer(request, {"sessionId": "s-1234567890", "configOptions": options})
        elif request.method == "session/set_config_option":
            _note(f"{request.params['configId']}={request.params['value']}")
            await peer.answer(request, {"configOptions": options})
        elif request.method == "session/prompt":
            await peer.answer(request, {"stopReason": "end_turn"})


async def shows_session(peer: AgentPeer) -> None:
    """Writes down what its session was opened with, and what its environment says."""
    await peer.greet("v1", {"sessionCapabilities": {"additionalDirectories": {}}, "mcpCapabilities": {"http": True}})
    request = await peer.expect("session/new")
    names = [server["name"] for server in request.params["mcpServers"]]
    _note(f"servers {names} roots {request.params.get('additionalDirectories')} colour {os.environ.get('COLOUR')}")
    await peer.answer(request, {"sessionId": "s-1234567890"})
    await peer.end(await peer.take_prompt())


async def drafts(peer: AgentPeer) -> None:
    """Speaks v2."""
    await peer.greet("v2")
    await peer.open_session("s-1234567890")
    prompt = await peer.take_prompt()
    await peer.chunk("s-1234567890", "hello from a draft")
    await peer.end(prompt)


async def announces(peer: AgentPeer) -> None:
    """Announces calls in the middle of its messages, which have ids where the prompt says so."""
    prompt = await _begin(peer)
    names = ["m1", "m2"] if "ids" in _text_of(prompt) else [None, None]

    async def say(text: str, name: str | None) -> None:
        chunk: dict[str, Any] = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        await peer.update("s-1234567890", chunk if name is None else {**chunk, "messageId": name})

    async def call(name: str, status: str, *, first: bool = False) -> None:
        update: dict[str, Any] = {"toolCallId": name, "status": status}
        kind = (
            {"sessionUpdate": "tool_call", "title": f"call {name}"} if first else {"sessionUpdate": "tool_call_update"}
        )
        await peer.update("s-1234567890", {**kind, **update})

    await say("I will ", names[0])
    await call("one", "pending", first=True)
    await say("look.", names[0])
    await call("one", "in_progress")
    await say("All is ", names[1])
    await call("two", "pending", first=True)
    await say("well.", names[1])
    await call("one", "completed")
    await call("two", "completed")
    await peer.end(prompt)


async def commands_later(peer: AgentPeer) -> None:
    """Tells its commands when the test says so."""
    await peer.greet("v1", {})
    await peer.open_session("s-1234567890")
    while not Path("go").exists():
        await asyncio.sleep(0.01)
    command = {"name": "plan", "description": "Make a plan"}
    await peer.update("s-1234567890", {"sessionUpdate": "available_commands_update", "availableCommands": [command]})
    await peer.stay()


async def meets(peer: AgentPeer) -> None:
    """The first of its processes answers at once, the others when four of them run."""
    is_first = not list(Path().glob("process-*"))
    Path(f"process-{os.getpid()}").touch()
    while not is_first and len(list(Path().glob("process-*"))) < 4:
        await asyncio.sleep(0.01)
    await peer.greet("v1", {})
    await peer.open_session("s-1234567890")
    await peer.stay()


async def has_id(peer: AgentPeer) -> None:
    """Opens sessions of the id that the test wrote down, and resumes any."""
    await peer.greet("v1", {"sessionCapabilities": {"resume": {}}})
    async for request in peer.requests():
        if request.method == "session/new":
            await peer.answer(request, {"sessionId": Path("id").read_text(encoding="utf-8")})
        elif request.method == "session/resume":
            await peer.answer(request)
        elif request.method == "session/prompt":
            await peer.answer(request, {"stopReason": "end_turn"})


async def works_on(peer: AgentPeer) -> None:
    """Makes three tool calls, and more when nobody tells it to stop; notes how many it made."""
    peer.patience_seconds = 60.0
    prompt = await _begin(peer)
    session = "s-1234567890"
    for number in range(1, 4):
        call = {"toolCallId": f"t{number}", "title": f"call {number}", "status": "in_progress"}
        await peer.update(session, {"sessionUpdate": "tool_call", **call})
        for status in ("in_progress", "completed"):
            update = {"sessionUpdate": "tool_call_update", "toolCallId": f"t{number}", "status": status}
            await peer.update(session, update)
    if "stop" in _text_of(prompt):
        await peer.expect("session/cancel")
        _note("cancelled")
        await peer.end(prompt, "cancelled")
    else:
        await peer.chunk(session, "three calls")
        await peer.end(prompt)


async def long_lines(peer: AgentPeer) -> None:
    """Runs two commands that print very long lines, and says something no edition names that is as long."""
    prompt = await _begin(peer)
    for name in ("one", "two"):
        shown = {"type": "content", "content": {"type": "text", "text": f"{name} {'x' * 5000} end"}}
        call = {"toolCallId": name, "title": f"make {name}", "kind": "execute", "status": "completed"}
        await peer.update("s-1234567890", {"sessionUpdate": "tool_call", **call, "content": [shown]})
    await peer.update("s-1234567890", {"sessionUpdate": "weather", "sky": "y" * 5000})
    await peer.chunk("s-1234567890", "z" * 5000)
    await peer.end(prompt)
