"""What each side may use of the other; what is not here is not supported."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Wire
from accord.protocol.v2.capabilities import (
    McpHttpCapabilities,
    McpStdioCapabilities,
    PromptCapabilities,
    SessionAdditionalDirectoriesCapabilities,
    SessionDeleteCapabilities,
)


class McpAcpCapabilities(Wire):
    """Present (even empty) means: MCP servers may be hosted across this connection."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class McpCapabilities(Wire):
    """MCP transports the agent can use; v1 does not list stdio, as it always works there."""

    stdio: Lenient[Maybe[McpStdioCapabilities]] = UNSET
    http: Lenient[Maybe[McpHttpCapabilities]] = UNSET
    acp: Lenient[Maybe[McpAcpCapabilities]] = UNSET
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


class AuthStatusCapabilities(Wire):
    """Present (even empty) means: auth/status may be called and updates may come."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentAuthCapabilities(Wire):
    """Login extras of the agent; says nothing about which login methods exist."""

    status: Lenient[Maybe[AuthStatusCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ProvidersCapabilities(Wire):
    """Present (even empty) means: LLM providers may be listed, set and disabled."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentCapabilities(Wire):
    """What the agent can do beyond the baseline; whatever is left out must not be used."""

    session: Lenient[Maybe[SessionCapabilities]] = UNSET
    auth: Lenient[Maybe[AgentAuthCapabilities]] = UNSET
    providers: Lenient[Maybe[ProvidersCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionCancelCapabilities(Wire):
    """Present (even empty) means: the child's work can be cancelled, its session stays."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SubagentSessionCapabilities(Wire):
    """What the client may do to this child; support elsewhere does not count here."""

    cancel: Lenient[Maybe[SessionCancelCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
