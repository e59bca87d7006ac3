"""The page about vendors' models: each of its agents, with the vendor's own client, against a server on loopback."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

import accord
from tests.coder.llm import FakeModel, Hang, Say, serve
from tests.limits import limit
from tests.needs import needs_package

pytestmark = needs_package("openai", "openai and anthropic are missing: pip install '.[agent]'")

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, re.DOTALL))
EVERY = pytest.mark.parametrize("name", ["openai_agent", "anthropic_agent", "local_agent"])


def agent_of(name: str, model: FakeModel, monkeypatch: pytest.MonkeyPatch) -> accord.Agent:
    """The agent of a program, whose client asks the model on loopback."""
    monkeypatch.setenv("OPENAI_BASE_URL", model.url)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url.removesuffix("/v1"))
    for vendor in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{vendor}_API_KEY", "a-key")
    code = PROGRAMS[name].replace("http://localhost:11434/v1", model.url)
    space: dict[str, Any] = {"__name__": "page"}
    exec(compile(code, f"docs/models.md/{name}", "exec"), space)  # noqa: S102 - the page is ours
    agent = space["agent"]
    assert isinstance(agent, accord.Agent)
    agent.use_store(accord.MemoryStore())
    return agent


def test_there_is_a_program_for_each_client() -> None:
    assert len(PROGRAMS) == PAGE.count("```python\n") == 3


@EVERY
async def test_the_text_is_streamed_and_the_conversation_goes_on(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(Say("The sky is blue."), Say("Because of the air.")) as model:
        async with accord.connect(agent_of(name, model, monkeypatch)) as remote:
            session = await remote.new_session(tmp_path)
            async with session.prompt("What colour is the sky?") as turn:
                pieces = [piece async for piece in turn.text_stream()]
            second = await session.prompt("Why?")
        assert [said for _, said in model.conversation()] == ["What colour is the sky?", "The sky is blue.", "Why?"]
    assert "".join(pieces) == "The sky is blue."
    assert len(pieces) > 1
    assert (turn.stop_reason, second.text) == ("end_turn", "Because of the air.")


@pytest.mark.parametrize("name", ["openai_agent", "anthropic_agent"])
async def test_tokens_are_counted_and_a_text_that_is_cut_off_says_so(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = Say("The sky is", finish="length", tokens=40)
    async with serve(cut) as model, accord.connect(agent_of(name, model, monkeypatch)) as remote:
        turn = await (await remote.new_session(tmp_path)).prompt("What colour is the sky?")
    assert turn.stop_reason == "max_tokens"
    assert turn.token_usage is not None
    assert turn.token_usage.total_tokens > 0


@EVERY
async def test_a_cancelled_turn_ends(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The thread of the one that blocks goes on for as long as the model does.
    monkeypatch.setitem(vars(accord.Agent)["__init__"].__kwdefaults__, "cancel_grace_seconds", 0.1)
    async with serve(Hang("I think ")) as model, accord.connect(agent_of(name, model, monkeypatch)) as remote:
        session = await remote.new_session(tmp_path)
        async with asyncio.timeout(limit(20)), session.prompt("Go on for ever") as turn:
            async for _ in turn.text_stream():
                turn.cancel()
    assert turn.stop_reason == "cancelled"
