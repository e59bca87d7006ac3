"""What a change costs on the wire: the bytes that a client gets for one line of a large file, and for much output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import accord
from tests.agent.rig import Hand, allow, served
from tests.coder.rig import agent_with, call, say, talk

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


async def test_in_v1_much_output_of_a_command_is_sent_little_more_than_twice(tmp_path: Path) -> None:
    printed = "".join(f"{number:06} {'x' * 52}\n" for number in range(4_000))
    program = "import sys,time\nfor n in range(4000):\n    print(f'{n:06}', 'x' * 52, flush=n % 20 == 0)\n"
    (tmp_path / "print.py").write_text(program, encoding="utf-8")
    agent, model = agent_with(call("run", command=f"{sys.executable} print.py"), say("Done."))
    async with served(agent, "v1", max_bytes=64 * 1024 * 1024) as hand:
        hand.answers["session/request_permission"] = allow
        session = await hand.new_session(str(tmp_path))
        await hand.turn(session)

        assert model.results()[0].text.startswith("It ended with exit code 0.")
        assert len(printed) == 240_000
        shown = [each["content"] for each in hand.updates if each.get("content") and "toolCallId" in each]
        assert shown[-1][-1]["content"]["text"].startswith(printed), "all of it, when the command has ended"
        assert received_bytes(hand) < 2.5 * len(printed)
