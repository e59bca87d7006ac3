"""Bindings whose fields differ from the wire's by nothing but their names; token usage, the login and the handshake."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from accord.protocol.method import RequestMethod
from accord.protocol.model import UNSET
from accord.session.capability import AgentCapabilities, Implementation
from accord.session.client_requests import Done, Login, Logout
from accord.session.dialect import Binding
from accord.session.event import TokenUsage
from accord.session.unset import mapped, or_none, or_unset

__all__ = [
    "SESSION",
    "TokenUsageCodec",
    "bind",
    "decode_implementation",
    "decode_mcp",
    "decode_prompts",
    "decoder",
    "encode_implementation",
    "encode_mcp",
    "encode_prompts",
    "encoder",
    "has",
    "login_bindings",
    "marker",
    "names",
]

Names = Mapping[str, str]
"""By the core's name of a field: the name in the edition's type."""


def names(*same: str, **renamed: str) -> Names:
    """The fields with one name on both sides, and those that the wire calls otherwise."""
    return {**dict(zip(same, same, strict=True)), **renamed}


SESSION = names("session_id")


def encoder(kind: Any, fields: Names) -> Callable[[Any], Any]:
    """The function that makes the edition's `kind` of a value with these fields; None is not written."""

    def encode(value: Any) -> Any:
        written = {theirs: or_unset(getattr(value, ours)) for ours, theirs in fields.items()}
        return kind(**written, meta=value.meta or UNSET)

    return encode


def decoder(kind: Any, fields: Names) -> Callable[[Any], Any]:
    """The function that makes the core's `kind` of the edition's value; an absent field is None."""

    def decode(value: Any) -> Any:
        read = {ours: or_none(getattr(value, theirs)) for ours, theirs in fields.items()}
        return kind(**read, meta=value.meta or None)

    return decode


def bind(
    request: type[Any],
    method: RequestMethod[Any, Any],
    fields: Names,
    *,
    needs: str = "",
) -> Binding:
    """The binding of a request that is its fields and no more, and is answered with nothing but metadata."""
    return Binding(
        request,
        method,
        decoder(request, fields),
        encoder(method.params, fields),
        encoder(method.result, {}),
        _decode_done,
        needs=needs,
    )


def _decode_done(result: Any, _: object) -> Done:
    return Done(result.meta or None)


_FIELDS = names(
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "thought_tokens",
    "cached_read_tokens",
    "cached_write_tokens",
)


class TokenUsageCodec:
    """The token usage in the types of one draft."""

    def __init__(self, draft: Any) -> None:
        self._encode = encoder(draft.Usage, _FIELDS)
        self._decode = decoder(TokenUsage, _FIELDS)

    def encode(self, usage: TokenUsage | None) -> Any:
        return mapped(self._encode, or_unset(usage))

    def decode(self, message: Any) -> TokenUsage | None:
        """The usage in a message, if its type has a place for one and it is there."""
        usage: TokenUsage | None = or_none(mapped(self._decode, getattr(message, "usage", None)))
        return usage


PROMPTS: dict[Literal["image", "audio", "resource"], str] = {
    "image": "image",
    "audio": "audio",
    "resource": "embedded_context",
}
TRANSPORTS: tuple[Literal["stdio", "http"], ...] = ("stdio", "http")


def login_bindings(login: RequestMethod[Any, Any], logout: RequestMethod[Any, Any]) -> tuple[Binding, ...]:
    """Logging in by a method's id, and logging out."""
    return bind(Login, login, names(method="method_id")), bind(Logout, logout, {}, needs="logout")


def encode_implementation(types: Any, peer: Implementation | None) -> Any:
    """The implementation of a side, or UNSET."""
    if peer is None:
        return UNSET
    return types.Implementation(peer.name, peer.version, or_unset(peer.title), peer.meta or UNSET)


def decode_implementation(info: Any) -> Implementation | None:
    """The implementation of a side, if it is given."""
    return Implementation(info.name, info.version, or_none(info.title), info.meta or None) if info else None


# --- markers: objects that count when they are there, even empty


def marker(kind: Any, *, on: bool) -> Any:
    """The object whose presence means that a capability is there, or UNSET."""
    return kind() if on else UNSET


def has(holder: object, name: str) -> bool:
    """Whether a marker is there; by name, because only the draft's types have all of them."""
    return or_none(getattr(holder, name, UNSET)) is not None


def encode_prompts(types: Any, capabilities: AgentCapabilities) -> Any:
    """The kinds of blocks that a prompt may have, as markers."""
    if not capabilities.prompts:
        return UNSET
    return types.PromptCapabilities(
        image=marker(types.PromptImageCapabilities, on="image" in capabilities.prompts),
        audio=marker(types.PromptAudioCapabilities, on="audio" in capabilities.prompts),
        embedded_context=marker(types.PromptEmbeddedContextCapabilities, on="resource" in capabilities.prompts),
    )


def decode_prompts(session: Any) -> frozenset[Literal["image", "audio", "resource"]]:
    """The kinds of blocks that a prompt may have."""
    return frozenset(kind for kind, name in PROMPTS.items() if has(session and session.prompt, name))


def encode_mcp(types: Any, capabilities: AgentCapabilities, *, kind: Any) -> Any:
    """The transports of MCP servers, as markers in an object of that kind; v2 and June have none over SSE."""
    if capabilities.mcp.isdisjoint(TRANSPORTS):
        return UNSET
    return kind(
        stdio=marker(types.McpStdioCapabilities, on="stdio" in capabilities.mcp),
        http=marker(types.McpHttpCapabilities, on="http" in capabilities.mcp),
    )


def decode_mcp(session: Any) -> frozenset[Literal["stdio", "http", "sse"]]:
    return frozenset(transport for transport in TRANSPORTS if has(session and session.mcp, transport))
