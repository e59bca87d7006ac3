"""The MCP servers that the client gave, for authors of agents: their tools as callables, and their failures.

Only `open_servers` imports the `mcp` package, when there is a server to open.
"""

from accord.agent.mcp.servers import McpServers, open_servers
from accord.agent.mcp.tool import (
    AmbiguousTool,
    McpCallRefused,
    McpCallTimeout,
    McpError,
    McpFailure,
    McpNonsense,
    McpResult,
    McpServerLost,
    McpTool,
    NoSuchTool,
)

__all__ = [
    "AmbiguousTool",
    "McpCallRefused",
    "McpCallTimeout",
    "McpError",
    "McpFailure",
    "McpNonsense",
    "McpResult",
    "McpServerLost",
    "McpServers",
    "McpTool",
    "NoSuchTool",
    "open_servers",
]
