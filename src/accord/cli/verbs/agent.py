"""`accord agent`: the built-in coding agent, or one of a module, on stdin and stdout. Little is imported at start."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from accord.cli.options import InOrder, Parser, count_of, split_command
from accord.cli.show.screen import is_terminal
from accord.cli.status import CommandFailure, Status, UsageFailure, remark
from accord.display import own
from accord.errors import LocalProtocolError
from accord.time_scale import scaled

if TYPE_CHECKING:
    import argparse

    from accord.adapters.import_string import ImportString
    from accord.agent import Agent
    from accord.stores.interface import Store

OFFLINE = "offline"
# How long the end of a module's agent may take when its client is gone.
EXIT_SECONDS = scaled(2.0)
USAGE = "accord agent [MODULE:ATTRIBUTE] [--model offline|PROVIDER:NAME] [options]"


USAGE = "accord agent [MODULE:ATTRIBUTE] [--model offline|PROVIDER:NAME]... [options]"
EXAMPLES = """\
  accord agent
  accord agent --model openai:gpt-5 --allow read
  accord agent --model anthropic:claude-sonnet-5-5 --model openai:gpt-5 --effort high
  accord agent --model qwen3 --base-url http://localhost:11434/v1
  accord agent --store sqlite:sessions.db
  accord agent my_package.support:agent
  accord agent path/to/support.py:agent

In an editor's settings: {"agent_servers": {"accord": {"command": "accord", "args": ["agent"]}}}
"""
ON_A_TERMINAL = own("""\
This is the built-in coding agent. It speaks ACP, for the program that has started it, and waits for JSON-RPC here.
To talk to it yourself, type: accord chat demo
with a model: accord chat --model PROVIDER:NAME
for an editor: accord agent --help has the lines for its settings. Ctrl+D ends it.""")


def _parser() -> Parser:
    parser = Parser("agent", USAGE, "The built-in coding agent, speaking ACP on stdin and stdout.", EXAMPLES)
    parser.add_argument("agent", nargs="?", metavar="MODULE:ATTRIBUTE", help="an agent of a framework, or of your own")
    parser.add_argument("--import-first", action="store_true", help="import the module before `initialize` is answered")
    parser.add_argument(
        "--model",
        action="append",
        metavar="MODEL",
        help="offline (no key needed), or PROVIDER:NAME; several to choose from, the first is the default",
    )
    parser.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible service; its key is in ACCORD_API_KEY")
    parser.add_argument("--effort", metavar="LEVEL", help="how much the model may think: off, low, medium, high ...")
    parser.add_argument("--context-tokens", type=count_of, metavar="N", help="the size of the model's context")
    parser.add_argument("--max-requests", type=count_of, metavar="N", help="how many requests a turn may make; 50")
    parser.add_argument("--store", default="default", metavar="URL", help="sqlite:PATH, memory, or none")
    for name, what in (
        ("--allow", "what it may do without asking: read, 'edit:src/**', 'execute:git *'"),
        ("--deny", "what it must not do"),
    ):
        parser.add_argument(name, action=InOrder, dest="rules", metavar="RULE", help=what)
    parser.add_argument("--rules", action=InOrder, dest="rules", metavar="FILE", help="a file of rules, one per line")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Serve the client on stdio until it leaves."""
    before, command = split_command(arguments)
    options = _parser().read(before)
    if command is not None:
        raise UsageFailure("accord agent takes no command behind --")
    if options.agent is not None:
        return _serve_module(options)
    rules = []
    if options.rules:
        from accord.cli.permission import rules_of  # noqa: PLC0415 - most who start it have none

        rules = rules_of(options.rules)
    from accord.coder import make_agent  # noqa: PLC0415 - after the options: what is wrong with them is said at once

    default, *others = options.model or _configured_models() or [OFFLINE]
    try:
        agent = make_agent(
            model=default,
            models=others,
            effort=options.effort or "default",
            context_tokens=options.context_tokens,
            max_requests=options.max_requests,
            base_url=options.base_url,
            api_key=os.environ.get("ACCORD_API_KEY"),
            store=_store(options.store),
            rules=rules,
        )
    except LocalProtocolError as error:
        raise UsageFailure(str(error)) from error
    except OSError as error:
        raise CommandFailure(Status.USAGE, "config", f"--store {options.store}: {error}") from error
    if is_terminal(sys.stdin):
        remark(ON_A_TERMINAL)
    # Not `run`, which has a remark of its own for terminals.
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(agent.run_async())
    return Status.DONE


def _serve_module(options: argparse.Namespace) -> int:
    """Serve an agent that a module has; see `accord.adapters.late_agent`."""
    built_in = ("model", "base_url", "effort", "context_tokens", "max_requests", "rules")
    if any(getattr(options, name) for name in built_in):
        advice = "A module's agent has its own model and its own approvals"
        raise UsageFailure("models, their limits and rules are options of the built-in agent", advice=advice)
    from accord.adapters.import_string import ImportString  # noqa: PLC0415 - not for the built-in agent

    try:
        string = ImportString.parse(options.agent)
    except ValueError as error:
        raise UsageFailure(str(error)) from error
    if string.is_missing():
        message = f"{string} cannot be imported: there is no {'file' if string.file else 'module'} {string.module}"
        advice = "Start it in the folder of the module, or name its file: path/to/support.py:agent"
        raise CommandFailure(Status.USAGE, "start", message, advice=advice)
    from accord.adapters.late_agent import make_late_agent  # noqa: PLC0415

    if options.import_first or string.is_made_by_accord():
        agent = _imported(string, options)
    else:
        agent = make_late_agent(string, store=_store(options.store))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(agent))
    return Status.DONE


def _imported(string: ImportString, options: argparse.Namespace) -> Agent:
    from accord.adapters.late_agent import served_object  # noqa: PLC0415
    from accord.agent import Agent  # noqa: PLC0415

    try:
        value = string.load()
    except Exception as error:
        message = f"{string} cannot be imported: {type(error).__name__}: {error}"
        raise CommandFailure(Status.USAGE, "start", message) from error
    if isinstance(value, Agent) and options.store != "default":
        raise UsageFailure(f"--store: {string} is an accord.Agent, which has its own store")
    store = {} if isinstance(value, Agent) else {"store": _store(options.store)}
    return served_object(value, string, **store)  # type: ignore[arg-type]


async def _run(agent: Agent) -> None:
    await agent.run_async()
    # A tool in a thread cannot be stopped, and the client is gone: the program would wait for it at its end.
    timer = threading.Timer(EXIT_SECONDS, os._exit, (Status.DONE,))
    timer.daemon = True
    timer.start()


def _configured_models() -> list[str]:
    """The `models` of the user's `acp.json`. A project's is not asked: a model costs its user money."""
    from accord.config.errors import ConfigError  # noqa: PLC0415 - only where no model is named
    from accord.config.paths import ConfigPaths  # noqa: PLC0415

    try:
        path = ConfigPaths.here().user_file
    except ConfigError:
        return []  # there is no home directory
    if not path.exists():
        return []
    from accord.config.acp_json import read_config  # noqa: PLC0415 - 8 ms of the start, for those who have a file

    file = read_config(path, "user")
    if file is None:
        return []
    for error in file.errors:
        raise CommandFailure(Status.USAGE, "config", str(error)) from error
    return list(file.models)


def _store(text: str) -> Store | Literal["default"] | None:
    kind, _, path = text.partition(":")
    if kind == "default":
        return "default"
    if kind == "none":
        return None
    from accord.stores import MemoryStore, SqliteStore  # noqa: PLC0415 - brings a database along

    if kind == "memory":
        return MemoryStore()
    if kind == "sqlite" and path:
        return SqliteStore(path.removeprefix("//"))
    raise UsageFailure(f"--store {text}: expected sqlite:PATH, memory or none")
