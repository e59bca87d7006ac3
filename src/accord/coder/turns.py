"""A turn of the coding agent: which model answers, and the slash commands that are about models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from accord.agent import Session, Turn
from accord.coder.loop import MAX_REQUESTS, Limits, Loop
from accord.coder.memory import Memory
from accord.coder.model import OFFLINE, Model
from accord.coder.offline import CAN_DO, OfflineModel
from accord.coder.prompt_message import message_of
from accord.coder.provider import ProviderModel
from accord.coder.tools.call import SessionWork
from accord.errors import InvalidParams
from accord.session.rules import Rule

MAX_TITLE = 60
HELP = f"""\
Say what you want done. Modes: `code` changes and runs, `ask` only reads, `plan` makes a plan and asks before it carries
it out. Changes and commands are shown and asked for first, unless a rule allows them.

The slash commands work with every model, and so does all of this in the model `offline`:

{CAN_DO}

`/compact` makes room in a long conversation, `/model` shows or changes the model."""


class Coder:
    """One agent's models, and its rules for all sessions."""

    def __init__(
        self,
        *,
        models: Mapping[str, Model],
        base_url: str | None,
        api_key: str | None,
        rules: Sequence[Rule],
        keeps: bool,
        max_requests: int = MAX_REQUESTS,
    ) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._rules = rules
        self._keeps = keeps
        self._limits = Limits(max_requests)
        self._models: dict[str, Model] = {OFFLINE: OfflineModel(), **models}
        self._work: WeakKeyDictionary[Session, SessionWork] = WeakKeyDictionary()

    async def answer(self, turn: Turn) -> None:
        """Let the chosen model answer."""
        await self._answer(turn, str(turn.option("model")))

    async def command(self, turn: Turn) -> None:
        """A slash command for a tool means just that, whichever model is chosen."""
        await self._answer(turn, OFFLINE)

    async def _answer(self, turn: Turn, model: str) -> None:
        message = message_of(turn.prompt, turn.session.cwd)
        if turn.session.title is None and message.text.strip():
            await turn.set_title(_headline(message.text))
        await self._loop(turn, model).run(message)

    async def compact(self, turn: Turn) -> None:
        loop = self._loop(turn, str(turn.option("model")))
        await turn.say("I go on with the summary." if await loop.compact() else "There is nothing to compact yet.")

    async def model(self, turn: Turn, name: str) -> None:
        """Show or change the model."""
        if name:
            try:
                await turn.session.set_option("model", name)
            except InvalidParams as error:
                await turn.say(f"There is no model {name} here: {error.data['expected']}.")
                return
        await turn.say(f"The model is {turn.option('model')}.")

    async def help(self, turn: Turn) -> None:
        """Show the slash commands and requests."""
        await turn.say(HELP)

    def _loop(self, turn: Turn, name: str) -> Loop:
        if name not in self._models:
            self._models[name] = ProviderModel(name, base_url=self._base_url, api_key=self._api_key)
        memory: Memory = turn.session.state
        work = self._work.setdefault(turn.session, SessionWork())
        return Loop(turn, self._models[name], memory, self._rules, self._limits, work, keeps=self._keeps)


def _headline(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1]}…"
