"""The objects for handlers without `async`: counterparts of the async ones, with methods that block.

Every class here has the names and the signatures of its counterpart; a test compares them. A verb may be used in the
handler's thread and in threads that it starts, never on the event loop's. When the turn is cancelled, the verb that is
being waited for and every later one raise `asyncio.CancelledError`. That is no `Exception`, so that a handler which
catches those, as sync code does around most of its calls, still ends; and it is the same class that handlers with
`async` get.
"""

from accord.agent.blocking.services import (
    BlockingFiles,
    BlockingMcpServers,
    BlockingMcpTool,
    BlockingTerminal,
    BlockingTerminals,
)
from accord.agent.blocking.session import BlockingClient, BlockingExtension, BlockingSession
from accord.agent.blocking.tool import BlockingTool
from accord.agent.blocking.turn import BlockingCompaction, BlockingTurn

__all__ = [
    "BlockingClient",
    "BlockingCompaction",
    "BlockingExtension",
    "BlockingFiles",
    "BlockingMcpServers",
    "BlockingMcpTool",
    "BlockingSession",
    "BlockingTerminal",
    "BlockingTerminals",
    "BlockingTool",
    "BlockingTurn",
]
