"""The conversation of a trace: the edition that each connection agreed on, and the events of its sessions.

Messages are decoded by the dialect of their edition, as a client would: updates become events, a prompt becomes the
user's message where the edition's agents do not repeat it, and its answer the end of the turn. Nothing here waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from accord.errors import AccordError, NegotiationFailed
from accord.jsonrpc.message import Failure, Notification, ParsedMessage, Request, Result
from accord.protocol.codec import Codec
from accord.protocol.edition import EDITIONS, V1, Edition
from accord.protocol.negotiation import select_as_client
from accord.protocol.salvage import Misfit
from accord.session.agent_requests import RequestPermission
from accord.session.client_requests import OptionsSet, Prompt, PromptAnswered, SessionOpened
from accord.session.client_turn import (
    Accepted,
    ClientTurns,
    EndTurn,
    MaySend,
    PromptEcho,
    PromptInput,
    Refused,
    SendStarted,
    ShowPrompt,
    ShowState,
    StateReported,
    Submitted,
)
from accord.session.dialect import Binding, Dialect, dialect_of, edition_as_client
from accord.session.event import (
    CommandsChanged,
    ConfigChanged,
    Event,
    MessageChanged,
    MessageChunk,
    StateChanged,
    WorkError,
)
from accord.session.option import with_made
from accord.session.transcript import Transcript
from accord.trace.direction import parsed
from accord.trace.imports.source import json_value
from accord.trace.index import TraceIndex, columns_of
from accord.trace.index_columns import RecordKind

__all__ = ["SessionConversation", "TraceEditions", "TurnEnd", "client_rows"]

_PROBLEMS = (Misfit, AccordError, ValueError, TypeError, KeyError, AttributeError)
"""A message that does not fit its edition is left out of the conversation; `--validate` names it."""


class TraceEditions:
    """The edition of each connection of a trace, by the answers to `initialize`; v1 where there is none."""

    def __init__(self, index: TraceIndex) -> None:
        self._index = index
        self._found: dict[int, Edition] = {}
        self._dialects: dict[str, Dialect] = {}
        self._read = 0

    def edition(self, connection: int) -> Edition:
        """The edition of a connection, as a client speaks it."""
        self._look()
        return self._found.get(connection) or edition_as_client(V1)

    def is_known(self, connection: int) -> bool:
        """Whether the trace has the handshake of a connection."""
        self._look()
        return connection in self._found

    def dialect(self, connection: int) -> Dialect:
        """The dialect of a connection's edition."""
        edition = self.edition(connection)
        if edition.name not in self._dialects:
            self._dialects[edition.name] = dialect_of(edition, drafts=True)
        return self._dialects[edition.name]

    def _look(self) -> None:
        index, columns = self._index, columns_of(self._index)
        if self._read == len(index):
            return
        number = columns.state.word_id(V1.initialize.name)
        methods, kinds = columns.method, columns.kind
        if number is not None:
            for row in range(self._read, len(index)):
                if methods[row] == number and kinds[row] == RecordKind.RESULT:
                    self._agree(row)
        self._read = len(index)

    def _agree(self, row: int) -> None:
        message = json_value(self._index.record(row).raw)
        result = message.get("result") if isinstance(message, dict) else None
        try:
            edition = select_as_client(result, [edition_as_client(each) for each in EDITIONS])
        except NegotiationFailed:
            return
        self._found[self._index.connection(row)] = edition


def client_rows(index: TraceIndex, session: str) -> list[int]:
    """The rows of a session that its client sent or received: a chain has each message once per hop."""
    columns = columns_of(index)
    number = columns.state.word_id(session)
    if not session or number is None:
        return []
    sessions, directions = columns.session, columns.direction
    rows = [row for row in range(len(index)) if sessions[row] == number]
    at_client = {place for place, ends in enumerate(columns.state.ends) if "client" in ends}
    found = [row for row in rows if directions[row] in at_client]
    return found or rows


class TurnEnd(NamedTuple):
    """A prompt's turn is over; `prompt` is the row of its request."""

    prompt: int
    output: EndTurn[int]


class SessionConversation:
    """One session of a trace, message by message, folded into a transcript.

    `feed` takes the session's rows in order.
    """

    def __init__(self, editions: TraceEditions) -> None:
        self.transcript = Transcript()
        self._editions: TraceEditions | None = editions
        self._connection = 0
        self._decoder: Any = None
        self._turns: ClientTurns[int] = ClientTurns("end")
        self._prompts: dict[int, Prompt] = {}
        self._echo = PromptEcho([])
        self._codec = Codec()

    def __getstate__(self) -> dict[str, Any]:
        # A checkpoint holds the session, not the index that it was read from.
        return {**self.__dict__, "_editions": None}

    def attach(self, editions: TraceEditions) -> None:
        """Go on after a checkpoint."""
        self._editions = editions

    def feed(self, index: TraceIndex, row: int) -> list[Event | TurnEnd]:
        """Fold one message; returns its events and the ends of turns, in order."""
        dialect = self._dialect(index.connection(row))
        found: list[Event | TurnEnd] = []
        for message in parsed(index.record(row).raw):
            try:
                found += self._message(index, row, dialect, message)
            except _PROBLEMS:
                continue
        return found

    def _dialect(self, connection: int) -> Dialect:
        if self._editions is None:
            message = "attach the editions first"
            raise RuntimeError(message)
        dialect = self._editions.dialect(connection)
        if connection != self._connection:
            # Another process: its decoder begins anew, and prompts of the old one are not answered any more.
            self._connection = connection
            self._decoder = dialect.decoder()
            self._turns = ClientTurns(dialect.rule)
            self._prompts.clear()
        return dialect

    def _message(self, index: TraceIndex, row: int, dialect: Dialect, message: ParsedMessage) -> list[Event | TurnEnd]:
        match message:
            case Notification() if message.method == dialect.update.name:
                params = self._codec.decode(dialect.update.params, message.params or b"null")
                return self._update(dialect, params)
            case Notification() if message.method == dialect.cancel.name:
                self._turns.stop()
                self.transcript.mark_cancelled()
            case Request():
                return self._request(row, dialect, message)
            case Result() | Failure():
                asked = index.partner(row)
                if asked is not None:
                    return self._answer(index, asked, dialect, message)
            case _:
                pass
        return []

    def _update(self, dialect: Dialect, params: Any) -> list[Event | TurnEnd]:
        _, update = dialect.decode_update(params)
        found: list[Event | TurnEnd] = []
        for event in self._decoder.decode(update):
            found += self._apply(event)
        return found

    def _apply(self, event: Event) -> list[Event | TurnEnd]:
        if type(event) is MessageChunk:
            if event.speaker == "user" and self._echo and self._turns.sent and self._echo.takes(event):
                return []
        elif type(event) is ConfigChanged:
            event = ConfigChanged(with_made(event.options, self.transcript.config), event.meta)
        self.transcript.fold(event)
        found: list[Event | TurnEnd] = [event]
        if type(event) is StateChanged:
            found += self._feed(StateReported(event))
        return found

    def _request(self, row: int, dialect: Dialect, message: Request) -> list[Event | TurnEnd]:
        for question in dialect.find(RequestPermission):
            if question.method.name == message.method:
                asked: RequestPermission = self._params(question, message)
                return [] if asked.tool is None else self._apply(asked.tool)
        binding = _binding(dialect, message.method)
        if binding is None or binding.request is not Prompt:
            return []
        prompt: Prompt = self._params(binding, message)
        self._prompts[row] = prompt
        return self._feed(Submitted(row))

    def _answer(
        self, index: TraceIndex, asked: int, dialect: Dialect, message: Result | Failure
    ) -> list[Event | TurnEnd]:
        binding = _binding(dialect, index.method(asked))
        if binding is None:
            return []
        if isinstance(message, Failure):
            error = WorkError(message.error.code, message.error.message, message.error.data)
            return self._feed(Refused(asked, error)) if asked in self._prompts else []
        request = self._request_of(index, asked, binding)
        answer = binding.decode_result(self._codec.decode(binding.method.result, message.result), request)
        match answer:
            case PromptAnswered():
                return self._feed(Accepted(asked, answer.stop_reason, answer.token_usage))
            case SessionOpened():
                found = self._apply(ConfigChanged(answer.options)) if answer.options else []
                return found + (self._apply(CommandsChanged(answer.commands)) if answer.commands else [])
            case OptionsSet():
                return self._apply(ConfigChanged(answer.options))
            case _:
                return []

    def _params(self, binding: Binding, message: Request) -> Any:
        return binding.decode_params(self._codec.decode(binding.method.params, message.params or b"null"))

    def _request_of(self, index: TraceIndex, asked: int, binding: Binding) -> Any:
        if asked in self._prompts:
            return self._prompts[asked]
        message = parsed(index.record(asked).raw)[0]
        return self._params(binding, message if isinstance(message, Request) else Request(None, "", None))

    def _feed(self, given: PromptInput[int]) -> list[Event | TurnEnd]:
        found: list[Event | TurnEnd] = []
        for output in self._turns.feed(given):
            match output:
                case MaySend():
                    found += self._feed(SendStarted(output.prompt))
                case ShowPrompt():
                    blocks = list(self._prompts[output.prompt].content)
                    self._echo = PromptEcho(blocks)
                    found += self._apply(MessageChanged("user", f"prompt-{output.prompt}", blocks))
                case ShowState():
                    found += self._apply(output.state)
                case EndTurn():
                    self._prompts.pop(output.prompt, None)
                    found.append(TurnEnd(output.prompt, output))
        return found


def _binding(dialect: Dialect, method: str) -> Binding | None:
    bindings: Iterator[Binding] = iter((*dialect.agent_bindings, *dialect.draft_bindings))
    return next((binding for binding in bindings if binding.method.name == method), None)
