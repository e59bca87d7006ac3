"""Tricks of an agent with its process: none is left behind, and the exit code is right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

from tests.hostile.hand import Hand
from tests.hostile.registry import trick

GONE: dict[str, Any] = {"status": 7}


def dies(hand: Hand, status: int = 3) -> None:
    hand.note({"dies": True})
    sys.stdout.buffer.flush()
    os._exit(status)


def keeps_on() -> None:
    """Lives on, whatever happens."""
    while True:
        time.sleep(3600)


def deaf() -> None:
    """No signal that can be ignored ends it."""
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)


def child(*, in_session: bool = True, closes: bool = False) -> None:
    """A child that nobody waits for; with `in_session` away from its family."""
    if os.fork():
        return
    if in_session:
        os.setsid()
        if os.fork():
            os._exit(0)
    deaf()
    if closes:
        for each in range(3):
            os.close(each)
        os.chdir("/")
    time.sleep(600)
    os._exit(0)


@trick(
    "process-daemon", "leaves a daemon that holds its stdout open", status=0, check=("ACP-SHUTDOWN",), check_status=0
)
def _(_hand: Hand) -> None:
    child()


@trick("process-daemon-dies", "leaves a daemon and dies", **GONE)
def _(hand: Hand) -> None:
    child()
    dies(hand)


@trick("process-daemon-quiet", "leaves a daemon that has closed everything", status=0)
def _(_hand: Hand) -> None:
    child(closes=True)


@trick("process-children", "leaves twenty children that ignore signals", status=0)
def _(_hand: Hand) -> None:
    for _each in range(20):
        child(in_session=False)


@trick(
    "process-deaf", "ignores every signal and the end of its input", status=0, check=("ACP-SHUTDOWN",), check_status=0
)
def _(hand: Hand) -> None:
    deaf()
    hand.end()
    keeps_on()


@trick("process-dies", "dies in the middle of its turn", chat=True, check=("ACP-PROMPT-001",), **GONE)
def _(hand: Hand) -> None:
    hand.say("half of a")
    dies(hand)


@trick("process-dies-well", "ends with status 0 before it answers", **GONE)
def _(hand: Hand) -> None:
    dies(hand, 0)


@trick("process-cut", "dies in the middle of a message", **GONE)
def _(hand: Hand) -> None:
    hand.raw(b'{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}' % hand.prompt_id)
    dies(hand)


@trick("process-killed", "kills itself in the middle of a question", answers=("y",), **GONE)
def _(hand: Hand) -> None:
    hand.ask("session/request_permission", **hand.question({"kind": "edit", "title": "x"}))
    time.sleep(0.2)
    hand.note({"dies": True})
    os.kill(os.getpid(), signal.SIGKILL)


@trick(
    "process-killed-unasked", "kills itself while a write waits for its rule", rules=("deny all",), or_status=5, **GONE
)
def _(hand: Hand) -> None:
    for _each in range(20):
        hand.ask("fs/write_text_file", path=f"{hand.cwd}/a.txt", content="x")
    hand.note({"dies": True})
    os.kill(os.getpid(), signal.SIGKILL)


@trick("process-closes-stdout", "closes its stdout and lives on", check=("ACP-PROMPT-001",), **GONE)
def _(hand: Hand) -> None:
    hand.note({"dies": True})
    os.close(1)
    keeps_on()


@trick("process-closes-stdin", "closes its stdin and talks on", status=0)
def _(hand: Hand) -> None:
    os.close(0)
    hand.say("x" * 1_000)
    hand.note({"ends": "closed"})
    hand.end()
    keeps_on()


@trick("process-another", "becomes another program in the middle of its turn", timeout=1.5, status=3)
def _(hand: Hand) -> None:
    hand.note({"dies": True})
    os.execvp("sleep", ["sleep", "600"])  # noqa: S606


@trick("process-stops", "stops itself, so that it hears no signal but one", timeout=1.5, status=3)
def _(hand: Hand) -> None:
    hand.note({"dies": True})
    os.kill(os.getpid(), signal.SIGSTOP)


@trick("process-at-start", "dies before it was greeted", at="start", check=("ACP-INIT-001",), **GONE)
def _(hand: Hand) -> None:
    dies(hand, 127)


@trick("process-at-new", "dies while it opens a session", at="new", **GONE)
def _(hand: Hand) -> None:
    dies(hand)


@trick("process-late", "answers and asks after its input was closed", status=0, rules=("allow all",), at="end")
def _(hand: Hand) -> None:
    hand.note({"played": "waits"})
    while hand.read():
        pass
    for _each in range(100):
        hand.ask("fs/write_text_file", path=f"{hand.cwd}/a.txt", content="x")
    hand.answer(hand.prompt_id, {"stopReason": "end_turn"})


@trick("process-away", "goes into a session and a group of its own", status=0)
def _(hand: Hand) -> None:
    if os.fork():
        time.sleep(600)
    os.setsid()
    deaf()
    hand.note({"pid": os.getpid()})


RUNS: dict[str, Any] = {"rules": ("allow execute",), "status": 0}


@trick("process-terminals", "leaves five terminals, deaf ones among them", granted=("terminal",) * 5, **RUNS)
def _(hand: Hand) -> None:
    for _each in range(5):
        hand.request(
            "terminal", "terminal/create", command="sh", args=["-c", "trap '' TERM HUP INT; sleep 600; sleep 600"]
        )


@trick("process-terminal-daemon", "runs a command that becomes a daemon", granted=("terminal",), **RUNS)
def _(hand: Hand) -> None:
    code = (
        "import os, sys, time\n"
        "if os.fork(): sys.exit()\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "os.chdir('/')\n"
        "os.closerange(0, 64)\n"
        "time.sleep(600)\n"
    )
    hand.terminal(sys.executable, "-S", "-E", "-c", code)


@trick("process-terminal-kill", "runs, kills and releases a command in every order", granted=("terminal",) * 3, **RUNS)
def _(hand: Hand) -> None:
    for order in (("kill", "release", "kill"), ("release", "output", "release"), ("wait_for_exit", "release", "kill")):
        made = hand.request("terminal", "terminal/create", command="sleep", args=["600"])
        asked = [hand.ask(f"terminal/{each}", terminalId=made["result"]["terminalId"]) for each in order]
        for _each in asked:
            hand.read()


@trick("process-stdin-child", "gives its stdin and stdout to a child and dies", timeout=1.5, status=3, or_status=7)
def _(hand: Hand) -> None:
    subprocess.Popen(["sleep", "600"])
    dies(hand, 0)
