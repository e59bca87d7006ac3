"""The translation between v1 and simse's page, message by message."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings, strategies as st

from accord.dialects import Translation
from accord.protocol import v1
from accord.protocol.codec import Codec, encode
from accord.session.editions.v1.tools import decode_permission
from accord.simse.client_tool import TOOL_METHOD
from accord.simse.client_translator import ClientTranslator
from tests.tables import rows

Json = dict[str, Any]

TEXT: Json = {"type": "text", "text": "hi"}
CHUNK = {"sessionUpdate": "agent_message_chunk", "content": TEXT}
OUT = [{"type": "content", "content": {"type": "text", "text": "out"}}]
NOTHING = Translation([], [])


def request(id_: Any, method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def result(id_: Any, value: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "result": value}


def failure(id_: Any, code: int, message: str, **data: Any) -> Json:
    error = {"code": code, "message": message}
    return {"jsonrpc": "2.0", "id": id_, "error": {**error, "data": data} if data else error}


def told(**params: Any) -> Json:
    """An update as the page has it, in either direction."""
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", **params}}


def v1_update(**update: Any) -> Json:
    return told(update=update)


def updates(steps: Translation) -> list[Json]:
    """What the client is told, each of it an update as v1 wants it."""
    found = [message["params"] for message in steps.to_us if message.get("method") == "session/update"]
    for params in found:
        Codec(strict=True).decode(v1.SessionNotification, encode(params))
    return [params["update"] for params in found]


def prompting(*tools: str) -> ClientTranslator:
    """While a prompt is worked on."""
    translator = ClientTranslator(tools)
    translator.outgoing(request(7, "session/prompt", sessionId="s", prompt=[TEXT]))
    return translator


def question(request_id: Any = "r1", action: Any = "delete", session: str = "s", **fields: Any) -> Json:
    asked = {"type": "request_permission", "action": action, "description": "Delete a.txt", "requestId": request_id}
    return told(**{"sessionId": session, **asked, **fields})


def order(call: str = "t1", name: Any = "add", **fields: Any) -> Json:
    return told(type="tool_call", toolCallId=call, toolName=name, input={"a": 1}, **fields)


def selected(id_: Any, option: str) -> Json:
    return result(id_, {"outcome": {"outcome": "selected", "optionId": option}})


def response(answer: str, request_id: Any = "r1", session: str = "s") -> Json:
    return told(sessionId=session, type="permission_response", requestId=request_id, response=answer)


def ran(call: str = "t1", **fields: Any) -> Json:
    return told(type="tool_call_update", toolCallId=call, **fields)


# --- prompts


@rows(
    ("block", "words"),
    [
        (TEXT, "hi"),
        ({"type": "resource_link", "name": "a.py", "uri": "file:///a.py"}, "[a.py](file:///a.py)"),
        ({"type": "resource_link", "name": "a.py", "title": "A", "uri": "file:///a.py"}, "[A](file:///a.py)"),
        ({"type": "resource", "resource": {"uri": "file:///a", "text": "x = 1"}}, "[resource file:///a]\nx = 1"),
        ({"type": "resource", "resource": {"uri": "file:///a", "blob": "AAAA"}}, "[resource file:///a]"),
        ({"type": "resource"}, "[resource]"),
        ({"type": "image", "mimeType": "image/png", "data": "AAAA"}, "[image image/png]"),
        ({"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}, "[audio audio/wav]"),
        ({"type": "_hologram"}, "[_hologram]"),
        ("hi", "hi"),
    ],
)
def test_every_block_has_words(block: Any, words: str) -> None:
    message = request(1, "session/prompt", sessionId="s", prompt=[block, TEXT], _meta={"a": 1})
    [said] = ClientTranslator().outgoing(message).to_peer
    assert said == request(1, "session/prompt", sessionId="s", prompt=f"{words}\nhi", _meta={"a": 1})


def test_a_prompt_that_is_no_list_stays_as_it_is() -> None:
    message = request(1, "session/prompt", sessionId="s", prompt="hi")
    assert ClientTranslator().outgoing(message) == Translation([message], [])


@rows(
    "message",
    [
        request(1, "session/new", cwd="/", mcpServers=[]),
        request(1, "session/prompt", prompt=[]),
        request(1, "session/prompt") | {"params": None},
        {"jsonrpc": "2.0", "method": "session/cancel"},
        {"jsonrpc": "2.0", "method": "_note", "params": [1]},
        result("theirs", {"content": "x"}),
        result(None, 1),
    ],
)
def test_what_the_page_says_as_v1_does_is_the_very_same_message(message: Json) -> None:
    [said] = ClientTranslator().outgoing(message).to_peer
    assert said is message


@rows(
    ("answer", "reason"),
    [(None, "end_turn"), ({}, "end_turn"), ("done", "end_turn"), ({"stopReason": None}, "end_turn")],
)
def test_a_result_without_a_stop_reason_is_end_turn(answer: Any, reason: str) -> None:
    assert prompting().incoming(result(7, answer)) == Translation([], [result(7, {"stopReason": reason})])


def test_what_else_a_result_says_stays() -> None:
    assert prompting().incoming(result(7, {"_meta": {"a": 1}})).to_us == [
        result(7, {"_meta": {"a": 1}, "stopReason": "end_turn"})
    ]


@rows("message", [result(7, {"stopReason": "refusal"}), failure(7, -32000, "log in")])
def test_a_stop_reason_or_an_error_is_passed_on(message: Json) -> None:
    [heard] = prompting().incoming(message).to_us
    assert heard is message


def test_a_result_without_a_stop_reason_after_a_cancel_is_cancelled_once() -> None:
    translator = prompting()
    cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}
    assert translator.outgoing(cancel) == Translation([cancel], [])
    assert translator.incoming(result(7, {})).to_us == [result(7, {"stopReason": "cancelled"})]
    translator.outgoing(request(8, "session/prompt", sessionId="s", prompt=[]))
    assert translator.incoming(result(8, {})).to_us == [result(8, {"stopReason": "end_turn"})]


def test_a_cancel_that_came_before_a_prompt_is_not_about_it() -> None:
    translator = ClientTranslator()
    translator.outgoing({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}})
    translator.outgoing(request(7, "session/prompt", sessionId="s", prompt=[]))
    assert translator.incoming(result(7, {})).to_us == [result(7, {"stopReason": "end_turn"})]


# --- initialize


@rows(
    ("answer", "heard"),
    [
        (failure(0, -32601, "no"), result(0, {"protocolVersion": 1, "agentCapabilities": {}})),
        (result(0, None), result(0, {"protocolVersion": 1, "agentCapabilities": {}})),
        (result(0, {"agentInfo": 1}), result(0, {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": 1})),
        (result(0, {"protocolVersion": 2}), result(0, {"protocolVersion": 2})),
        (failure(0, -32000, "log in"), failure(0, -32000, "log in")),
    ],
)
def test_an_agent_without_initialize_is_v1_and_can_nothing_more(answer: Json, heard: Json) -> None:
    translator = ClientTranslator()
    translator.outgoing(request(0, "initialize", protocolVersion=1))
    assert translator.awaits_initialize
    assert translator.incoming(answer) == Translation([], [heard])
    assert not translator.awaits_initialize
    assert translator.take_silence() == NOTHING


def test_silence_is_an_answer_to_initialize_and_to_nothing_else() -> None:
    translator = ClientTranslator()
    translator.outgoing(request(0, "initialize", protocolVersion=1))
    translator.outgoing(request(1, "session/new", cwd="/"))
    unknown = {"protocolVersion": 1, "agentCapabilities": {}}
    assert translator.take_silence() == Translation([], [result(0, unknown)])
    assert translator.take_silence() == NOTHING


# --- updates


@rows(
    "params",
    [
        CHUNK,
        {"type": "agent_message_chunk", "content": TEXT},
        {"update": {"type": "agent_message_chunk", "content": TEXT}},
        {"sessionUpdate": "agent_message_chunk", "update": {"content": TEXT}},
        {"sessionUpdate": "agent_message_chunk", "content": "hi"},
        {"sessionUpdate": "agent_message_chunk", "text": "hi"},
        {"sessionUpdate": "agent_message_chunk", "type": "text", "text": "hi"},
        {"sessionUpdate": "agent_message_chunk", "content": [TEXT]},
    ],
)
def test_a_chunk_is_read_in_every_shape(params: Json) -> None:
    [update] = updates(ClientTranslator().incoming(told(**params)))
    assert {key: update[key] for key in CHUNK} == CHUNK


def test_a_chunk_of_several_blocks_is_several() -> None:
    heard = updates(ClientTranslator().incoming(told(type="agent_thought_chunk", content=["a", TEXT])))
    assert [update["content"]["text"] for update in heard] == ["a", "hi"]


@rows(
    "message",
    [
        v1_update(**CHUNK),
        v1_update(sessionUpdate="tool_call", toolCallId="t", title="T", rawInput={}),
        v1_update(sessionUpdate="tool_call_update", toolCallId="t", status="completed", content=[]),
        v1_update(sessionUpdate="plan", entries=[]),
        v1_update(sessionUpdate="_new", type="x"),
        told(_meta={"a": 1}, update=CHUNK),
        told(update={"content": TEXT}),
        told(content=TEXT),
        {"jsonrpc": "2.0", "method": "session/update", "params": {"update": CHUNK}},
        {"jsonrpc": "2.0", "method": "session/update", "params": [1]},
        {"jsonrpc": "2.0", "method": "session/update"},
        request(1, "fs/read_text_file", sessionId="s", path="/a"),
        result([1], {}),
        result(99, {}),
    ],
)
def test_what_is_v1_or_nothing_that_we_know_is_the_very_same_message(message: Json) -> None:
    [heard] = ClientTranslator().incoming(message).to_us
    assert heard is message


def test_an_update_that_neither_knows_keeps_everything_below_its_tag() -> None:
    assert updates(ClientTranslator().incoming(told(type="_mood", value=3))) == [{"sessionUpdate": "_mood", "value": 3}]


def test_what_stands_beside_a_nested_update_stays() -> None:
    [heard] = ClientTranslator().incoming(told(_meta={"a": 1}, update={"type": "plan", "entries": []})).to_us
    assert heard == told(_meta={"a": 1}, update={"sessionUpdate": "plan", "entries": []})


@rows(("fields", "update"), [
        ({"status": "in_progress"}, {"status": "in_progress"}),
        (
            {"status": "completed", "output": "out"},
            {"status": "completed", "rawOutput": "out", "content": OUT},
        ),
        ({"status": "completed", "output": {"n": 1}, "error": None}, {"status": "completed", "rawOutput": {"n": 1}}),
        (
            {"status": "completed", "error": "broken"},
            {"status": "failed", "content": [{"type": "content", "content": TEXT | {"text": "broken"}}]},
        ),
        (
            {"error": {"code": 1}},
            {"status": "failed", "content": [{"type": "content", "content": TEXT | {"text": "{'code': 1}"}}]},
        ),
        ({"toolName": "add", "input": {"a": 1}}, {"name": "add", "rawInput": {"a": 1}}),
    ])  # fmt: skip
def test_a_tool_call_update_of_the_agent_is_v1s(fields: Json, update: Json) -> None:
    heard = updates(ClientTranslator().incoming(told(type="tool_call_update", toolCallId="t", **fields)))
    assert heard == [{"sessionUpdate": "tool_call_update", "toolCallId": "t", **update}]


# --- permission


@rows("answer", ["allow_once", "allow_always", "reject_once", "reject_always"])
def test_a_permission_in_an_update_is_a_request_and_its_answer_an_update(answer: str) -> None:
    translator = prompting()
    steps = translator.incoming(question())
    [asked] = steps.to_us
    assert (steps.to_peer, asked["method"]) == ([], "session/request_permission")
    params = Codec(strict=True).decode(v1.RequestPermissionRequest, encode(asked["params"]))
    assert [(o.option_id, o.kind) for o in params.options] == [
        (kind, kind) for kind in ("allow_once", "allow_always", "reject_once", "reject_always")
    ]
    assert (params.session_id, params.tool_call.title) == ("s", "Delete a.txt")
    assert params.tool_call.raw_input == {"action": "delete", "description": "Delete a.txt", "requestId": "r1"}
    steps = translator.outgoing(selected(asked["id"], answer))
    assert steps.to_peer == [response(answer)]
    [ended] = updates(steps)
    assert ended["toolCallId"] == params.tool_call.tool_call_id
    assert ended["status"] == ("completed" if answer.startswith("allow") else "failed")


@rows(
    "shape",
    [
        question(),
        told(update={"type": "request_permission", "action": "delete", "requestId": "r1"}),
        told(sessionUpdate="request_permission", action="delete", requestId="r1"),
        told(sessionUpdate="tool_call", type="request_permission", action="delete", requestId="r1"),
        question(request_id=3),
        question(action=None, description=None),
    ],
)
def test_a_permission_is_asked_in_every_shape(shape: Json) -> None:
    [asked] = prompting().incoming(shape).to_us
    assert asked["method"] == "session/request_permission"
    Codec(strict=True).decode(v1.RequestPermissionRequest, encode(asked["params"]))


def test_a_permission_without_an_id_is_only_told() -> None:
    fields = {"action": "delete", "description": "Delete a.txt", "requestId": None}
    heard = prompting().incoming(question(request_id=None))
    assert heard == Translation([], [v1_update(sessionUpdate="request_permission", **fields)])


@rows(
    "answer",
    [
        result("simse-1", {"outcome": {"outcome": "cancelled"}}),
        selected("simse-1", "allow_everything"),
        failure("simse-1", -32002, "no session"),
        result("simse-1", {"outcome": "allow_once"}),
        result("simse-1", None),
    ],
)
def test_whatever_does_not_choose_one_of_the_four_rejects(answer: Json) -> None:
    translator = prompting()
    translator.incoming(question())
    assert translator.outgoing(answer).to_peer == [response("reject_once")]


@rows("answer", ["allow_always", "reject_always"])
def test_always_is_answered_without_asking_for_the_action_and_the_session(answer: str) -> None:
    translator = prompting()
    [asked] = translator.incoming(question()).to_us
    translator.outgoing(selected(asked["id"], answer))
    assert translator.incoming(question("r2")) == Translation([response(answer, "r2")], [])
    assert translator.incoming(question("r3", action="write")).to_us[0]["method"] == "session/request_permission"
    assert translator.incoming(question("r4", session="other")).to_us[0]["method"] == "session/request_permission"


@rows("answer", ["allow_once", "reject_once"])
def test_once_is_asked_again(answer: str) -> None:
    translator = prompting()
    [asked] = translator.incoming(question()).to_us
    translator.outgoing(selected(asked["id"], answer))
    [again] = translator.incoming(question("r2")).to_us
    assert again["id"] != asked["id"]


@rows(
    ("call", "answer"),
    [
        (request(20, "session/new", cwd="/"), result(20, {"sessionId": "s"})),
        (request(20, "session/close", sessionId="s"), result(20, {})),
        (request(20, "session/delete", sessionId="s"), result(20, {})),
    ],
)
def test_always_ends_with_the_session(call: Json, answer: Json) -> None:
    translator = prompting()
    [asked] = translator.incoming(question()).to_us
    translator.outgoing(selected(asked["id"], "allow_always"))
    translator.outgoing(call)
    assert translator.incoming(answer).to_us == [answer]
    assert translator.incoming(question("r2")).to_peer == []


def test_every_action_has_a_kind_of_its_own_for_the_users_rules() -> None:
    actions = ["delete", "a b", "a_b", "a\nallow all", "a:b", "", "x" * 41, "x" * 42, "\ud83d"]
    asked = [prompting().incoming(question(action=action)).to_us[0] for action in actions]
    heard = [
        decode_permission(Codec(strict=True).decode(v1.RequestPermissionRequest, encode(a["params"]))) for a in asked
    ]
    kinds = [str(each.tool and each.tool.kind) for each in heard]
    assert len(set(kinds)) == len(actions)
    assert kinds[0] == "_delete"
    assert all(kind.startswith("_") and not set(kind) & set(" \n:#") for kind in kinds)


# --- tools


def test_a_registered_tool_is_shown_and_ordered_from_the_client() -> None:
    steps = prompting("add").incoming(order())
    assert steps.to_peer == [ran(status="in_progress")]
    assert updates(steps) == [
        {
            "sessionUpdate": "tool_call", "toolCallId": "t1", "title": "add", "name": "add", "kind": "other",
            "rawInput": {"a": 1}, "status": "in_progress",
        }
    ]  # fmt: skip
    params = {"sessionId": "s", "toolCallId": "t1", "toolName": "add", "input": {"a": 1}}
    assert steps.to_us[1:] == [request("simse-1", TOOL_METHOD, **params)]


@rows(
    "shape",
    [
        told(sessionUpdate="tool_call", toolCallId="t1", toolName="add", input={}),
        told(update={"type": "tool_call", "toolCallId": "t1", "toolName": "add", "status": "pending"}),
    ],
)
def test_an_order_is_read_in_every_shape_and_needs_no_input(shape: Json) -> None:
    assert prompting("add").incoming(shape).to_us[1]["params"]["input"] == {}


@rows(("answer", "page", "update"), [
        (
            result("simse-1", "out"),
            {"status": "completed", "output": "out"},
            {"status": "completed", "rawOutput": "out", "content": OUT},
        ),
        (result("simse-1", None), {"status": "completed", "output": None}, {"status": "completed", "rawOutput": None}),
        (
            failure("simse-1", -32603, "full"),
            {"status": "completed", "error": "full"},
            {"status": "failed", "content": [{"type": "content", "content": TEXT | {"text": "full"}}]},
        ),
        (
            failure("simse-1", -32603, "Internal error", correlationId="c1"),
            {"status": "completed", "error": "Internal error (c1)"},
            {"status": "failed", "content": [{"type": "content", "content": TEXT | {"text": "Internal error (c1)"}}]},
        ),
    ])  # fmt: skip
def test_what_a_tool_gave_goes_back_and_is_shown(answer: Json, page: Json, update: Json) -> None:
    translator = prompting("add")
    translator.incoming(order())
    steps = translator.outgoing(answer)
    assert steps.to_peer == [ran(**page)]
    assert updates(steps) == [{"sessionUpdate": "tool_call_update", "toolCallId": "t1", **update}]


@rows(
    "refused",
    [
        order(name="rm"),
        told(type="tool_call", toolCallId="t1", toolName="add", input="rm -rf"),
        told(type="tool_call", toolCallId="t1", toolName="", input={}),
    ],
)
def test_what_is_not_registered_or_has_no_input_fails_and_is_not_ordered(refused: Json) -> None:
    steps = prompting("add").incoming(refused)
    [answer] = steps.to_peer
    assert answer["params"]["error"]
    assert "output" not in answer["params"]
    assert [update.get("status") for update in updates(steps)] == [None, "failed"]
    assert all(message["method"] == "session/update" for message in steps.to_us)


def test_tools_are_ordered_only_while_a_prompt_is_worked_on() -> None:
    before = ClientTranslator(["add"]).incoming(order())
    translator = prompting("add")
    translator.incoming(result(7, {}))
    after = translator.incoming(order())
    other = prompting("add").incoming(order(sessionId="other"))
    for steps in (before, after, other):
        assert steps.to_peer[0]["params"]["error"]
        assert all(message["method"] == "session/update" for message in steps.to_us)


def test_what_is_replayed_is_neither_run_nor_asked_again() -> None:
    translator = ClientTranslator(["add"])
    translator.outgoing(request(5, "session/load", sessionId="s", cwd="/", mcpServers=[]))
    steps = translator.incoming(order())
    assert (steps.to_peer, [update["title"] for update in updates(steps)]) == ([], ["add"])
    steps = translator.incoming(question())
    assert steps.to_peer == []
    assert steps.to_us[0]["params"]["update"]["sessionUpdate"] == "request_permission"


@rows("status", ["in_progress", "completed", "failed"])
def test_a_tool_call_that_the_agent_runs_itself_is_only_shown(status: str) -> None:
    steps = prompting("add").incoming(order(status=status))
    assert (steps.to_peer, len(steps.to_us), updates(steps)[0]["status"]) == ([], 1, status)


def test_a_call_that_runs_is_not_begun_again() -> None:
    translator = prompting("add")
    translator.incoming(order())
    assert translator.incoming(order()) == NOTHING
    translator.outgoing(result("simse-1", 1))
    assert translator.incoming(order()).to_peer == [ran(status="in_progress")]


def test_an_agent_cannot_order_a_tool_by_our_own_request() -> None:
    translator = prompting("add")
    params = {"sessionId": "s", "toolCallId": "t", "toolName": "add", "input": {}}
    steps = translator.incoming(request("x", TOOL_METHOD, **params))
    assert (steps.to_peer[0]["error"]["code"], steps.to_us) == (-32601, [])
    assert translator.incoming({"jsonrpc": "2.0", "method": TOOL_METHOD, "params": params}) == NOTHING


# --- the end of a turn


def test_a_cancel_answers_all_that_is_open_and_withdraws_it() -> None:
    translator = prompting("add")
    translator.incoming(order())
    translator.incoming(question())
    cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}
    steps = translator.outgoing(cancel)
    assert steps.to_peer == [cancel, ran(status="completed", error="cancelled"), response("reject_once")]
    assert [update["status"] for update in updates(steps)] == ["failed", "failed"]
    withdrawn = [m["params"]["requestId"] for m in steps.to_us if m["method"] == "$/cancel_request"]
    assert withdrawn == ["simse-1", "simse-2"]
    assert translator.outgoing(failure("simse-1", -32800, "cancelled")) == NOTHING
    assert translator.outgoing(selected("simse-2", "allow_always")) == NOTHING
    assert translator.incoming(question("r2")).to_peer == [response("reject_once", "r2")]
    assert translator.incoming(order("t2")).to_peer == [ran("t2", status="completed", error="cancelled")]


def test_the_end_of_the_turn_withdraws_what_is_open_and_tells_the_agent_nothing() -> None:
    translator = prompting("add")
    translator.incoming(order())
    translator.incoming(question())
    translator.incoming(question("r9", session="other"))
    steps = translator.incoming(result(7, {}))
    assert steps.to_peer == []
    withdrawn = [m["params"]["requestId"] for m in steps.to_us if m.get("method") == "$/cancel_request"]
    assert withdrawn == ["simse-1", "simse-2"]
    assert steps.to_us[-1] == result(7, {"stopReason": "end_turn"})
    assert translator.outgoing(result("simse-1", 3)) == NOTHING
    assert translator.outgoing(selected("simse-3", "allow_once")).to_peer == [response("allow_once", "r9", "other")]


# --- whatever comes

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["s", "t1", "add", "tool_call", "request_permission"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "sessionId"]), inner),
    max_leaves=5,
)
NAMES = [
    "type", "sessionUpdate", "update", "toolCallId", "toolName", "input", "requestId", "action", "content", "error",
    "output", "status", "description",
]  # fmt: skip
PARAMS = st.dictionaries(st.sampled_from(NAMES), VALUES | st.dictionaries(st.sampled_from(NAMES), VALUES))
MESSAGES = st.dictionaries(st.sampled_from(["id", "result", "error", "params"]), VALUES)


@settings(max_examples=30)
@given(st.lists(PARAMS | MESSAGES, max_size=8))
def test_nothing_that_an_agent_says_is_too_much(said: list[Json]) -> None:
    translator = prompting("add")
    for params in said:
        steps = translator.incoming(told(**params))
        encode([*steps.to_peer, *steps.to_us])
        steps = translator.incoming({"jsonrpc": "2.0", **params})
        encode([*steps.to_peer, *steps.to_us])
