"""An agent with every capability on, which in each turn does everything that an agent can do.

`FULL_AGENT_LOGGED_IN=1` in its environment says that there is a login from the start.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from accord.agent import Agent, Extension, Session, Turn
from accord.session.content import Annotations, Link, Text
from accord.session.event import PlanEntry
from accord.session.option import Choice, Group

agent = Agent("full", version="1.0", title="Full agent", mcp=True)
login = {"there": os.environ.get("FULL_AGENT_LOGGED_IN") == "1"}

agent.advertise("example.com/extras", {"level": 2})
agent.modes(["ask", Choice("code", "Code", "Changes files")])
agent.models(["small", "large"])
agent.select("style", "Style", ["short", "long"])
agent.select(
    "tone", "Tone", [Group("calm", "Calm", [Choice("soft", "Soft")]), Group("loud", "Loud", [Choice("hot", "Hot")])]
)
agent.toggle("verbose", "Verbose")
agent.terminal_login("terminal", "Log in here", args=["--login"], env={"FULL_AGENT_LOGIN": "1"})


@agent.login("token", "Log in with a token")
async def log_in() -> None:
    login["there"] = True


@agent.logout
async def log_out() -> None:
    login["there"] = False


@agent.check_login
def is_logged_in() -> bool:
    return login["there"]


@agent.request("_example.com/ping")
async def ping(call: Extension) -> Any:
    return {"pong": call.params}


@agent.notification("_example.com/note")
async def note(_: Extension) -> None:
    return None


@agent.command("greet", "Greet somebody", hint="whom")
async def greet(turn: Turn, whom: str) -> None:
    await turn.say(f"Hello {whom}")


@agent.on_option
async def changed(session: Session, option: str, value: str | bool) -> None:  # noqa: FBT001 - what handlers get
    if option == "style":
        await session.set_title(f"in the {value} style")


@agent.prompt(accepts={"image", "audio", "resource"})
async def work(turn: Turn) -> None:
    await turn.think("Let me see")
    await turn.plan([PlanEntry("Edit the notes", priority="high", status="in_progress"), "Say so"])
    await edit(turn)
    if turn.can("elicit"):
        await turn.elicit("Who are you?", {"name": {"type": "string", "title": "Name"}})
    await turn.notice("Almost done", "Only words are left")
    async with turn.compact() as compaction:
        await compaction.say("It was about notes")
    await turn.set_title("Notes")
    await turn.update_usage(10, 1000, cost=0.25)
    await turn.say([Text("Fertig: äöü 🎼", Annotations(priority=0.5)), Link("file:///notes.txt", "notes.txt")])
    await turn.say(f"You said: {turn.text}")
    if turn.text == "__hang__":
        await asyncio.Event().wait()


async def edit(turn: Turn) -> None:
    tool = turn.tool(
        "Edit the notes",
        kind="edit",
        status="pending",
        name="edit",
        input={"file": "notes.txt"},
        locations=["notes.txt"],
    )
    async with tool:
        if not await turn.request_permission(tool):
            return
        await turn.files.write("notes.txt", "new\n")
        await tool.diff("notes.txt", "old\n", await turn.files.read("notes.txt"))
        await tool.stream("written, ")
        await tool.stream("and counted")
        await turn.terminals.run(["wc", "-l", "notes.txt"], on_start=tool.show)


if __name__ == "__main__":
    if "--login" in sys.argv:
        sys.exit(0)
    agent.run()
