"""Unstable extras of a connection: capabilities, login state, MCP over the connection, providers, proxies."""

from typing import TYPE_CHECKING, TypeAlias

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
from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Sieved, Unknown, Untagged, Wire
from accord.protocol.v1.connection import (
    AuthCapabilities,
    AuthMethod,
    ClientSessionCapabilities,
    ElicitationCapabilities,
    FileSystemCapabilities,
    Implementation,
    LogoutCapabilities,
    PromptCapabilities,
    ProtocolVersion,
    SessionAdditionalDirectoriesCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
)
from accord.protocol.v1.session import McpServerHttp, McpServerSse, McpServerStdio

# --- identifiers

PlanId: TypeAlias = str


# --- capabilities


class McpCapabilities(Wire):
    """MCP transports the agent can use; v1 does not list stdio, as it always works there."""

    http: Lenient[bool] = False
    sse: Lenient[bool] = False
    acp: Lenient[bool] = False
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionCapabilities(Wire):
    """Session features the agent offers; each one left out counts as missing."""

    list: Lenient[Maybe[SessionListCapabilities]] = UNSET
    delete: Lenient[Maybe[SessionDeleteCapabilities]] = UNSET
    additional_directories: Lenient[Maybe[SessionAdditionalDirectoriesCapabilities]] = UNSET
    system_prompt: Lenient[Maybe[SessionSystemPromptCapabilities]] = UNSET
    fork: Lenient[Maybe[SessionForkCapabilities]] = UNSET
    archive: Lenient[Maybe[SessionArchiveCapabilities]] = UNSET
    status: Lenient[Maybe[SessionStatusCapabilities]] = UNSET
    title: Lenient[Maybe[SessionTitleCapabilities]] = UNSET
    resume: Lenient[Maybe[SessionResumeCapabilities]] = UNSET
    close: Lenient[Maybe[SessionCloseCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentAuthCapabilities(Wire):
    """Login extras of the agent; says nothing about which login methods exist."""

    status: Lenient[Maybe[AuthStatusCapabilities]] = UNSET
    logout: Lenient[Maybe[LogoutCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentCapabilities(Wire):
    """The capabilities of the agent beyond the baseline; one that is left out must not be used."""

    load_session: Lenient[bool] = False
    prompt_capabilities: Lenient[PromptCapabilities] = field(default_factory=PromptCapabilities)
    mcp_capabilities: Lenient[McpCapabilities] = field(default_factory=McpCapabilities)
    session_capabilities: Lenient[SessionCapabilities] = field(default_factory=SessionCapabilities)
    auth: Lenient[AgentAuthCapabilities] = field(default_factory=AgentAuthCapabilities)
    providers: Lenient[Maybe[ProvidersCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SubagentCapabilities(Wire):
    """Present (even empty) means: child sessions and their messages may be reported."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class PlanCapabilities(Wire):
    """Present (even empty) means: plans with ids may be sent and removed."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ClientCapabilities(Wire):
    """The capabilities of the client; one that is left out must not be used."""

    fs: Lenient[FileSystemCapabilities] = field(default_factory=FileSystemCapabilities)
    terminal: Lenient[bool] = False
    session: Lenient[Maybe[ClientSessionCapabilities]] = UNSET
    subagents: Lenient[Maybe[SubagentCapabilities]] = UNSET
    plan: Lenient[Maybe[PlanCapabilities]] = UNSET
    auth: Lenient[AuthCapabilities] = field(default_factory=AuthCapabilities)
    elicitation: Lenient[Maybe[ElicitationCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- handshake


class InitializeResponse(Wire):
    """Fixes the version of the connection; a client that cannot speak it should leave."""

    protocol_version: ProtocolVersion
    agent_capabilities: Lenient[AgentCapabilities] = field(default_factory=AgentCapabilities)
    auth_methods: Lenient[Sieved[list[AuthMethod]]] = []
    agent_info: Lenient[Maybe[Implementation]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class InitializeRequest(Wire):
    """First call on a connection; names the newest version the client speaks."""

    protocol_version: ProtocolVersion
    client_capabilities: Lenient[ClientCapabilities] = field(default_factory=ClientCapabilities)
    client_info: Lenient[Maybe[Implementation]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


InitializeProxyRequest: TypeAlias = InitializeRequest
InitializeProxyResponse: TypeAlias = InitializeResponse


# --- MCP servers


if TYPE_CHECKING:
    McpServer: TypeAlias = McpServerHttp | McpServerSse | McpServerAcp | McpServerStdio | Unknown
else:

    class McpServer(Untagged):
        """How the agent reaches one MCP server; only transports it supports may be given."""

        tag_field = "type"
        tagged = {"http": McpServerHttp, "sse": McpServerSse, "acp": McpServerAcp, "stdio": McpServerStdio}
        plain = (McpServerStdio,)


# --- proxies
