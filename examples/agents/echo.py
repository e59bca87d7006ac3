"""The smallest agent: it repeats the prompt word by word, in the edition of its client.

In an editor that speaks ACP, name it as a custom agent; in Zed's settings that is

    "agent_servers": {"Echo": {"type": "custom", "command": "python", "args": ["/path/to/echo.py"]}}

From Python:

    async with accord.connect("python", "examples/agents/echo.py") as agent:
        session = await agent.new_session()
        print((await session.prompt("one two three")).text)
"""

import accord

agent = accord.Agent("echo", version="1.0")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """Say every word of the prompt."""
    for word in turn.text.split():
        await turn.say(f"{word} ")


if __name__ == "__main__":
    agent.run()
