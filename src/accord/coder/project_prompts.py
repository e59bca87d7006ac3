"""A project's commands in a session: which are offered, what a prompt with one of them means, how they are trusted."""

from __future__ import annotations

import asyncio
import re

from accord.agent import Session, ToolFailed, Turn
from accord.coder.project_commands import ProjectCommand, load_project_files, trust
from accord.coder.tools.call import SessionWork
from accord.coder.tools.files import fenced
from accord.config.errors import ConfigError
from accord.session.option import PermissionOption

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
            # With the digest of what was shown: a file that has changed meanwhile is not trusted.
            await asyncio.to_thread(trust, command)
        except ConfigError as error:
            raise ToolFailed("It cannot be noted that you trust this file") from error
        await shown.complete()
    return not shown.failed
