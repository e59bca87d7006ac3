"""Which edition is spoken with an agent: what is proposed, in which order, and what its answer selects."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

from accord.connection import Connection
from accord.dialects import DialectPlugin
from accord.errors import LocalProtocolError
from accord.jsonrpc.plain import plain
from accord.protocol.edition import V1, V2, V2_JUNE, Edition
from accord.session.capability import ClientCapabilities, Implementation
from accord.session.client_requests import Initialize, Initialized
from accord.session.dialect import Dialect
from accord.session.dialects import dialect_of, edition_as_client

__all__ = ["PLANS", "EditionChoice", "Proposal", "propose"]

EditionChoice: TypeAlias = Literal["auto", "newest", "1", "2", "2-june"]
"""Which edition to speak: see `accord.connect`."""


class Proposal(NamedTuple):
    """What one `initialize` asks for: in the words of some editions, to be answered in one of others."""

    binding: tuple[Edition, ...]
    accepted: tuple[Edition, ...]


PLANS: dict[str, tuple[Proposal, ...]] = {
    # The newest stable edition first, cleanly; who refuses that speaks a draft.
    "auto": (Proposal((V1,), (V1,)), Proposal((V1, V2_JUNE, V2), (V2, V2_JUNE))),
    # One question that every edition understands, and a clean one for who does not.
    "newest": (Proposal((V1, V2_JUNE, V2), (V2, V2_JUNE, V1)), Proposal((V1,), (V1,))),
    "1": (Proposal((V1,), (V1,)),),
    "2": (Proposal((V2,), (V2,)),),
    "2-june": (Proposal((V2_JUNE,), (V2_JUNE,)),),
}


def plan_for(edition: str) -> tuple[Proposal, ...]:
    """What to propose for a wish."""
    plan = PLANS.get(edition)
    if plan is None:
        raise ValueError(f"there is no edition {edition!r}: one of {', '.join(PLANS)}")
    return plan


def plan_for_dialect(edition: str, dialect: DialectPlugin) -> tuple[Proposal, ...]:
    """What to propose to an agent of a dialect, which is one of a single edition."""
    if edition not in ("auto", dialect.edition):
        expected = f"auto or {dialect.edition}"
        raise LocalProtocolError(f"{dialect.name} is a dialect of another edition", field="edition", expected=expected)
    return plan_for(dialect.edition)


async def propose(
    connection: Connection, proposal: Proposal, client: Implementation, capabilities: ClientCapabilities
) -> tuple[Dialect, Initialized]:
    """Shake hands once.

    Raises:
        NegotiationFailed: The answer selects no edition that was meant.
        RequestError: The agent refused.
        ConnectionLost: It is gone.
    """
    request = Initialize(client, capabilities)
    params: dict[str, Any] = {}
    for each in proposal.binding:
        encoded = dialect_of(each).encode(request)
        if encoded is not None:
            # Later editions may overwrite what an earlier one said under the same name: the version above all.
            params.update(plain(encoded[1]))
    # What is unstable is used only where the agent offers it.
    result = await connection.initialize(params, tuple(edition_as_client(each) for each in proposal.accepted))
    edition = connection.edition
    if edition is None:
        raise LocalProtocolError("no edition was agreed on")
    dialect = dialect_of(edition, drafts=True)
    binding = dialect.find(Initialize)[0]
    answer: Initialized = binding.decode_result(result, request)
    return dialect, answer
