"""v1 between Accord and the official SDKs, on both ends.

Every test runs for four pairings: the peer (Python or TypeScript) as the agent, and as the client. What is
expected is the same for all of them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.interop.programs import PEERS, is_gone
from tests.interop.record import ODD, Conversation

STORY = json.loads((PEERS / "story_v1.json").read_text(encoding="utf-8"))
SESSION = {"sessionId": "session-1"}
TERMINAL = {**SESSION, "terminalId": "term-7"}


def chosen(**values: Any) -> list[Any]:
    """The config options with some values set."""
    return [{**each, "currentValue": values.get(each["id"], each["currentValue"])} for each in STORY["configOptions"]]


def say(words: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words}}


def test_the_handshake_tells_both_sides_what_the_other_can(talk_v1: Conversation) -> None:
    result = talk_v1.result("initialize")
    assert result["protocolVersion"] == 1
    assert result["agentInfo"]["version"] == "1"
    able = result["agentCapabilities"]
    assert able["loadSession"] is True
    assert able["promptCapabilities"]["image"] is True
    assert able["sessionCapabilities"] == {"list": {}, "resume": {}, "close": {}}
    seen = result["_meta"]["capabilities"]
    assert seen["fs"] == {"readTextFile": True, "writeTextFile": True}
    assert seen["terminal"] is True
    assert seen["session"] == {"configOptions": {"boolean": {}}}
    assert seen["elicitation"] == {"form": {}, "url": {}}


def test_a_new_session_comes_with_its_modes_and_options(talk_v1: Conversation) -> None:
    assert talk_v1.result("new") == {
        **SESSION,
        "modes": STORY["modes"],
        "configOptions": STORY["configOptions"],
    }


def test_updates_of_every_kind_arrive_whole_and_in_order(talk_v1: Conversation) -> None:
    assert talk_v1.updates("tell") == STORY["updates"]
    assert talk_v1.result("tell")["stopReason"] == "end_turn"


def test_metadata_of_an_answer_arrives(talk_v1: Conversation) -> None:
    assert talk_v1.result("tell")["_meta"]["by"] in {"accord", "py", "ts"}


def test_a_permission_is_selected_and_another_cancelled(talk_v1: Conversation) -> None:
    asked = ["session/request_permission", {**SESSION, **STORY["permission"]}]
    assert talk_v1.received("ask_twice") == [asked, asked]
    assert talk_v1.saw("ask_twice") == {
        "outcomes": [{"outcome": "selected", "optionId": "yes"}, {"outcome": "cancelled"}]
    }
    assert talk_v1.result("ask_twice")["stopReason"] == "refusal"


def test_files_are_read_and_written_and_a_missing_one_is_an_error(talk_v1: Conversation) -> None:
    assert talk_v1.received("files") == [
        ["fs/read_text_file", {**SESSION, "path": "/story/notes.txt", "line": 2, "limit": 1}],
        ["fs/write_text_file", {**SESSION, "path": "/story/out.txt", "content": "ZEILE 2: 🌍\n"}],
        ["fs/read_text_file", {**SESSION, "path": "/story/missing.txt"}],
    ]
    assert talk_v1.saw("files") == {
        "content": "Zeile 2: 🌍\n",
        "missing": {"code": -32002, "data": {"uri": "/story/missing.txt"}},
    }
    assert talk_v1.result("files")["stopReason"] == "max_tokens"


def test_a_terminal_is_killed_while_its_end_is_awaited(talk_v1: Conversation) -> None:
    created = {
        **SESSION,
        "command": "make",
        "args": ["-j", "2"],
        "env": [{"name": "LANG", "value": "C"}],
        "cwd": "/story",
        "outputByteLimit": 1000,
    }
    assert talk_v1.received("terminal") == [
        ["terminal/create", created],
        ["terminal/output", TERMINAL],
        ["terminal/wait_for_exit", TERMINAL],
        ["terminal/kill", TERMINAL],
        ["terminal/output", TERMINAL],
        ["terminal/release", TERMINAL],
    ]
    assert talk_v1.saw("terminal") == {
        "before": {"output": "building…\n", "truncated": False},
        "ended": {"signal": "SIGTERM"},
        "after": {"output": "building…\nkilled\n", "truncated": True, "exitStatus": {"signal": "SIGTERM"}},
    }
    assert talk_v1.result("terminal")["stopReason"] == "max_turn_requests"


def test_a_form_is_filled_in_and_a_page_declined(talk_v1: Conversation) -> None:
    (_, form), (_, url), complete = talk_v1.received("elicit")
    assert form["message"] == STORY["form"]["message"]
    # `type` has a default in v1, and need not be written.
    assert {"type": "object", **form["requestedSchema"]} == STORY["form"]["requestedSchema"]
    assert (url["message"], url["elicitationId"], url["url"]) == ("Log in", "login-1", "https://example.com/login")
    assert complete == ["elicitation/complete", {"elicitationId": "login-1"}]
    assert talk_v1.saw("elicit") == {
        "form": {"action": "accept", "content": STORY["answer"]},
        "url": {"action": "decline"},
    }


def test_the_agent_calls_the_clients_extensions_and_unknown_ones_are_refused(talk_v1: Conversation) -> None:
    saw = talk_v1.saw("extend")
    assert saw["sum"] == 5
    assert saw["unknown"] == -32601
    assert saw.get("foreign", -32601) == -32601


@pytest.mark.parametrize("scene", ["unknown", "foreign"])
def test_an_unknown_method_is_refused_by_the_agent(talk_v1: Conversation, scene: str) -> None:
    if not talk_v1.has(scene):
        pytest.skip("the Python SDK sends nothing outside the specification but extensions")
    assert talk_v1.scene(scene)["code"] == -32601


def test_the_client_calls_the_agents_extension(talk_v1: Conversation) -> None:
    assert talk_v1.result("add") == {"sum": 42}


def test_an_error_on_purpose_arrives_as_it_was_raised(talk_v1: Conversation) -> None:
    scene = talk_v1.scene("fail")
    assert (scene["code"], scene["message"], scene["data"]) == (4711, "Not today", {"why": ["✗", 1, None]})
    assert scene["received"] == []


def test_a_crash_is_an_internal_error_and_the_conversation_goes_on(talk_v1: Conversation) -> None:
    scene = talk_v1.scene("crash")
    assert scene["code"] == -32603
    # Who says more than that it happened is not Accord.
    assert set(scene["data"]) in ({"correlationId"}, {"details"})


def test_a_cancelled_turn_ends_with_the_reason_cancelled(talk_v1: Conversation) -> None:
    assert talk_v1.updates("wait") == [say("waiting"), say("stopped")]
    assert talk_v1.result("wait")["stopReason"] == "cancelled"


def test_a_cancel_while_a_permission_is_open_ends_both(talk_v1: Conversation) -> None:
    assert talk_v1.received("interrupt") == [["session/request_permission", {**SESSION, **STORY["permission"]}]]
    assert talk_v1.saw("interrupt") == {"outcome": {"outcome": "cancelled"}}
    assert talk_v1.result("interrupt")["stopReason"] == "cancelled"


def test_a_mode_is_set(talk_v1: Conversation) -> None:
    assert talk_v1.result("set_mode") == {}
    assert talk_v1.updates("set_mode") == [{"sessionUpdate": "current_mode_update", "currentModeId": "code"}]


@pytest.mark.parametrize(
    ("scene", "options"),
    [("set_model", chosen(model="large")), ("set_web", chosen(model="large", web=True))],
)
def test_an_option_is_set(talk_v1: Conversation, scene: str, options: list[Any]) -> None:
    assert talk_v1.result(scene) == {"configOptions": options}
    assert talk_v1.updates(scene) == [{"sessionUpdate": "config_option_update", "configOptions": options}]


def test_sessions_are_listed_page_by_page(talk_v1: Conversation) -> None:
    assert talk_v1.result("list") == {"sessions": STORY["sessions"][:1], "nextCursor": "page-2"}
    assert talk_v1.result("list_more") == {"sessions": STORY["sessions"][1:]}


def test_a_loaded_session_is_replayed_before_the_answer(talk_v1: Conversation) -> None:
    assert talk_v1.updates("load") == STORY["history"]
    assert talk_v1.result("load") == {"modes": STORY["modes"], "configOptions": chosen(model="large", web=True)}


def test_a_session_that_nobody_knows_is_not_loaded(talk_v1: Conversation) -> None:
    scene = talk_v1.scene("load_missing")
    assert (scene["code"], scene["data"]) == (-32002, {"uri": "nowhere"})


def test_a_resumed_session_is_not_replayed(talk_v1: Conversation) -> None:
    assert talk_v1.updates("resume") == []
    assert talk_v1.result("resume") == {"modes": STORY["modes"], "configOptions": chosen(model="large", web=True)}


def test_a_session_is_closed(talk_v1: Conversation) -> None:
    assert talk_v1.result("close") == {}


def test_two_thousand_updates_in_a_burst_arrive_complete_and_in_order(talk_v1: Conversation) -> None:
    assert talk_v1.updates("burst") == [say(str(n)) for n in range(2000)]


def test_two_thousand_notifications_the_other_way_arrive_complete_and_in_order(talk_v1: Conversation) -> None:
    assert talk_v1.result("notes") == {"count": 2000, "ordered": True}


def test_line_separators_controls_and_emoji_come_back_as_they_were(talk_v1: Conversation) -> None:
    assert talk_v1.updates("echo_odd") == [say(ODD)]
    assert talk_v1.saw("echo_odd") == {"characters": len(ODD)}


def test_five_megabytes_go_there_and_come_back(talk_v1: Conversation) -> None:
    assert talk_v1.updates("echo_big") == [say("equal")]
    assert talk_v1.saw("echo_big") == {"characters": 5 * 1024 * 1024}


def test_a_request_that_is_withdrawn_is_stopped_on_the_other_end(talk_v1: Conversation) -> None:
    if not talk_v1.has("withdraw"):
        pytest.skip("the Python SDK for v1 does not know `$/cancel_request`")
    assert talk_v1.result("withdraw") == {"cancelled": True}


def test_accord_had_nothing_to_tolerate(talk_v1: Conversation) -> None:
    assert talk_v1.result("counts") == {}


def test_the_agent_ends_when_the_client_is_done_and_nothing_is_left(talk_v1: Conversation) -> None:
    assert talk_v1.exit["code"] == 0
    assert is_gone(talk_v1.exit["pid"])
