"""An agent without our library that asks of its client as much as it can, and reads no answer.

`greedy_agent.py TRICK FILE`: it reads up to the prompt, then writes requests until all are written or the client has
not read for a while, and ends. FILE is what it asks to read.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Iterator
from typing import Any

STILL_SECONDS = 1.0
SESSION = "s"
FIRST = 1_000_000


def text(id_: int | None, method: str, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": {"sessionId": SESSION, **params}}
    return json.dumps(message if id_ is None else {**message, "id": id_}).encode() + b"\n"


def hear() -> dict[str, Any]:
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    heard: dict[str, Any] = json.loads(line)
    return heard


def say(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def answer(asked: dict[str, Any], result: dict[str, Any]) -> None:
    say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode() + b"\n")


def ask(id_: int, method: str, **params: Any) -> dict[str, Any]:
    """Ask one thing and read up to its answer."""
    say(text(id_, method, **params))
    while (heard := hear()).get("id") != id_ or "method" in heard:
        pass
    return heard


def start(count: int, size: int) -> list[str]:
    """Start commands that write `size` bytes each, and wait for their ends."""
    line = f"head -c {size} /dev/zero | tr '\\0' x"
    answers = [ask(number, "terminal/create", command="sh", args=["-c", line]) for number in range(1000, 1000 + count)]
    ids = [heard["result"]["terminalId"] for heard in answers if "result" in heard]
    for number, terminal_id in enumerate(ids):
        ask(100_000 + number, "terminal/wait_for_exit", terminalId=terminal_id)
    return ids


def reads(file: str) -> Iterator[bytes]:
    for number in range(2000):
        yield text(FIRST + number, "fs/read_text_file", path=file)


def outputs(_: str) -> Iterator[bytes]:
    (terminal_id,) = start(1, 16 * 1024 * 1024)
    for number in range(2000):
        yield text(FIRST + number, "terminal/output", terminalId=terminal_id)


def terminals(_: str) -> Iterator[bytes]:
    start(24, 16 * 1024 * 1024)
    return iter(())


def tiny_reads(file: str) -> Iterator[bytes]:
    for number in range(500_000):
        yield text(FIRST + number, "fs/read_text_file", path=file + ".none")


def unknown_methods(_: str) -> Iterator[bytes]:
    for number in range(1_000_000):
        yield text(FIRST + number, "_unknown")


def questions(_: str) -> Iterator[bytes]:
    option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
    for number in range(2000):
        call = {"toolCallId": f"call-{number}", "title": "Do it", "rawInput": {"text": "x" * 1_000_000}}
        yield text(FIRST + number, "session/request_permission", toolCall=call, options=[option])


def early_updates(_: str) -> Iterator[bytes]:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x" * 1_000_000}}
    line = text(None, "session/update", sessionId="nobody's", update=update)
    for _number in range(300):
        yield line


TRICKS = {
    each.__name__: each for each in (reads, outputs, terminals, tiny_reads, unknown_methods, questions, early_updates)
}


def shake_hands() -> None:
    while "prompt" not in (asked := hear()).get("method", ""):
        if asked["method"] == "initialize":
            answer(asked, {"protocolVersion": 1, "agentCapabilities": {}})
        elif asked["method"] == "session/new":
            answer(asked, {"sessionId": SESSION})


def written(line: bytes, out: int) -> bool:
    """Whether the client read on until all of it was written."""
    os.set_blocking(out, False)
    rest = memoryview(line)
    while rest:
        if not select.select((), (out,), (), STILL_SECONDS)[1]:
            return False
        try:
            rest = rest[os.write(out, rest) :]
        except BlockingIOError:
            continue
    return True


def main() -> None:
    trick, file = sys.argv[1:]
    shake_hands()
    if all(written(line, sys.stdout.fileno()) for line in TRICKS[trick](file)):
        select.select((), (), (), STILL_SECONDS)


if __name__ == "__main__":
    main()
