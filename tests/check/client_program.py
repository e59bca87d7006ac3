"""A client on Accord that uses all of it: files, commands, permissions, forms, an option, a cancelled turn."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any, Literal, cast

import accord

CANCEL_ME = "please cancel this turn"


async def permit(question: Any) -> bool:
    if CANCEL_ME in question.title or "taken back" in question.title:
        # Nobody is there to answer before it is too late.
        await asyncio.Event().wait()
    return True


def fill_in(question: Any) -> dict[str, Any] | bool:
    return {"name": "Ada", "age": 36} if hasattr(question, "schema") else True


def offer(*, is_able: bool) -> dict[str, Any]:
    return {"elicit": fill_in} if is_able else {"offer": accord.Offer(files=False, terminals=False)}


async def main(edition: str, what: str) -> None:
    argv = json.loads(os.environ["ACCORD_CHECK_AGENT_JSON"])
    wish = cast('Literal["1", "2", "2-june"]', edition)
    async with accord.connect(*argv, edition=wish, permission=permit, **offer(is_able=what == "able")) as agent:
        session = await agent.new_session(cwd=os.getcwd())  # noqa: PTH109 - an absolute text
        await session.set_option("size", "large")
        await session.prompt("Hello")
        async with session.prompt("Something that I shall cancel") as turn:
            async for piece in turn.text_stream():
                if CANCEL_ME in piece:
                    turn.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
