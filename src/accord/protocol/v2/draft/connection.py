"""Unstable extras of a connection: capabilities, login state, MCP over the connection, providers, proxies."""

from typing import TypeAlias

from msgspec import field

from accord.protocol.draft_types import (
    AuthStatusCapabilities,
    McpServerAcp,
    ProvidersCapabilities,
    SessionArchiveCapabilities,
    SessionForkCapabilities,
    SessionStatusCapabilities,
    SessionSystemPromptCapabilities,
    SessionTitleCapabilities,
)
from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Omittable, Open, Sieved, Wire
from accord.protocol.v2.connection import (
    AuthMethod,
    Implementation,
    InitializeRequest,
    McpHttpCapabilities,
    McpStdioCapabilities,
    PromptCapabilities,
    ProtocolVersion,
    SessionAdditionalDirectoriesCapabilities,
    SessionDeleteCapabilities,
)
from accord.protocol.v2.session import McpServerHttp, McpServerStdio

# --- capabilities


class McpAcpCapabilities(Wire):
    """Present (even empty) means: MCP servers may be hosted across this connection."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class McpCapabilities(Wire):
    """MCP transports the agent can use; v1 does not list stdio, as it always works there."""

    stdio: Lenient[Maybe[McpStdioCapabilities]] = UNSET
    http: Lenient[Maybe[McpHttpCapabilities]] = UNSET
    acp: Lenient[Maybe[McpAcpCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionCapabilities(Wire):
    """Session features the agent offers; each one left out counts as missing."""

    prompt: Lenient[Maybe[PromptCapabilities]] = UNSET
    mcp: Lenient[Maybe[McpCapabilities]] = UNSET
    delete: Lenient[Maybe[SessionDeleteCapabilities]] = UNSET
    additional_directories: Lenient[Maybe[SessionAdditionalDirectoriesCapabilities]] = UNSET
    system_prompt: Lenient[Maybe[SessionSystemPromptCapabilities]] = UNSET
    fork: Lenient[Maybe[SessionForkCapabilities]] = UNSET
    archive: Lenient[Maybe[SessionArchiveCapabilities]] = UNSET
    status: Lenient[Maybe[SessionStatusCapabilities]] = UNSET
    title: Lenient[Maybe[SessionTitleCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentAuthCapabilities(Wire):
    """Login extras of the agent; says nothing about which login methods exist."""

    status: Lenient[Maybe[AuthStatusCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentCapabilities(Wire):
    """The capabilities of the agent beyond the baseline; one that is left out must not be used."""

    session: Lenient[Maybe[SessionCapabilities]] = UNSET
    auth: Lenient[Maybe[AgentAuthCapabilities]] = UNSET
    providers: Lenient[Maybe[ProvidersCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- handshake


class InitializeResponse(Wire):
    """Fixes the version of the connection; a client that cannot speak it should leave."""

    protocol_version: ProtocolVersion
    info: Implementation
    capabilities: Lenient[AgentCapabilities] = field(default_factory=AgentCapabilities)
    auth_methods: Lenient[Omittable[Sieved[list[AuthMethod]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


InitializeProxyRequest: TypeAlias = InitializeRequest
InitializeProxyResponse: TypeAlias = InitializeResponse


# --- MCP servers


McpServer: TypeAlias = Open[McpServerHttp | McpServerAcp | McpServerStdio]


# --- proxies
