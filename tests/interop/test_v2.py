"""v2 between Accord and the official SDKs, on both ends.

Every test runs for four pairings: the peer (Python or TypeScript) as the agent, and as the client. What is
expected is the same for all of them, but for what the Python SDK, which follows an older draft, has no words for.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.interop.programs import PEERS, is_gone
from tests.interop.record import ODD, Conversation

STORY = json.loads((PEERS / "story_v2.json").read_text(encoding="utf-8"))
SESSION = {"sessionId": "session-1"}
IDLE = {"sessionUpdate": "state_update", "state": "idle"}
RUNNING = {"sessionUpdate": "state_update", "state": "running"}
BLOCKED = {"sessionUpdate": "state_update", "state": "requires_action"}


def chosen(**values: Any) -> list[Any]:
    """The config options with some values set."""
    return [
        {**each, "currentValue": values.get(each["configId"], each["currentValue"])} for each in STORY["configOptions"]
    ]


def say(words: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "messageId": "m9", "content": {"type": "text", "text": words}}


def echo(talk: Conversation, scene: str, *words: str) -> dict[str, Any]:
    """How the agent reports the prompt of a scene: under the id that it answered."""
    content = [{"type": "text", "text": each} for each in words]
    return {"sessionUpdate": "user_message", "messageId": talk.result(scene)["messageId"], "content": content}


def typed(update: dict[str, Any]) -> dict[str, Any]:
    """An update whose commands all say that they are: the older draft of the Python SDK has no type there."""
    if update["sessionUpdate"] != "available_commands_update":
        return update
    return {**update, "availableCommands": [{"type": "command", **each} for each in update["availableCommands"]]}


def test_the_handshake_tells_both_sides_what_the_other_can(talk_v2: Conversation) -> None:
    result = talk_v2.result("initialize")
    assert result["protocolVersion"] == 2
    assert result["info"]["version"] == "1"
    assert result["capabilities"] == {"session": {"prompt": {"image": {}}, "delete": {}}}
    assert result["_meta"]["capabilities"] == {"elicitation": {"form": {}, "url": {}}}


def test_a_new_session_comes_with_its_options(talk_v2: Conversation) -> None:
    assert talk_v2.result("new") == {**SESSION, "configOptions": STORY["configOptions"]}


def test_updates_of_every_kind_arrive_whole_and_in_order(talk_v2: Conversation) -> None:
    assert [typed(update) for update in talk_v2.updates("tell")] == [
        echo(talk_v2, "tell", "tell"),
        RUNNING,
        *STORY["updates"],
        {**IDLE, "stopReason": "end_turn"},
    ]


def test_null_and_absent_stay_two_things(talk_v2: Conversation) -> None:
    cleared = next(each for each in talk_v2.updates("tell") if each["sessionUpdate"] == "agent_thought")
    kept = next(each for each in talk_v2.updates("tell") if each["sessionUpdate"] == "terminal_update")
    assert cleared["content"] is None
    assert "output" not in kept


def test_every_prompt_gets_an_id_of_its_own(talk_v2: Conversation) -> None:
    scenes = ["tell", "ask_twice", "elicit", "extend", "break_down", "wait", "interrupt", "burst", "echo_odd"]
    assert len({talk_v2.result(scene)["messageId"] for scene in scenes}) == len(scenes)


def test_a_permission_is_selected_and_another_cancelled(talk_v2: Conversation) -> None:
    assert talk_v2.received("ask_twice") == [
        ["session/update", echo(talk_v2, "ask_twice", "ask_twice")],
        ["session/update", RUNNING],
        ["session/update", BLOCKED],
        ["session/request_permission", {**SESSION, **STORY["permission"]}],
        ["session/update", RUNNING],
        ["session/update", BLOCKED],
        ["session/request_permission", {**SESSION, **STORY["command"]}],
        ["session/update", RUNNING],
        ["session/update", {**IDLE, "stopReason": "refusal"}],
    ]
    assert talk_v2.saw("ask_twice") == {
        "outcomes": [{"outcome": "selected", "optionId": "yes"}, {"outcome": "cancelled"}]
    }


def test_a_form_is_filled_in_and_a_page_declined(talk_v2: Conversation) -> None:
    asked = [pair for pair in talk_v2.received("elicit") if pair[0] != "session/update"]
    assert asked == [
        ["elicitation/create", {**SESSION, **STORY["form"]}],
        ["elicitation/create", {**SESSION, **STORY["url"]}],
        ["elicitation/complete", {"elicitationId": "login-1"}],
    ]
    assert talk_v2.saw("elicit") == {
        "form": {"action": "accept", "content": STORY["answer"]},
        "url": {"action": "decline"},
    }


def test_the_agent_calls_the_clients_extensions_and_unknown_ones_are_refused(talk_v2: Conversation) -> None:
    saw = talk_v2.saw("extend")
    assert saw["sum"] == 5
    assert saw["unknown"] == -32601
    assert saw.get("foreign", -32601) == -32601


@pytest.mark.parametrize("scene", ["unknown", "foreign"])
def test_an_unknown_method_is_refused_by_the_agent(talk_v2: Conversation, scene: str) -> None:
    if not talk_v2.has(scene):
        pytest.skip("the Python SDK sends nothing outside the specification but extensions")
    assert talk_v2.scene(scene)["code"] == -32601


def test_the_client_calls_the_agents_extension(talk_v2: Conversation) -> None:
    assert talk_v2.result("add") == {"sum": 42}


def test_a_prompt_that_is_refused_leaves_no_trace(talk_v2: Conversation) -> None:
    scene = talk_v2.scene("fail")
    assert (scene["code"], scene["message"], scene["data"]) == (4711, "Not today", {"why": ["✗", 1, None]})
    assert scene["received"] == []


def test_a_crash_is_an_internal_error_and_the_conversation_goes_on(talk_v2: Conversation) -> None:
    scene = talk_v2.scene("crash")
    assert scene["code"] == -32603
    # Who says more than that it happened is not Accord.
    assert set(scene["data"]) in ({"correlationId"}, {"details"})


def test_work_that_fails_after_its_prompt_was_taken_ends_idle_with_an_error(talk_v2: Conversation) -> None:
    last = talk_v2.updates("break_down")[-1]
    assert last["stopReason"] == "error"
    # The older draft of the Python SDK has no details there.
    assert last.get("error", {"code": -32603, "message": "No model"}) == {"code": -32603, "message": "No model"}


def test_a_cancelled_turn_ends_idle_with_the_reason_cancelled(talk_v2: Conversation) -> None:
    assert talk_v2.updates("wait") == [
        echo(talk_v2, "wait", "wait"),
        RUNNING,
        say("waiting"),
        say("stopped"),
        {**IDLE, "stopReason": "cancelled"},
    ]


def test_a_cancel_while_a_permission_is_open_ends_both(talk_v2: Conversation) -> None:
    assert talk_v2.received("interrupt") == [
        ["session/update", echo(talk_v2, "interrupt", "interrupt")],
        ["session/update", RUNNING],
        ["session/update", BLOCKED],
        ["session/request_permission", {**SESSION, **STORY["permission"]}],
        ["session/update", {**IDLE, "stopReason": "cancelled"}],
    ]
    assert talk_v2.saw("interrupt") == {"outcome": {"outcome": "cancelled"}}


def test_one_tool_call_is_cancelled_and_the_turn_goes_on(talk_v2: Conversation) -> None:
    if not talk_v2.has("long_tool"):
        pytest.skip("the Python SDK follows an older draft, without `tool_call/cancel`")
    call = {"sessionUpdate": "tool_call_update", "toolCallId": "call-2"}
    assert talk_v2.updates("long_tool")[2:] == [
        {**call, "title": "Long", "status": "in_progress", "capabilities": {"cancel": {}}},
        {**call, "status": "cancelled", "capabilities": None},
        {**IDLE, "stopReason": "end_turn"},
    ]


@pytest.mark.parametrize(
    ("scene", "options"),
    [("set_model", chosen(model="large")), ("set_web", chosen(model="large", web=True))],
)
def test_an_option_is_set(talk_v2: Conversation, scene: str, options: list[Any]) -> None:
    assert talk_v2.result(scene) == {"configOptions": options}
    assert talk_v2.updates(scene) == [{"sessionUpdate": "config_option_update", "configOptions": options}]


def test_sessions_are_listed_page_by_page(talk_v2: Conversation) -> None:
    assert talk_v2.result("list") == {"sessions": STORY["sessions"][:1], "nextCursor": "page-2"}
    assert talk_v2.result("list_more") == {"sessions": STORY["sessions"][1:]}


def test_a_session_is_resumed_with_its_history_where_that_is_asked_for(talk_v2: Conversation) -> None:
    assert talk_v2.updates("replay") == [*STORY["history"], IDLE]
    assert talk_v2.updates("resume") == [IDLE]
    for scene in ("replay", "resume"):
        assert talk_v2.result(scene) == {"configOptions": chosen(model="large", web=True)}


def test_a_session_that_nobody_knows_is_not_resumed(talk_v2: Conversation) -> None:
    scene = talk_v2.scene("resume_missing")
    assert (scene["code"], scene["data"]) == (-32002, {"sessionId": "nowhere"})


def test_a_session_is_closed_and_deleted(talk_v2: Conversation) -> None:
    assert talk_v2.result("close") == {}
    assert talk_v2.result("delete") == {}


def test_two_thousand_updates_in_a_burst_arrive_complete_and_in_order(talk_v2: Conversation) -> None:
    assert talk_v2.updates("burst")[2:-1] == [say(str(n)) for n in range(2000)]


def test_two_thousand_notifications_the_other_way_arrive_complete_and_in_order(talk_v2: Conversation) -> None:
    assert talk_v2.result("notes") == {"count": 2000, "ordered": True}


@pytest.mark.parametrize(("scene", "words"), [("echo_odd", ODD), ("echo_big", "equal")])
def test_odd_characters_and_five_megabytes_come_back_as_they_were(
    talk_v2: Conversation, scene: str, words: str
) -> None:
    assert talk_v2.updates(scene) == [
        echo(talk_v2, scene, "echo", words),
        RUNNING,
        say(words),
        {**IDLE, "stopReason": "end_turn"},
    ]
    assert talk_v2.saw(scene) == {"characters": len(ODD) if scene == "echo_odd" else 5 * 1024 * 1024}


def test_a_request_that_is_withdrawn_is_stopped_on_the_other_end(talk_v2: Conversation) -> None:
    assert talk_v2.result("withdraw") == {"cancelled": True}


def test_accord_had_nothing_to_tolerate(talk_v2: Conversation) -> None:
    assert talk_v2.result("counts") == {}


def test_the_agent_ends_when_the_client_is_done_and_nothing_is_left(talk_v2: Conversation) -> None:
    assert talk_v2.exit["code"] == 0
    assert is_gone(talk_v2.exit["pid"])
