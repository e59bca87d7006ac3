"""MCP servers that a client hands to an agent."""

from typing import TypeAlias

from accord.protocol.model import UNSET, Maybe, Metadata, Open, Wire


class HttpHeader(Wire):
    """Sent along with each call the agent makes to that MCP server."""

    name: str
    value: str
    meta: Maybe[Metadata] = UNSET


class McpServerHttp(Wire, tag_field="type", tag="http"):
    """Server reached by URL; allowed only if the agent announced http."""

    name: str
    url: str
    headers: list[HttpHeader]
    meta: Maybe[Metadata] = UNSET


class EnvVariable(Wire):
    """One name and value set for a process that is about to be started."""

    name: str
    value: str
    meta: Maybe[Metadata] = UNSET


class McpServerStdio(Wire, tag_field="type", tag="stdio"):
    """The agent starts the program and talks MCP over its stdin and stdout."""

    name: str
    command: str
    args: list[str]
    env: list[EnvVariable]
    meta: Maybe[Metadata] = UNSET


McpServer: TypeAlias = Open[McpServerHttp | McpServerStdio]
