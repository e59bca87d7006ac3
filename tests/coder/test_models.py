"""Models to choose from, how much they think, the limits of a turn, and what is shown while a user waits."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.coder import loop, make_agent
from accord.coder.daemon_thread import in_thread
from accord.coder.model import EFFORTS, AnswerEnd, Delta, ModelRequest, TextDelta
from accord.coder.provider import ProviderModel
from accord.session.event import Noticed
from tests.agent.rig import served
from tests.coder.llm import Say, Status, serve
from tests.coder.rig import IN_EVERY_EDITION, agent_with, answered, say, talk
from tests.limits import limit
from tests.tables import rows

pytest.importorskip("pydantic_ai", reason='pydantic-ai is missing: pip install "accord[agent]"')


def choices(session: accord.client.Session, option_id: str) -> list[str]:
    (found,) = [each for each in session.options if isinstance(each, accord.Select) and each.id == option_id]
    return found.values()


@IN_EVERY_EDITION
async def test_a_user_chooses_among_the_models_of_the_line_at_run_time(tmp_path: Path, edition: str) -> None:
    async with serve(Say("I am one."), Say("I am two.")) as fake:
        agent = make_agent(model="one", models=["two"], base_url=fake.url, store=accord.MemoryStore())
        async with talk(agent, tmp_path, edition) as talked:
            assert choices(talked.session, "model") == ["one", "two", "offline"]
            await talked.ask("hello")
            await talked.session.set_option("model", "two")
            await talked.ask("hello")

    assert [asked["model"] for asked in fake.asked] == ["one", "two"]


@pytest.mark.parametrize(
    ("effort", "sent"), [("default", None), ("off", "none"), ("low", "low"), ("high", "high"), ("xhigh", "xhigh")]
)
async def test_the_thinking_effort_is_an_option_that_reaches_the_provider(
    tmp_path: Path, effort: str, sent: str | None
) -> None:
    async with serve(Say("One."), Say("Two.")) as fake:
        agent = make_agent(model="one", base_url=fake.url, store=accord.MemoryStore(), effort=effort)
        async with talk(agent, tmp_path) as talked:
            assert choices(talked.session, "effort") == list(EFFORTS)
            await talked.ask("hello")
            await talked.session.set_option("effort", "medium")
            await talked.ask("hello")

    assert [asked.get("reasoning_effort") for asked in fake.asked] == [sent, "medium"]


async def test_a_claude_model_thinks_as_much_as_the_option_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(Say("One."), Say("Two.")) as fake:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.url.removesuffix("/v1"))
        agent = make_agent(model="anthropic:claude-sonnet-5-5", store=accord.MemoryStore())
        async with talk(agent, tmp_path) as talked:
            await talked.ask("hello")
            await talked.session.set_option("effort", "high")
            await talked.ask("hello")

    told = [str({key: asked.get(key) for key in ("thinking", "output_config")}) for asked in fake.asked]
    assert told[0] != told[1], "nothing in the request says how much to think"


async def test_without_a_model_that_thinks_there_is_no_such_option(tmp_path: Path) -> None:
    async with talk(make_agent(store=accord.MemoryStore()), tmp_path) as talked:
        options = [each.id for each in talked.session.options if isinstance(each, accord.Select)]
        assert "effort" not in options


async def test_the_size_of_the_context_can_be_set(tmp_path: Path) -> None:
    async with serve(Say("One.")) as fake:
        agent = make_agent(model="one", base_url=fake.url, store=accord.MemoryStore(), context_tokens=32_000)
        async with talk(agent, tmp_path) as talked:
            await talked.ask("hello")
            usage = talked.session.transcript.usage

    assert usage is not None
    assert usage.size == 32_000


@rows("wrong", [{"max_requests": 0}, {"context_tokens": 10}, {"effort": "immense"}])
def test_a_limit_that_cannot_be_meant_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(accord.LocalProtocolError) as caught:
        make_agent(store=None, **wrong)
    assert caught.value.field == next(iter(wrong))


async def test_the_packages_of_a_provider_are_loaded_while_the_session_opens(tmp_path: Path) -> None:
    async with serve(Say("One.")) as fake:
        model = ProviderModel("one", base_url=fake.url)
        agent = make_agent(model="offline", models=[model], store=accord.MemoryStore())
        async with talk(agent, tmp_path) as talked:
            assert model._gateway is None
            await talked.session.set_option("model", "one")
            async with asyncio.timeout(limit(60)):
                while model._gateway is None:
                    await asyncio.sleep(0.005)
    assert fake.asked == []


async def test_a_model_that_cannot_be_loaded_is_reported_by_the_first_prompt_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    monkeypatch.delitem(sys.modules, "accord.coder.gateway", raising=False)
    async with talk(make_agent(model="openai:gpt-5", store=None), tmp_path) as talked:
        with pytest.raises(accord.InternalError) as caught:
            await talked.ask("go")
    assert caught.value.data == {"reason": "model_missing"}


async def test_the_program_has_an_option_for_each_of_these(tmp_path: Path) -> None:
    argv = (sys.executable, "-m", "accord.coder", "--store", "none", "--model", "offline", "--model", "openai:gpt-5")
    limits = ("--effort", "low", "--context-tokens", "64000", "--max-requests", "7")
    async with accord.connect(*argv, *limits) as remote:
        session = await remote.new_session(tmp_path)
        assert choices(session, "model") == ["offline", "openai:gpt-5"]
        (effort,) = [each for each in session.options if isinstance(each, accord.Select) and each.id == "effort"]

    assert effort.value == "low"


# --- waiting


@IN_EVERY_EDITION
async def test_a_user_who_waits_for_a_model_is_told_so(
    tmp_path: Path, edition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "WAITING_SECONDS", (0.01, 0.02))
    seen = asyncio.Event()
    notices: list[str] = []

    def listen(event: Any) -> None:
        # An edition without notices shows them as messages.
        if isinstance(event, Noticed | accord.MessageChunk):
            notices.append(event.title if isinstance(event, Noticed) else str(event.block))
            if len(notices) == 2:
                seen.set()

    async def slow(_: ModelRequest) -> AsyncGenerator[Delta, None]:
        async with asyncio.timeout(limit(10)):
            await seen.wait()
        yield TextDelta("Here.")
        yield AnswerEnd("done")

    agent, _ = agent_with(slow, say("Quick."))
    async with talk(agent, tmp_path, edition) as talked:
        talked.session.listen(listen)
        await talked.ask("go")
        assert answered(talked) == "Here."
        await talked.ask("again")

    assert ["scripted" in each for each in notices[:2]] == [True, True]


async def test_a_thread_of_its_own_gives_results_and_exceptions_and_can_be_left() -> None:
    assert await in_thread(int, "7") == 7
    with pytest.raises(ValueError, match="x"):
        await in_thread(int, "x")


# --- notices as messages


async def test_retries_are_messages_of_their_own_for_a_client_without_notices(tmp_path: Path) -> None:
    busy = Status("503 Busy")
    async with serve(busy, busy, Say("At last.")) as fake:
        model = ProviderModel("fake-1", base_url=fake.url, first_pause_seconds=0.001)
        agent = make_agent(model=model, store=accord.MemoryStore())
        async with served(agent, "v1") as hand:
            session = await hand.new_session(str(tmp_path))
            heard = await hand.turn(session)

    by_message: dict[str, str] = {}
    for chunk in heard.of("agent_message_chunk"):
        by_message[chunk["messageId"]] = by_message.get(chunk["messageId"], "") + chunk["content"]["text"]
    texts = list(by_message.values())
    assert len(texts) == 3
    assert all(text.lstrip().startswith("Warning: ") for text in texts[:2])
    assert texts[2] == "\n\nAt last.", "a client that joins chunks shows a paragraph of its own"
