"""Half a character (a surrogate without its other half) in every string that an agent can send."""

from __future__ import annotations

from typing import Any

from tests.hostile.hand import NO, YES, Hand, diff
from tests.hostile.registry import trick
from tests.hostile.tricks.screen import fails, greets, opens

HALF = "QZ\ud83d"
LOW = "\ude00QZ"
ALLOWED: dict[str, Any] = {"rules": ("allow all",), "status": 0}


@trick("half-message", "says halves, and one character in two messages", status=0, chat=True, printed=True)
def _(hand: Hand) -> None:
    for piece in (HALF, LOW, LOW, HALF, f"\n{HALF}\n{LOW}{HALF}"):
        hand.say(piece)
    hand.update("agent_thought_chunk", content={"type": "text", "text": HALF})


@trick("half-call", "has a half in every string of a call", status=0, printed=True)
def _(hand: Hand) -> None:
    content = [diff(f"/x/{HALF}", HALF, LOW), {"type": "content", "content": {"type": "text", "text": HALF}}]
    raw = {HALF: [LOW, {LOW: HALF}]}
    hand.call(HALF, title=HALF, kind=HALF, content=content, locations=[{"path": LOW}], rawInput=raw, rawOutput=HALF)
    hand.change(HALF, status="completed")


trick("half-session-id", "names its session by a half", opens(sessionId=HALF), at="start", status=0)


@trick("half-stop-reason", "ends for half a reason", status=0, check=("ACP-PROMPT",))
def _(hand: Hand) -> None:
    hand.end(HALF)


@trick(
    "half-option", "gets its option's id back as it was", answers=("y",), granted=("permission",), status=0, chat=True
)
def _(hand: Hand) -> None:
    options = [{**YES, "optionId": HALF, "name": HALF}, {**NO, "optionId": LOW, "name": LOW}]
    hand.permission({"kind": "other", "title": HALF, "toolCallId": HALF}, options, allowing=(HALF,))


@trick("half-content", "writes half a character", granted=("write",), changes=("a.txt",), **ALLOWED)
def _(hand: Hand) -> None:
    hand.write("a.txt", f"{HALF}\n{LOW}\n")


@trick("half-path", "reads and writes paths of halves", **ALLOWED)
def _(hand: Hand) -> None:
    hand.write(HALF)
    hand.read_file(f"{LOW}/{HALF}")


@trick("half-command", "runs with halves in arguments and variables", granted=("terminal",), **ALLOWED)
def _(hand: Hand) -> None:
    hand.terminal("true", HALF, LOW, env=[{"name": "HALF", "value": HALF}])


@trick("half-program", "runs a program and a directory that are halves", **ALLOWED)
def _(hand: Hand) -> None:
    hand.terminal(HALF)
    hand.terminal("true", cwd=f"{hand.cwd}/{LOW}")
    hand.wait(hand.ask("terminal/output", terminalId=HALF))
    hand.wait(hand.ask(HALF))


@trick("half-error", "fails with half a message", status=1, said=("QZ",))
def _(hand: Hand) -> None:
    fails(hand, {"code": -32603, "message": HALF, "data": HALF})


trick(
    "half-settings",
    "has modes, options, commands, a title and a plan of halves",
    opens(
        modes={"currentModeId": HALF, "availableModes": [{"id": HALF, "name": LOW}]},
        configOptions=[
            {"type": "select", "id": HALF, "name": HALF, "currentValue": LOW, "options": [{"value": LOW, "name": HALF}]}
        ],
    ),
    at="start",
    status=0,
)


@trick("half-kept", "has a title of a half, and is opened again", at="load", status=0)
def _(hand: Hand) -> None:
    hand.update("session_info_update", title=HALF)
    hand.update("user_message_chunk", content={"type": "text", "text": LOW})
    hand.update("plan", entries=[{"content": HALF, "priority": "high", "status": "pending"}])
    hand.update("available_commands_update", availableCommands=[{"name": HALF, "description": LOW}])


trick(
    "half-name",
    "introduces itself by halves",
    greets(agentInfo={"name": HALF, "version": LOW, "title": HALF}),
    at="start",
    status=0,
    check=("ACP-INIT",),
    check_status=0,
)
