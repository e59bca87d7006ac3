"""`accord agent`: the built-in coding agent on stdin and stdout. Editors start it, so little is imported."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from accord.cli.options import InOrder, Parser, split_command
from accord.cli.status import CommandFailure, Status, UsageFailure
from accord.errors import LocalProtocolError

if TYPE_CHECKING:
    from accord.stores.interface import Store

USAGE = "accord agent [--model offline|PROVIDER:NAME] [options]"
EXAMPLES = """\
  accord agent
  accord agent --model openai:gpt-5 --allow read
  accord agent --model qwen3 --base-url http://localhost:11434/v1
  accord agent --store sqlite:sessions.db

In an editor's settings: {"agent_servers": {"accord": {"command": "accord", "args": ["agent"]}}}
"""


def _parser() -> Parser:
    parser = Parser("agent", USAGE, "The built-in coding agent, speaking ACP on stdin and stdout.", EXAMPLES)
    parser.add_argument("--model", default="offline", help="offline (no key needed), or PROVIDER:NAME")
    parser.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible service; its key is in ACCORD_API_KEY")
    parser.add_argument("--store", default="default", metavar="URL", help="sqlite:PATH, memory, or none")
    for name, what in (
        ("--allow", "what it may do without asking: read, 'edit:src/**', 'execute:git *'"),
        ("--deny", "what it must not do"),
    ):
        parser.add_argument(name, action=InOrder, dest="rules", metavar="RULE", help=what)
    parser.add_argument("--rules", action=InOrder, dest="rules", metavar="FILE", help="a file of rules, one a line")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Serve the client on stdio until it leaves."""
    before, command = split_command(arguments)
    options = _parser().read(before)
    if command is not None:
        raise UsageFailure("accord agent takes no command behind --")
    rules = []
    if options.rules:
        from accord.cli.permission import rules_of  # noqa: PLC0415 - most who start it have none

        rules = rules_of(options.rules)
    from accord.coder import make_agent  # noqa: PLC0415 - after the options: what is wrong with them is said at once

    try:
        agent = make_agent(
            model=options.model,
            base_url=options.base_url,
            api_key=os.environ.get("ACCORD_API_KEY"),
            store=_store(options.store),
            rules=rules,
        )
    except LocalProtocolError as error:
        raise UsageFailure(str(error)) from error
    except OSError as error:
        raise CommandFailure(Status.USAGE, "config", f"--store {options.store}: {error}") from error
    agent.run()
    return Status.DONE


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
