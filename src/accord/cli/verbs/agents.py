"""`accord agents`: lists, shows, adds and removes agents, and logs in to them; `cli/doctor` examines one."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from accord.cli.agent_session import running_agent
from accord.cli.fault import known_login, login_line, phase
from accord.cli.options import (
    AgentOptions,
    Parser,
    add_agent_options,
    agent_options_of,
    named_action,
    pair_of,
    split_command,
)
from accord.cli.show.line import Span, table_lines
from accord.cli.show.screen import Progress, put, put_json, stdout_screen
from accord.cli.status import CommandFailure, Status, UsageFailure, remark, spelled
from accord.cli.target import Target, approve, split_agent, target_of
from accord.cli.terminal import Questions, UserTerminal, is_interactive
from accord.config import AgentEntry, NotInstalled, add_agent, load_agents, remove_agent
from accord.config.catalogue import load_catalogue
from accord.config.catalogue_lookup import ResolvedAgent
from accord.config.edit import set_default
from accord.config.entry import catalogue_entry, is_installed
from accord.display import SafeText, exact, filled, joined, own

USAGE = """accord agents [ls] [--json]
       accord agents info AGENT
       accord agents add NAME [--env K=V] [--default] [--replace] [-- COMMAND...]
       accord agents rm NAME
       accord agents login AGENT [METHOD]
       accord agents login [METHOD] -- COMMAND...
       accord agents doctor AGENT"""
EXAMPLES = """\
  accord agents
  accord agents info gemini
  accord agents add gemini
  accord agents add mine -- python my_agent.py
  accord agents add claude --env ANTHROPIC_API_KEY=... -- npx -y @agentclientprotocol/claude-agent-acp
  accord agents doctor gemini
  accord agents doctor -- python my_agent.py
  accord agents login gemini
  accord agents rm gemini
"""


def _parser() -> Parser:
    parser = Parser("agents", USAGE, "The known agents.", EXAMPLES)
    parser.add_argument(
        "arguments", nargs="*", metavar="VERB AGENT", help="ls, info, add, rm, login or doctor; and the agent"
    )
    parser.add_argument("--json", action="store_true", help="ls, info: print JSON")
    parser.add_argument("--default", action="store_true", help="add: make it the default agent")
    parser.add_argument("--replace", action="store_true", help="add: replace an entry of the same name")
    add_agent_options(parser)
    return parser


def run(arguments: Sequence[str]) -> int:
    before, command = split_command(arguments)
    parsed = _parser().read(before)
    verb, operands = (parsed.arguments[0], parsed.arguments[1:]) if parsed.arguments else ("ls", [])
    return _ACTIONS[named_action("agents", verb, _ACTIONS)](operands, command, parsed)


def _list(arguments: Sequence[str], command: Sequence[str] | None, parsed: argparse.Namespace) -> int:
    if arguments or command is not None:
        raise UsageFailure("accord agents ls takes no agent", advice="See: accord agents info AGENT")
    with phase("config"):
        agents = load_agents(".")
        entries = agents.entries()
        known = {entry.name for entry in entries}
        by_name = [found for found in agents.catalogue() if found.agent.id not in known]
        entries += [catalogue_entry(found, Path()) for found in by_name if found.is_installed]
    others = [found for found in by_name if not found.is_installed]
    if parsed.json:
        put_json([*(_facts(entry) for entry in entries), *map(_catalogue_facts, others)], 2)
    else:
        screen = stdout_screen(Progress(sys.stderr, shown=False))
        rows = [
            [exact(each.name), exact(each.origin), exact(spelled(each.argv)) or own("from the registry"), _remark(each)]
            for each in entries
        ]
        screen.lines(table_lines((own("agent"), own("from"), own("command"), own("")), rows))
        screen.line([])
        names = joined([exact(found.agent.id) for found in others], own(", "))
        screen.line([Span(filled("not installed, see accord agents info NAME: {}", names), "dim")])
        screen.flush()
    for warning in agents.warnings:
        remark(exact(warning))
    for error in agents.errors:
        remark(filled("config: {}", str(error)))
    return Status.USAGE if agents.errors else Status.DONE


def _remark(entry: AgentEntry) -> SafeText:
    remarks = []
    if entry.shadowed:
        remarks.append(own("hidden by another of this name"))
    if entry.needs_trust:
        remarks.append(own("not trusted yet"))
    if entry.argv and not is_installed(entry):
        remarks.append(own("program not found"))
    return joined(remarks, own(", "))


def _facts(entry: AgentEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "argv": list(entry.argv),
        "origin": entry.origin,
        "source": entry.source,
        "cwd": entry.cwd,
        # The values may be secrets.
        "env": sorted(entry.env),
        "start_seconds": entry.start_seconds,
        "idle_seconds": entry.idle_seconds,
        "permission_policy": entry.permission_policy,
        "edition": entry.edition,
        "framing": entry.framing,
        "dialect": entry.dialect,
        "needs_trust": entry.needs_trust,
        "shadowed": entry.shadowed,
        "installed": is_installed(entry),
    }


def _catalogue_facts(found: ResolvedAgent) -> dict[str, Any]:
    """The catalogue's facts about an agent, installed or not."""
    row = found.agent
    return {
        "name": row.id,
        "title": row.name,
        "argv": list(found.argv or row.start[0].argv),
        "origin": "catalogue",
        "installed": found.is_installed,
        "install": list(row.install.values()),
        "login": row.login.sentence,
        "login_commands": [text for text in (row.login.command, row.login.file, *row.login.variables) if text],
        "editions": list(row.editions),
        "homepage": row.homepage,
        "source": row.source,
        "date": str(row.date),
        "tried": row.tried,
        "tried_by_hand": None if row.tried_by_hand is None else str(row.tried_by_hand),
    }


def _facts_of(arguments: Sequence[str], command: Sequence[str] | None) -> dict[str, Any]:
    """The facts about an agent of the config or of the catalogue."""
    if command is None and len(arguments) == 1:
        with phase("config"):
            agents = load_agents(".")
            row = None if arguments[0] in agents.names() else load_catalogue().find(arguments[0])
            if row is not None:
                return _catalogue_facts(next(each for each in agents.catalogue() if each.agent.id == row.id))
    return _facts(_target("info", arguments, command).entry)


def _info(arguments: Sequence[str], command: Sequence[str] | None, parsed: argparse.Namespace) -> int:
    facts = _facts_of(arguments, command)
    if parsed.json:
        put_json(facts, 2)
        return Status.DONE
    facts["argv"] = spelled(facts["argv"]) or "from the registry"
    screen = stdout_screen(Progress(sys.stderr, shown=False))
    for name, value in facts.items():
        text = ", ".join(value) if isinstance(value, list) else str(value)
        if value not in (None, [], False):
            screen.line([Span(filled("{:<18}", name.replace("_", " ")), "dim"), Span(exact(text))])
    screen.flush()
    return Status.DONE


def _target(verb: str, arguments: Sequence[str], command: Sequence[str] | None) -> Target:
    name, rest = split_agent(arguments, command, f"agents {verb}")
    if rest:
        raise UsageFailure(f"accord agents {verb} takes one agent, and not also {' '.join(rest)!r}")
    return target_of(name, command)


def _add(arguments: Sequence[str], command: Sequence[str] | None, parsed: argparse.Namespace) -> int:
    if len(arguments) != 1:
        raise UsageFailure("accord agents add takes a name, and a command behind -- unless the catalogue knows it")
    if not command:
        command = _known_command(arguments[0])
    name = arguments[0].strip()
    if name in {"default", ""} or not name.isprintable():
        raise UsageFailure(f"{arguments[0]!r} cannot be an agent's name")
    env = dict(pair_of(each, "--env") for each in parsed.env)
    settings: dict[str, Any] = {key: getattr(parsed, key) for key in ("edition", "framing") if getattr(parsed, key)}
    if parsed.timeout is not None:
        settings["timeoutMs"] = int(parsed.timeout * 1000)
    with phase("config"):
        place = add_agent(name, command, env=env, settings=settings, replace=parsed.replace)
        if parsed.default:
            set_default(name)
    put(filled("{0} is in {1}. Try: accord agents doctor {0}", name, str(place)))
    return Status.DONE


def _known_command(name: str) -> tuple[str, ...]:
    """The command of an installed agent of the catalogue.

    Raises:
        CommandFailure: It is not.
    """
    with phase("config"):
        row = load_catalogue().find(name)
        if row is None:
            advice = f"Type: accord agents add {name} -- COMMAND; names that need none: accord agents ls"
            raise UsageFailure(f"the catalogue has no agent {name!r}: give its command behind --", advice=advice)
        found = next(each for each in load_agents(".").catalogue() if each.agent.id == row.id)
        if not found.is_installed:
            raise NotInstalled(row.id, found.advice)
    return found.argv


def _remove(arguments: Sequence[str], command: Sequence[str] | None, _options: argparse.Namespace) -> int:
    if len(arguments) != 1 or command is not None:
        raise UsageFailure("accord agents rm takes one name")
    with phase("config"):
        place = remove_agent(arguments[0])
    put(filled("{} is no longer in {}", arguments[0], str(place)))
    return Status.DONE


def _login(arguments: Sequence[str], command: Sequence[str] | None, parsed: argparse.Namespace) -> int:
    name, rest = split_agent(arguments, command, "agents login")
    if len(rest) > 1:
        raise UsageFailure("accord agents login takes an agent and a method")
    return asyncio.run(_log_in(target_of(name, command), agent_options_of(parsed), rest[0] if rest else None))


async def _log_in(target: Target, options: AgentOptions, method: str | None) -> int:
    questions = Questions(UserTerminal(), lambda _: False) if is_interactive() else None
    target = await approve(target, trust=options.trust, yes=None if questions is None else questions.yes)
    async with running_agent(target, options, elicit=None if questions is None else questions.elicit) as running:
        ways = running.agent.auth_methods
        if not ways:
            known = known_login(target.typed) or "It may need a key in its environment (--env K=V)"
            put(filled("{} offers no login. {}", target.entry.name, exact(known)))
            return Status.DONE
        if method is None:
            method = ways[0].id if len(ways) == 1 else None
        if method is None and questions is not None:
            method = await questions.choose(own("ways to log in:"), [(each.id, each.name) for each in ways])
        if method is None:
            offered = ", ".join(f"{each.id} ({each.name})" for each in ways)
            raise UsageFailure(f"say which way: {offered}", advice=f"Type: {login_line(target.typed, 'METHOD')}")
        if method not in {each.id for each in ways}:
            raise UsageFailure(f"there is no login {method!r}; there are: {', '.join(each.id for each in ways)}")
        with phase("login", target.typed):
            # A login may need a second device: no deadline of ours.
            await running.agent.login(method)
    put(filled("logged in to {} by {}", target.entry.name, method))
    return Status.DONE


def _doctor(arguments: Sequence[str], command: Sequence[str] | None, parsed: argparse.Namespace) -> int:
    return asyncio.run(_examine(_target("doctor", arguments, command), agent_options_of(parsed)))


async def _examine(target: Target, options: AgentOptions) -> int:
    from accord.cli.doctor import examine  # noqa: PLC0415 - only for this verb

    questions = Questions(UserTerminal(), lambda _: False) if is_interactive() else None
    target = await approve(target, trust=options.trust, yes=None if questions is None else questions.yes)
    screen = stdout_screen(Progress(sys.stderr, shown=False))
    try:
        return await examine(target, options, screen)
    except CommandFailure:
        screen.flush()
        raise


_ACTIONS: dict[str, Callable[[Sequence[str], Sequence[str] | None, argparse.Namespace], int]] = {
    "ls": _list,
    "info": _info,
    "add": _add,
    "rm": _remove,
    "login": _login,
    "doctor": _doctor,
}
