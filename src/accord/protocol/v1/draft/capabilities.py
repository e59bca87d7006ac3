"""What each side may use of the other; what is not here is not supported."""

from msgspec import field

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Wire
from accord.protocol.v1.capabilities import (
    AuthCapabilities,
    ClientSessionCapabilities,
    ElicitationCapabilities,
    FileSystemCapabilities,
    LogoutCapabilities,
    PromptCapabilities,
    SessionAdditionalDirectoriesCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
)


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
