"""The interface of a dialect: encodes events as updates, decodes updates to events, binds requests to methods.

An `UpdateEncoder` belongs to one session of an agent, an `UpdateDecoder` to one session of a client: both remember what
an edition does not repeat. A value that an edition cannot express is downgraded (docs/editions.md has the table); an
empty list means that the edition has no shape for the event and that nothing is lost by omitting it. A request that an
edition does not have has no `Binding`.

Dialects are imported when their edition is first spoken: an agent offers three and pays for one. Each has a second
form, with `drafts`: the fields that only the unstable text has, in messages that the stable text has too. An agent
uses it where its author wants that. A client always does: it sends nothing more by it, and reads what agents send.
The editions that a client proposes to an agent in `initialize`, one proposal after the other, are here too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from accord.jsonrpc.plain import plain
from accord.protocol.edition import V1, V2, V2_JUNE, Edition
from accord.protocol.method import Method, NotificationMethod, RequestMethod
from accord.session.agent_requests import ElicitationDone, RequestPermission
from accord.session.capability import AgentCapabilities, ClientCapabilities
from accord.session.client_requests import Cancel, Initialize, Initialized, ReopenSession, SessionOpened
from accord.session.event import Event, ToolChanged
from accord.session.turn import AnswerRule

__all__ = [
    "DIALECTS",
    "Binding",
    "Dialect",
    "DialectLoader",
    "EditionChoice",
    "EditionProposal",
    "UpdateDecoder",
    "UpdateEncoder",
    "decode_initialized",
    "dialect_of",
    "edition_as_client",
    "proposals_for",
]


class UpdateEncoder(Protocol):
    """The agent's encoder of one session's events in one edition.

    After a restart without replay it must first encode the session's history without sending it, so that its state is
    the client's.
    """

    client_terminals: set[str]
    """The terminals that the client itself runs and shows, by id: their output is never sent."""
    shows_states: ClassVar[bool]
    """Whether the edition has an update for the state of a session; if not, a state is no more than a `flush`."""

    def encode(self, event: Event) -> list[Any]:
        """The updates, in order, that go out as `session/update` notifications."""
        ...

    def encode_into(self, updates: list[Any], events: Iterator[Event]) -> None:
        """Append the updates of several events to a list; what it raises is the failure of the event it took last."""
        ...

    def forget_messages(self) -> None:
        """Nothing will change the messages so far: their texts need not be remembered."""
        ...

    @property
    def holds_back(self) -> bool:
        """Whether `flush` would return something."""
        ...

    def flush(self) -> list[Any]:
        """The updates that an edition without increments held back; a change of state flushes by itself."""
        ...


class UpdateDecoder(Protocol):
    """The client's decoder of one session's updates in one edition."""

    @property
    def chunk_decoders(self) -> Mapping[type[Any], Callable[[Any], Event]]:
        """The decoders of updates that bring a chunk of a message, by class: as `decode`, without a list."""
        ...

    def decode(self, update: Any) -> list[Event]:
        """The events that an update stands for. Unknown updates become `UnknownUpdate`, never nothing."""
        ...


class Binding(msgspec.Struct, frozen=True):
    """A request of the core bound to a method of one edition.

    `request` is the type of the request; an edition may have several bindings for one (load and resume). The side that
    serves it uses `decode_params` and `encode_result`, the side that calls it `encode_params` and `decode_result`.
    `encode_params` gives None where this binding cannot express that very request, and another one may. `decode_params`
    raises `InvalidParams` for params that the edition requires to be refused. `needs` names the capability (of
    `AgentCapabilities` or `ClientCapabilities`, by the side that serves it) without which the method must not be
    called.
    """

    request: type[Any]
    method: RequestMethod[Any, Any]
    decode_params: Callable[[Any], Any]
    encode_params: Callable[[Any], Any]
    encode_result: Callable[[Any], Any]
    decode_result: Callable[[Any, Any], Any]
    """Takes the result and the request, because some results do not repeat the session id."""
    needs: str = ""


@dataclass(frozen=True)
class Dialect:
    """One edition as the layers above use it: they never check which one it is."""

    edition: Edition
    rule: AnswerRule
    echoes: bool
    """Whether an inserted prompt is sent back as a message of the user."""
    agent_bindings: tuple[Binding, ...]
    """The requests that an agent serves."""
    client_bindings: tuple[Binding, ...]
    """The requests that a client serves."""
    encoder: Callable[[ClientCapabilities], UpdateEncoder]
    decoder: Callable[[], UpdateDecoder]
    update: NotificationMethod[Any]
    encode_update: Callable[[str, Any], Any]
    """The params of an update, from the session's id and an update of the encoder."""
    cancel: NotificationMethod[Any]
    encode_cancel: Callable[[Cancel], Any]
    decode_cancel: Callable[[Any], Cancel]
    baseline_transports: frozenset[str] = frozenset()
    """The transports of MCP servers that a session may be given although no agent declares them."""
    leftover_events: Callable[[SessionOpened], list[Event]] = lambda _: []
    """The settings that the response to an opening has no field for, to be sent as events."""
    stand_in: Callable[[RequestPermission], ToolChanged | None] = lambda _: None
    """The tool call that a question about none was asked under, so that it can be ended when that is answered."""
    elicitation_done: NotificationMethod[Any] | None = None
    encode_elicitation_done: Callable[[ElicitationDone], Any] | None = None
    decode_elicitation_done: Callable[[Any], ElicitationDone] | None = None
    draft_bindings: tuple[Binding, ...] = field(default=())
    """The requests that an agent serves only where both sides agreed on unstable methods."""
    draft_methods: tuple[Method, ...] = field(default=())
    """Rows of the unstable text that replace those with the same names in the edition's table: see `dialects`."""

    def __repr__(self) -> str:
        return f"<dialect {self.edition.name}>"

    @staticmethod
    def decode_update(params: Any) -> tuple[str, Any]:
        """The session's id and the update for the decoder."""
        return params.session_id, params.update

    @cached_property
    def _by_request(self) -> dict[type[Any], list[Binding]]:
        found: dict[type[Any], list[Binding]] = {}
        for binding in (*self.agent_bindings, *self.client_bindings, *self.draft_bindings):
            found.setdefault(binding.request, []).append(binding)
        return found

    def find(self, request: type[Any]) -> list[Binding]:
        """The bindings of a type of request; none where the edition does not have it."""
        return self._by_request.get(request, [])

    def can_resume(self, capabilities: AgentCapabilities) -> bool:
        """Whether an agent with these capabilities reopens a session without a replay.

        An edition in which every agent can has a binding that needs no capability.
        """
        encoded = self.encode(ReopenSession("", "/"))
        return encoded is not None and (not encoded[0].needs or bool(getattr(capabilities, encoded[0].needs)))

    def encode(self, request: Any) -> tuple[Binding, Any] | None:
        """The binding and the params for one request; None where the edition cannot express it."""
        for binding in self.find(type(request)):
            params = binding.encode_params(request)
            if params is not None:
                return binding, params
        return None


class DialectLoader:
    """An edition that we can speak."""

    def __init__(self, stable: Edition, home: str) -> None:
        self._stable = stable
        self._home = home

    @property
    def name(self) -> str:
        return self._stable.name

    def edition(self, *, drafts: bool = False) -> Edition:
        """The edition; with `drafts` including the additions of its unstable text."""
        return self._with_drafts if drafts else self._stable

    @functools.cached_property
    def _with_drafts(self) -> Edition:
        return self._drafted(self._stable.with_drafts)

    @functools.cached_property
    def as_client(self) -> Edition:
        return self._drafted(self._stable.as_client)

    def dialect(self, *, drafts: bool = False) -> Dialect:
        """Its dialect; with `drafts` that of its unstable text."""
        module = import_module(self._home)
        found: Dialect = module.DRAFT_DIALECT if drafts else module.DIALECT
        return found

    def _drafted(self, edition: Edition) -> Edition:
        """The edition with the rows that the dialect of the unstable text has of its own."""

        def methods() -> tuple[Method, ...]:
            own = {(row.name, row.side): row for row in self.dialect(drafts=True).draft_methods}
            return tuple(own.get((row.name, row.side), row) for row in edition.methods)

        return edition.with_methods(methods, self._home)


DIALECTS = (
    DialectLoader(V1, "accord.session.editions.v1"),
    DialectLoader(V2, "accord.session.editions.v2"),
    DialectLoader(V2_JUNE, "accord.session.editions.v2_june"),
)


def dialect_of(edition: Edition, *, drafts: bool = False) -> Dialect:
    """The dialect of an edition; with `drafts` that of its unstable text."""
    return _loader(edition).dialect(drafts=drafts)


def edition_as_client(edition: Edition) -> Edition:
    return _loader(edition).as_client


def _loader(edition: Edition) -> DialectLoader:
    return next(loader for loader in DIALECTS if loader.name == edition.name)


# --- proposals of a client

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
