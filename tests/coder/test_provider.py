"""Models of providers: the whole loop against a model on loopback that speaks as OpenAI's chat does, well or badly."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.coder import make_agent
from accord.coder.model import Delta, ModelBusy, ModelLocked, ModelMissing, ModelRequest, TextDelta, UserMessage
from accord.coder.provider import ProviderModel
from accord.coder.tools.toolbox import OFFERED
from accord.session.event import Noticed
from tests.coder.llm import FakeModel, Garbage, Hang, Say, Status, StopShort, ToolInvocation, serve
from tests.coder.rig import IN_EVERY_EDITION, Talk, answered, project, talk
from tests.interop.llm import server as scripted
from tests.interop.llm.script import Say as ScriptedSay, Script, Use
from tests.limits import limit

pytest.importorskip("pydantic_ai", reason="pydantic-ai is missing: pip install '.[agent]'")


def agent_at(model: FakeModel, **more: Any) -> accord.Agent:
    """The coding agent with a model at that address, which does not wait long before it asks again."""
    provider = ProviderModel("fake-1", base_url=model.url, first_pause_seconds=0.001)
    return make_agent(model=provider, **{"store": accord.MemoryStore(), **more})


@asynccontextmanager
async def asking(folder: Path, *steps: Any, edition: str = "1") -> AsyncIterator[tuple[Talk, FakeModel]]:
    """A conversation with the agent whose model takes these steps."""
    async with serve(*steps) as model, talk(agent_at(model), folder, edition) as talked:
        yield talked, model


@IN_EVERY_EDITION
async def test_text_thoughts_tool_calls_and_usage_come_through(tmp_path: Path, edition: str) -> None:
    project(tmp_path, **{"a.py": 'pritn("hi")\n'})
    calls = [("read", {"path": "a.py"}), ("edit", {"path": "a.py", "old": "pritn", "new": "print"})]
    async with asking(
        tmp_path, ToolInvocation(calls, "I look."), Say("All is well.", thought="Hm.", tokens=1_000), edition=edition
    ) as (talked, model):
        turn = await talked.ask("fix it")

        assert turn.stop_reason == "end_turn"
        assert answered(talked) == "All is well."
        assert [(each.title, each.status) for each in talked.tools] == [
            ("Read a.py", "completed"),
            ("Edit a.py", "completed"),
        ]
        assert [thought.text for thought in talked.session.transcript.thoughts] == ["Hm."]
        usage = talked.session.transcript.usage
        assert usage is not None
        assert (usage.used, usage.size) == (1_005, 128_000)
    assert (tmp_path / "a.py").read_text() == 'print("hi")\n'
    assert [tool["function"]["name"] for tool in model.asked[0]["tools"]] == [tool.name for tool in OFFERED["code"]]
    assert model.asked[0]["messages"][0]["role"] == "system"
    assert model.results() == ['pritn("hi")\n', "Replaced 1 occurrence in a.py."]


async def test_the_conversation_goes_on_after_a_restart(tmp_path: Path) -> None:
    store = accord.MemoryStore()
    async with serve(ToolInvocation([("list", {})]), Say("Nothing."), Say("Still nothing.")) as model:
        async with talk(agent_at(model, store=store), tmp_path) as talked:
            await talked.ask("look")
            session_id = talked.session.id
        async with talk(agent_at(model, store=store), tmp_path, resume=session_id) as talked:
            await talked.ask("again")

    roles = [message["role"] for message in model.asked[2]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("anthropic:claude-sonnet-5-5", "/v1/messages"),
        ("openai:gpt-5", "/v1/responses"),
        ("openai-chat:gpt-4o", "/v1/chat/completions"),
    ],
)
async def test_providers_with_interfaces_of_their_own_work_too(
    tmp_path: Path, name: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, a="x\n")
    script = Script([Use("read", {"path": "a"}), ScriptedSay("It says x.")])
    async with scripted.serve(script) as model:
        for provider, address in (("ANTHROPIC", model.url), ("OPENAI", f"{model.url}/v1")):
            monkeypatch.setenv(f"{provider}_API_KEY", "none")
            monkeypatch.setenv(f"{provider}_BASE_URL", address)
        async with talk(make_agent(model=name, store=accord.MemoryStore()), tmp_path) as talked:
            turn = await talked.ask("what does a say?")

            assert turn.text == "It says x."
            assert talked.tool.status == "completed"
            usage = talked.session.transcript.usage
            assert usage is not None
            assert usage.used == 18
            assert usage.size >= 100_000
            assert usage.cost
    assert [question.path for question in model.questions] == [path, path]


async def test_pictures_are_sent_along(tmp_path: Path) -> None:
    async with asking(tmp_path, Say("A dot.")) as (talked, model):
        await talked.ask("what is it?", accord.Image("AAEC", "image/png"))

    parts = model.asked[0]["messages"][-1]["content"]
    assert parts[0] == {"type": "text", "text": "what is it?"}
    assert parts[1]["image_url"]["url"] == "data:image/png;base64,AAEC"


async def test_arguments_that_are_no_json_are_told_to_the_model(tmp_path: Path) -> None:
    async with asking(tmp_path, ToolInvocation([("read", "{not json")]), Say("Sorry.")) as (talked, model):
        turn = await talked.ask("go")

        assert turn.stop_reason == "end_turn"
        assert talked.tool.status == "failed"
    assert "These arguments are no JSON object: {not json" in model.results()[0]


@pytest.mark.parametrize("depth", [200, 900, 5_000])
async def test_arguments_that_are_nested_too_deeply_are_told_to_the_model(tmp_path: Path, depth: int) -> None:
    deep = f'{{"path": {"[" * depth}{"]" * depth}}}'
    async with asking(tmp_path, ToolInvocation([("read", deep)]), Say("Sorry.")) as (talked, model):
        turn = await talked.ask("go")

        assert turn.stop_reason == "end_turn"
        assert talked.tool.status == "failed"
    assert "These arguments are no JSON object: " in model.results()[0]


@pytest.mark.parametrize(
    ("step", "kind", "words"),
    [
        (Status("401 Unauthorized"), accord.InternalError, "does not accept the key"),
        (Status("403 Forbidden"), accord.InternalError, "does not accept the key"),
        (Status("404 Not Found"), accord.InternalError, "has no model fake-1"),
        (
            Status("400 Bad Request", "temperature is odd"),
            accord.InternalError,
            "refused the request: temperature is odd",
        ),
        (Status("402 Payment Required"), accord.InternalError, "no credit left"),
        (Status("429 Too Many", headers={"Retry-After": "900"}), accord.RateLimited, "too many requests"),
        (Garbage(), accord.InternalError, "check its address, or try again"),
        (Garbage(b"<html>Welcome</html>"), accord.InternalError, "is no answer"),
        (Garbage(b'data: {"hello": "world"}\n\n'), accord.InternalError, "answer"),
        (StopShort(), accord.InternalError, "stopped in the middle"),
        (StopShort(clean=True), accord.InternalError, "stopped in the middle"),
    ],
)
async def test_a_provider_that_fails_ends_the_turn_with_one_clear_sentence(
    tmp_path: Path, step: Any, kind: type[accord.RequestError], words: str
) -> None:
    async with asking(tmp_path, step, Say("Better.")) as (talked, model):
        with pytest.raises(kind) as caught:
            await talked.ask("go")
        assert words in caught.value.message
        assert len(model.asked) == 1
        turn = await talked.ask("again")

        assert turn.text == "Better."


@pytest.mark.parametrize(
    "step", [Status("429 Too Many", headers={"Retry-After": "0"}), Status("500 Oops"), Status("503 Busy")]
)
async def test_what_is_safe_is_asked_again_and_the_user_hears_of_it(tmp_path: Path, step: Any) -> None:
    notices: list[str] = []
    async with asking(tmp_path, step, step, Say("At last."), edition="2") as (talked, model):
        talked.session.listen(lambda event: notices.append(event.title) if isinstance(event, Noticed) else None)
        turn = await talked.ask("go")

        assert turn.text == "At last."
    assert len(model.asked) == 3
    assert len(notices) == 2
    assert "trying again in" in notices[0]


async def test_it_is_not_asked_for_ever(tmp_path: Path) -> None:
    async with asking(tmp_path, *[Status("500 Oops")] * 9) as (talked, model):
        with pytest.raises(accord.InternalError, match="cannot answer now"):
            await talked.ask("go")
    assert len(model.asked) == 4


async def test_an_address_where_nobody_listens_is_said(tmp_path: Path) -> None:
    async with serve() as model:
        pass
    async with talk(agent_at(model), tmp_path) as talked:
        with pytest.raises(accord.InternalError) as caught:
            await talked.ask("go")
        assert caught.value.data == {"reason": "model_unreachable"}
        assert "check the network and the address" in caught.value.message


@IN_EVERY_EDITION
async def test_token_limit_and_filter_are_stop_reasons(tmp_path: Path, edition: str) -> None:
    async with asking(
        tmp_path, Say("I was cu", "length"), Say("Hm", "content_filter"), Say("Fine."), edition=edition
    ) as (talked, model):
        reasons = [(await talked.ask(text)).stop_reason for text in ("long", "bad", "good")]

    assert reasons == ["max_tokens", "refusal", "end_turn"]
    said = [message["content"] for message in model.asked[2]["messages"] if message["role"] == "user"]
    assert said == ["long", "good"]


@pytest.mark.parametrize("step", [Hang(), Hang("")])
@IN_EVERY_EDITION
async def test_cancelling_closes_the_connection(tmp_path: Path, edition: str, step: Hang) -> None:
    async with asking(tmp_path, step, Say("Yes?"), edition=edition) as (talked, model):
        async with talked.session.prompt("go") as turn:
            while not model.asked or (step.text and not turn.text):
                await asyncio.sleep(0.001)
            turn.cancel()
        assert turn.stop_reason == "cancelled"
        async with asyncio.timeout(limit(10)):
            await model.hung_up.wait()
        again = await talked.ask("again")

        assert again.text == "Yes?"


async def test_a_full_context_is_compacted_and_asked_again(tmp_path: Path) -> None:
    full = Status("400 Bad Request", "too long", "context_length_exceeded")
    async with asking(tmp_path, Say("One."), Say("Two."), full, Say("We counted."), Say("Three.")) as (talked, model):
        for text in ("one", "two", "three"):
            turn = await talked.ask(text)

        assert turn.text == "Three."
    assert "tools" not in model.asked[3]
    texts = [message["content"] for message in model.asked[4]["messages"][1:]]
    assert texts[0].endswith("We counted.")
    assert texts[-1] == "three"


async def test_another_model_goes_on_with_the_conversation(tmp_path: Path) -> None:
    async with serve(ToolInvocation([("list", {})]), Say("Nothing."), Say("Hello.")) as model:
        one = ProviderModel("one", base_url=model.url)
        two = ProviderModel("two", base_url=model.url)
        agent = make_agent(model=one, models=[two], store=accord.MemoryStore())
        async with talk(agent, tmp_path) as talked:
            await talked.ask("look")
            await talked.ask("/model two")
            turn = await talked.ask("hello")

            assert turn.text == "Hello."
    assert [asked["model"] for asked in model.asked] == ["one", "one", "two"]


async def test_what_was_partly_heard_is_not_asked_again() -> None:
    asked: list[int] = []

    class Fickle:
        context_tokens = None

        async def stream(self, _: ModelRequest) -> AsyncGenerator[Delta, None]:
            asked.append(1)
            yield TextDelta("Well")
            raise ModelBusy("wait", 0.0)

    model = ProviderModel("fickle")
    model._gateway = Fickle()  # type: ignore[assignment]
    heard: list[Delta] = []
    stream = model.stream(ModelRequest("", [UserMessage("x")], []))
    heard.append(await anext(stream))
    with pytest.raises(ModelBusy):
        await anext(stream)
    assert (heard, len(asked)) == ([TextDelta("Well")], 1)


async def test_a_models_own_form_of_its_words_is_for_itself_alone(tmp_path: Path) -> None:
    async with serve(Say("One.", thought="Secret thought."), Say("Two."), Say("Three.")) as model:
        one, two = (ProviderModel(name, base_url=model.url) for name in ("one", "two"))
        agent = make_agent(model=one, models=[two], store=accord.MemoryStore())
        async with talk(agent, tmp_path) as talked:
            await talked.ask("one")
            await talked.ask("two")
            await talked.ask("/model two")
            await talked.ask("three")

    assert "Secret thought." in str(model.asked[1]["messages"])
    assert "Secret thought." not in str(model.asked[2]["messages"])


@pytest.mark.parametrize(
    ("name", "kind"),
    [("nonsense:gpt", ModelMissing), ("openai:gpt-5", ModelLocked), ("anthropic:claude-sonnet-5-5", ModelLocked)],
)
async def test_a_model_that_cannot_be_opened_says_what_is_missing(
    name: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    model = ProviderModel(name)
    with pytest.raises(kind, match=name):
        async for _ in model.stream(ModelRequest("", [UserMessage("x")], [])):
            pass


async def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    monkeypatch.delitem(sys.modules, "accord.coder.gateway", raising=False)
    agent = make_agent(model="openai:gpt-5", store=None)
    async with talk(agent, tmp_path) as talked:
        with pytest.raises(accord.InternalError) as caught:
            await talked.ask("go")
        assert "pip install '.[agent]'" in caught.value.message


def test_nothing_heavy_is_loaded_before_it_is_needed() -> None:
    program = (
        "import sys, accord.coder\n"
        "accord.coder.make_agent(model='openai:gpt-5', store=None)\n"
        "print([name for name in ('pydantic_ai', 'pydantic', 'mcp', 'rich', 'textual', 'sqlite3', 'httpx2',"
        " 'accord.client', 'accord.coder.loop') if name in sys.modules])"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=limit(60), check=True
    )
    assert finished.stdout.strip() == "[]"
