"""An agent that does everything once: the same file for every edition and for every client that the tests know.

Say "fix" and it plans, thinks, reads, asks, edits and runs a command; "wait" and it works until it is cancelled;
"recall" and it tells what it remembers. It works inside the directory of its session.
"""

from __future__ import annotations

import asyncio
import os

import accord
from accord.agent.terminal import Terminal
from accord.workspace import NoSuchFile

agent = accord.Agent("rich", version="1", title="Rich agent")
agent.modes([accord.Choice("ask", "Ask", "Asks first"), accord.Choice("code", "Code")])
agent.models(["small", "large"])
agent.toggle("web", "Search the web")

STEPS = ("Read the greeting", "Correct it", "Try it")
COMMAND = ("sh", "-c", "cat greeting.txt; echo 'über und über'; exit 3")


@agent.command("help", "Tells what it can do", hint="a topic")
async def tell_help(turn: accord.agent.Turn, topic: str) -> None:
    await turn.say(f"No help about {topic or 'anything'}.")


@agent.prompt(accepts={"resource"})
async def reply(turn: accord.agent.Turn) -> None:
    turn.session.state = [*(turn.session.state or []), turn.text]
    await turn.save()
    match turn.text:
        case "fix":
            await fix(turn)
        case "wait":
            await wait(turn)
        case "recall":
            await recall(turn)
        case _:
            await turn.say("I cannot do that.")
            turn.finish("refusal")


# --- fix


async def fix(turn: accord.agent.Turn) -> None:
    await turn.set_title("A better greeting")
    await turn.think("There is a greeting. ")
    await turn.think("It is not friendly.")
    await plan(turn, done=0)
    await turn.say("Let me look. ")
    await turn.say(accord.Link("https://example.org/style", "style", annotations=accord.Annotations(priority=0.5)))
    greeting = await read(turn)
    await read_what_is_missing(turn)
    await plan(turn, done=1)
    if await edit(turn, greeting):
        await turn.say("It is ")
        await turn.say("friendly now.")
    await plan(turn, done=2)
    code = await try_it(turn)
    await plan(turn, done=3)
    await turn.update_usage(1200, 200_000, cost=0.25, currency="EUR")
    await turn.say(f"The command ended with {code}, in mode {turn.option('mode')}.")


async def plan(turn: accord.agent.Turn, *, done: int) -> None:
    await turn.plan(
        accord.PlanEntry(
            step,
            "completed" if at < done else "in_progress" if at == done else "pending",
            "high" if step == "Correct it" else "medium",
        )
        for at, step in enumerate(STEPS)
    )


async def read(turn: accord.agent.Turn) -> str:
    place = accord.Location("greeting.txt", 1)
    async with turn.tool("Read greeting.txt", kind="read", name="read", input={"path": "greeting.txt"}) as tool:
        await tool.locate(place)
        text = await turn.files.read("greeting.txt")
        second = await turn.files.read("greeting.txt", 2, 1)
        await tool.stream(text)
        await tool.complete(f"The second line is {second!r}.", output={"lines": len(text.splitlines())})
    return text


async def read_what_is_missing(turn: accord.agent.Turn) -> None:
    async with turn.tool("Read missing.txt", kind="read"):
        try:
            await turn.files.read("missing.txt")
        except NoSuchFile:
            raise accord.ToolFailed("There is no missing.txt.") from None


async def edit(turn: accord.agent.Turn, greeting: str) -> bool:
    better = greeting.replace("Go away", "Welcome")
    async with turn.tool("Edit greeting.txt", kind="edit", status="pending", locations=["greeting.txt"]) as tool:
        await tool.diff("greeting.txt", greeting, better)
        await tool.diff("log/changes.txt", None, "made it friendly\n")
        permission = await turn.request_permission(tool)
        if not permission:
            await tool.fail("You did not want it.")
            return False
        await turn.files.write("greeting.txt", better)
        await turn.files.write("log/changes.txt", "made it friendly\n")
        await tool.complete(output={"option": permission.option_id})
    return True


async def try_it(turn: accord.agent.Turn) -> int | None:
    async with turn.tool("Try it", kind="execute", input={"command": COMMAND[2]}) as tool:
        outcome = await turn.terminals.run(COMMAND, timeout_seconds=20, on_start=tool.show)
        await tool.complete("It printed:", outcome.output, output={"code": outcome.exit_code})
        return outcome.exit_code
    return None


# --- wait


async def wait(turn: accord.agent.Turn) -> None:
    async def show(terminal: Terminal) -> None:
        await tool.show(terminal)
        await turn.say("Watching.")

    try:
        async with turn.tool("Watch", kind="execute") as tool:
            await turn.terminals.run(["sleep", "600"], on_start=show)
    except asyncio.CancelledError:
        await turn.say("Stopped.")
        raise


# --- recall


async def recall(turn: accord.agent.Turn) -> None:
    history = await turn.history()
    said = [message.text for message in history.messages if message.speaker == "user"]
    await turn.say(f"You said {', '.join(said)}; I noted {', '.join(turn.session.state)}.")
    await turn.say(
        f" {len(history.tool_calls)} tool calls, the last one {list(history.tool_calls.values())[-1].status}."
    )


if __name__ == "__main__":
    if "RICH_AGENT_STORE" in os.environ:
        agent.use_store(accord.PostgresStore(os.environ["RICH_AGENT_STORE"], lease_seconds=3.0))
    agent.run()
