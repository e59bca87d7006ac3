"""An agent whose handlers are plain functions, as a whole program; `test_blocking_process.py` is on the other end."""

from __future__ import annotations

import sys
import threading
import time

from accord.agent import Agent, BlockingTurn

agent = Agent("blocking", version="1", cancel_grace_seconds=float(sys.argv[1]))


@agent.prompt
def reply(turn: BlockingTurn) -> None:
    """Ask, sleep through every cancel, or tidy up at the end, as the prompt wants it."""
    match turn.text:
        case "ask":
            turn.say("allowed" if turn.ask("Go on?") else "refused")
        case "sleep":
            turn.say("sleeping")
            time.sleep(600)
        case "tidy":
            try:
                turn.ask("Go on?")
            finally:
                time.sleep(0.2)
                print("tidied up", file=sys.stderr, flush=True)  # noqa: T201
        case _:
            turn.say(", ".join(sorted(thread.name for thread in threading.enumerate())))


if __name__ == "__main__":
    agent.run()
    names = sorted(thread.name for thread in threading.enumerate())
    print("left:", ", ".join(names), file=sys.stderr, flush=True)  # noqa: T201
