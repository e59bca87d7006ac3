"""The record of another SDK's client, folded into a transcript of ours, to compare the two."""

from __future__ import annotations

from typing import Any

from accord.protocol.codec import Codec
from accord.protocol.edition import Edition
from accord.protocol.model import UNSET
from accord.session.client_requests import NewSession, ReopenSession
from accord.session.content import Text
from accord.session.dialect import dialect_of
from accord.session.event import (
    CommandsChanged,
    ConfigChanged,
    MessageChanged,
    StateChanged,
    TerminalChanged,
    TerminalExit,
)
from accord.session.transcript import Transcript
from tests.interop.record import Conversation

__all__ = ["Listener"]


class Listener:
    """One life of the agent as its client saw it, scene by scene."""

    def __init__(self, talk: Conversation, edition: Edition) -> None:
        self.transcript = Transcript()
        self._talk = talk
        self._dialect = dialect_of(edition)
        self._decoder = self._dialect.decoder()
        self._codec = Codec()

    def opened(self, scene: str) -> None:
        """The session was made, or told again."""
        self._hear(scene)
        ask = NewSession("/") if scene == "new" else ReopenSession("", "/", replay=True)
        binding = next(binding for binding in self._dialect.find(type(ask)) if binding.encode_params(ask) is not None)
        result = self._codec.convert(binding.method.result, self._talk.result(scene))
        opened = binding.decode_result(result, ask)
        self.transcript.fold(ConfigChanged(opened.options))
        if opened.commands:
            self.transcript.fold(CommandsChanged(opened.commands))

    def set(self, scene: str) -> None:
        """A setting was changed."""
        self._hear(scene)

    def turn(self, scene: str) -> None:
        """A turn, whose prompt has the name of the scene. Where the answer ends it, the client knows the rest."""
        if self._dialect.echoes:
            self._hear(scene)
            return
        self.transcript.fold(MessageChanged("user", scene, [Text(scene)]))
        self.transcript.fold(StateChanged("running"))
        self._hear(scene)
        self.transcript.fold(StateChanged("idle", self._talk.result(scene)["stopReason"]))

    def _hear(self, scene: str) -> None:
        for method, params in self._talk.received(scene):
            if method == "session/update":
                self._update(params)
            elif method == "terminal/release":
                ended = params["exitStatus"]
                exit_ = TerminalExit(ended.get("exitCode"), ended.get("signal"))
                output = params["output"].encode()
                self.transcript.fold(TerminalChanged(params["terminalId"], output=output or UNSET, exit=exit_))

    def _update(self, update: Any) -> None:
        notification = {"sessionId": "", "update": update}
        _, heard = self._dialect.decode_update(self._codec.convert(self._dialect.update.params, notification))
        for event in self._decoder.decode(heard):
            self.transcript.fold(event)
