"""MCP servers that a client hands to an agent."""

from typing import TYPE_CHECKING, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NullIsEmpty, Unknown, Untagged, Wire


class EnvVariable(Wire):
    """One name and value set for a process that is about to be started."""

    name: str
    value: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class HttpHeader(Wire):
    """Sent along with each call the agent makes to that MCP server."""

    name: str
    value: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class McpServerHttp(Wire, tag_field="type", tag="http"):
    """Server reached by URL; allowed only if the agent announced http."""

    name: str
    url: str
    headers: NullIsEmpty[list[HttpHeader]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class McpServerSse(Wire, tag_field="type", tag="sse"):
    """Deprecated transport; allowed only if the agent announced sse."""

    name: str
    url: str
    headers: NullIsEmpty[list[HttpHeader]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class McpServerStdio(Wire):
    """The agent starts the program and talks MCP over its stdin and stdout."""

    name: str
    command: str
    args: NullIsEmpty[list[str]]
    env: NullIsEmpty[list[EnvVariable]]
    meta: Lenient[Maybe[Metadata]] = UNSET


if TYPE_CHECKING:
    McpServer: TypeAlias = McpServerHttp | McpServerSse | McpServerStdio | Unknown
else:

    class McpServer(Untagged):
        """How the agent reaches one MCP server; only transports it supports may be given."""

        tag_field = "type"
        tagged = {"http": McpServerHttp, "sse": McpServerSse, "stdio": McpServerStdio}
        plain = (McpServerStdio,)
