"""An agent of Accord with simse's plug-in on, as a real program. What a prompt says is what it does, line by line."""

from __future__ import annotations

import asyncio
import json

import accord
from accord import simse

agent = accord.Agent("page-agent", version="1", store=accord.MemoryStore()).use_dialect(simse.SimseDialect())

EVERY_OPTION = [
    accord.PermissionOption("yes", "Yes", "allow_once"),
    accord.PermissionOption("ever", "Always", "allow_always"),
    accord.PermissionOption("no", "No", "reject_once"),
    accord.PermissionOption("never", "Never", "reject_always"),
]


async def ask(turn: accord.agent.Turn, name: str, options: list[accord.PermissionOption]) -> None:
    """Ask about a tool call, and say what the answer is to an author."""
    async with turn.tool(f"Use {name}", name=name, status="pending") as call:
        permission = await turn.request_permission(call, options=options)
    await turn.say(f"{name}: {permission.option_id} {permission.allowed} {permission.always}\n")


async def run(turn: accord.agent.Turn, name: str, given: str, timeout_seconds: float | None = None) -> None:
    """Let the client run a tool, and say what came of it."""
    try:
        output = await simse.run_tool(turn, name, json.loads(given or "{}"), timeout_seconds=timeout_seconds)
    except accord.ToolFailed as failure:
        await turn.say(f"{name} failed: {failure}\n")
    except accord.LocalProtocolError as error:
        await turn.say(f"{name} cannot be run: {error.field}\n")
    else:
        await turn.say(f"{name} gave {json.dumps(output)}\n")


async def work(turn: accord.agent.Turn) -> None:
    """Run two tools of the agent's own, and say everything that the page has no words for."""
    await turn.think("hm")
    await turn.plan(["work"])
    async with turn.tool("Read it", name="add", kind="read", input={"a": 1, "b": 2}) as call:
        await call.show("the text")
    async with turn.tool("Break it") as call:
        raise accord.ToolFailed("it broke")


async def do(turn: accord.agent.Turn, line: str) -> None:  # noqa: C901 - a word, a case
    """Do what one line says."""
    word, _, rest = line.partition(" ")
    name, _, more = rest.partition(" ")
    match word:
        case "say":
            for piece in rest.split(" "):
                await turn.say(piece + " ")
                await asyncio.sleep(0)
        case "ask":
            await ask(turn, name, EVERY_OPTION)
        case "ask-once":
            await ask(turn, name, [EVERY_OPTION[0], EVERY_OPTION[2]])
        case "question":
            await turn.say(f"{rest} {bool(await turn.request_permission(rest, description='really'))}\n")
        case "run":
            await run(turn, name, more)
        case "run-shortly":
            await run(turn, name, more, 0.1)
        case "run-both":
            numbers = [{"a": 1, "b": 1}, {"a": 2, "b": 2}]
            await turn.say(str(await asyncio.gather(*(simse.run_tool(turn, "add", each) for each in numbers))))
        case "work":
            await work(turn)
        case "states":
            calls = (await turn.history()).tool_calls.values()
            await turn.say(json.dumps([[call.title, call.status, call.raw_output or None] for call in calls]))
        case "wait":
            await turn.say("waiting")
            await asyncio.Event().wait()
        case _:
            await turn.say(f"what is {word}?")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """Do what the prompt says."""
    for line in turn.text.splitlines():
        await do(turn, line)


agent.run()
