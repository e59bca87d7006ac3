"""Messages that are none, and messages that mean nothing: ids, shapes, bytes and order of the protocol."""

from __future__ import annotations

import json
import select
from typing import Any

from tests.hostile.hand import OPTIONS, Hand
from tests.hostile.poison import bad
from tests.hostile.registry import trick
from tests.hostile.tricks.screen import fails, greets, opens

WRITE = "fs/write_text_file"


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def wish(hand: Hand) -> dict[str, Any]:
    """A write that nobody may allow."""
    return {"sessionId": hand.session, "path": f"{hand.cwd}/a.txt", "content": "hostile"}


def pause() -> None:
    """Long enough for a read of what was written so far."""
    select.select([], [], [], 0.01)


@trick("wire-wrong-ids", "answers ids that nobody gave", status=0, check=("ACP-JSONRPC-001",), check_status=0)
def _(hand: Hand) -> None:
    ids: list[Any] = [999_999, -1, "0", "", None, 0.5, True, [], {}, hand.prompt_id + 1, str(hand.prompt_id)]
    for id_ in ids:
        hand.send({"id": id_, "result": {"stopReason": "refusal", "sessionId": "another"}})
        hand.send({"id": id_, "error": {"code": -32000, "message": "log in"}})


@trick("wire-second-answer", "answers everything twice", at="start", status=0)
def _(hand: Hand) -> None:
    once = hand.answer

    def twice(id_: Any, result: Any) -> None:
        once(id_, result)
        once(id_, {"stopReason": "refusal", "protocolVersion": 7, "sessionId": "another"})

    hand.answer = twice  # type: ignore[method-assign]


@trick("wire-array", "sends arrays of requests", status=0, rules=("allow all",), check=("ACP-TRANSPORT",))
def _(hand: Hand) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": WRITE, "params": wish(hand)}
    hand.raw(json.dumps([request, request]).encode() + b"\n[]\n[[[]]]\n[1,null]\n")
    hand.say("after")


@trick(
    "wire-odd-ids",
    "asks with ids that are none",
    rules=("deny all",),
    or_status=0,
    check=("ACP-SCHEMA",),
    check_status=0,
)
def _(hand: Hand) -> None:
    ids: list[Any] = [None, 1.5, True, {}, [1], "", 2**70, -(2**63), 1e300, "x" * 10_000]
    for id_ in ids:
        hand.send({"id": id_, "method": WRITE, "params": wish(hand)})


@trick("wire-unknown-methods", "asks for methods that nobody has", status=0, check=("ACP-EXT",), check_status=0)
def _(hand: Hand) -> None:
    methods = (
        "",
        "x",
        "_x/y",
        "$/x",
        "session/prompt",
        "initialize",
        "session/new",
        bad("m"),
        "rpc.discover",
        "__init__",
    )
    for method in methods:
        assert "error" in hand.wait(hand.ask(method))
    names: list[Any] = [None, 1, [], {}]
    for odd in names:
        hand.send({"id": 5, "method": odd, "params": wish(hand)})


@trick("wire-update-request", "sends an update as a request, and a cancel", status=0)
def _(hand: Hand) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
    hand.wait(hand.ask("session/update", update=update))
    hand.wait(hand.ask("session/cancel"))


@trick("wire-question-notice", "asks without an id", status=0, rules=("allow all",))
def _(hand: Hand) -> None:
    call = {"toolCallId": "c", "kind": "edit", "locations": [{"path": f"{hand.cwd}/a.txt"}]}
    hand.send({"method": "session/request_permission", "params": {**wish(hand), "toolCall": call, "options": OPTIONS}})
    hand.send({"method": WRITE, "params": wish(hand)})
    hand.send({"method": "terminal/create", "params": {**wish(hand), "command": "touch", "args": ["made"]}})


@trick("wire-both", "answers with a result and an error", status=1, or_status=0, check=("ACP-JSONRPC-002",))
def _(hand: Hand) -> None:
    hand.note({"ends": "both"})
    hand.ended = True
    hand.send({"id": hand.prompt_id, "result": {"stopReason": "end_turn"}, "error": {"code": 1, "message": "no"}})


@trick("wire-unknown-session", "asks in the name of a session that is not there", status=0, rules=("allow all",))
def _(hand: Hand) -> None:
    for session in ("another", "", bad("s"), "s-1 ", None, 7, [hand.session]):
        hand.session = session  # type: ignore[assignment]
        hand.permission({"kind": "edit", "locations": [{"path": f"{hand.cwd}/a.txt"}]})
        hand.say("for nobody")


@trick(
    "wire-early-updates", "sends updates and requests before it was greeted", at="start", rules=("allow all",), status=0
)
def _(hand: Hand) -> None:
    for session in ("s-1", "", "another"):
        hand.session = session
        hand.say("early")
        hand.send({"id": 3, "method": WRITE, "params": wish(hand)})


def versions(name: str, says: str, version: Any, status: int = 1, **more: Any) -> None:
    trick(f"wire-version-{name}", says, greets(protocolVersion=version), at="start", status=status, **more)


versions("text", "speaks a version that is a text", bad("1"), check=("ACP-INIT",))
versions("huge", "speaks a version far in the future", 2**80)
versions("negative", "speaks a version below zero", -1)
versions("fraction", "speaks a version and a half", 1.5)
versions("nothing", "speaks no version", None)
trick(
    "wire-capabilities",
    "offers capabilities of wrong types",
    greets(
        agentCapabilities={
            "loadSession": "yes",
            "promptCapabilities": [1],
            "sessionCapabilities": 7,
            "mcpCapabilities": "",
        },
        agentInfo=["x"],
        authMethods={"id": 1},
    ),
    at="start",
    status=0,
    check=("ACP-INIT-001",),
)
trick(
    "wire-greeting-null",
    "greets with nothing",
    lambda hand: hand.answer((hand.read() or {}).get("id"), None),
    at="start",
    status=1,
)
trick("wire-session-empty", "names its session by nothing", opens(sessionId=""), at="start", status=0, or_status=1)
trick("wire-session-long", "names its session by a megabyte", opens(sessionId="s" * 1_000_000), at="start", status=0)
trick(
    "wire-session-number",
    "names its session by a number",
    opens(sessionId=7),
    at="start",
    status=1,
    check=("ACP-SESSION-001",),
)
trick("wire-session-missing", "opens a session without an id", opens(sessionId=None), at="start", status=1)


@trick(
    "wire-same-id",
    "gives two sessions one id",
    sessions=2,
    same_id=True,
    rules=("deny all",),
    check=("ACP-SESSION-002",),
)
def _(hand: Hand) -> None:
    hand.write("a.txt")


@trick("wire-duplicate-keys", "says a harmless method and another one in one message", rules=("deny edit", "allow all"))
def _(hand: Hand) -> None:
    wanted = json.dumps(wish(hand))
    hand.raw(
        b'{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","method":"%s","params":%s}\n'
        % (WRITE.encode(), wanted.encode())
    )
    hand.raw(b'{"jsonrpc":"2.0","id":2,"method":"%s","params":{},"params":%s}\n' % (WRITE.encode(), wanted.encode()))
    for _each in range(2):
        hand.noted("write", hand.read() or {})


@trick("wire-numbers", "sends numbers that are none", status=0, check=("ACP-TRANSPORT",))
def _(hand: Hand) -> None:
    update = b'{"sessionId":"s-1","update":{"sessionUpdate":"usage_update","used":%s,"size":%s}}'
    for number in (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"1" * 5000, b"-0.0"):
        hand.raw(b'{"jsonrpc":"2.0","method":"session/update","params":' + update % (number, number) + b"}\n")


@trick(
    "wire-bytes",
    "sends bytes that are no UTF-8, a mark of order and nulls",
    status=0,
    check=("ACP-TRANSPORT-002",),
)
def _(hand: Hand) -> None:
    chunk = line(
        method="session/update", params={"sessionId": hand.session, "update": {"sessionUpdate": "plan", "entries": []}}
    )
    hand.raw(
        b"\xef\xbb\xbf"
        + chunk
        + b"\xff\xfe{}\n"
        + chunk.replace(b"plan", b"pl\xc3n")
        + b"\0\0\n"
        + chunk[:-1]
        + b"\0\n"
    )
    hand.raw(chunk.decode().encode("utf-16") + b"\n")


@trick("wire-line-ends", "ends lines in every way", status=0, check=("ACP-TRANSPORT",))
def _(hand: Hand) -> None:
    chunk = line(
        method="session/update", params={"sessionId": hand.session, "update": {"sessionUpdate": "plan", "entries": []}}
    )
    hand.raw(b"\r\n\n\r\n \t\n" + chunk[:-1] + b"\r\n" + b"  " + chunk[:-1] + b"\t \n\n\n")


@trick("wire-pieces", "sends its lines in single bytes, with pauses", status=0)
def _(hand: Hand) -> None:
    chunk = line(
        method="session/update", params={"sessionId": hand.session, "update": {"sessionUpdate": "plan", "entries": []}}
    )
    for at in range(len(chunk)):
        hand.raw(chunk[at : at + 1])
        if at % 16 == 0:
            pause()


@trick("wire-shapes", "sends every field with a wrong type", status=0, chat=True, check=("ACP-PROMPT-002",))
def _(hand: Hand) -> None:
    values: list[Any] = [None, 7, "QZ\x1b[31mQZ", [], {}, [[7]], True]
    for odd in values:
        hand.call("c", title=odd, kind=odd, status=odd, content=odd, locations=odd, rawInput=odd)
        hand.update("plan", entries=odd)
        hand.update("agent_message_chunk", content=odd)
        hand.update("usage_update", used=odd, size=odd, cost=odd)
        hand.update("available_commands_update", availableCommands=odd)
        hand.update("session_info_update", title=odd)
        hand.send({"method": "session/update", "params": odd})
        hand.send({"method": "session/update", "params": {"sessionId": hand.session, "update": odd}})
        hand.update(odd)


@trick("wire-error-shapes", "fails with an error that is none", status=1)
def _(hand: Hand) -> None:
    fails(hand, bad("text"))


@trick("wire-result-null", "ends its turn with nothing", status=1, or_status=0, check=("ACP-PROMPT-001",))
def _(hand: Hand) -> None:
    hand.note({"ends": "null"})
    hand.ended = True
    hand.send({"id": hand.prompt_id, "result": None})


@trick("wire-headers", "changes to headers in the middle", status=0)
def _(hand: Hand) -> None:
    hand.raw(b"Content-Length: 99999999\r\n\r\n")


@trick("wire-others-terminal", "asks for terminals that it does not have", status=0, rules=("allow all",))
def _(hand: Hand) -> None:
    for method in ("output", "wait_for_exit", "kill", "release"):
        for terminal in ("term-1", "", "../../x", bad("t"), None, 0):
            assert "error" in hand.wait(hand.ask(f"terminal/{method}", terminalId=terminal))


@trick("wire-cancels", "cancels requests that are not its own", status=0)
def _(hand: Hand) -> None:
    for id_ in (hand.prompt_id, 0, None, "x", [1]):
        hand.send({"method": "$/cancel_request", "params": {"requestId": id_}})
    hand.send({"method": "session/cancel", "params": {"sessionId": hand.session}})


@trick("wire-params", "sends params that are lists, texts or missing", status=0, rules=("allow all",))
def _(hand: Hand) -> None:
    for params in ([], [wish(hand)], "x", 7, None, {}, {"sessionId": hand.session}, {**wish(hand), "path": 7}):
        for method in (WRITE, "fs/read_text_file", "terminal/create", "session/request_permission"):
            hand.send({"id": 1, "method": method, "params": params})
            assert "error" in (hand.read() or {"error": 1}), (method, params)
