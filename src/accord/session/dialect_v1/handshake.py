"""The handshake in v1: who is there, which abilities are which capabilities, and the ways to log in.

What an agent's client cannot do (a login in a terminal) is the agent's to leave out: nothing here knows both sides.
"""

from typing import Any, assert_never

from accord.protocol import v1
from accord.protocol.model import UNSET, Maybe, Unknown, UnsetType
from accord.protocol.v1 import draft
from accord.session.ability import AgentAbilities, AuthMethod, ClientAbilities, Peer
from accord.session.ask import Initialize, Initialized, Login, Logout
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

VERSION = 1

MARKERS: dict[str, tuple[str, type[Any]]] = {
    "listing": ("list", v1.SessionListCapabilities),
    "delete": ("delete", v1.SessionDeleteCapabilities),
    "extra_roots": ("additional_directories", v1.SessionAdditionalDirectoriesCapabilities),
    "fork": ("fork", draft.SessionForkCapabilities),
    "resume": ("resume", v1.SessionResumeCapabilities),
    "close": ("close", v1.SessionCloseCapabilities),
}
"""By ability: the field among the session's capabilities, and the object whose presence is the capability."""


# --- who


def _peer_out(peer: Peer | None) -> v1.Implementation | UnsetType:
    if peer is None:
        return UNSET
    return v1.Implementation(peer.name, peer.version, given(peer.title), peer.meta or UNSET)


def _peer_in(info: Maybe[v1.Implementation]) -> Peer | None:
    return Peer(info.name, info.version, told(info.title), info.meta or None) if info else None


# --- what the client can do


def initialize_out(ask: Initialize) -> v1.InitializeRequest:
    """The request; of a client's abilities only those that are there are said."""
    return v1.InitializeRequest(VERSION, _client_out(ask.abilities), _peer_out(ask.client), meta=ask.meta or UNSET)


def _client_out(abilities: ClientAbilities) -> v1.ClientCapabilities:
    return v1.ClientCapabilities(
        fs=v1.FileSystemCapabilities(abilities.read_files, abilities.write_files),
        terminal=abilities.terminals,
        session=_news_out(abilities),
        auth=v1.AuthCapabilities(abilities.terminal_login),
        elicitation=_elicitation_out(abilities),
        meta=abilities.meta or UNSET,
    )


def _news_out(abilities: ClientAbilities) -> v1.ClientSessionCapabilities | UnsetType:
    if not (abilities.compaction or abilities.toggles or abilities.notices):
        return UNSET
    toggles = v1.SessionConfigOptionsCapabilities(v1.BooleanConfigOptionCapabilities())
    return v1.ClientSessionCapabilities(
        v1.CompactionCapabilities() if abilities.compaction else UNSET,
        toggles if abilities.toggles else UNSET,
        v1.NoticeCapabilities() if abilities.notices else UNSET,
    )


def _elicitation_out(abilities: ClientAbilities) -> v1.ElicitationCapabilities | UnsetType:
    if not (abilities.elicit_form or abilities.elicit_url):
        return UNSET
    return v1.ElicitationCapabilities(
        v1.ElicitationFormCapabilities() if abilities.elicit_form else UNSET,
        v1.ElicitationUrlCapabilities() if abilities.elicit_url else UNSET,
    )


def initialize_in(params: v1.InitializeRequest) -> Initialize:
    """Who the client is, and what it can do."""
    return Initialize(_peer_in(params.client_info), _client_in(params.client_capabilities), params.meta or None)


def _client_in(said: v1.ClientCapabilities) -> ClientAbilities:
    news = said.session or v1.ClientSessionCapabilities()
    elicitation = said.elicitation or v1.ElicitationCapabilities()
    return ClientAbilities(
        read_files=said.fs.read_text_file,
        write_files=said.fs.write_text_file,
        terminals=said.terminal,
        elicit_form=bool(elicitation.form),
        elicit_url=bool(elicitation.url),
        notices=bool(news.notices),
        compaction=bool(news.compaction),
        toggles=bool(news.config_options and news.config_options.boolean),
        terminal_login=said.auth.terminal,
        meta=said.meta or None,
    )


# --- what the agent serves


def initialized_out(answer: Initialized) -> v1.InitializeResponse:
    """The answer; a login of a kind that v1 does not name is left out, because it would be taken for a plain one."""
    abilities = answer.abilities
    return v1.InitializeResponse(
        VERSION,
        _agent_out(abilities),
        [said for method in abilities.auth_methods if (said := _method_out(method)) is not None],
        _peer_out(answer.agent),
        answer.meta or UNSET,
    )


def _agent_out(abilities: AgentAbilities) -> v1.AgentCapabilities:
    prompts, mcp = abilities.prompts, abilities.mcp
    return v1.AgentCapabilities(
        load_session=abilities.load,
        prompt_capabilities=v1.PromptCapabilities("image" in prompts, "audio" in prompts, "resource" in prompts),
        mcp_capabilities=v1.McpCapabilities("http" in mcp, "sse" in mcp),
        session_capabilities=_session_out(abilities),
        auth=v1.AgentAuthCapabilities(v1.LogoutCapabilities() if abilities.logout else UNSET),
        meta=abilities.meta or UNSET,
    )


def _session_out(abilities: AgentAbilities) -> v1.SessionCapabilities:
    # Only the draft has a place for `fork`; for everything else its class is the same.
    kind: Any = draft.SessionCapabilities if abilities.fork else v1.SessionCapabilities
    markers = {name: marker() for ability, (name, marker) in MARKERS.items() if getattr(abilities, ability)}
    capabilities: v1.SessionCapabilities = kind(**markers)
    return capabilities


def initialized_in(result: v1.InitializeResponse, _: object) -> Initialized:
    """Who the agent is, and what it serves."""
    abilities = _agent_in(result.agent_capabilities, [_method_in(method) for method in result.auth_methods])
    return Initialized(_peer_in(result.agent_info), abilities, result.meta or None)


def _agent_in(said: v1.AgentCapabilities, methods: list[AuthMethod]) -> AgentAbilities:
    prompts, mcp = said.prompt_capabilities, said.mcp_capabilities
    blocks = {"image": prompts.image, "audio": prompts.audio, "resource": prompts.embedded_context}
    transports = {"stdio": True, "http": mcp.http, "sse": mcp.sse}
    markers: Any = {
        ability: bool(getattr(said.session_capabilities, name, None)) for ability, (name, _) in MARKERS.items()
    }
    return AgentAbilities(
        load=said.load_session,
        prompts=_those(blocks),
        mcp=_those(transports),
        logout=bool(said.auth.logout),
        auth_methods=methods,
        meta=said.meta or None,
        **markers,
    )


def _those(names: dict[str, bool]) -> frozenset[Any]:
    return frozenset(name for name, there in names.items() if there)


# --- logging in and out


def _method_out(method: AuthMethod) -> v1.AuthMethod | None:
    description, meta = given(method.description), method.meta or UNSET
    match method.type:
        case "agent":
            return v1.AuthMethodAgent(method.id, method.name, description, meta)
        case "terminal":
            return v1.AuthMethodTerminal(method.id, method.name, description, method.args, method.env, meta)
        case _:
            return None


def _method_in(method: v1.AuthMethod) -> AuthMethod:
    match method:
        case v1.AuthMethodAgent():
            return AuthMethod(method.id, method.name, description=told(method.description), meta=method.meta or None)
        case v1.AuthMethodTerminal():
            description, meta = told(method.description), method.meta or None
            return AuthMethod(method.id, method.name, "terminal", description, method.args, method.env, meta)
        case Unknown():
            words = {key: value for key, value in method.payload.items() if isinstance(value, str)}
            return AuthMethod(words.get("id", ""), words.get("name", ""), method.tag, words.get("description"))
        case _:
            assert_never(method)


def login_out(ask: Login) -> v1.AuthenticateRequest:
    """Log in by a method's id."""
    return v1.AuthenticateRequest(ask.method, ask.meta or UNSET)


def login_in(params: v1.AuthenticateRequest) -> Login:
    """Log in by a method's id."""
    return Login(params.method_id, params.meta or None)


def logout_out(ask: Logout) -> v1.LogoutRequest:
    """Forget the login."""
    return v1.LogoutRequest(ask.meta or UNSET)


def logout_in(params: v1.LogoutRequest) -> Logout:
    """Forget the login."""
    return Logout(params.meta or None)
