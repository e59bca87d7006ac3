"""Unstable extras of a connection: capabilities, login state, MCP over the connection, providers, proxies."""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import field

from accord.protocol.model import UNSET, Int32, Lenient, Maybe, Metadata, Omittable, Sieved, Unknown, Untagged, Wire
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

McpServerAcpId: TypeAlias = str
McpRequestId: TypeAlias = str
ProviderId: TypeAlias = str
PlanId: TypeAlias = str


# --- capabilities


class McpCapabilities(Wire):
    """MCP transports the agent can use; v1 does not list stdio, as it always works there."""

    http: Lenient[bool] = False
    sse: Lenient[bool] = False
    acp: Lenient[bool] = False
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionSystemPromptOverrideCapabilities(Wire):
    """Present (even empty) means: the client may displace the agent's default prompt."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionSystemPromptModeCapabilities(Wire):
    """Modes besides append, which is always there and has no entry."""

    override: Lenient[Maybe[SessionSystemPromptOverrideCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionSystemPromptCapabilities(Wire):
    """Present (even empty) means: systemPrompt is taken, at least in append mode."""

    mode: Lenient[Maybe[SessionSystemPromptModeCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionForkCapabilities(Wire):
    """Present (even empty) means: session/fork may be called."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionArchiveCapabilities(Wire):
    """Present (even empty) means: archiving, unarchiving and the list filter all work."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionStatusCapabilities(Wire):
    """Present (even empty) means: session/status may be called."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionTitleCapabilities(Wire):
    """Present (even empty) means: the client may set titles; reading them needs no marker."""

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


class AuthStatusCapabilities(Wire):
    """Present (even empty) means: auth/status may be called and updates may come."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentAuthCapabilities(Wire):
    """Login extras of the agent; says nothing about which login methods exist."""

    status: Lenient[Maybe[AuthStatusCapabilities]] = UNSET
    logout: Lenient[Maybe[LogoutCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ProvidersCapabilities(Wire):
    """Present (even empty) means: LLM providers may be listed, set and disabled."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentCapabilities(Wire):
    """What the agent can do beyond the baseline; whatever is left out must not be used."""

    load_session: Lenient[bool] = False
    prompt_capabilities: Lenient[PromptCapabilities] = field(default_factory=PromptCapabilities)
    mcp_capabilities: Lenient[McpCapabilities] = field(default_factory=McpCapabilities)
    session_capabilities: Lenient[SessionCapabilities] = field(default_factory=SessionCapabilities)
    auth: Lenient[AgentAuthCapabilities] = field(default_factory=AgentAuthCapabilities)
    providers: Lenient[Maybe[ProvidersCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionCancelCapabilities(Wire):
    """Present (even empty) means: the child's work can be cancelled, its session stays."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SubagentSessionCapabilities(Wire):
    """What the client may do to this child; support elsewhere does not count here."""

    cancel: Lenient[Maybe[SessionCancelCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SubagentCapabilities(Wire):
    """Present (even empty) means: child sessions and their messages may be reported."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class PlanCapabilities(Wire):
    """Present (even empty) means: plans with ids may be sent and removed."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ClientCapabilities(Wire):
    """What the client can do for the agent; whatever is left out must not be used."""

    fs: Lenient[FileSystemCapabilities] = field(default_factory=FileSystemCapabilities)
    terminal: Lenient[bool] = False
    session: Lenient[Maybe[ClientSessionCapabilities]] = UNSET
    subagents: Lenient[Maybe[SubagentCapabilities]] = UNSET
    plan: Lenient[Maybe[PlanCapabilities]] = UNSET
    auth: Lenient[AuthCapabilities] = field(default_factory=AuthCapabilities)
    elicitation: Lenient[Maybe[ElicitationCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- login and logout

AuthState: TypeAlias = Literal["authenticated", "unauthenticated", "not_required", "unknown"] | str


class AuthAccount(Wire):
    """For display only: not a stable key, and better kept out of logs."""

    label: str
    active: Lenient[Maybe[bool]] = UNSET
    name: Lenient[Maybe[str]] = UNSET
    email: Lenient[Maybe[str]] = UNSET
    organization: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthStatusResponse(Wire):
    """Act on state alone; accounts are only there to be shown."""

    state: AuthState
    accounts: Lenient[Omittable[Sieved[list[AuthAccount]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthStatusUpdateNotification(Wire):
    """From the agent when its login state changed; fields as in the auth/status result."""

    state: AuthState
    accounts: Lenient[Omittable[Sieved[list[AuthAccount]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AuthStatusRequest(Wire):
    """Asks without changing anything; never refused for want of a login."""

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


# --- providers

LlmProtocol: TypeAlias = Literal["anthropic", "openai", "azure", "vertex", "bedrock"] | str


class ProviderCurrentConfig(Wire):
    """Where model calls go at present; headers are left out since they may be secret."""

    api_type: LlmProtocol
    base_url: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class ProviderInfo(Wire):
    """current absent or null means switched off; required ones cannot be switched off."""

    provider_id: ProviderId
    supported: Lenient[Sieved[list[LlmProtocol]]]
    required: bool
    current: Maybe[ProviderCurrentConfig] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ListProvidersResponse(Wire):
    """Every provider that can be set up, also those switched off at present."""

    providers: list[ProviderInfo]
    meta: Lenient[Maybe[Metadata]] = UNSET


class SetProviderResponse(Wire):
    """Empty; the old setup of that provider is gone."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class DisableProviderResponse(Wire):
    """Empty; the provider is then listed without a current setup."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ListProvidersRequest(Wire):
    """Asks what can be set up and where each provider points now."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SetProviderRequest(Wire):
    """Replaces the provider's setup as a whole; headers may hold secrets."""

    provider_id: ProviderId
    api_type: LlmProtocol
    base_url: str
    headers: Omittable[dict[str, str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class DisableProviderRequest(Wire):
    """Switches one provider off; not allowed where required is true."""

    provider_id: ProviderId
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- proxies


class ProxySuccessorRequest(Wire):
    """Envelope for one call to or from the next component; the content is left untouched."""

    method: str
    params: Any = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


ProxySuccessorResponse: TypeAlias = Any


class ProxySuccessorNotification(Wire):
    """Envelope for one notification to or from the next component; no answer follows."""

    method: str
    params: Any = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
