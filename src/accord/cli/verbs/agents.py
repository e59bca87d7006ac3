"""`accord agents`: which are known here, how they are started, whether they work."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any

from accord.cli.complaint import put, put_json, remark
from accord.cli.doctor import examine
from accord.cli.fault import login_line, phase
from accord.cli.question import Questions
from accord.cli.show.line import Span
from accord.cli.show.screen import Progress, stdout_screen
from accord.cli.show.table import table_lines
from accord.cli.status import Failure, Status, UsageFailure, spelled
from accord.cli.talk import talking
from accord.cli.target import Target, approve, split_agent, target_of
from accord.cli.terminal import Terminal, somebody_is_there
from accord.cli.wish import Wish, add_agent_options, pair_of, wish_of
from accord.cli.words import Parser, split_command
from accord.config import AgentEntry, add_agent, load_agents, remove_agent
from accord.config.edit import set_default
from accord.config.entry import is_installed
from accord.display import SafeText, exact, filled, joined, own

__all__ = ["run"]

USAGE = """accord agents [ls] [--json]
       accord agents info AGENT
       accord agents add NAME [--env K=V] [--default] [--replace] -- COMMAND...
       accord agents rm NAME
       accord agents login AGENT [METHOD]
       accord agents login [METHOD] -- COMMAND...
       accord agents doctor AGENT"""
EXAMPLES = """\
  accord agents
  accord agents add gemini -- gemini --acp
  accord agents add claude --env ANTHROPIC_API_KEY=... -- npx -y @agentclientprotocol/claude-agent-acp
  accord agents doctor gemini
  accord agents doctor -- python my_agent.py
  accord agents login gemini
  accord agents rm gemini
"""


def _parser() -> Parser:
    parser = Parser("agents", USAGE, "The agents that are known here.", EXAMPLES)
    parser.add_argument("words", nargs="*", metavar="VERB AGENT", help="ls, info, add, rm, login or doctor; and whom")
    parser.add_argument("--json", action="store_true", help="ls and info for programs")
    parser.add_argument("--default", action="store_true", help="add: make it the default agent")
    parser.add_argument("--replace", action="store_true", help="add: change one that is there")
    add_agent_options(parser)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Do it; the exit status."""
    before, command = split_command(arguments)
    options = _parser().read(before)
    verb, words = (options.words[0], options.words[1:]) if options.words else ("ls", [])
    action = _ACTIONS.get(verb)
    if action is None:
        raise UsageFailure(f"there is no accord agents {verb}; there are: {', '.join(_ACTIONS)}")
    return action(words, command, options)


def _list(words: Sequence[str], command: Sequence[str] | None, options: argparse.Namespace) -> int:
    if words or command is not None:
        raise UsageFailure("accord agents ls takes no agent", advice="See: accord agents info AGENT")
    with phase("config"):
        agents = load_agents(".")
        entries = agents.entries()
    if options.json:
        put_json([_facts(entry) for entry in entries], 2)
    else:
        screen = stdout_screen(Progress(sys.stderr, shown=False))
        rows = [
            [exact(each.name), exact(each.origin), exact(spelled(each.argv)) or own("from the registry"), _remark(each)]
            for each in entries
        ]
        screen.lines(table_lines((own("agent"), own("from"), own("command"), own("")), rows))
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


def _info(words: Sequence[str], command: Sequence[str] | None, options: argparse.Namespace) -> int:
    target = _target("info", words, command)
    facts = _facts(target.entry)
    if options.json:
        put_json(facts, 2)
        return Status.DONE
    facts["argv"] = spelled(target.entry.argv) or "from the registry"
    screen = stdout_screen(Progress(sys.stderr, shown=False))
    for name, value in facts.items():
        text = ", ".join(value) if isinstance(value, list) else str(value)
        if value not in (None, [], False):
            screen.line([Span(filled("{:<18}", name.replace("_", " ")), "dim"), Span(exact(text))])
    screen.flush()
    return Status.DONE


def _target(verb: str, words: Sequence[str], command: Sequence[str] | None) -> Target:
    name, rest = split_agent(words, command, f"agents {verb}")
    if rest:
        raise UsageFailure(f"accord agents {verb} takes one agent, and not also {' '.join(rest)!r}")
    return target_of(name, command)


def _add(words: Sequence[str], command: Sequence[str] | None, options: argparse.Namespace) -> int:
    if len(words) != 1 or not command:
        raise UsageFailure("accord agents add takes a name, and a command behind --")
    name = words[0].strip()
    if name in {"default", ""} or not name.isprintable():
        raise UsageFailure(f"{words[0]!r} cannot be an agent's name")
    env = dict(pair_of(each, "--env") for each in options.env)
    settings: dict[str, Any] = {key: getattr(options, key) for key in ("edition", "framing") if getattr(options, key)}
    if options.timeout is not None:
        settings["timeoutMs"] = int(options.timeout * 1000)
    with phase("config"):
        place = add_agent(name, command, env=env, settings=settings, replace=options.replace)
        if options.default:
            set_default(name)
    put(filled("{0} is in {1}. Try: accord agents doctor {0}", name, str(place)))
    return Status.DONE


def _remove(words: Sequence[str], command: Sequence[str] | None, _options: argparse.Namespace) -> int:
    if len(words) != 1 or command is not None:
        raise UsageFailure("accord agents rm takes one name")
    with phase("config"):
        place = remove_agent(words[0])
    put(filled("{} is no longer in {}", words[0], str(place)))
    return Status.DONE


def _login(words: Sequence[str], command: Sequence[str] | None, options: argparse.Namespace) -> int:
    name, rest = split_agent(words, command, "agents login")
    if len(rest) > 1:
        raise UsageFailure("accord agents login takes an agent and a method")
    return asyncio.run(_log_in(target_of(name, command), wish_of(options), rest[0] if rest else None))


async def _log_in(target: Target, wish: Wish, method: str | None) -> int:
    questions = Questions(Terminal(), lambda _: False) if somebody_is_there() else None
    target = await approve(target, trust=wish.trust, yes=None if questions is None else questions.yes)
    async with talking(target, wish, elicit=None if questions is None else questions.elicit) as talk:
        ways = talk.agent.auth_methods
        if not ways:
            put(filled("{} offers no login; it may need a key in its environment (--env K=V)", target.entry.name))
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
            # A person may have to fetch a telephone: no deadline but the agent's own.
            await talk.agent.login(method)
    put(filled("logged in to {} by {}", target.entry.name, method))
    return Status.DONE


def _doctor(words: Sequence[str], command: Sequence[str] | None, options: argparse.Namespace) -> int:
    return asyncio.run(_examine(_target("doctor", words, command), wish_of(options)))


async def _examine(target: Target, wish: Wish) -> int:
    questions = Questions(Terminal(), lambda _: False) if somebody_is_there() else None
    target = await approve(target, trust=wish.trust, yes=None if questions is None else questions.yes)
    screen = stdout_screen(Progress(sys.stderr, shown=False))
    try:
        return await examine(target, wish, screen)
    except Failure:
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
