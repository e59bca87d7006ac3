"""The agent on `accord.Agent` and `Turn`, without a store, or with `--store` and SQLite in a folder of its own."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import accord


def serve(store: accord.Store | None) -> None:
    agent = accord.Agent("bench-agent", version="1", store=store)
    agent.modes(["a", "m"])

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        command = json.loads(turn.text)
        if command["op"] == "stream":
            padding = "x" * (command["size"] - 9)
            for number in range(command["n"]):
                await turn.say(f"{number:08d} {padding}")

    agent.run()


if "--store" in sys.argv:
    with tempfile.TemporaryDirectory() as folder:
        serve(accord.SqliteStore(Path(folder, "sessions.db")))
else:
    serve(None)
