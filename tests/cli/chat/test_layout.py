"""The bars fill every width at once, also after a resize, and prose is no wider than people read."""

from __future__ import annotations

from pathlib import Path

import pytest

import accord
from accord.cli.chat.bars import StatusBar, TitleBar
from accord.cli.chat.message import PassageView, PromptPart
from tests.cli.chat.actors import make_actor
from tests.cli.chat.rig import Chat, open_chat


def fills(chat: Chat) -> bool:
    """The settings stand at the right edge of the first line, the usage at that of the last one."""
    width, height = chat.app.size
    lines = chat.text.split("\n")
    first, last = lines[0], lines[-1]
    return (
        len(lines) == height
        and first.endswith("Ask first · small")
        and len(first) == width - 1
        and last.endswith("$0.25")
        and len(last) == width - 1
    )


async def test_the_bars_are_right_after_every_resize(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path, size=(80, 24)) as chat:
        await chat.say("plan")
        await chat.sees("Planned.")
        await chat.idle()
        for size in [(80, 24), (200, 60), (80, 24), (120, 30), (100, 40), (200, 60), (81, 25)]:
            await chat.pilot.resize_terminal(*size)
            await chat.until(lambda: fills(chat), f"bars at {size}")
            assert chat.app.query_one(TitleBar).outer_size.width == size[0]
            assert chat.app.query_one(StatusBar).outer_size.width == size[0]


@pytest.mark.parametrize("columns", [60, 80, 200])
async def test_prose_is_no_wider_than_a_hundred_columns(tmp_path: Path, columns: int) -> None:
    agent = accord.Agent("wordy", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say("word " * 200)

    async with open_chat(agent, tmp_path, size=(columns, 40)) as chat:
        await chat.say("say " * 100)
        await chat.idle()
        await chat.sees("word word")
        assert chat.app.query_one(PassageView).size.width <= min(columns, 100)
        assert chat.app.query_one(PromptPart).size.width <= min(columns, 100)
        lines = [line for line in chat.text.split("\n") if "word word" in line]
        assert max(map(len, lines)) <= min(columns, 102)
        assert len(lines) >= 1000 // min(columns, 100)
