"""Who is there and what each side can do, in the June draft: a marker is an object, and clients have none at all."""

from typing import Literal, TypeVar

import msgspec

from accord.protocol import v2_june
from accord.protocol.edition import V2_JUNE
from accord.protocol.model import UNSET, Maybe, Metadata, Unknown, UnsetType, Wire
from accord.session.ask import Initialize, Initialized, Login, Logout
from accord.session.capability import AgentCapabilities, AuthMethod, ClientCapabilities, Implementation
from accord.session.presence import given, told
from accord.session.unheard import payload_of

__all__ = [
    "initialize_in",
    "initialize_out",
    "initialized_in",
    "initialized_out",
    "login_in",
    "login_out",
    "logout_in",
    "logout_out",
]

W = TypeVar("W", bound=Wire)


def initialize_out(ask: Initialize) -> v2_june.InitializeRequest:
    """The client as it introduces itself; of its capabilities nothing but their metadata has a place."""
    return v2_june.InitializeRequest(
        V2_JUNE.version,
        v2_june.ClientCapabilities(ask.capabilities.meta or UNSET),
        _peer_out(ask.client),
        ask.meta or UNSET,
    )


def initialize_in(params: v2_june.InitializeRequest) -> Initialize:
    """Who the client is; it has no capabilities."""
    capabilities = ClientCapabilities(meta=params.capabilities.meta or None)
    return Initialize(_peer_in(params.client_info), capabilities, params.meta or None)


def initialized_out(answer: Initialized) -> v2_june.InitializeResponse:
    """The agent as it introduces itself. Sessions are always served; forks and MCP over SSE cannot be offered."""
    capabilities = answer.capabilities
    return v2_june.InitializeResponse(
        V2_JUNE.version,
        v2_june.AgentCapabilities(
            _session_out(capabilities),
            v2_june.AgentAuthCapabilities(_marker(v2_june.LogoutCapabilities, on=capabilities.logout)),
            capabilities.meta or UNSET,
        ),
        # A client cannot say that it has a terminal to log in with, and would take the method for a call.
        [_method_out(method) for method in capabilities.auth_methods if method.type != "terminal"],
        _peer_out(answer.agent),
        answer.meta or UNSET,
    )


def initialized_in(result: v2_june.InitializeResponse, _: Initialize) -> Initialized:
    """Who the agent is and what it serves; what has no marker it does not serve."""
    said = result.capabilities
    session = said.session or v2_june.SessionCapabilities()
    capabilities = AgentCapabilities(
        load=bool(session.load),
        resume=bool(session.resume),
        listing=bool(session.list),
        close=bool(session.close),
        delete=bool(session.delete),
        additional_directories=bool(session.additional_directories),
        prompts=_prompts_in(session.prompt),
        mcp=_mcp_in(session.mcp),
        logout=bool(said.auth.logout),
        auth_methods=[method for heard in result.auth_methods if (method := _method_in(heard)) is not None],
        meta=said.meta or None,
    )
    return Initialized(_peer_in(result.agent_info), capabilities, result.meta or None)


def login_out(ask: Login) -> v2_june.AuthenticateRequest:
    """The login by that method."""
    return v2_june.AuthenticateRequest(ask.method, ask.meta or UNSET)


def login_in(params: v2_june.AuthenticateRequest) -> Login:
    """The login by that method."""
    return Login(params.method_id, params.meta or None)


def logout_out(ask: Logout) -> v2_june.LogoutRequest:
    """The end of a login."""
    return v2_june.LogoutRequest(ask.meta or UNSET)


def logout_in(params: v2_june.LogoutRequest) -> Logout:
    """The end of a login."""
    return Logout(params.meta or None)


# ── peers ──


def _peer_out(peer: Implementation | None) -> v2_june.Implementation | UnsetType:
    if peer is None:
        return UNSET
    return v2_june.Implementation(peer.name, peer.version, given(peer.title), peer.meta or UNSET)


def _peer_in(info: Maybe[v2_june.Implementation]) -> Implementation | None:
    return Implementation(info.name, info.version, told(info.title), info.meta or None) if info else None


# ── capabilities ──


def _marker(kind: type[W], *, on: bool) -> W | UnsetType:
    return kind() if on else UNSET


def _session_out(capabilities: AgentCapabilities) -> v2_june.SessionCapabilities:
    return v2_june.SessionCapabilities(
        prompt=_prompts_out(capabilities),
        mcp=_mcp_out(capabilities),
        load=_marker(v2_june.SessionLoadCapabilities, on=capabilities.load),
        list=_marker(v2_june.SessionListCapabilities, on=capabilities.listing),
        delete=_marker(v2_june.SessionDeleteCapabilities, on=capabilities.delete),
        additional_directories=_marker(
            v2_june.SessionAdditionalDirectoriesCapabilities, on=capabilities.additional_directories
        ),
        resume=_marker(v2_june.SessionResumeCapabilities, on=capabilities.resume),
        close=_marker(v2_june.SessionCloseCapabilities, on=capabilities.close),
    )


def _prompts_out(capabilities: AgentCapabilities) -> v2_june.PromptCapabilities | UnsetType:
    if not capabilities.prompts:
        return UNSET
    return v2_june.PromptCapabilities(
        image=_marker(v2_june.PromptImageCapabilities, on="image" in capabilities.prompts),
        audio=_marker(v2_june.PromptAudioCapabilities, on="audio" in capabilities.prompts),
        embedded_context=_marker(v2_june.PromptEmbeddedContextCapabilities, on="resource" in capabilities.prompts),
    )


def _prompts_in(markers: Maybe[v2_june.PromptCapabilities]) -> frozenset[Literal["image", "audio", "resource"]]:
    if not markers:
        return frozenset()
    kinds: dict[Literal["image", "audio", "resource"], object] = {
        "image": markers.image,
        "audio": markers.audio,
        "resource": markers.embedded_context,
    }
    return frozenset(kind for kind, marker in kinds.items() if marker)


def _mcp_out(capabilities: AgentCapabilities) -> v2_june.McpCapabilities | UnsetType:
    if not capabilities.mcp & {"stdio", "http"}:
        return UNSET
    return v2_june.McpCapabilities(
        stdio=_marker(v2_june.McpStdioCapabilities, on="stdio" in capabilities.mcp),
        http=_marker(v2_june.McpHttpCapabilities, on="http" in capabilities.mcp),
    )


def _mcp_in(markers: Maybe[v2_june.McpCapabilities]) -> frozenset[Literal["stdio", "http", "sse"]]:
    if not markers:
        return frozenset()
    kinds: dict[Literal["stdio", "http", "sse"], object] = {"stdio": markers.stdio, "http": markers.http}
    return frozenset(kind for kind, marker in kinds.items() if marker)


# ── ways to log in ──


class _Further(Wire):
    """What every way to log in has, whatever its type."""

    type: str
    id: str
    name: str
    description: Maybe[str] = UNSET
    meta: Maybe[Metadata] = UNSET


def _method_out(method: AuthMethod) -> v2_june.AuthMethod:
    description, meta = given(method.description), method.meta or UNSET
    if method.type == "agent":
        return v2_june.AuthMethodAgent(method.id, method.name, description, meta)
    return Unknown(method.type, payload_of(_Further(method.type, method.id, method.name, description, meta)))


def _method_in(method: v2_june.AuthMethod) -> AuthMethod | None:
    if isinstance(method, v2_june.AuthMethodAgent):
        return AuthMethod(method.id, method.name, description=told(method.description), meta=method.meta or None)
    try:
        further = msgspec.convert(method.payload, _Further)
    except msgspec.ValidationError:
        # Not even a name: as the schema wants it for bad items, it is as if it were not there.
        return None
    return AuthMethod(further.id, further.name, further.type, told(further.description), meta=further.meta or None)
