"""A small MCP server for `mcp_tools.py`: one tool that always works and one that can fail, over stdio."""

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("sums", log_level="ERROR")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def divide(a: int, b: int) -> float:
    """Divides a number by another."""
    if b == 0:
        raise ToolError("division by zero")
    return a / b


if __name__ == "__main__":
    server.run()
