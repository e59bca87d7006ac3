"""What a change costs on the wire: the bytes that a client gets for one line of a large file, and for much output."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import accord
from tests.agent.rig import Hand, allow, served
from tests.coder.rig import agent_with, call, say, talk
from tests.limits import limit

SERVER = """
import os, time
print('x' * 9_000, flush=True)
while not os.path.exists('go'):
    time.sleep(0.01)
print('ready', flush=True)
time.sleep(1000)
"""
LINE = "a line of a large file, with some words in it\n"


def large_file(folder: Path) -> tuple[str, str]:
    """A file of 1.1 MB, and its text with one line changed."""
    text = LINE * 12_000 + "pritn\n" + LINE * 12_000
    (folder / "large.txt").write_text(text, encoding="utf-8")
    return text, text.replace("pritn", "print")


def received_bytes(hand: Hand) -> int:
    return sum(len(json.dumps(message)) for message in hand.received)


async def edited(folder: Path, edition: str, capabilities: dict[str, Any] | None = None) -> Hand:
    agent, _ = agent_with(call("edit", path="large.txt", old="pritn", new="print"), say("Done."))
    async with served(agent, edition, capabilities, max_bytes=64 * 1024 * 1024) as hand:
        hand.answers["session/request_permission"] = allow
        session = await hand.new_session(str(folder))
        await hand.turn(session)
        return hand


async def test_in_v2_one_line_of_a_large_file_costs_a_patch(tmp_path: Path) -> None:
    _, after = large_file(tmp_path)
    hand = await edited(tmp_path, "v2")

    assert (tmp_path / "large.txt").read_text(encoding="utf-8") == after
    assert received_bytes(hand) < 20_000
    shown = [each for each in hand.updates if each["sessionUpdate"] == "tool_call_content_chunk"]
    assert "+print" in shown[0]["content"]["patch"]["text"]


async def test_our_own_client_gets_both_texts(tmp_path: Path) -> None:
    before, after = large_file(tmp_path)
    agent, _ = agent_with(call("edit", path="large.txt", old="pritn", new="print"), say("Done."))
    async with talk(agent, tmp_path, "2") as talked:
        await talked.ask("go")
        (diff,) = [each for each in talked.tool.content if isinstance(each, accord.Diff)]

    (change,) = diff.changes
    assert (change.old, change.new) == (before, after)


async def printed_by(program: str, folder: Path, edition: str) -> Hand:
    (folder / "print.py").write_text(program, encoding="utf-8")
    agent, model = agent_with(call("run", command=f"{sys.executable} print.py"), say("Done."))
    async with served(agent, edition, max_bytes=64 * 1024 * 1024) as hand:
        hand.answers["session/request_permission"] = allow
        session = await hand.new_session(str(folder))
        await hand.turn(session)
        assert model.results()[0].text.startswith("It ended with exit code 0.")
        return hand


@pytest.mark.parametrize("edition", ["v1", "june"])
async def test_much_output_of_a_command_is_sent_once_and_little_more(
    tmp_path: Path, edition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Once a second it is shown however slow it grows: on a slow machine that is once more.
    monkeypatch.setattr("accord.agent.publisher.HELD_SECONDS", 60.0)
    printed = "".join(f"{number:06} {'x' * 52}\n" for number in range(4_000))
    program = """
import os, time
for first in range(0, 4000, 20):
    # Not by print: where the environment has Python write at once, each word would be a piece of its own.
    os.write(1, b''.join(b'%06d %b\\n' % (number, b'x' * 52) for number in range(first, first + 20)))
    time.sleep(0.003)
"""
    hand = await printed_by(program, tmp_path, edition)

    assert len(printed) == 240_000
    shown = [each["content"] for each in hand.updates if each.get("content") and "toolCallId" in each]
    assert shown[-1][-1]["content"]["text"].startswith(printed), "all of it, when the command has ended"
    # About thirty times its last kilobyte while it runs, how often depends on the pieces that are read: below 0.2.
    sizes = " ".join(str(len(json.dumps(message))) for message in hand.received)
    assert received_bytes(hand) < 1.3 * len(printed), sizes


async def test_in_v1_a_little_output_in_many_pieces_is_not_sent_with_every_piece(tmp_path: Path) -> None:
    program = "import os,time\nfor n in range(1600):\n    os.write(1, b'0123456789\\n'); time.sleep(0.0005)\n"
    hand = await printed_by(program, tmp_path, "v1")

    shown = [each["content"] for each in hand.updates if each.get("content") and "toolCallId" in each]
    assert shown[-1][-1]["content"]["text"].startswith("0123456789\n" * 1600)
    assert received_bytes(hand) < 150_000


@pytest.mark.parametrize("edition", ["v1", "june", "v2"])
async def test_a_line_that_a_running_command_printed_is_shown_while_it_runs(
    tmp_path: Path, edition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is held back is sent after this time.
    monkeypatch.setattr("accord.agent.publisher.HELD_SECONDS", 0.1)
    (tmp_path / "serve.py").write_text(SERVER, encoding="utf-8")
    agent, _ = agent_with(call("run", command=f"{sys.executable} serve.py", background=True), say("Done."))
    async with served(agent, edition) as hand:
        hand.answers["session/request_permission"] = allow
        session = await hand.new_session(str(tmp_path))
        await hand.turn(session)
        (tmp_path / "go").touch()
        async with asyncio.timeout(limit(20)):
            while not any(_shows(each, "ready") for each in hand.updates):
                await hand.hear()


def _shows(update: Any, text: str) -> bool:
    """Whether an update has a text, also in the bytes of a terminal's output."""
    if update.get("sessionUpdate") == "terminal_output_chunk":
        return text.encode() in base64.b64decode(update["data"])
    return text in json.dumps(update)
