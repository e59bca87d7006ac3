"""An agent that uses files and a terminal: it saves the Python code of the prompt and runs it.

Files and commands go through the editor where it offers that, so that the user sees them; otherwise they are the
agent's own, with the same code. Name it in an editor's settings,

    "agent_servers": {"Runner": {"type": "custom", "command": "python", "args": ["/path/to/workspace.py"]}}

and send it: print(6 * 7)
"""

import sys

import accord
from accord.agent.terminal import CommandOutcome
from accord.workspace import NoSuchFile

SCRIPT = "scratch.py"
TIMEOUT_SECONDS = 10.0

agent = accord.Agent("runner", version="1.0")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """Save the code, run it, report the result."""
    async with turn.tool(f"Write {SCRIPT}", kind="edit", locations=[SCRIPT]) as writing:
        code = turn.text + "\n"
        await writing.diff(SCRIPT, await before(turn), code)
        await turn.files.write(SCRIPT, code)
    if writing.failed:
        await turn.say(f"I cannot write {SCRIPT} here.")
        return
    async with turn.tool(f"Run {SCRIPT}", kind="execute", input={"timeout": TIMEOUT_SECONDS}) as running:
        # When this returns, the command and its child processes have ended.
        outcome = await turn.terminals.run(
            [sys.executable, SCRIPT], timeout_seconds=TIMEOUT_SECONDS, on_start=running.show
        )
        await turn.say(verdict(outcome))
        if outcome.exit_code != 0:
            await running.fail(output={"exit_code": outcome.exit_code})


async def before(turn: accord.agent.Turn) -> str | None:
    """The text of the file, if there is one."""
    try:
        return await turn.files.read(SCRIPT)
    except NoSuchFile:
        return None


def verdict(outcome: CommandOutcome) -> str:
    """The result in one sentence."""
    if outcome.timed_out:
        return f"It did not end within {TIMEOUT_SECONDS:g} seconds, so I ended it."
    if outcome.exit_code == 0:
        return f"It printed: {outcome.output.strip()}"
    return f"It failed with {outcome.exit_code if outcome.signal is None else outcome.signal}."


if __name__ == "__main__":
    agent.run()
