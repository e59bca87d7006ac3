"""Types that the unstable texts of v1 and v2 have in common: capabilities, login state, MCP over ACP, providers.

A type that names another one of its edition is in that edition's `draft` package.
"""

from typing import Any, Literal, TypeAlias

from accord.protocol.model import UNSET, Int32, Lenient, Maybe, Metadata, Omittable, Sieved, UInt64, Wire

# --- identifiers

McpServerAcpId: TypeAlias = str
McpRequestId: TypeAlias = str
ProviderId: TypeAlias = str


# --- capabilities


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


class AuthStatusCapabilities(Wire):
    """Present (even empty) means: auth/status may be called and updates may come."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ProvidersCapabilities(Wire):
    """Present (even empty) means: LLM providers may be listed, set and disabled."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionCancelCapabilities(Wire):
    """Present (even empty) means: the child's work can be cancelled, its session stays."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SubagentSessionCapabilities(Wire):
    """The operations that the client may use on this child; support elsewhere does not count here."""

    cancel: Lenient[Maybe[SessionCancelCapabilities]] = UNSET
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


# --- usage


class Usage(Wire):
    """Tokens spent on the work just finished, not the session's total."""

    total_tokens: UInt64
    input_tokens: UInt64
    output_tokens: UInt64
    thought_tokens: Lenient[Maybe[UInt64]] = UNSET
    cached_read_tokens: Lenient[Maybe[UInt64]] = UNSET
    cached_write_tokens: Lenient[Maybe[UInt64]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- sessions


class ArchiveSessionResponse(Wire):
    """Empty; also given if the session had been archived before."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class UnarchiveSessionResponse(Wire):
    """Empty; the session is listed again but not loaded."""

    meta: Lenient[Maybe[Metadata]] = UNSET


SessionStatus: TypeAlias = Literal["open", "saved"] | str


class SetSessionTitleResponse(Wire):
    """title is what was stored and should be shown; it may differ from the one sent."""

    title: str
    meta: Lenient[Maybe[Metadata]] = UNSET


SystemPromptMode: TypeAlias = Literal["append", "override"] | str
SessionArchiveFilter: TypeAlias = Literal["exclude", "include", "only"] | str
