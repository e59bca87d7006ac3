"""The requests that a relay of sessions has sent to other nodes, or is placing, and what their answers say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from accord.agent.request_errors import DRAINING
from accord.errors import SessionInUse
from accord.serve.relay_ends import NodeLink
from accord.transport.routing import CREATING_METHODS, Envelope

__all__ = ["RETRY_SECONDS", "Opening", "RelayedCall", "reason_of", "says_elsewhere"]

RETRY_SECONDS = 0.2


@dataclass(eq=False)
class Opening:
    """A request that is placed: sent to the agent of this node, or to the owner of its session."""

    text: bytes
    message: Envelope
    deadline: float
    link: NodeLink | None = None
    pause_seconds: float = RETRY_SECONDS
    refusal: bytes | None = None
    """The last answer that says that the session is in use."""
    is_shown: bool = False
    """Whether a part of the session was sent to the client: then it cannot be tried again elsewhere."""
    follows: bool = False
    """Whether it is the relay's own request, for a session that has left its node."""
    node: str = ""
    """The node that is to have the session, where one was named."""

    @property
    def may_be_repeated(self) -> bool:
        """Whether another node may do it too, although the first one may have done it before it was lost."""
        return self.follows or (not self.is_shown and self.message.method not in CREATING_METHODS)

    @property
    def session_id(self) -> str:
        return self.message.session_id or ""


class RelayedCall(NamedTuple):
    """A request at another node; one that is about to end refuses it."""

    link: NodeLink
    text: bytes


def says_elsewhere(text: bytes | bytearray) -> bool:
    """Whether an error says that another node has the session, or that this one opens none any more."""
    error = json.loads(text).get("error")
    return (isinstance(error, dict) and error.get("code") == SessionInUse.code) or reason_of(text) == DRAINING


def reason_of(text: bytes | bytearray) -> object:
    error = json.loads(text).get("error")
    data = error.get("data") if isinstance(error, dict) else None
    return data.get("reason") if isinstance(data, dict) else None
