"""An agent that uses the MCP servers of its client. Needs the extra `mcp`: pip install ".[mcp]" in a clone.

Name it in an editor's settings, beside a server,

    "agent_servers": {"Toolbox": {"type": "custom", "command": "python", "args": ["/path/to/mcp_tools.py"]}},
    "context_servers": {"sums": {"command": "python", "args": ["/path/to/mcp_server.py"]}}

and say: tools
or:      add {"a": 2, "b": 3}
"""

import json

import accord
from accord.agent.mcp import McpError, McpServers

agent = accord.Agent("toolbox", version="1.0", mcp=True)


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """List the tools, or call one of them."""
    servers = await turn.mcp()
    name, _, arguments = turn.text.strip().partition(" ")
    if name in {"", "tools"}:
        await turn.say("\n".join(f"- {tool.name}: {tool.description}" for tool in servers.tools) or "I have no tools.")
    else:
        await call(turn, servers, name, arguments or "{}")
    for failure in servers.failures:
        await turn.say(f"\n{failure.server} is not available: {failure.reason}")


async def call(turn: accord.agent.Turn, servers: McpServers, name: str, arguments: str) -> None:
    """Call a tool and show its result. Its content blocks, pictures too, are passed to the user unchanged."""
    try:
        given = json.loads(arguments)
    except json.JSONDecodeError:
        await turn.say(f"I need a JSON object behind the name: {name} {{...}}")
        return
    async with turn.tool(f"Call {name}", name=name, input=given) as tool:
        try:
            result = await servers.call(name, given, timeout_seconds=30)
        except McpError as error:
            raise accord.ToolFailed(str(error)) from error
        end = tool.fail if result.is_error else tool.complete
        await end(*result.content, output=result.structured)
    await turn.say(f"{name} failed." if tool.failed else f"{name} is done.")


if __name__ == "__main__":
    agent.run()
