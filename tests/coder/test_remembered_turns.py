"""What a model is told after a turn that went wrong: the requests that a provider on loopback got, on two wires.

Whatever a provider does, the request, what was said and what was done are in the next request, in a form that every
provider accepts: each call has a result, and the messages of the user and of the model take turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.coder import make_agent
from accord.coder.memory import STOPPED, SUMMARY
from accord.coder.provider import ProviderModel
from tests.coder.llm import Babble, FakeModel, Garbage, Hang, Say, Slow, Status, StopShort, ToolInvocation, serve
from tests.coder.rig import Talk, project, talk
from tests.coder.wires import Spoken
from tests.limits import limit

pytest.importorskip("pydantic_ai", reason='pydantic-ai is missing: pip install "accord[agent]"')

ON_BOTH_WIRES = pytest.mark.parametrize("wire", ["openai", "anthropic"])
FULL = Status("400 Bad Request", "too long", "context_length_exceeded")


def model_at(fake: FakeModel, wire: str, monkeypatch: pytest.MonkeyPatch) -> ProviderModel:
    """The model at that address, in that wire; it does not wait long before it asks again."""
    if wire == "openai":
        return ProviderModel("fake-1", base_url=fake.url, first_pause_seconds=0.001)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.url.removesuffix("/v1"))
    return ProviderModel("anthropic:claude-sonnet-5-5", first_pause_seconds=0.001)


@asynccontextmanager
async def asking(
    folder: Path, wire: str, monkeypatch: pytest.MonkeyPatch, *steps: Any, **more: Any
) -> AsyncIterator[tuple[Talk, FakeModel]]:
    """A conversation with the agent whose model takes these steps, and then says that all is well."""
    async with serve(*steps, Say("Well.")) as fake:
        agent = make_agent(model=model_at(fake, wire, monkeypatch), store=accord.MemoryStore(), **more)
        async with talk(agent, folder) as talked:
            yield talked, fake


def accepted(spoken: list[Spoken]) -> None:
    """Assert what the strictest providers want: turns are taken, and each call is followed by its result."""
    previous, calls, results = "", 0, 0
    for who, what in spoken:
        assert what not in ("", " "), "an empty message"
        if who == "call":
            calls += 1
        elif who == "result":
            results += 1
        else:
            assert calls == results, f"a call without a result before {what!r}"
            assert not (who == "user" and previous in {"user", "result"}), f"no reply before {what!r}"
        previous = who
    assert spoken[-1][0] in {"user", "result"}


BROKEN: list[Any] = [
    pytest.param((StopShort("Rust is"),), "Rust is", id="breaks off"),
    pytest.param((StopShort("Rust is", clean=True),), "Rust is", id="ends without an end"),
    pytest.param((StopShort(""),), "", id="breaks off at once"),
    pytest.param((Status("400 Bad Request", "odd"),), "", id="refuses"),
    pytest.param((Status("401 Unauthorized"),), "", id="wants another key"),
    pytest.param((Garbage(),), "", id="sends garbage"),
    pytest.param((Status("503 Busy"),) * 4, "", id="is not there"),
]


@ON_BOTH_WIRES
@pytest.mark.parametrize(("steps", "said"), BROKEN)
async def test_a_request_whose_answer_broke_off_is_remembered_with_what_was_said(
    tmp_path: Path, wire: str, steps: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(tmp_path, wire, monkeypatch, *steps) as (talked, fake):
        with pytest.raises(accord.RequestError):
            await talked.ask("write it in Go")
        await talked.ask("no, do it in Rust instead")

    (user, broken, then) = fake.conversation()
    assert (user, then) == (("user", "write it in Go"), ("user", "no, do it in Rust instead"))
    assert broken[0] == "agent"
    assert broken[1].startswith(f"{said}\n\n[" if said else "[")
    accepted(fake.conversation())


@ON_BOTH_WIRES
@pytest.mark.parametrize("said", ["Let me think", ""])
async def test_a_turn_that_was_cancelled_in_its_first_round_is_remembered(
    tmp_path: Path, wire: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(tmp_path, wire, monkeypatch, Hang(said)) as (talked, fake):
        async with talked.session.prompt("write it in Go") as turn:
            await until(lambda: bool(fake.asked) and turn.text == said)
            turn.cancel()
        await talked.ask("no, in Rust")

    note = f"{said}\n\n{STOPPED}" if said else STOPPED
    assert fake.conversation() == [("user", "write it in Go"), ("agent", note), ("user", "no, in Rust")]


@ON_BOTH_WIRES
async def test_a_turn_that_was_cancelled_in_a_later_round_is_remembered_with_what_was_done(
    tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = (ToolInvocation([("write", {"path": "a", "text": "b"})], text="I write."), Hang("Next I"))
    async with asking(tmp_path, wire, monkeypatch, *steps) as (talked, fake):
        async with talked.session.prompt("go") as turn:
            await until(lambda: "Next I" in turn.text)
            turn.cancel()
        await talked.ask("stop that")

    assert fake.conversation() == [
        ("user", "go"),
        ("agent", "I write."),
        ("call", ("write", {"path": "a", "text": "b"})),
        ("result", "Wrote 1 line to a."),
        ("agent", f"Next I\n\n{STOPPED}"),
        ("user", "stop that"),
    ]


@ON_BOTH_WIRES
async def test_calls_that_were_cancelled_have_results_and_those_before_them_their_own(
    tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [("list", {}), ("run", {"command": "sleep 100"}), ("list", {"path": "x"})]
    async with asking(tmp_path, wire, monkeypatch, ToolInvocation(calls)) as (talked, fake):
        async with talked.session.prompt("go") as turn:
            await until(lambda: bool(talked.tools) and talked.tool.kind == "execute" and bool(talked.tool.content))
            turn.cancel()
        await talked.ask("on")

    spoken = fake.conversation()
    results = [what for who, what in spoken if who == "result"]
    assert results == ["The folder is empty.", STOPPED, STOPPED]
    assert spoken[-2:] == [("agent", STOPPED), ("user", "on")]
    accepted(spoken)


@ON_BOTH_WIRES
async def test_unknown_tools_and_broken_arguments_are_answered_in_a_form_that_can_be_sent_again(
    tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = ToolInvocation([("fly", {"to": "Mars"}), ("read", "{not json"), ("read", '["a list"]'), ("read", "{}")])
    async with asking(tmp_path, wire, monkeypatch, wrong, Say("Sorry.")) as (talked, fake):
        await talked.ask("go")
        await talked.ask("again")

    spoken = fake.conversation()
    calls = [what for who, what in spoken if who == "call"]
    results = [what for who, what in spoken if who == "result"]
    assert [name for name, _ in calls] == ["fly", "read", "read", "read"]
    assert all(isinstance(arguments, dict) for _, arguments in calls)
    assert "There is no tool 'fly'" in results[0]
    assert "{not json" in results[1]
    assert "a list" in results[2]
    assert "path" in results[3]
    assert spoken[-2:] == [("agent", "Sorry."), ("user", "again")]
    accepted(spoken)


@ON_BOTH_WIRES
async def test_an_answer_among_much_else_is_remembered_as_it_was_said(
    tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [f"word{n} " for n in range(60)]
    async with asking(tmp_path, wire, monkeypatch, Babble(words)) as (talked, fake):
        turn = await talked.ask("talk")
        await talked.ask("again")

    said = "".join(words)
    assert turn.text == said
    spoken = [(who, what) for who, what in fake.conversation() if who != "agent"]
    assert spoken == [("user", "talk"), ("user", "again")]
    assert "".join(what for who, what in fake.conversation() if who == "agent").replace("\n", "") == said
    accepted(fake.conversation())


@ON_BOTH_WIRES
async def test_text_of_spaces_alone_is_not_said_again(
    tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(tmp_path, wire, monkeypatch, ToolInvocation([("list", {})], text="\n\n")) as (talked, fake):
        await talked.ask("look")

    assert fake.conversation() == [("user", "look"), ("call", ("list", {})), ("result", "The folder is empty.")]


@ON_BOTH_WIRES
async def test_an_answer_that_was_cut_by_its_length_is_remembered_as_far_as_it_came(
    tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(tmp_path, wire, monkeypatch, Say("It goes on and", "length"), Say("", "length")) as (
        talked,
        fake,
    ):
        await talked.ask("tell me")
        await talked.ask("go on")
        await talked.ask("go on")

    assert fake.conversation() == [
        ("user", "tell me"),
        ("agent", "It goes on and"),
        ("user", "go on"),
        ("agent", "[the answer was cut]"),
        ("user", "go on"),
    ]


@ON_BOTH_WIRES
async def test_a_context_that_the_provider_finds_too_long_is_cut_and_the_request_stays(
    tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, big="x" * 20_000)
    steps = (Say("One."), ToolInvocation([("read", {"path": "big"})]), FULL, Say("They counted."), Say("Read."))
    async with asking(tmp_path, wire, monkeypatch, *steps) as (talked, fake):
        await talked.ask("one")
        await talked.ask("read big")
        await talked.ask("and now?")

    assert fake.conversation(3)[0][1].startswith("User: one")
    summary, understood, asked, call, result = fake.conversation(4)
    assert summary == ("user", f"{SUMMARY}They counted.")
    assert understood[0] == "agent"
    assert asked == ("user", "read big")
    assert call == ("call", ("read", {"path": "big"}))
    assert result[0] == "result"
    assert fake.conversation()[-2:] == [("agent", "Read."), ("user", "and now?")]
    accepted(fake.conversation())


@ON_BOTH_WIRES
async def test_a_request_that_can_never_fit_does_not_stand_in_the_way_of_the_next(
    tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(tmp_path, wire, monkeypatch, FULL, FULL) as (talked, fake):
        with pytest.raises(accord.RequestError):
            await talked.ask("x" * 50_000)
        await talked.ask("shorter, then")

    (_, long), (_, note), last = fake.conversation()
    assert len(long) < 5_000
    assert long.startswith("xxx")
    assert note.startswith("[")
    assert last == ("user", "shorter, then")


@ON_BOTH_WIRES
async def test_a_refused_turn_is_not_remembered(tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking(tmp_path, wire, monkeypatch, Say("N", "content_filter")) as (talked, fake):
        turn = await talked.ask("something bad")
        assert turn.stop_reason == "refusal"
        await talked.ask("something good")

    assert fake.conversation() == [("user", "something good")]


@ON_BOTH_WIRES
async def test_a_slow_provider_is_waited_for_and_retries_ask_the_same_again(
    tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    busy = Status("429 Too Many", headers={"Retry-After": "0"})
    async with asking(tmp_path, wire, monkeypatch, busy, Slow(gate, "At last.")) as (talked, fake):
        asking_ = asyncio.create_task(talked.ask("go"))
        await until(lambda: len(fake.asked) == 2)
        assert not asking_.done()
        gate.set()
        turn = await asking_

    assert turn.text.endswith("At last.")
    assert fake.asked[0] == fake.asked[1]


async def until(happened: Any) -> None:
    """Wait for something that has no event of its own."""
    async with asyncio.timeout(limit(20)):
        while not happened():
            await asyncio.sleep(0.002)
