"""A turn of the coding agent: the choice of its model, its slash commands, and those of the project and their trust."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from weakref import WeakKeyDictionary

from accord.agent import Session, ToolFailed, Turn
from accord.coder.loop import MAX_REQUESTS, Limits, Loop
from accord.coder.memory import FAILED, STOPPED, Memory, message_of
from accord.coder.model import OFFLINE, Model, UserMessage
from accord.coder.offline import CAN_DO, OfflineModel
from accord.coder.permission import PermissionGate
from accord.coder.project_commands import ProjectCommand, load_project_files, trust
from accord.coder.provider import ProviderModel
from accord.coder.tools.call import SessionWork
from accord.coder.tools.files import fenced
from accord.coder.undo import NotUndone, short_name, undo
from accord.config.errors import ConfigError
from accord.errors import AccordError, InvalidParams
from accord.session.option import PermissionOption
from accord.session.rules import Rule

MAX_TITLE = 60
HELP = f"""\
Say what you want done. Modes: `code` changes and runs, `ask` only reads, `plan` makes a plan and asks before it carries
it out. Changes and commands are shown and asked for first, unless a rule allows them.

The slash commands work with every model, and so does all of this in the model `offline`:

{CAN_DO}

`/undo` puts back what the last turn changed in files, `/trust` shows the project's own commands and skills and asks
whether to use them, `/compact` makes room in a long conversation, `/model` shows or changes the model."""


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
        context_tokens: int | None = None,
    ) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._rules = rules
        self._keeps = keeps
        self._limits = Limits(max_requests)
        self._context_tokens = context_tokens
        self._models: dict[str, Model] = {OFFLINE: OfflineModel(), **models}
        self._work: WeakKeyDictionary[Session, SessionWork] = WeakKeyDictionary()

    async def open(self, session: Session) -> None:
        """Offer the commands that the session's project has."""
        await read_project(session, self._work_of(session))

    async def prepare(self, model: str) -> None:
        """Load the packages of a model."""
        chosen = self._model(model)
        if isinstance(chosen, ProviderModel):
            await chosen.prepare()

    async def answer(self, turn: Turn) -> None:
        """Let the chosen model answer; a command of the project stands for the text of its file."""
        work = self._work_of(turn.session)
        await read_project(turn.session, work)
        name, argument = split_slash(turn.text)
        command = work.project.find(name)
        if command is None and work.project.is_untrusted(name):
            async with self._aside(turn):
                await turn.say(
                    f"The project has a command /{name} that you have not trusted: /trust shows it and asks you."
                )
            return
        text = None if command is None else command.expanded(argument)
        await self._answer(turn, str(turn.option("model")), text)

    async def command(self, turn: Turn) -> None:
        """Run the slash command of a tool with the built-in model, also where another one is chosen."""
        await self._answer(turn, OFFLINE)

    async def _answer(self, turn: Turn, model: str, text: str | None = None) -> None:
        message = message_of(turn.prompt, turn.session.cwd)
        if turn.session.title is None and message.text.strip():
            await turn.set_title(_headline(message.text))
        memory: Memory = turn.session.state
        memory.changes.begin_turn(message.text)
        if text is not None:
            message.text = text
        await self._loop(turn, model).run(message)

    async def undo(self, turn: Turn) -> None:
        """Undo the changes of files of the last turn, and add that to the model's memory."""
        memory: Memory = turn.session.state
        gate = PermissionGate(turn, self._rules, memory)

        async def note(paths: Sequence[str]) -> None:
            # After each file: a crash before the next must not leave the change of one that is put back.
            memory.set_reply(f"I put back {', '.join(short_name(turn, path) for path in paths)}.")
            await self._save(turn)

        memory.begin(UserMessage("/undo"), turn.message_id)
        try:
            await self._save(turn)
            if not await undo(turn, gate, memory.changes, note):
                memory.set_reply("Nothing was put back.")
        except NotUndone as reason:
            memory.set_reply(str(reason))
        except asyncio.CancelledError:
            memory.break_off(STOPPED)
            raise
        except BaseException:
            memory.break_off(FAILED)
            raise
        finally:
            memory.end()
            await self._save(turn)
        await turn.say(memory.last_text)

    async def trust(self, turn: Turn) -> None:
        """Show the project's commands and skills, and ask whether they are trusted."""
        async with self._aside(turn):
            await trust_project(turn, self._work_of(turn.session))

    async def compact(self, turn: Turn) -> None:
        """Put a summary in the place of the conversation."""
        async with self._aside(turn):
            loop = self._loop(turn, str(turn.option("model")))
            await turn.say("I go on with the summary." if await loop.compact() else "There is nothing to compact yet.")

    async def model(self, turn: Turn, name: str) -> None:
        """Show or change the model."""
        async with self._aside(turn):
            if name:
                try:
                    await turn.session.set_option("model", name)
                except InvalidParams as error:
                    await turn.say(f"There is no model {name} here: {error.data['expected']}.")
                    return
            await turn.say(f"The model is {turn.option('model')}.")

    async def help(self, turn: Turn) -> None:
        """Show the slash commands and requests."""
        async with self._aside(turn):
            await turn.say(HELP)

    @contextlib.asynccontextmanager
    async def _aside(self, turn: Turn) -> AsyncIterator[None]:
        """A turn that is not in the model's memory; its id is kept, so that no restart takes it for lost."""
        try:
            yield
        finally:
            memory: Memory = turn.session.state
            memory.last_prompt = turn.message_id
            await self._save(turn)

    async def _save(self, turn: Turn) -> None:
        if self._keeps:
            with contextlib.suppress(AccordError):  # the conversation is kept anyway; the next save may work
                await turn.save()

    def _model(self, name: str) -> Model:
        if name not in self._models:
            self._models[name] = ProviderModel(
                name, base_url=self._base_url, api_key=self._api_key, context_tokens=self._context_tokens
            )
        return self._models[name]

    def _loop(self, turn: Turn, name: str) -> Loop:
        memory: Memory = turn.session.state
        work = self._work_of(turn.session)
        return Loop(turn, self._model(name), memory, self._rules, self._limits, work, keeps=self._keeps)

    def _work_of(self, session: Session) -> SessionWork:
        if session not in self._work:
            self._work[session] = SessionWork(own_commands=tuple(session.commands))
        return self._work[session]


def _headline(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1]}…"


TRUST_OPTIONS = (
    PermissionOption("trust", "Trust this file as it is", "allow_always"),
    PermissionOption("reject", "Do not trust it", "reject_once"),
)
_COMMAND = re.compile(r"\s*/([^\s/]+)(?:\s+|$)")


async def read_project(session: Session, work: SessionWork) -> None:
    """Read the project's files as they are now, and offer those that are trusted."""
    before = [each.command for each in work.project.trusted]
    reserved = [command.name for command in work.own_commands]
    work.project = await asyncio.to_thread(load_project_files, session.cwd, reserved)
    trusted = [each.command for each in work.project.trusted]
    if trusted != before:
        await session.set_commands([*work.own_commands, *trusted])


def split_slash(text: str) -> tuple[str, str]:
    """The name of the slash command that a prompt begins with, and what follows it; "" where there is none."""
    match = _COMMAND.match(text)
    return ("", text) if match is None else (match[1], text[match.end() :])


async def trust_project(turn: Turn, work: SessionWork) -> None:
    """`/trust`: show each file that is not trusted yet, and ask the user about it. No rule answers this question."""
    await read_project(turn.session, work)
    if not work.project.untrusted:
        is_some = bool(work.project.trusted)
        await turn.say(
            "Every command and skill of this project is trusted."
            if is_some
            else "This project has no commands or skills."
        )
        return
    trusted = [each.name for each in work.project.untrusted if await _is_trusted_now(turn, each)]
    await read_project(turn.session, work)
    names = ", ".join(f"/{name}" for name in trusted)
    await turn.say(f"You can use {names} now." if trusted else "Nothing was trusted.")


async def _is_trusted_now(turn: Turn, command: ProjectCommand) -> bool:
    what = "skill" if command.is_skill else "command"
    shown = turn.tool(f"Trust the {what} /{command.name}", status="pending", locations=[command.path])
    async with shown:
        await shown.show(fenced(command.text))
        if not await turn.request_permission(shown, options=TRUST_OPTIONS):
            return False
        try:
            # With the digest of the shown text: a file that has changed meanwhile is not trusted.
            await asyncio.to_thread(trust, command)
        except ConfigError as error:
            raise ToolFailed("Your trust in this file cannot be stored") from error
        await shown.complete()
    return not shown.failed
