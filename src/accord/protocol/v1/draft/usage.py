"""Tokens used and what they cost."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, UInt64, Wire


class Usage(Wire):
    """Tokens spent on the work just finished, not the session's total."""

    total_tokens: UInt64
    input_tokens: UInt64
    output_tokens: UInt64
    thought_tokens: Lenient[Maybe[UInt64]] = UNSET
    cached_read_tokens: Lenient[Maybe[UInt64]] = UNSET
    cached_write_tokens: Lenient[Maybe[UInt64]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
