"""The handshake and the login in v2: markers that are objects and count when they are there, even empty."""

from typing import Any

from accord.protocol import v2
from accord.protocol.edition import V2
from accord.protocol.model import UNSET, Unknown
from accord.protocol.v2 import draft
from accord.session.capability import AgentCapabilities, AuthMethod, ClientCapabilities, Implementation
from accord.session.client_requests import Initialize, Initialized
from accord.session.editions.shared.bindings import (
    decode_implementation,
    decode_mcp,
    decode_prompts,
    encode_implementation,
    encode_mcp,
    encode_prompts,
    has,
    marker,
)
from accord.session.unset import or_none, or_unset

__all__ = ["decode_initialize", "decode_initialized", "encode_initialize", "encode_initialized"]

UNNAMED = "unknown"
"""The name and the version of a peer that gives none: this edition requires both."""


def encode_initialize(request: Initialize) -> v2.InitializeRequest:
    """The capabilities of a client: it has no files and terminals in v2, and notices and toggles need no capability."""
    return v2.InitializeRequest(
        V2.version, _encode_peer(request.client), _encode_client(request.capabilities), request.meta or UNSET
    )


def _encode_client(capabilities: ClientCapabilities) -> v2.ClientCapabilities:
    declared = v2.ClientCapabilities(meta=capabilities.meta or UNSET)
    if capabilities.terminal_login:
        declared.auth = v2.ClientAuthCapabilities(v2.TerminalAuthCapabilities())
    if capabilities.elicit_form or capabilities.elicit_url:
        declared.elicitation = v2.ElicitationCapabilities(
            marker(v2.ElicitationFormCapabilities, on=capabilities.elicit_form),
            marker(v2.ElicitationUrlCapabilities, on=capabilities.elicit_url),
        )
    return declared


def decode_initialize(params: v2.InitializeRequest) -> Initialize:
    declared = params.capabilities
    capabilities = ClientCapabilities(
        elicit_form=has(declared.elicitation, "form"),
        elicit_url=has(declared.elicitation, "url"),
        notices=True,
        compaction=True,
        toggles=True,
        terminal_login=has(declared.auth, "terminal"),
        meta=declared.meta or None,
    )
    return Initialize(_decode_peer(params.info), capabilities, params.meta or None)


def encode_initialized(answer: Initialized) -> v2.InitializeResponse:
    """The capabilities of an agent; only an agent that can fork has those of the draft."""
    capabilities = answer.capabilities
    types: Any = draft if capabilities.fork else v2
    session = types.SessionCapabilities(
        encode_prompts(v2, capabilities),
        encode_mcp(v2, capabilities, kind=types.McpCapabilities),
        marker(v2.SessionDeleteCapabilities, on=capabilities.delete),
        marker(v2.SessionAdditionalDirectoriesCapabilities, on=capabilities.additional_directories),
    )
    if capabilities.fork:
        session.fork = draft.SessionForkCapabilities()
    return v2.InitializeResponse(
        V2.version,
        _encode_peer(answer.agent),
        types.AgentCapabilities(session, meta=capabilities.meta or UNSET),
        [_encode_method(method) for method in capabilities.auth_methods] or UNSET,
        answer.meta or UNSET,
    )


def decode_initialized(result: v2.InitializeResponse, _: Initialize) -> Initialized:
    """The capabilities of an agent. Opening, listing and closing come with `session`, logging out with any method."""
    declared = result.capabilities
    session = or_none(declared.session)
    serves = session is not None
    methods = [decoded for method in result.auth_methods or [] if (decoded := _decode_method(method)) is not None]
    capabilities = AgentCapabilities(
        load=serves,
        resume=serves,
        listing=serves,
        close=serves,
        delete=has(session, "delete"),
        fork=has(session, "fork"),
        additional_directories=has(session, "additional_directories"),
        prompts=decode_prompts(session),
        mcp=decode_mcp(session),
        # v2 rule 18: an agent that offers a method serves login and logout.
        logout=bool(methods),
        auth_methods=methods,
        meta=declared.meta or None,
    )
    return Initialized(_decode_peer(result.info), capabilities, result.meta or None)


def _encode_method(method: AuthMethod) -> v2.AuthMethod:
    if method.type == "agent":
        return v2.AuthMethodAgent(method.id, method.name, or_unset(method.description), method.meta or UNSET)
    if method.type == "terminal":
        return v2.AuthMethodTerminal(
            method.id,
            method.name,
            or_unset(method.description),
            list(method.args),
            [v2.EnvVariable(name, value) for name, value in method.env.items()],
            method.meta or UNSET,
        )
    optional = {"description": method.description, "_meta": method.meta}
    payload = {"type": method.type, "methodId": method.id, "name": method.name}
    return Unknown(method.type, payload | {key: value for key, value in optional.items() if value})


def _decode_method(method: v2.AuthMethod) -> AuthMethod | None:
    if isinstance(method, Unknown):
        return _decode_further_method(method)
    description, meta = or_none(method.description), method.meta or None
    if isinstance(method, v2.AuthMethodAgent):
        return AuthMethod(method.method_id, method.name, "agent", description, meta=meta)
    env = {variable.name: variable.value for variable in method.env}
    return AuthMethod(method.method_id, method.name, "terminal", description, method.args, env, meta)


def _decode_further_method(method: Unknown) -> AuthMethod | None:
    # Every method has an id and a name, whatever its type; an item without them is invalid and dropped.
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


def _encode_peer(peer: Implementation | None) -> v2.Implementation:
    info: v2.Implementation = encode_implementation(v2, peer or Implementation(UNNAMED, UNNAMED))
    return info


def _decode_peer(info: v2.Implementation) -> Implementation | None:
    return None if info == v2.Implementation(UNNAMED, UNNAMED) else decode_implementation(info)
