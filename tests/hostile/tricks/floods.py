"""Much of everything: the client stays within its memory, and comes to an end."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Iterable
from typing import Any

from tests.hostile.hand import NO, YES, Hand, diff
from tests.hostile.registry import trick

MIB = 1024 * 1024
STILL_SECONDS = 0.5
FLOOD: dict[str, Any] = {"heavy": True, "status": 0}


def message(method: str, id_: int | None = None, **params: Any) -> bytes:
    body = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(body if id_ is None else {**body, "id": id_}).encode() + b"\n"


def update(hand: Hand, tag: str, **fields: Any) -> bytes:
    return message("session/update", sessionId=hand.session, update={"sessionUpdate": tag, **fields})


def chunk(hand: Hand, text: str) -> bytes:
    return update(hand, "agent_message_chunk", content={"type": "text", "text": text})


def pour(hand: Hand, lines: Iterable[bytes]) -> bool:
    """Write without reading until the client has not read for a while; whether all was written."""
    out = sys.stdout.fileno()
    sys.stdout.buffer.flush()
    os.set_blocking(out, False)
    try:
        for line in lines:
            rest = memoryview(line)
            while rest:
                if not select.select((), (out,), (), STILL_SECONDS)[1]:
                    hand.note({"stuck": True})
                    return False
                try:
                    rest = rest[os.write(out, rest) :]
                except BlockingIOError:
                    continue
        return True
    finally:
        os.set_blocking(out, True)


def die(hand: Hand) -> None:
    """The pipe is full of what was cut off: nothing more can be said."""
    hand.note({"dies": True})
    os._exit(0)


# --- asks without reading the answers


@trick(
    "flood-reads",
    "asks for a file of 4 MB again and again and reads no answer",
    heavy=True,
    status=7,
    may_change=("big",),
)
def _(hand: Hand) -> None:
    with open(f"{hand.cwd}/big", "wb") as file:  # noqa: PTH123 - no more imports than needed
        file.write(b"0123456789abcde\n" * (MIB // 4))
    pour(
        hand, (message("fs/read_text_file", id_, sessionId=hand.session, path=f"{hand.cwd}/big") for id_ in range(500))
    )
    die(hand)


@trick(
    "flood-outputs",
    "asks for the output of a terminal again and again",
    heavy=True,
    status=7,
    rules=("allow execute",),
    granted=("terminal",),
)
def _(hand: Hand) -> None:
    made = hand.request("terminal", "terminal/create", command="head", args=["-c", str(4 * MIB), "/dev/zero"])
    terminal = made["result"]["terminalId"]
    hand.wait(hand.ask("terminal/wait_for_exit", terminalId=terminal))
    pour(hand, (message("terminal/output", id_, sessionId=hand.session, terminalId=terminal) for id_ in range(500)))
    die(hand)


@trick(
    "flood-unknown-requests", "asks for nothing that exists, and reads no refusal", heavy=True, status=7, or_status=0
)
def _(hand: Hand) -> None:
    pour(hand, (message("_" + "x" * 200, id_) for id_ in range(60_000)))
    die(hand)


@trick("flood-questions", "asks a thousand questions at once", heavy=True, status=5)
def _(hand: Hand) -> None:
    option = [YES, NO]
    for number in range(1_000):
        hand.ask("session/request_permission", **hand.question({"kind": "edit", "title": f"q {number}"}, option))
    for _number in range(1_000):
        hand.noted("permission", hand.read() or {})


@trick("flood-options", "asks a question with ten thousand options", heavy=True)
def _(hand: Hand) -> None:
    options = [{"optionId": f"o{each}", "name": f"Option {each}", "kind": "allow_once"} for each in range(10_000)]
    hand.permission({"kind": "edit", "title": "many"}, [*options, NO], allowing=[each["optionId"] for each in options])


@trick("flood-forms", "asks for five hundred forms at once", **FLOOD)
def _(hand: Hand) -> None:
    schema = {"type": "object", "properties": {f"f{each}": {"type": "string"} for each in range(50)}}
    for _each in range(500):
        hand.ask("elicitation/create", mode="form", message="m", requestedSchema=schema)
    for _each in range(500):
        hand.read()


@trick("flood-same-id", "asks with one id a thousand times", rules=("deny all",), **{**FLOOD, "status": 5})
def _(hand: Hand) -> None:
    line = message("fs/write_text_file", 7, sessionId=hand.session, path=f"{hand.cwd}/a.txt", content="x")
    hand.raw(line * 1_000)
    for _each in range(1_000):
        hand.noted("write", hand.read() or {})


# --- says without end


@trick("flood-calls", "calls ten thousand tools", chat=True, **{**FLOOD, "seconds": 60})
def _(hand: Hand) -> None:
    for start in range(0, 10_000, 100):
        each = range(start, start + 100)
        hand.raw(
            b"".join(update(hand, "tool_call", toolCallId=f"c{n}", title=f"t {n}", status="completed") for n in each)
        )


@trick("flood-updates", "says a hundred thousand single letters", **{**FLOOD, "seconds": 60})
def _(hand: Hand) -> None:
    hand.raw(chunk(hand, "x") * 100_000)


@trick("flood-message", "says 4 MiB at once", **FLOOD)
def _(hand: Hand) -> None:
    hand.raw(chunk(hand, "x" * (4 * MIB - 1024)))


@trick("flood-messages", "says 4 MiB fifteen times in all kinds of updates", **FLOOD)
def _(hand: Hand) -> None:
    block = "x y\n" * (MIB - 256)
    for each in range(5):
        hand.raw(update(hand, "agent_thought_chunk", content={"type": "text", "text": block}))
        hand.raw(update(hand, "tool_call", toolCallId=f"c{each}", title="t", rawInput={"text": block}))
        hand.raw(update(hand, "tool_call_update", toolCallId="c0", status="completed", rawOutput=block))


@trick("flood-deep", "nests its input a thousand levels deep, and once too deep", **FLOOD)
def _(hand: Hand) -> None:
    for levels in (1_000, 100_000):
        raw = b"[" * levels + b"]" * levels
        hand.raw(
            update(hand, "tool_call", toolCallId=f"d{levels}", title="deep", rawInput=7).replace(b": 7", b": " + raw)
        )
    hand.say("after")


@trick("flood-diff", "shows a diff of a hundred thousand lines", **{**FLOOD, "seconds": 60})
def _(hand: Hand) -> None:
    old = "".join(f"line {each}\n" for each in range(100_000))
    hand.call("c", kind="edit", content=[diff("/x/y", old, old.replace("7", "8"))], status="completed")


@trick("flood-thoughts", "thinks without end", **FLOOD)
def _(hand: Hand) -> None:
    line = update(hand, "agent_thought_chunk", content={"type": "text", "text": "thinking " * 100})
    # 40 MB: what was said is kept in the transcript, so the bound is for everything beside that.
    for _ in range(2000):
        hand.raw(line * 20)


@trick("flood-settings", "offers ten thousand commands, choices and steps", chat=True, **FLOOD)
def _(hand: Hand) -> None:
    many = range(10_000)
    hand.update("available_commands_update", availableCommands=[{"name": f"c{n}", "description": "d"} for n in many])
    hand.update("plan", entries=[{"content": f"step {n}", "priority": "high", "status": "pending"} for n in many])
    choices = [{"value": f"v{n}", "name": f"n{n}"} for n in many]
    option = {"type": "select", "id": "o", "name": "O", "currentValue": "v1", "options": choices}
    hand.update("config_option_update", configOptions=[option])


@trick("flood-sessions", "speaks of ten thousand sessions that nobody opened", **FLOOD)
def _(hand: Hand) -> None:
    for number in range(10_000):
        hand.session = f"other-{number}"
        hand.raw(chunk(hand, "x" * 1_000))
    hand.session = "s-1"


@trick("flood-answers", "answers a hundred thousand requests that nobody made", **FLOOD)
def _(hand: Hand) -> None:
    line = b"".join(
        b'{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}\n' % (10_000 + n) for n in range(1_000)
    )
    hand.raw(line * 100)


@trick("flood-noise", "prints lines that are no messages without end", check=("ACP-TRANSPORT",), **FLOOD)
def _(hand: Hand) -> None:
    hand.raw(b"this is no message at all\n" * 100_000)
    hand.raw(b"x" * (8 * MIB) + b"\n")


@trick("flood-stderr", "writes to its stderr without end", check=("ACP-STDERR",), check_status=0, **FLOOD)
def _(_hand: Hand) -> None:
    block = b"an error \x1b[31mQZ\n" * 1_000
    for _each in range(1_000):
        sys.stderr.buffer.write(block)
    sys.stderr.buffer.write(b"x" * (8 * MIB))
    sys.stderr.buffer.flush()


@trick(
    "flood-terminal", "runs a command that prints without end", rules=("allow execute",), granted=("terminal",), **FLOOD
)
def _(hand: Hand) -> None:
    made = hand.request("terminal", "terminal/create", command="yes", args=["x" * 1_000], outputByteLimit=MIB)
    terminal = made["result"]["terminalId"]
    hand.call("c", kind="execute", content=[{"type": "terminal", "terminalId": terminal}])
    end = time.monotonic() + 1
    while time.monotonic() < end:
        hand.wait(hand.ask("terminal/output", terminalId=terminal))


@trick("flood-cancelled", "floods after it was cancelled", interrupt=True, **{**FLOOD, "status": 130})
def _(hand: Hand) -> None:
    hand.note({"ready": True})
    hand.wait_for("session/cancel")
    hand.raw(chunk(hand, "x" * 100) * 20_000)


# --- no end


@trick("never-ends", "never ends its turn", status=3, timeout=1.5)
def _(hand: Hand) -> None:
    hand.note({"dies": True})
    while hand.read():
        pass
    sys.exit(0)


@trick("never-stops-talking", "never ends its turn and never stops talking", status=3, timeout=1.5, heavy=True)
def _(hand: Hand) -> None:
    line = chunk(hand, "and so on ") * 10
    try:
        while True:
            hand.raw(line)
            select.select((), (), (), 0.001)
    except OSError:
        os._exit(0)


@trick("never-reads", "stops reading, and asks on", status=3, timeout=1.5, heavy=True, check=("ACP-PROMPT-001",))
def _(hand: Hand) -> None:
    pour(hand, (message("fs/read_text_file", id_, sessionId=hand.session, path="/x" * 500) for id_ in range(20_000)))
    time.sleep(3600)


@trick("never-greets", "never answers the greeting", at="start", status=3, timeout=1.5, check=("ACP-INIT-001",))
def _(hand: Hand) -> None:
    while hand.read():
        pass
    sys.exit(0)


@trick("never-opens", "never opens a session", at="new", status=3, timeout=1.5)
def _(hand: Hand) -> None:
    while hand.read():
        hand.say("busy")
    sys.exit(0)
