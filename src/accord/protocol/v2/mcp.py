"""MCP servers that a client hands to an agent."""

from typing import TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NullIsEmpty, Open, Wire
from accord.protocol.v2.ids import AbsolutePath


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
    headers: NullIsEmpty[list[HttpHeader]] = []
    meta: Lenient[Maybe[Metadata]] = UNSET


class McpServerStdio(Wire, tag_field="type", tag="stdio"):
    """The agent starts the program and talks MCP over its stdin and stdout."""

    name: str
    command: AbsolutePath
    args: NullIsEmpty[list[str]] = []
    env: NullIsEmpty[list[EnvVariable]] = []
    meta: Lenient[Maybe[Metadata]] = UNSET


McpServer: TypeAlias = Open[McpServerHttp | McpServerStdio]
