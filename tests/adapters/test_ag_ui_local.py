"""The bridge from AG-UI with an agent in this process: the contract of all adapters, as far as AG-UI goes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ag_ui", reason="AG-UI's package is missing: run scripts/adapters")

from ag_ui.core import RunAgentInput, RunFinishedEvent, RunStartedEvent, TextMessageChunkEvent
from ag_ui.encoder import EventEncoder

from accord.adapters import ag_ui
from accord.agent import Agent
from accord.stores import MemoryStore
from accord.stores.interface import Store
from tests.adapters.adapter_contract import PERMISSION, AdapterContract
from tests.adapters.ag_ui_agent import agent, bridge
from tests.agent.rig import choose, served


class TestAgUi(AdapterContract):
    reports_failure = False  # AG-UI has no field for it
    shows_pictures = False

    def make(self, store: Store) -> Agent:
        return ag_ui.serve(agent, store=store)

    def framework_agent(self) -> object:
        """A bridge: nothing else tells an object of AG-UI from any other."""
        return bridge

    def program(self) -> str:
        module = "tests.adapters.ag_ui_agent"
        return f"from accord.adapters.ag_ui import serve; from {module} import agent; serve(agent, 'killed').run()"

    async def test_a_tool_that_raises_ends_the_turn_or_the_call_without_its_text(self, project: Path) -> None:
        """What its framework makes of it is the result, and AG-UI cannot say that it is a failure."""
        async with self.serve() as client:
            heard = await client.turn(await client.new_session(str(project)), "raise")
        assert heard.tools()["call_1"]["status"] == "completed"

    async def test_a_call_is_asked_about_under_its_own_id_and_ends(self, project: Path) -> None:
        async with self.serve() as client:
            client.answers[PERMISSION] = choose("allow")
            heard = await client.turn(await client.new_session(str(project)), "delete")
        assert heard.tools()["call_1"]["statuses"] == ["pending", "in_progress", "completed"]
        assert not (project / "old.txt").exists()


async def test_a_function_may_give_events_as_they_are_encoded_for_http() -> None:
    encoder = EventEncoder()

    async def answer(given: RunAgentInput) -> AsyncIterator[Any]:
        ids = {"thread_id": given.thread_id, "run_id": given.run_id}
        yield encoder.encode(RunStartedEvent(**ids))
        yield encoder.encode(TextMessageChunkEvent(message_id="m", delta="Encoded."))
        yield encoder.encode(RunFinishedEvent(**ids))

    async with served(ag_ui.serve(answer, store=MemoryStore())) as client:
        heard = await client.turn(await client.new_session(), "hello")
    assert heard.text == "Encoded."
