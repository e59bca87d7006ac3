"""Every record of `-o events` that the guide names, said by a real command once, and as the guide has it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from typing import Any

import pytest

from tests.cli.command import Accord, Result, first_pid, is_gone, scripted
from tests.cli.test_records import PAGE, TABLE, check
from tests.limits import limit

AGENT = """
import accord

agent = accord.Agent("talkative", version="1", store=None)
agent.select("mode", "Mode", ["code", "ask"], category="mode")
agent.toggle("loud", "Loud")


@agent.command("greet", "Says hello")
async def greet(turn: accord.agent.Turn, text: str) -> None:
    await turn.say("hello")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    await turn.set_title("Everything")
    await turn.think("Let me see.")
    await turn.plan(["look", "run"])
    async with turn.tool("Look", kind="read") as tool:
        await tool.show("one")
        await tool.show("two")
    async with turn.tool("Run", kind="execute") as tool:
        await turn.terminals.run(["echo", "out"], timeout_seconds=30, on_start=tool.show)
    await turn.notice("Take care", "of yourself", severity="warning")
    async with turn.compact() as compaction:
        await compaction.say("What was said.")
    await turn.session.set_option("loud", True)
    await turn.session.set_option("mode", "ask")
    await turn.update_usage(10, 100, cost=0.5)
    turn.add_token_usage(7, 3)
    told = await turn.say("Done")
    await turn.correct(told, "Done.")


agent.run()
"""


def said(accord: Accord, edition: str) -> Result:
    (accord.cwd / "talkative.py").write_text(AGENT, encoding="utf-8")
    result = accord(
        "run", "everything", "-o", "events", "--edition", edition, "--allow", "all", "--", sys.executable,
        "talkative.py",
    )  # fmt: skip
    assert (result.status, result.stderr) == (0, "")
    return result


def respawned(accord: Accord) -> list[dict[str, Any]]:
    """The records of an agent that is lost before its first prompt."""
    accord("run", "hello", *scripted("plain"))
    (accord.cwd / "journal").unlink()
    records = sqlite3.connect(accord.home / ".local" / "state" / "accord" / "sessions.db", isolation_level=None)
    # The session cannot be noted as long as this is held: time for the agent to die between session and prompt.
    records.execute("BEGIN IMMEDIATE")
    with subprocess.Popen(
        [*accord.argv, "run", "hello", "-o", "events", *scripted("dies_once")], cwd=accord.cwd, env=accord.env,
        text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert is_gone(first_pid(accord))
        records.execute("ROLLBACK")
        records.close()
        shown, _ = process.communicate(timeout=limit(30))
    return Result(process.returncode, shown, "").records


@pytest.mark.timeout(120)
def test_every_record_of_the_guide_is_said_and_is_as_it_is_there(accord: Accord) -> None:
    records = [record for edition in ("1", "2", "2-june") for record in said(accord, edition).records]
    for script in ("everything", "banner", "asks"):
        records += accord("run", "x", "-o", "events", *scripted(script)).records
    records += accord("run", "x", "-o", "events", "--deny", "all", *scripted("everything")).records
    records += respawned(accord)
    accord.config.write_text(json.dumps({"agent_servers": {"other": {"command": "nothing-of-this-name"}}}))
    records += accord("run", "--compare", "demo,other", "hello", "-o", "events").of_type("compared")
    for record in records:
        check(record)
    # `missed` is sent only to watchers: `test_owner` looks at it.
    assert {record["type"] for record in records} == set(TABLE) - {"missed"}
    counted = [
        record["token_usage"]["total"] for record in records if record["type"] == "end" and record["token_usage"]
    ]
    assert counted[:3] == [10, 10, 10]


def test_what_a_failed_run_adds_to_the_wire_is_as_documented(accord: Accord) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("### `-o wire`")[2].partition("\n## ")[0]
    last_line = section.partition("A run that fails ends with one more line that has ")[2].partition("\n\n")[0]
    named = {word.strip("`") for word in last_line.replace("(`error`)", "").split() if word.startswith("`")}
    fields = {word.strip("`,.") for word in named}
    result = accord("run", "x", "-o", "wire", *scripted("dies"))
    *texts, error = result.records
    assert set(error) == fields
    assert all(set(text) == {"t", "dir", "conn", "raw"} for text in texts)
    assert (error["code"], result.status) == (7, 7)
