"""The editions that a client proposes to an agent in `initialize`, one proposal after the other."""

from typing import Any, Literal, NamedTuple, TypeAlias

from accord.jsonrpc.plain import plain
from accord.protocol.edition import V1, V2, V2_JUNE, Edition
from accord.session.client_requests import Initialize, Initialized
from accord.session.dialect import Dialect, dialect_of, edition_as_client

__all__ = ["EditionChoice", "EditionProposal", "decode_initialized", "proposals_for"]

EditionChoice: TypeAlias = Literal["auto", "newest", "1", "2", "2-june"]
"""Which edition to speak: see `accord.connect`."""


class EditionProposal(NamedTuple):
    """One `initialize` request: the editions whose params it carries, and the editions that its answer may select."""

    written: tuple[Edition, ...]
    accepted: tuple[Edition, ...]

    def params(self, request: Initialize) -> dict[str, Any]:
        """The params of `initialize`, understood in each of the `written` editions."""
        params: dict[str, Any] = {}
        for edition in self.written:
            encoded = dialect_of(edition).encode(request)
            if encoded is not None:
                # Later editions may overwrite a field of an earlier one: the version above all.
                params.update(plain(encoded[1]))
        return params

    @property
    def readable(self) -> tuple[Edition, ...]:
        """The accepted editions as a client reads them: unstable parts are used only where the agent sends them."""
        return tuple(edition_as_client(edition) for edition in self.accepted)

    @property
    def dialects(self) -> list[Dialect]:
        return [dialect_of(edition, drafts=True) for edition in self.accepted]


_PROPOSALS: dict[str, tuple[EditionProposal, ...]] = {
    # The newest stable edition first, cleanly; an agent that refuses it speaks a draft.
    "auto": (EditionProposal((V1,), (V1,)), EditionProposal((V1, V2_JUNE, V2), (V2, V2_JUNE))),
    # One request that every edition understands, and a clean one for an agent that does not.
    "newest": (EditionProposal((V1, V2_JUNE, V2), (V2, V2_JUNE, V1)), EditionProposal((V1,), (V1,))),
    "1": (EditionProposal((V1,), (V1,)),),
    "2": (EditionProposal((V2,), (V2,)),),
    "2-june": (EditionProposal((V2_JUNE,), (V2_JUNE,)),),
}


def proposals_for(choice: str) -> tuple[EditionProposal, ...]:
    """The proposals for one `EditionChoice`, in order.

    Raises:
        ValueError: There is no such choice.
    """
    proposals = _PROPOSALS.get(choice)
    if proposals is None:
        raise ValueError(f"there is no edition {choice!r}: one of {', '.join(_PROPOSALS)}")
    return proposals


def decode_initialized(edition: Edition, result: Any, request: Initialize) -> tuple[Dialect, Initialized]:
    """The dialect of the selected edition, and the answer of the agent in it."""
    dialect = dialect_of(edition, drafts=True)
    answer: Initialized = dialect.find(Initialize)[0].decode_result(result, request)
    return dialect, answer
