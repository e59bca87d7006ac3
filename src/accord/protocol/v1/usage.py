"""Tokens used and what they cost."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, UInt64, Wire


class Cost(Wire):
    """Running total of the session, not of one turn; currency is usually an ISO 4217 code."""

    amount: float
    currency: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class UsageUpdate(Wire, tag_field="sessionUpdate", tag="usage_update"):
    """used and size are tokens of the context window; cost is the session's running total."""

    used: UInt64
    size: UInt64
    cost: Lenient[Maybe[Cost]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
