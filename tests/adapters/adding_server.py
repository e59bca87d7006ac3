"""An MCP server with one tool."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("sums")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


server.run()
