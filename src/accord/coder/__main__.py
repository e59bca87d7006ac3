"""`python -P -m accord.coder`: the coding agent on stdin and stdout."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Literal

from accord import stores
from accord.coder.agent import make_agent
from accord.coder.model import DEFAULT_EFFORT, EFFORTS, OFFLINE
from accord.errors import LocalProtocolError
from accord.stores.interface import Store


def main(arguments: list[str] | None = None) -> int:
    """Run it; returns the exit status when the client is gone."""
    parser = argparse.ArgumentParser("accord agent", description="A coding agent that speaks ACP on stdin and stdout.")
    parser.add_argument("--model", action="append", help="offline, or PROVIDER:NAME; several to choose from")
    parser.add_argument("--effort", choices=EFFORTS, default=DEFAULT_EFFORT, help="how much the model may think")
    parser.add_argument("--context-tokens", type=int, metavar="N", help="the size of the model's context")
    parser.add_argument("--max-requests", type=int, metavar="N", help="how many requests a turn may make")
    parser.add_argument("--base-url", help="an OpenAI-compatible service; its key is in ACCORD_API_KEY")
    parser.add_argument("--store", default="default", help="sqlite:PATH, memory, or none")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="RULE", help="as read, edit:src/**, execute:git *"
    )
    parser.add_argument("--deny", action="append", default=[], metavar="RULE", help="written as for --allow; it wins")
    given = parser.parse_args(arguments)
    rules = [*(f"deny {rule}" for rule in given.deny), *(f"allow {rule}" for rule in given.allow)]
    default, *others = given.model or [OFFLINE]
    try:
        agent = make_agent(
            model=default,
            models=others,
            effort=given.effort,
            context_tokens=given.context_tokens,
            max_requests=given.max_requests,
            base_url=given.base_url,
            api_key=os.environ.get("ACCORD_API_KEY"),
            store=_store(given.store),
            rules=rules,
        )
    except LocalProtocolError as error:
        parser.error(str(error))
    agent.run()
    return 0


def _store(text: str) -> Store | Literal["default"] | None:
    kind, _, path = text.partition(":")
    match kind:
        case "default":
            return "default"
        case "none":
            return None
        case "memory":
            return stores.MemoryStore()
        case "sqlite" if path:
            return stores.SqliteStore(path)
        case _:
            raise LocalProtocolError(f"{text!r} is no store: sqlite:PATH, memory, or none", field="store")


if __name__ == "__main__":
    sys.exit(main())
