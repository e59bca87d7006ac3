"""Options, modes and models: declared once, sent in each edition's shape, kept in step and stored."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent, Session, Turn, offer_session_models
from accord.agent.settings import OptionValue, Settings
from accord.errors import InvalidParams, RequestError
from accord.protocol.model import Unknown
from accord.session.custom import Custom
from accord.session.option import Choice, Group, OptionCategory, Toggle
from accord.stores import MemoryStore, SqliteStore
from accord.stores.interface import Store
from tests.agent.rig import EDITIONS, IN_EVERY_EDITION, Hand, Heard, served
from tests.agent.sessions import CWD, error_of, reopen
from tests.tables import rows

TOGGLES: dict[str, dict[str, Any]] = {"v1": {"session": {"configOptions": {"boolean": {}}}}, "v2": {}, "v2_june": {}}


def agent(store: Store | None = None, **options: Any) -> Agent:
    made = Agent("tested", store=store or MemoryStore(), **options)
    made.modes([Choice("ask", "Ask", "Asks first"), Choice("code", "Code")])
    made.models(["small", "large"], default="large")
    offer_session_models(made)
    made.select(
        "effort",
        "Effort",
        [
            Group("usual", "Usual", [Choice("low", "Low"), Choice("high", "High")]),
            Group("rare", "Rare", [Choice("max", "Max")]),
        ],
        default="high",
        category="thought_level",
        description="How hard to think",
    )
    made.toggle("web", "Web search", default=True, description="May look things up")

    @made.prompt
    async def show(turn: Turn) -> None:
        await turn.say(" ".join(str(turn.option(name)) for name in ("mode", "model", "effort", "web")))

    return made


async def opened(hand: Hand) -> dict[str, Any]:
    answer = await hand.request("session/new", {"cwd": CWD, "mcpServers": []})
    result: dict[str, Any] = answer["result"]
    return result


def named(hand: Hand, options: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {option["configId" if hand.edition == "v2" else "id"]: option for option in options}


def values(hand: Hand, options: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: option["currentValue"] for name, option in named(hand, options).items()}


def setting(hand: Hand, session: str, option: str, value: OptionValue) -> tuple[str, dict[str, Any]]:
    params: dict[str, Any] = {"sessionId": session, "configId": option, "value": value}
    if hand.edition == "v2":
        params["type"] = "boolean" if isinstance(value, bool) else "id"
    elif isinstance(value, bool):
        params["type"] = "boolean"
    return "session/set_config_option", params


# --- what is offered


@IN_EVERY_EDITION
async def test_every_option_is_offered_with_its_default(edition: str) -> None:
    async with served(agent(), edition, TOGGLES[edition]) as hand:
        result = await opened(hand)
        expected: dict[str, Any] = {"mode": "ask", "model": "large", "effort": "high", "web": True}
        if edition == "v2_june":
            del expected["web"]
        assert values(hand, result["configOptions"]) == expected
        effort = named(hand, result["configOptions"])["effort"]
        key = "groupId" if edition == "v2" else "group"
        assert [(group[key], [choice["value"] for choice in group["options"]]) for group in effort["options"]] == [
            ("usual", ["low", "high"]),
            ("rare", ["max"]),
        ]
        assert effort["category"] == "thought_level"
        assert effort["description"] == "How hard to think"


async def test_v1_tells_modes_and_models_a_second_time() -> None:
    async with served(agent(), "v1") as hand:
        result = await opened(hand)
    assert result["modes"] == {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "Ask", "description": "Asks first"}, {"id": "code", "name": "Code"}],
    }
    assert result["models"]["currentModelId"] == "large"
    assert [model["modelId"] for model in result["models"]["availableModels"]] == ["small", "large"]


async def test_models_are_told_twice_only_where_their_author_wants_it() -> None:
    made = Agent("tested", store=None)
    made.prompt(lambda _: None)
    made.models(["small"])
    async with served(made, "v1") as hand:
        assert "models" not in await opened(hand)


async def test_an_option_that_is_on_or_off_is_hidden_from_a_v1_client_that_cannot_show_it() -> None:
    async with served(agent(), "v1") as hand:
        result = await opened(hand)
        assert "web" not in values(hand, result["configOptions"])
        session = result["sessionId"]
        error = error_of(await hand.request(*setting(hand, session, "web", value=False)))
        assert error["code"] == -32602
        assert error["data"] == {"field": "configId", "expected": "one of mode, model, effort"}
        answer = await hand.request(*setting(hand, session, "effort", "low"))
        assert "web" not in values(hand, answer["result"]["configOptions"])
        assert (await hand.turn(session)).text == "ask large low True"
        for update in Heard(hand.received).of("config_option_update"):
            assert "web" not in values(hand, update["configOptions"])


@IN_EVERY_EDITION
async def test_an_agent_without_options_says_nothing_of_them(edition: str) -> None:
    made = Agent("tested", store=None)
    made.prompt(lambda _: None)
    async with served(made, edition) as hand:
        result = await opened(hand)
        assert set(result) == {"sessionId"}
        error = error_of(await hand.request(*setting(hand, result["sessionId"], "mode", "ask")))
        assert error["code"] == -32602
        assert error["data"] == {"field": "configId", "expected": "none: this agent has no options"}


# --- setting


@IN_EVERY_EDITION
async def test_a_client_sets_an_option_and_gets_all_of_them(edition: str) -> None:
    async with served(agent(), edition) as hand:
        session = (await opened(hand))["sessionId"]
        answer = await hand.request(*setting(hand, session, "effort", "max"))
        assert values(hand, answer["result"]["configOptions"])["effort"] == "max"
        assert "max" in (await hand.turn(session)).text


@rows("edition", ["v1", "v2"])
async def test_a_client_sets_an_option_on_and_off(edition: str) -> None:
    async with served(agent(), edition, TOGGLES[edition]) as hand:
        session = (await opened(hand))["sessionId"]
        answer = await hand.request(*setting(hand, session, "web", value=False))
        assert values(hand, answer["result"]["configOptions"])["web"] is False
        assert (await hand.turn(session)).text == "ask large high False"


async def test_a_mode_set_alone_keeps_the_option_in_step() -> None:
    async with served(agent(), "v1") as hand:
        session = (await opened(hand))["sessionId"]
        start = len(hand.received)
        assert (await hand.request("session/set_mode", {"sessionId": session, "modeId": "code"}))["result"] == {}
        heard = Heard(hand.received[start:])
        (options,) = heard.of("config_option_update")
        assert values(hand, options["configOptions"])["mode"] == "code"
        assert [update["currentModeId"] for update in heard.of("current_mode_update")] == ["code"]
        assert (await hand.turn(session)).text == "code large high True"
        again = await reopen(hand, session)
        assert again.answer is not None
        assert again.answer["result"]["modes"]["currentModeId"] == "code"


async def test_the_mode_set_as_an_option_keeps_the_modes_in_step() -> None:
    async with served(agent(), "v1") as hand:
        session = (await opened(hand))["sessionId"]
        start = len(hand.received)
        await hand.request(*setting(hand, session, "mode", "code"))
        assert [u["currentModeId"] for u in Heard(hand.received[start:]).of("current_mode_update")] == ["code"]


async def test_a_model_set_alone_keeps_the_option_in_step() -> None:
    async with served(agent(), "v1") as hand:
        session = (await opened(hand))["sessionId"]
        start = len(hand.received)
        assert (await hand.request("session/set_model", {"sessionId": session, "modelId": "small"}))["result"] == {}
        (options,) = Heard(hand.received[start:]).of("config_option_update")
        assert values(hand, options["configOptions"])["model"] == "small"
        assert (await hand.turn(session)).text == "ask small high True"
        again = await reopen(hand, session)
        assert again.answer is not None
        assert again.answer["result"]["models"]["currentModelId"] == "small"


@IN_EVERY_EDITION
async def test_a_value_that_is_set_already_changes_nothing(edition: str) -> None:
    made, changes = agent(), []
    made.on_option(lambda _, name, value: changes.append((name, value)))
    async with served(made, edition) as hand:
        session = (await opened(hand))["sessionId"]
        start = len(hand.received)
        answer = await hand.request(*setting(hand, session, "effort", "high"))
        assert values(hand, answer["result"]["configOptions"])["effort"] == "high"
        assert Heard(hand.received[start:]).updates == []
    assert changes == []


@IN_EVERY_EDITION
async def test_an_agent_that_sets_an_option_in_a_turn_tells_its_client(edition: str) -> None:
    made = Agent("tested", store=MemoryStore())
    made.modes(["ask", "code"])

    @made.prompt
    async def switch(turn: Turn) -> None:
        await turn.session.set_option("mode", "code")
        with pytest.raises(InvalidParams):
            await turn.session.set_option("mode", "fly")
        with pytest.raises(KeyError):
            turn.option("nothing")

    async with served(made, edition) as hand:
        session = (await opened(hand))["sessionId"]
        heard = await hand.turn(session)
    (options,) = heard.of("config_option_update")
    assert values(hand, options["configOptions"]) == {"mode": "code"}
    assert [u["currentModeId"] for u in heard.of("current_mode_update")] == (["code"] if edition == "v1" else [])
    assert heard.stop_reason == "end_turn"


# --- the author's say


@IN_EVERY_EDITION
async def test_an_author_hears_of_every_change(edition: str) -> None:
    made, changes = agent(), []

    @made.on_option
    async def note(session: Session, name: str, value: OptionValue) -> None:
        await asyncio.sleep(0)
        changes.append((session.id, name, value))

    async with served(made, edition) as hand:
        session = (await opened(hand))["sessionId"]
        await hand.request(*setting(hand, session, "effort", "low"))
        await hand.request(*setting(hand, session, "mode", "code"))
    assert changes == [(session, "effort", "low"), (session, "mode", "code")]


@IN_EVERY_EDITION
async def test_an_author_can_refuse_a_change(edition: str) -> None:
    made = agent()

    @made.on_option
    async def refuse(_: Session, __: str, value: OptionValue) -> None:
        if value == "max":
            raise RequestError("Not on this plan", {"reason": "plan"}, code=-32050)
        if value == "low":
            raise ValueError("the secret")

    async with served(made, edition) as hand:
        session = (await opened(hand))["sessionId"]
        start = len(hand.received)
        error = error_of(await hand.request(*setting(hand, session, "effort", "max")))
        assert error == {"code": -32050, "message": "Not on this plan", "data": {"reason": "plan"}}
        error = error_of(await hand.request(*setting(hand, session, "effort", "low")))
        assert error["code"] == -32603
        assert "secret" not in str(error)
        assert Heard(hand.received[start:]).updates == []
        assert "high" in (await hand.turn(session)).text


@IN_EVERY_EDITION
async def test_one_change_may_bring_another(edition: str) -> None:
    made = agent()

    @made.on_option
    async def follow(session: Session, name: str, value: OptionValue) -> None:
        if (name, value) == ("model", "small"):
            await session.set_option("effort", "low")

    async with served(made, edition) as hand:
        session = (await opened(hand))["sessionId"]
        answer = await hand.request(*setting(hand, session, "model", "small"))
        found = values(hand, answer["result"]["configOptions"])
    assert (found["model"], found["effort"]) == ("small", "low")


# --- what is not there


@IN_EVERY_EDITION
async def test_what_is_not_there_is_refused_with_what_there_is(edition: str) -> None:
    shown = "mode, model, effort, web" if edition == "v2" else "mode, model, effort"
    async with served(agent(), edition) as hand:
        session = (await opened(hand))["sessionId"]
        error = error_of(await hand.request(*setting(hand, session, "nothing", "x")))
        assert (error["code"], error["data"]) == (-32602, {"field": "configId", "expected": f"one of {shown}"})
        error = error_of(await hand.request(*setting(hand, session, "effort", "enormous")))
        assert (error["code"], error["data"]) == (-32602, {"field": "value", "expected": "one of low, high, max"})
        assert "enormous" not in str(error)
        error = error_of(await hand.request(*setting(hand, "nobody", "effort", "low")))
        assert (error["code"], error["data"]) == (-32002, {"sessionId": "nobody"})
        assert await hand.is_alive()


async def test_on_and_off_are_no_choice_and_a_choice_is_neither_on_nor_off() -> None:
    for edition in ("v1", "v2"):
        async with served(agent(), edition, TOGGLES[edition]) as hand:
            session = (await opened(hand))["sessionId"]
            error = error_of(await hand.request(*setting(hand, session, "web", "true")))
            assert (error["code"], error["data"]) == (-32602, {"field": "value", "expected": "true or false"})
            error = error_of(await hand.request(*setting(hand, session, "effort", value=True)))
            assert (error["code"], error["data"]["field"]) == (-32602, "value")


async def test_a_mode_and_a_model_that_are_not_there_are_refused() -> None:
    async with served(agent(), "v1") as hand:
        session = (await opened(hand))["sessionId"]
        error = error_of(await hand.request("session/set_mode", {"sessionId": session, "modeId": "fly"}))
        assert (error["code"], error["data"]) == (-32602, {"field": "modeId", "expected": "one of ask, code"})
        error = error_of(await hand.request("session/set_model", {"sessionId": session, "modelId": "huge"}))
        assert (error["code"], error["data"]) == (-32602, {"field": "modelId", "expected": "one of small, large"})


async def test_an_agent_without_modes_and_models_says_so() -> None:
    made = Agent("tested", store=None)
    made.prompt(lambda _: None)
    async with served(made, "v1") as hand:
        session = (await opened(hand))["sessionId"]
        error = error_of(await hand.request("session/set_mode", {"sessionId": session, "modeId": "fly"}))
        assert (error["code"], error["data"]["field"]) == (-32602, "modeId")
        error = error_of(await hand.request("session/set_model", {"sessionId": session, "modelId": "huge"}))
        assert (error["code"], error["data"]["expected"]) == (-32602, "no model at all")


# --- after a restart


@pytest.mark.parametrize("edition", EDITIONS)
async def test_values_outlive_their_process(edition: str, tmp_path: Path) -> None:
    for round_ in range(2):
        store = SqliteStore(tmp_path / "sessions.db")
        async with served(agent(store), edition) as hand:
            if round_ == 0:
                session = (await opened(hand))["sessionId"]
                await hand.request(*setting(hand, session, "effort", "max"))
                await hand.request(*setting(hand, session, "mode", "code"))
            else:
                heard = await reopen(hand, session)
                assert heard.answer is not None
                found = values(hand, heard.answer["result"]["configOptions"])
                assert (found["effort"], found["mode"], found["model"]) == ("max", "code", "large")
                assert heard.of("config_option_update", "current_mode_update") == []
                assert (await hand.turn(session)).text == "code large max True"
        await store.close()


@IN_EVERY_EDITION
async def test_a_value_that_is_no_longer_possible_gives_way_to_the_default(edition: str) -> None:
    store = MemoryStore()
    async with served(agent(store), edition) as hand:
        session = (await opened(hand))["sessionId"]
        await hand.request(*setting(hand, session, "effort", "max"))
        await hand.request(*setting(hand, session, "mode", "code"))
    later = Agent("tested", store=store)
    later.prompt(lambda _: None)
    later.modes(["ask", "code"])
    later.select("effort", "Effort", ["low", "high"])
    async with served(later, edition) as hand:
        heard = await reopen(hand, session)
        assert heard.answer is not None
        assert values(hand, heard.answer["result"]["configOptions"]) == {"mode": "code", "effort": "low"}
        assert "max" not in str(heard.updates)


# --- what an author can get wrong


def test_an_option_needs_values_that_differ_and_a_default_among_them() -> None:
    made = Agent("tested", store=None)
    with pytest.raises(ValueError, match="needs a value"):
        made.select("a", "A", [])
    with pytest.raises(ValueError, match="must differ"):
        made.select("a", "A", ["x", "x"])
    with pytest.raises(ValueError, match="default"):
        made.select("a", "A", ["x"], default="y")
    made.select("a", "A", ["x"])
    with pytest.raises(ValueError, match="already"):
        made.toggle("a", "A")
    made.modes(["ask"])
    with pytest.raises(ValueError, match="one option"):
        made.modes(["code"], id="other")
    assert [option.id for option in made.options if not isinstance(option, Unknown)] == ["a", "mode"]


def test_settings_pass_over_what_they_do_not_know() -> None:
    settings = Settings([Unknown("dial", {}), Toggle("web", "Web", value=False)])
    settings.restore([Unknown("dial", {}), Toggle("web", "Web", value=True), Toggle("gone", "Gone", value=True)])
    assert settings.get("web") is True
    assert not settings.set("gone", value=True)
    assert settings.mode is None
    assert settings.model is None


@rows("category", ["other", "permission", "", "Mode"])
def test_a_category_that_the_protocol_reserves_is_refused(category: str) -> None:
    made = Agent("tested", store=None)
    with pytest.raises(ValueError, match="category"):
        made.select("language", "Language", ["en"], category=Custom(category))
    with pytest.raises(ValueError, match="category"):
        made.toggle("web", "Web", category=Custom(category))


@rows("category", [None, "mode", "model", "model_config", "thought_level", "_language"])
def test_a_category_of_the_protocol_or_of_ones_own_is_taken(category: OptionCategory | None) -> None:
    made = Agent("tested", store=None)
    made.select("language", "Language", ["en"], category=category)
    assert [option.category for option in made.options if not isinstance(option, Unknown)] == [category]
