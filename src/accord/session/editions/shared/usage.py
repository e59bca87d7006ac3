"""The token usage of a turn, for which only the drafts have a place."""

from typing import Any

from accord.session.editions.shared.bindings import decoder, encoder, names
from accord.session.event import TokenUsage
from accord.session.unset import mapped, or_none, or_unset

__all__ = ["TokenUsageCodec"]

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
        """The usage, or UNSET."""
        return mapped(self._encode, or_unset(usage))

    def decode(self, message: Any) -> TokenUsage | None:
        """The usage in a message, if its type has a place for one and it is there."""
        usage: TokenUsage | None = or_none(mapped(self._decode, getattr(message, "usage", None)))
        return usage
