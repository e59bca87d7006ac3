"""An agent that wants a login, as a program: started with `--login FILE` in a terminal it makes one.

It writes what it sees of the terminal into the file; with `--fail` it refuses.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from accord.agent import Agent, Turn

KEPT = Path(os.environ["LOGIN_FILE"])


def log_in() -> None:
    """Ask for a name on the terminal, as a user would see it."""
    answer = input("name: ")
    if "--fail" in sys.argv:
        sys.exit(3)
    KEPT.write_text(f"{answer} {sys.stdin.isatty()} {os.environ.get('LOGIN_WAY')} {Path.cwd()}", encoding="utf-8")


def serve() -> None:
    """Serve whoever is logged in."""
    agent = Agent("closed", store=None)
    agent.terminal_login("tty", "In a terminal", args=["--login"], env={"LOGIN_WAY": "tty"})
    agent.terminal_login("bad", "In vain", args=["--login", "--fail"])
    agent.check_login(KEPT.exists)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(KEPT.read_text(encoding="utf-8"))

    agent.run()


if "--login" in sys.argv:
    log_in()
else:
    serve()
