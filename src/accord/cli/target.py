"""The argument AGENT: a configured, registered or built-in name, or a command behind `--`; and the user's approval."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from accord.cli.fault import phase
from accord.cli.status import CommandFailure, Status, UsageFailure, remark
from accord.config import AgentEntry, Trust, UntrustedFile, find
from accord.display import SafeText, exact, filled, joined, own
from accord.transport.interpreter import own_command
from accord.transport.remote import is_address

START_SECONDS = 60.0
# The prefix of a command in the records, and on the line.
COMMAND = "-- "
TOKEN_VARIABLE = "ACCORD_TOKEN"  # noqa: S105 - the name of a variable


_POLICY_TEXTS: dict[str | None, SafeText] = {
    "auto-approve": own("auto-approve: everything is allowed, without asking"),
    "deny": own("deny: every request is denied"),
    "prompt": own("prompt: asks you"),
}


@dataclass(frozen=True)
class Target:
    """An agent as the line names it. `key` is the name under which its sessions are recorded."""

    entry: AgentEntry
    key: str
    is_command: bool

    @property
    def has_name(self) -> bool:
        """Whether the user knows the agent by a name: a command and an address have none."""
        return not self.is_command and not is_address(self.key)

    @property
    def typed(self) -> str:
        """Its form at the end of a command line."""
        return self.key

    def go_on(self, what: str, option: str = "-c") -> str:
        """The command line that continues a session."""
        if self.is_command:
            return f'accord run {option} "{what}" {self.key}'
        return f'accord run {self.key} {option} "{what}"'


def split_agent(arguments: Sequence[str], command: Sequence[str] | None, verb: str) -> tuple[str | None, list[str]]:
    """The agent's name, None where there is a command, and the other words.

    Raises:
        UsageFailure: No agent is named.
    """
    if command is not None:
        return None, list(arguments)
    if not arguments:
        advice = f"See: accord agents ls; or try: accord {verb} demo"
        raise UsageFailure("name an agent, or a command behind --", advice=advice)
    return arguments[0], list(arguments[1:])


def target_of(name: str | None, command: Sequence[str] | None) -> Target:
    """The agent.

    Raises:
        CommandFailure: There is none of that name, or the config cannot be used.
    """
    if name is None:
        argv = tuple(command or ())
        entry = AgentEntry(Path(argv[0]).name, argv, "user", "the command line", start_seconds=START_SECONDS)
        return Target(entry, f"{COMMAND}{shlex.join(argv)}", is_command=True)
    if is_address(name):
        return Target(_address_entry(name), name, is_command=False)
    refuse_text(name)
    with phase("config"):
        entry = _of_module(name) or find(name, cwd=".")
    return Target(entry, entry.name, is_command=False)


def refuse_text(word: str) -> None:
    """Refuse a text that is where a name is expected: no agent has a name with a blank.

    Raises:
        UsageFailure: It is a text.
    """
    if any(character.isspace() for character in word):
        advice = f"Type: accord run AGENT {shlex.quote(word)}; try demo, or see: accord agents ls"
        raise UsageFailure("no agent is named before the text", advice=advice)


def _address_entry(address: str) -> AgentEntry:
    parts = urlsplit(address)
    if not parts.hostname:
        raise UsageFailure(f"{address}: the address names no host")
    if parts.username is not None or parts.password is not None:
        raise UsageFailure("an address must not contain a password", advice=f"Put a token into {TOKEN_VARIABLE}")
    return AgentEntry(
        parts.netloc, (address,), "user", "the command line", start_seconds=START_SECONDS, token_env=TOKEN_VARIABLE
    )


def _of_module(name: str) -> AgentEntry | None:
    """The agent of `module:attribute`, served by `accord agent`; None if it is none, or a file has that name."""
    if ":" not in name and not name.endswith("langgraph.json"):
        return None
    from accord.adapters.import_string import is_import_string  # noqa: PLC0415 - most names are none
    from accord.config import load_agents  # noqa: PLC0415

    if not is_import_string(name) or name in load_agents(".").names():
        return None
    argv = own_command("accord", "agent", name)
    return AgentEntry(name, argv, "user", "the command line", start_seconds=START_SECONDS, label=name)


def built_in_target(model: str) -> Target:
    """The built-in agent with that model. Its sessions are noted under the command, which starts it again."""
    argv = own_command("accord.coder", "--model", model)
    entry = AgentEntry("accord", argv, "built-in", "built-in", start_seconds=START_SECONDS)
    return Target(entry, f"{COMMAND}{shlex.join(argv)}", is_command=True)


def noted_target(key: str) -> Target:
    """The agent that was recorded under a key.

    Raises:
        CommandFailure: There is none of that name, or the key is no command that could be typed.
    """
    if key.startswith(COMMAND):
        try:
            argv = shlex.split(key.removeprefix(COMMAND))
        except ValueError:
            argv = []
        if not argv or not argv[0]:
            message = f"the session was noted under {key!r}, which names no program"
            raise CommandFailure(Status.USAGE, "session", message, advice="Name the agent with --agent, or behind --")
        interpreter, safe_path, *module = own_command("accord.coder")
        if argv[:3] == [interpreter, *module]:
            # As the built-in agent was noted before its command had this option.
            argv.insert(1, safe_path)
        return target_of(None, argv)
    return target_of(key, None)


async def approve(target: Target, *, trust: bool, yes: Callable[[SafeText], Awaitable[bool]] | None) -> Target:
    """The target, ready to be started: its file trusted, its program installed.

    `yes` asks the user; None where there is no user to ask.

    Raises:
        CommandFailure: The user does not agree, or cannot be asked, or the program cannot be installed.
    """
    entry = target.entry
    if entry.needs_trust:
        await _trust(entry, trust=trust, yes=yes)
        with phase("config"):
            entry = find(entry.name, cwd=".")
    if entry.asks_download:
        await _allow_download(entry, yes)
        entry = replace(entry, asks_download=False)
    if entry.download is not None:
        remark(filled("fetching {}", entry.download.address))
        from accord.config import install  # noqa: PLC0415 - brings a network along

        with phase("start"):
            entry = await asyncio.to_thread(install, entry)
    if not entry.argv:
        raise CommandFailure(Status.USAGE, "config", f"{entry.source}: {entry.name} has no command")
    return replace(target, entry=entry)


async def _allow_download(entry: AgentEntry, yes: Callable[[SafeText], Awaitable[bool]] | None) -> None:
    line = shlex.join(entry.argv)
    if yes is None:
        message = f"{entry.label} is not installed, and there is no user to ask whether it may be downloaded"
        advice = f'See: accord agents info {entry.name}; or name the command yourself: accord run "text" -- {line}'
        raise CommandFailure(Status.NO_AGENT, "start", message, advice=advice)
    question = filled("{} is not installed. This downloads and runs it:\n  {}\nrun it?", entry.label, exact(line))
    if not await yes(question):
        raise CommandFailure(Status.NO_AGENT, "start", f"{entry.label} was not downloaded, so it was not started")


def _trust_question(entry: AgentEntry) -> SafeText:
    """The trust question with everything that the file decides: command, directory, environment, permissions."""
    if entry.address is not None:
        lines = [filled("{} belongs to this project and wants to connect to:", entry.source)]
        lines.append(filled("  {}", exact(entry.address)))
        if (token := entry.token_env or entry.token_file) is not None:
            lines.append(filled("  with the token of {}", exact(token)))
        lines += [filled("  with the header {}: {}", name, value) for name, value in entry.headers.items()]
    else:
        lines = [
            filled("{} belongs to this project and wants to run:", entry.source),
            filled("  {}", exact(shlex.join(entry.argv)) or own("a program from a registry")),
            filled("  in {}", entry.cwd or str(Path.cwd())),
        ]
    for name, value in entry.env.items():
        lines.append(filled("  without {}", name) if value is None else filled("  with {}={}", name, value))
    lines.append(filled("  permission: {}", _POLICY_TEXTS.get(entry.permission_policy, own("asks you"))))
    return joined([*lines, own("trust this file?")], own("\n"))


async def _trust(entry: AgentEntry, *, trust: bool, yes: Callable[[SafeText], Awaitable[bool]] | None) -> None:
    with phase("config"):
        if not trust:
            if yes is None:
                raise UntrustedFile(entry.source, entry.argv)
            if not await yes(_trust_question(entry)):
                message = f"{entry.source} is not trusted, so {entry.name} was not started"
                raise CommandFailure(Status.NO_AGENT, "start", message)
        Trust().trust(entry.source, entry.sha256)
