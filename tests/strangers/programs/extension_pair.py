"""Extension methods both ways, and an agent that serves a transport of the author's own."""

import asyncio
from typing import Any

import accord
from accord.agent import Client, Extension, Turn

agent = accord.Agent("extended", version="1.0", store=None)
agent.advertise("example.org/sum", {"version": 1})


@agent.request("_sum")
async def add(call: Extension) -> dict[str, Any]:
    return {"sum": sum(call.params["numbers"])}


@agent.prompt
async def reply(turn: Turn) -> None:
    client: Client = turn.client
    theirs = await client.request("_name", {})
    await turn.say(f"{client.name} {theirs}")


def name_of(params: Any) -> str:
    return "Ada"


async def main() -> None:
    ours, theirs = accord.memory_pair()
    serving = asyncio.create_task(agent.serve(theirs))
    remote = accord.connect(ours, client_info=accord.Implementation("pair", "1.0"))
    remote.on_request("_name", name_of)
    async with remote:
        assert await remote.request("_sum", {"numbers": [1, 2]}) == {"sum": 3}
        assert remote.capabilities.meta == {"example.org/sum": {"version": 1}}
        session = await remote.new_session()
        assert (await session.prompt("Who are you?")).answer == "pair Ada"
    await serving


if __name__ == "__main__":
    asyncio.run(main())
