"""A script that a user interrupts: it reports when the agent works, and the effect of Ctrl+C.

Started as `script.py WAY JOURNAL`: `ask`, `stream`, `body` (interrupted outside of Accord, in the loop's own body),
`question` (while a callback waits for the user) or `start` (while the agent does not answer).
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from pathlib import Path

import accord

# Whoever starts tests in the background ignores it, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

WAY, JOURNAL = sys.argv[1], Path(sys.argv[2])


def note(text: str) -> None:
    """Tell the test, in order."""
    with JOURNAL.open("a", encoding="utf-8") as journal:
        journal.write(text + "\n")


agent = accord.Agent("worker", store=None)


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """Work until it is told to stop."""
    await turn.say("working")
    try:
        if WAY == "question":
            async with turn.tool("Dig", status="pending") as tool:
                await turn.request_permission(tool)
        elif WAY != "body":
            note("works")
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        note("the agent is cancelled")
        raise


def answer(_question: accord.client.PermissionQuestion) -> bool:
    """A user who does not answer."""
    note("works")
    time.sleep(600)
    return True


def see(way: str, text: bytes | bytearray) -> None:
    """Note that the agent is told to stop."""
    if way == "out" and b'"session/cancel"' in text:
        note("a cancel is sent")


def talk() -> None:
    """Open a session and do what the test wants."""
    target = (sys.executable, "-c", f"open({str(JOURNAL)!r}, 'a').write('works\\n'); import time; time.sleep(600)")
    with accord.open(*(target if WAY == "start" else (agent,)), permission=answer, observers=[see]) as session:
        if WAY in {"ask", "question"}:
            session.prompt("go")
        elif WAY == "stream":
            for _event in session.stream("go"):
                pass
        else:
            for event in session.stream("go"):
                if "working" in str(event):
                    note("works")
                    time.sleep(600)


try:
    talk()
except KeyboardInterrupt:
    note("the script is interrupted")
note(f"{threading.active_count() - (WAY == 'question')} threads")
