"""The agent's side of simse's page, message by message."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from accord.dialects import Json, Translation
from accord.simse.agent_tool import ORDER_METHOD, RESULT_METHOD, RUNS_TOOLS_METHOD
from accord.simse.agent_translator import INTRODUCTION_ID, AgentTranslator
from tests.tables import rows

TEXT: Json = {"type": "text", "text": "hi"}
NOTHING = Translation([], [])
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]

ODD = {**OPTIONS[2], "optionId": "odd", "_meta": {"accord/original": {"kind": "_odd"}}}
"""An option of a kind that v1 does not have."""


def request(id_: Any, method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def result(id_: Any, value: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "result": value}


def told(**params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", **params}}


def update(**fields: Any) -> Json:
    """An update of the agent, as v1 has it."""
    return told(update=fields)


def page() -> AgentTranslator:
    """A connection whose client has opened a session as the page has it."""
    translator = AgentTranslator()
    translator.incoming(request(1, "session/new", cwd="/"))
    return translator


def ask(translator: AgentTranslator, id_: int = 9, options: Any = OPTIONS, **call: Any) -> Translation:
    tool = {"toolCallId": "c", "title": "Use it", "kind": "edit", **call}
    asked = request(id_, "session/request_permission", sessionId="s", toolCall=tool, options=options)
    return translator.outgoing(asked)


def answer(request_id: str, word: Any) -> Json:
    return told(type="permission_response", requestId=request_id, response=word)


def selected(option: str | None) -> Json:
    return {"outcome": {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}}


# --- whose connection it is


def test_a_session_without_an_introduction_is_introduced_first_and_that_answer_is_ours() -> None:
    translator = AgentTranslator()
    to_peer, [introduction, new] = translator.incoming(request(1, "session/new", cwd="/"))
    assert (to_peer, introduction["method"], introduction["params"]["protocolVersion"]) == ([], "initialize", 1)
    assert new == request(1, "session/new", cwd="/", mcpServers=[])
    assert translator.outgoing(result(INTRODUCTION_ID, {"protocolVersion": 1})) == NOTHING
    assert translator.outgoing(result(1, {"sessionId": "s"})).to_peer == [result(1, {"sessionId": "s"})]


@rows(
    "sign",
    [
        request(2, "session/new", cwd="/"),
        request(2, "session/new", cwd="/", mcpServers=None),
        request(2, "session/prompt", sessionId="s", prompt="hi"),
    ],
)
def test_after_an_introduction_in_v1_only_what_the_page_alone_allows_makes_it_one_of_the_page(sign: Json) -> None:
    translator = AgentTranslator()
    for message in (
        request(0, "initialize", protocolVersion=1),
        request(1, "session/new", cwd="/", mcpServers=[]),
        request(2, "session/prompt", sessionId="s", prompt=[TEXT]),
        update(sessionUpdate="plan", entries=[]),
    ):
        assert translator.incoming(message) == Translation([], [message])
        assert translator.outgoing(message) == Translation([message], [])
    [changed] = translator.incoming(sign).to_us
    assert changed != sign
    assert translator.outgoing(update(sessionUpdate="plan", entries=[])) == NOTHING


@rows("version", [0, 2, 7])
def test_a_client_of_another_version_is_never_one_of_the_page(version: int) -> None:
    translator = AgentTranslator()
    for message in (
        request(0, "initialize", protocolVersion=version),
        request(1, "session/new", cwd="/"),
        request(2, "session/prompt", sessionId="s", prompt="hi"),
    ):
        assert translator.incoming(message) == Translation([], [message])


def test_an_ordinary_client_is_not_asked_to_run_tools() -> None:
    translator = AgentTranslator()
    translator.incoming(request(0, "initialize", protocolVersion=1))
    assert translator.outgoing(request(5, RUNS_TOOLS_METHOD)).to_us == [{"jsonrpc": "2.0", "id": 5, "result": False}]
    for method in (ORDER_METHOD, RESULT_METHOD):
        to_peer, [refused] = translator.outgoing(request(6, method, sessionId="s", toolCallId="c"))
        assert (to_peer, refused["id"], refused["error"]["code"]) == ([], 6, -32601)
    assert page().outgoing(request(5, RUNS_TOOLS_METHOD)).to_us == [{"jsonrpc": "2.0", "id": 5, "result": True}]


# --- what the agent says


def test_text_stands_beside_the_sessions_id() -> None:
    said = update(sessionUpdate="agent_message_chunk", content=TEXT)
    assert page().outgoing(said).to_peer == [told(sessionUpdate="agent_message_chunk", content=TEXT)]


def test_a_call_of_the_agents_own_is_told_twice_however_often_it_changes() -> None:
    translator = page()
    out = [{"type": "content", "content": {"type": "text", "text": "out"}}, {"type": "terminal", "terminalId": "t"}]
    first = update(sessionUpdate="tool_call", toolCallId="c", title="Read", status="pending", kind="read")
    changes = [
        update(sessionUpdate="tool_call_update", toolCallId="c", status="in_progress"),
        update(sessionUpdate="tool_call_update", toolCallId="c", content=out),
        update(sessionUpdate="tool_call_update", toolCallId="c", status="completed"),
        update(sessionUpdate="tool_call_update", toolCallId="c", title="Late"),
    ]
    sent = [each["params"] for message in (first, *changes) for each in translator.outgoing(message).to_peer]
    assert [(each["status"], each.get("output")) for each in sent] == [("in_progress", None), ("completed", "out")]


# --- permission


@rows(
    ("call", "action"),
    [
        ({"name": "rm", "kind": "delete"}, "rm"),
        ({"kind": "delete"}, "delete"),
        ({"kind": "other"}, "Use it"),
        ({"kind": "other", "title": ""}, "permission"),
    ],
)
def test_the_action_is_the_tools_name_or_its_kind_or_its_title(call: Json, action: str) -> None:
    [asked] = ask(page(), **call).to_peer
    assert asked["params"]["action"] == action


def test_the_name_of_a_tool_is_known_from_its_announcement() -> None:
    translator = page()
    translator.outgoing(update(sessionUpdate="tool_call", toolCallId="c", title="Use it", name="rm", status="pending"))
    assert ask(translator).to_peer[0]["params"]["action"] == "rm"


def test_the_description_shows_what_the_question_shows() -> None:
    content = [{"type": "content", "content": {"type": "text", "text": "all of it"}}, {"type": "diff", "path": "/a"}]
    [asked] = ask(page(), content=content).to_peer
    assert asked["params"]["description"] == "Use it\nall of it\n[diff /a]"


@rows(
    ("options", "word", "chosen"),
    [
        (OPTIONS, "allow_once", "yes"),
        (OPTIONS, "allow_always", "ever"),
        (OPTIONS, "reject_once", "no"),
        (OPTIONS, "reject_always", "no"),
        (OPTIONS[:1], "allow_always", "yes"),
        (OPTIONS[:1], "reject_once", None),
        (OPTIONS[2:], "allow_once", None),
        (OPTIONS[1:2], "allow_once", None),
        (
            [{**OPTIONS[2], "optionId": "odd", "_meta": {"accord/original": {"kind": "_odd"}}}, OPTIONS[2]],
            "reject_once",
            "no",
        ),
        ([OPTIONS[0], {**OPTIONS[0], "optionId": "second"}], "allow_once", "yes"),
    ],
)
def test_a_word_selects_an_option_of_its_kind_and_nothing_that_says_more(
    options: Any, word: str, chosen: str | None
) -> None:
    translator = page()
    request_id = ask(translator, options=options).to_peer[0]["params"]["requestId"]
    assert translator.incoming(answer(request_id, word)).to_us == [result(9, selected(chosen))]


@rows(
    "shape",
    [
        lambda id_: answer(id_, "allow_once"),
        lambda id_: told(update={"type": "permission_response", "requestId": id_, "value": "allow_once"}),
        lambda id_: {"method": "session/permission", "params": {"requestId": id_, "outcome": "allow_once"}},
        lambda id_: {"method": "x", "params": {"requestId": id_, "outcome": {"outcome": {"optionId": "allow_once"}}}},
        lambda id_: result(id_, "allow_once"),
        lambda id_: result(id_, {"outcome": {"outcome": "selected", "optionId": "allow_once"}}),
    ],
)
def test_the_page_does_not_say_how_an_answer_travels_so_each_way_is_understood(shape: Any) -> None:
    translator = page()
    request_id = ask(translator).to_peer[0]["params"]["requestId"]
    assert translator.incoming(shape(request_id)) == Translation([], [result(9, selected("yes"))])


def test_only_the_first_answer_counts_and_only_in_its_session() -> None:
    translator = page()
    request_id = ask(translator).to_peer[0]["params"]["requestId"]
    assert translator.incoming(told(sessionId="other", requestId=request_id, response="allow_once")) == NOTHING
    assert translator.incoming(answer(request_id, "reject_once")).to_us == [result(9, selected("no"))]
    assert translator.incoming(answer(request_id, "allow_once")) == NOTHING


def test_a_permission_that_is_withdrawn_is_ended_here_and_a_late_answer_is_dropped() -> None:
    translator = page()
    request_id = ask(translator).to_peer[0]["params"]["requestId"]
    withdrawn = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 9}}
    to_peer, [ended] = translator.outgoing(withdrawn)
    assert (to_peer, ended["id"], ended["error"]["code"]) == ([], 9, -32800)
    assert translator.incoming(answer(request_id, "allow_always")) == NOTHING
    assert ask(translator).to_us == []
    other = {**withdrawn, "params": {"requestId": 77}}
    assert translator.outgoing(other) == Translation([other], [])


def test_an_always_ends_with_its_session() -> None:
    translator = page()
    translator.incoming(answer(ask(translator).to_peer[0]["params"]["requestId"], "allow_always"))
    assert ask(translator) == Translation([], [result(9, selected("ever"))])
    # A later question without that option is not answered by it.
    assert ask(translator, options=OPTIONS[::2]).to_us == []
    translator.incoming(request(3, "session/close", sessionId="s"))
    assert ask(translator).to_us == []


# --- tools of the client


def order(translator: AgentTranslator, call: str = "c") -> Translation:
    return translator.outgoing(
        request(20, ORDER_METHOD, sessionId="s", toolCallId=call, toolName="add", input={"a": 1})
    )


def ran(**fields: Any) -> Json:
    return told(type="tool_call_update", toolCallId="c", **fields)


STARTED = result(20, {"status": "in_progress"})


def test_an_order_starts_and_ends_and_each_step_answers_one_request() -> None:
    translator = page()
    tags = {"sessionUpdate": "tool_call", "type": "tool_call"}
    assert order(translator) == Translation([told(**tags, toolCallId="c", toolName="add", input={"a": 1})], [])
    assert translator.incoming(ran(status="in_progress")) == Translation([], [STARTED])
    assert translator.incoming(ran(status="in_progress")) == NOTHING
    assert translator.outgoing(request(21, RESULT_METHOD, sessionId="s", toolCallId="c")) == NOTHING
    assert translator.incoming(ran(status="completed", output=2)) == Translation([], [result(21, {"output": 2})])
    assert translator.incoming(ran(status="completed", output=3)) == NOTHING


@rows(
    ("fields", "ended"),
    [
        ({"status": "completed", "output": None}, {"output": None}),
        ({"status": "completed"}, {"output": None}),
        ({"output": [1]}, {"output": [1]}),
        ({"status": "completed", "output": 1, "error": ""}, {"output": 1}),
        ({"status": "completed", "error": "full"}, {"error": "full"}),
        ({"error": {"code": 5}}, {"error": "{'code': 5}"}),
        ({"status": "error", "error": "full"}, {"error": "full"}),
        ({"status": "failed"}, {"error": "the tool failed"}),
    ],
)
def test_a_result_that_comes_before_it_is_asked_for_waits(fields: Json, ended: Json) -> None:
    translator = page()
    order(translator)
    assert translator.incoming(ran(**fields)).to_us == [STARTED]
    assert translator.outgoing(request(21, RESULT_METHOD, toolCallId="c")).to_us == [result(21, ended)]


def test_an_order_that_is_given_up_leaves_nothing_behind() -> None:
    translator = page()
    order(translator)
    translator.outgoing({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 20}})
    assert translator.incoming(ran(status="completed", output=2)) == NOTHING
    order(translator)
    translator.incoming(ran(status="in_progress"))
    translator.incoming(request(4, "session/prompt", sessionId="s", prompt="next"))
    assert translator.incoming(ran(status="completed", output=2)) == NOTHING
    assert translator.outgoing(request(21, RESULT_METHOD, toolCallId="c")).to_us[0]["result"].keys() == {"error"}


# --- whatever a client sends

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.sampled_from(["s", "c", "permission-1", "allow_once", "update"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["sessionId", "update", "type", "sessionUpdate", "requestId", "toolCallId", "status", "error"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=8,
)
METHODS = st.sampled_from(
    ["session/update", "session/new", "session/prompt", "session/close", "$/cancel_request", "x", None, 7]
)
MESSAGES = st.fixed_dictionaries({}, optional={"id": JSON, "method": METHODS | JSON, "params": JSON, "result": JSON})


@given(messages=st.lists(MESSAGES, max_size=6))
def test_every_request_passes_or_is_answered_here_once_and_none_is_lost(messages: list[Json]) -> None:
    translator = page()
    ask(translator)
    order(translator)
    for message in messages:
        to_peer, to_us = translator.incoming(message)
        passed = [each for each in to_us if each.get("id") == message.get("id") and "method" in each]
        if "id" in message and message.get("method") is not None:
            assert len(passed) + len(to_peer) == 1
            assert all(each["id"] == message["id"] for each in to_peer)
        else:
            assert to_peer == []
