"""The handshake and the login in v2: markers that are objects and count when they are there, even empty."""

from typing import Any, Literal, TypeVar

from accord.protocol import v2
from accord.protocol.edition import V2
from accord.protocol.model import UNSET, Unknown, UnsetType
from accord.protocol.v2 import draft
from accord.session.ask import Initialize, Initialized, Login, Logout
from accord.session.capability import AgentCapabilities, AuthMethod, ClientCapabilities, Implementation
from accord.session.presence import given, told

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

M = TypeVar("M")

NOBODY = "unknown"
"""The name and the version of who does not tell them: this edition requires both."""

PROMPTS: dict[Literal["image", "audio", "resource"], str] = {
    "image": "image",
    "audio": "audio",
    "resource": "embedded_context",
}
TRANSPORTS: tuple[Literal["stdio", "http"], ...] = ("stdio", "http")


def initialize_out(ask: Initialize) -> v2.InitializeRequest:
    """What a client says of itself. Files and terminals of its own have no words; notices and toggles need none."""
    return v2.InitializeRequest(
        V2.version, _peer_out(ask.client), _client_capabilities_out(ask.capabilities), ask.meta or UNSET
    )


def _client_capabilities_out(capabilities: ClientCapabilities) -> v2.ClientCapabilities:
    said = v2.ClientCapabilities(meta=capabilities.meta or UNSET)
    if capabilities.terminal_login:
        said.auth = v2.ClientAuthCapabilities(v2.TerminalAuthCapabilities())
    if capabilities.elicit_form or capabilities.elicit_url:
        said.elicitation = v2.ElicitationCapabilities(
            _marker(v2.ElicitationFormCapabilities, on=capabilities.elicit_form),
            _marker(v2.ElicitationUrlCapabilities, on=capabilities.elicit_url),
        )
    return said


def initialize_in(params: v2.InitializeRequest) -> Initialize:
    """What a client said of itself."""
    said = params.capabilities
    capabilities = ClientCapabilities(
        elicit_form=_has(said.elicitation, "form"),
        elicit_url=_has(said.elicitation, "url"),
        notices=True,
        compaction=True,
        toggles=True,
        terminal_login=_has(said.auth, "terminal"),
        meta=said.meta or None,
    )
    return Initialize(_peer_in(params.info), capabilities, params.meta or None)


def initialized_out(answer: Initialized) -> v2.InitializeResponse:
    """What an agent says of itself; only who can fork has the capabilities of the draft."""
    capabilities = answer.capabilities
    words: Any = draft if capabilities.fork else v2
    session = words.SessionCapabilities(
        _prompt_out(capabilities),
        _mcp_out(words, capabilities),
        _marker(v2.SessionDeleteCapabilities, on=capabilities.delete),
        _marker(v2.SessionAdditionalDirectoriesCapabilities, on=capabilities.additional_directories),
    )
    if capabilities.fork:
        session.fork = draft.SessionForkCapabilities()
    return v2.InitializeResponse(
        V2.version,
        _peer_out(answer.agent),
        words.AgentCapabilities(session, meta=capabilities.meta or UNSET),
        [_method_out(method) for method in capabilities.auth_methods] or UNSET,
        answer.meta or UNSET,
    )


def _prompt_out(capabilities: AgentCapabilities) -> v2.PromptCapabilities | UnsetType:
    if not capabilities.prompts:
        return UNSET
    return v2.PromptCapabilities(
        _marker(v2.PromptImageCapabilities, on="image" in capabilities.prompts),
        _marker(v2.PromptAudioCapabilities, on="audio" in capabilities.prompts),
        _marker(v2.PromptEmbeddedContextCapabilities, on="resource" in capabilities.prompts),
    )


def _mcp_out(words: Any, capabilities: AgentCapabilities) -> Any:
    # An `sse` is dropped: this edition has no such servers.
    if capabilities.mcp.isdisjoint(TRANSPORTS):
        return UNSET
    return words.McpCapabilities(
        _marker(v2.McpStdioCapabilities, on="stdio" in capabilities.mcp),
        _marker(v2.McpHttpCapabilities, on="http" in capabilities.mcp),
    )


def initialized_in(result: v2.InitializeResponse, _: Initialize) -> Initialized:
    """What an agent said of itself. Opening, listing and closing come with `session`, logging out with any method."""
    said = result.capabilities
    session = told(said.session)
    serves = session is not None
    methods = [heard for method in result.auth_methods or [] if (heard := _method_in(method)) is not None]
    capabilities = AgentCapabilities(
        load=serves,
        resume=serves,
        listing=serves,
        close=serves,
        delete=_has(session, "delete"),
        fork=_has(session, "fork"),
        additional_directories=_has(session, "additional_directories"),
        prompts=frozenset(kind for kind, key in PROMPTS.items() if _has(session and session.prompt, key)),
        mcp=frozenset(transport for transport in TRANSPORTS if _has(session and session.mcp, transport)),
        # v2 rule 18: whoever offers a method serves login and logout.
        logout=bool(methods),
        auth_methods=methods,
        meta=said.meta or None,
    )
    return Initialized(_peer_in(result.info), capabilities, result.meta or None)


def _method_out(method: AuthMethod) -> v2.AuthMethod:
    if method.type == "agent":
        return v2.AuthMethodAgent(method.id, method.name, given(method.description), method.meta or UNSET)
    if method.type == "terminal":
        return v2.AuthMethodTerminal(
            method.id,
            method.name,
            given(method.description),
            list(method.args),
            [v2.EnvVariable(name, value) for name, value in method.env.items()],
            method.meta or UNSET,
        )
    more = {"description": method.description, "_meta": method.meta}
    payload = {"type": method.type, "methodId": method.id, "name": method.name}
    return Unknown(method.type, payload | {key: value for key, value in more.items() if value})


def _method_in(method: v2.AuthMethod) -> AuthMethod | None:
    if isinstance(method, Unknown):
        return _further_method_in(method)
    description, meta = told(method.description), method.meta or None
    if isinstance(method, v2.AuthMethodAgent):
        return AuthMethod(method.method_id, method.name, "agent", description, meta=meta)
    env = {variable.name: variable.value for variable in method.env}
    return AuthMethod(method.method_id, method.name, "terminal", description, method.args, env, meta)


def _further_method_in(method: Unknown) -> AuthMethod | None:
    # Every method has an id and a name, of whatever type; what has none is a bad item of the list.
    payload = method.payload
    name, method_id, description, meta = (payload.get(key) for key in ("name", "methodId", "description", "_meta"))
    if not isinstance(name, str) or not isinstance(method_id, str):
        return None
    return AuthMethod(
        method_id,
        name,
        method.tag,
        description if isinstance(description, str) else None,
        meta=meta if isinstance(meta, dict) and meta else None,
    )


def _peer_out(peer: Implementation | None) -> v2.Implementation:
    if peer is None:
        return v2.Implementation(NOBODY, NOBODY)
    return v2.Implementation(peer.name, peer.version, given(peer.title), peer.meta or UNSET)


def _peer_in(info: v2.Implementation) -> Implementation | None:
    if info == v2.Implementation(NOBODY, NOBODY):
        return None
    return Implementation(info.name, info.version, told(info.title), info.meta or None)


def _marker(kind: type[M], *, on: bool) -> M | UnsetType:
    return kind() if on else UNSET


def _has(holder: object, name: str) -> bool:
    """Whether a marker is there; by name, because only the draft's types know all of them."""
    return told(getattr(holder, name, UNSET)) is not None


def login_out(ask: Login) -> v2.LoginAuthRequest:
    """Log in."""
    return v2.LoginAuthRequest(ask.method, ask.meta or UNSET)


def login_in(params: v2.LoginAuthRequest) -> Login:
    """Log in."""
    return Login(params.method_id, params.meta or None)


def logout_out(ask: Logout) -> v2.LogoutAuthRequest:
    """Log out."""
    return v2.LogoutAuthRequest(ask.meta or UNSET)


def logout_in(params: v2.LogoutAuthRequest) -> Logout:
    """Log out."""
    return Logout(params.meta or None)
