"""MCP servers that a client hands to an agent."""

from typing import TYPE_CHECKING, Any, TypeAlias

from accord.protocol.model import UNSET, Int32, Lenient, Maybe, Metadata, Omittable, Unknown, Untagged, Wire
from accord.protocol.v1.draft.ids import McpRequestId, McpServerAcpId
from accord.protocol.v1.mcp import McpServerHttp, McpServerSse, McpServerStdio


class MessageMcpRequest(Wire):
    """Carries one MCP call to a server hosted on the other side of this connection."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    method: str
    params: Maybe[Metadata] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class McpServerAcp(Wire, tag_field="type", tag="acp"):
    """Server on the far side of this connection, spoken to by mcp/message."""

    name: str
    server_id: McpServerAcpId
    meta: Lenient[Maybe[Metadata]] = UNSET


if TYPE_CHECKING:
    McpServer: TypeAlias = McpServerHttp | McpServerSse | McpServerAcp | McpServerStdio | Unknown
else:

    class McpServer(Untagged):
        """How the agent reaches one MCP server; only transports it supports may be given."""

        tag_field = "type"
        tagged = {"http": McpServerHttp, "sse": McpServerSse, "acp": McpServerAcp, "stdio": McpServerStdio}
        plain = (McpServerStdio,)


class McpError(Wire):
    """Failure inside MCP; the code is MCP's."""

    code: Int32
    message: str
    data: Any = UNSET


class MessageMcpResponse(Wire):
    """Holds MCP's own result or error; an ACP error would mean the routing failed."""

    result: Any = UNSET
    error: Omittable[McpError] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class MessageMcpNotification(Wire):
    """From the MCP host about an inner request that is still running."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    method: str
    params: Maybe[Metadata] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
