"""Row by row: what the June draft says for each ask and each answer, and what is heard of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from accord.errors import LocalProtocolError
from accord.protocol import v2_june
from accord.protocol.codec import Codec, encode
from accord.protocol.edition import V2_JUNE
from accord.protocol.method import RequestMethod
from accord.protocol.model import UNSET, Unknown
from accord.session.agent_requests import (
    CommandSubject,
    ElicitForm,
    ElicitUrl,
    PermissionGiven,
    ReadFile,
    RequestPermission,
    StartTerminal,
    WriteFile,
)
from accord.session.capability import AgentCapabilities, AuthMethod, ClientCapabilities, Implementation
from accord.session.client_requests import (
    Cancel,
    CancelTerminal,
    CancelTool,
    CloseSession,
    DeleteSession,
    Done,
    ForkSession,
    Initialize,
    Initialized,
    ListSessions,
    Login,
    Logout,
    McpServer,
    NewSession,
    OptionsSet,
    Prompt,
    PromptAnswered,
    ReopenSession,
    SessionOpened,
    SessionsListed,
    SessionSummary,
    SetMode,
    SetModel,
    SetOption,
)
from accord.session.content import Image, Text
from accord.session.custom import custom
from accord.session.dialect import Binding
from accord.session.editions.v2_june import DIALECT, JuneDecoder, JuneEncoder
from accord.session.event import CommandsChanged, MessageChunk, TokenUsage, ToolChanged
from accord.session.option import Choice, Command, PermissionOption, Select, Toggle
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView
from tests.session.events import blocks, metas, names, optional, selects, texts, tool_changes, unknown_variants, word
from tests.tables import rows

META = {"k": [1, None]}
MODE = Select("m", "Mode", "ask", [Choice("ask", "Ask")], description="d", category="mode", meta=META)
FURTHER = Unknown("_x", {"type": "_x", "k": 1})
SLIDER = Unknown("_slider", {"type": "_slider", "id": "v", "name": "Volume", "currentValue": 3})
SERVERS: list[McpServer | Unknown] = [
    McpServer("files", command="/bin/files", args=["-v"], env=[("A", "1"), ("A", "2")], meta=META),
    McpServer("web", "http", url="https://x/y", headers=[("h", "1")], meta=META),
    FURTHER,
]
BARE = AgentCapabilities(mcp=frozenset())
FULL = AgentCapabilities(
    load=True,
    resume=True,
    listing=True,
    close=True,
    delete=True,
    additional_directories=True,
    prompts=frozenset({"image", "audio", "resource"}),
    mcp=frozenset({"stdio", "http"}),
    logout=True,
    auth_methods=[AuthMethod("a", "A", description="d", meta=META), AuthMethod("b", "B", "_sso", "d", meta=META)],
    meta=META,
)
ALLOW = PermissionOption("yes", "Yes", "allow_once", META)
TOOL = ToolChanged(
    "t",
    title="Edit",
    kind="edit",
    status="pending",
    name="editor",
    content=[Shown(Text("see")), Diff([FileChange("/w/a", "old", "new")])],
    locations=[Location("/w/a", 3)],
    raw_input={"a": 1},
    meta=META,
)


@dataclass(frozen=True)
class Sample:
    """An ask with every field this edition has binding for, the same for its answer, and their row."""

    method: RequestMethod[Any, Any]
    request: Any
    answer: Any


SAMPLES = [
    Sample(
        v2_june.INITIALIZE,
        Initialize(Implementation("c", "1", "C", META), ClientCapabilities(meta=META), META),
        Initialized(Implementation("a", "2", "A", META), FULL, META),
    ),
    Sample(v2_june.INITIALIZE, Initialize(None, ClientCapabilities()), Initialized(None, BARE)),
    Sample(v2_june.AUTHENTICATE, Login("a", META), Done(META)),
    Sample(v2_june.LOGOUT, Logout(META), Done(META)),
    Sample(
        v2_june.SESSION_NEW,
        NewSession("/w", ["/r"], SERVERS, META),
        SessionOpened("s", [MODE, SLIDER], meta=META),
    ),
    Sample(v2_june.SESSION_NEW, NewSession("/w"), SessionOpened("s")),
    Sample(
        v2_june.SESSION_LOAD,
        ReopenSession("s", "/w", ["/r"], SERVERS, replay=True, meta=META),
        SessionOpened("s", [MODE], meta=META),
    ),
    Sample(
        v2_june.SESSION_RESUME,
        ReopenSession("s", "/w", ["/r"], SERVERS, meta=META),
        SessionOpened("s", [MODE], meta=META),
    ),
    Sample(
        v2_june.SESSION_LIST,
        ListSessions("/w", "", META),
        SessionsListed([SessionSummary("s", "/w", ["/r"], "T", "2026-06-11T00:00:00Z", META)], "", META),
    ),
    Sample(v2_june.SESSION_LIST, ListSessions(), SessionsListed([SessionSummary("s", "/w")])),
    Sample(v2_june.SESSION_CLOSE, CloseSession("s", META), Done(META)),
    Sample(v2_june.SESSION_DELETE, DeleteSession("s", META), Done(META)),
    Sample(
        v2_june.SESSION_PROMPT,
        Prompt("s", [Text("hi"), Image("AA==", "image/png"), FURTHER], META),
        PromptAnswered("max_tokens", meta=META, token_usage=TokenUsage(1, 2, 4, 1, 0, meta=META)),
    ),
    Sample(v2_june.SESSION_SET_CONFIG_OPTION, SetOption("s", "m", "ask", META), OptionsSet([MODE, SLIDER], META)),
    Sample(
        v2_june.SESSION_REQUEST_PERMISSION,
        RequestPermission("s", [ALLOW, PermissionOption("x", "X", custom("_further"))], tool=TOOL, meta=META),
        PermissionGiven("yes", META),
    ),
    Sample(
        v2_june.SESSION_REQUEST_PERMISSION, RequestPermission("s", [], tool=ToolChanged("t")), PermissionGiven(None)
    ),
]


@pytest.fixture(scope="module")
def definitions(schemas: Path) -> Any:
    """What the official schema of this edition defines."""
    return json.loads((schemas / "v2-june" / "schema.json").read_text(encoding="utf-8"))["$defs"]


@pytest.fixture(params=SAMPLES, ids=lambda sample: sample.method.name)
def sample(request: pytest.FixtureRequest) -> Sample:
    found: Sample = request.param
    return found


def carried(kind: Any, value: Any) -> Any:
    """The value as the other side reads it; a strict reader refuses whatever the edition does not allow."""
    read = Codec(strict=True).decode(kind, encode(value))
    assert read == value
    return read


def row_of(ask: Any) -> tuple[Binding, Any]:
    """The row that has binding for an ask, and its params."""
    found = DIALECT.encode(ask)
    assert found is not None
    return found


def heard(ask: Any) -> Any:
    """What the other side hears when this is asked."""
    binding, params = row_of(ask)
    return binding.decode_params(carried(binding.method.params, params))


def heard_answer(answer: Any, ask: Any) -> Any:
    """What the asker hears when this is answered."""
    binding, _ = row_of(ask)
    return binding.decode_result(carried(binding.method.result, binding.encode_result(answer)), ask)


def said(ask: Any) -> Any:
    """The params of an ask, as plain JSON."""
    return json.loads(encode(row_of(ask)[1]))


def answered(ask: Any, result: dict[str, Any]) -> Any:
    """What the asker hears of a result that came as plain JSON."""
    binding, _ = row_of(ask)
    return binding.decode_result(Codec().convert(binding.method.result, result), ask)


# ── every row ──


def test_every_ask_is_heard_as_it_was_said(sample: Sample) -> None:
    assert row_of(sample.request)[0].method is sample.method
    assert heard(sample.request) == sample.request


def test_every_answer_is_heard_as_it_was_said(sample: Sample) -> None:
    assert heard_answer(sample.answer, sample.request) == sample.answer


def test_what_is_asked_and_answered_is_what_the_schema_wants(sample: Sample, definitions: Any) -> None:
    binding, params = row_of(sample.request)
    for value in (params, binding.encode_result(sample.answer)):
        schema = {"$ref": f"#/$defs/{type(value).__name__}", "$defs": definitions}
        Draft202012Validator(schema).validate(json.loads(encode(value)))


def test_every_request_of_the_edition_has_a_row() -> None:
    sides = {"agent": DIALECT.agent_bindings, "client": DIALECT.client_bindings}
    for side, bindings in sides.items():
        requests = [row for row in v2_june.METHODS if isinstance(row, RequestMethod) and row.side == side]
        assert sorted(binding.method.name for binding in bindings) == sorted(method.name for method in requests)


def test_a_row_needs_the_capability_that_june_demands_for_its_method() -> None:
    rows = (*DIALECT.agent_bindings, *DIALECT.client_bindings)
    assert {binding.method.name: binding.needs for binding in rows if binding.needs} == {
        "session/load": "load",
        "session/resume": "resume",
        "session/list": "listing",
        "session/close": "close",
        "session/delete": "delete",
        "logout": "logout",
    }


@rows(
    "ask",
    [
        CancelTerminal,
        CancelTool,
        ElicitForm,
        ElicitUrl,
        ForkSession,
        ReadFile,
        SetMode,
        SetModel,
        StartTerminal,
        WriteFile,
    ],
)
def test_what_the_edition_cannot_ask_has_no_row(ask: type[Any]) -> None:
    assert DIALECT.find(ask) == []


def test_the_dialect_is_that_of_june() -> None:
    assert DIALECT.edition is V2_JUNE
    assert (DIALECT.rule, DIALECT.echoes, DIALECT.draft_bindings) == ("end", False, ())
    assert DIALECT.elicitation_done is None
    assert isinstance(DIALECT.encoder(ClientCapabilities()), JuneEncoder)
    assert isinstance(DIALECT.decoder(), JuneDecoder)


# ── updates and cancelling ──


def test_an_update_comes_back_with_its_session(definitions: Any) -> None:
    (update,) = DIALECT.encoder(ClientCapabilities()).encode(MessageChunk("agent", Text("a"), "1"))
    params = DIALECT.encode_update("s", update)
    assert DIALECT.decode_update(carried(DIALECT.update.params, params)) == ("s", update)
    schema = {"$ref": "#/$defs/SessionNotification", "$defs": definitions}
    Draft202012Validator(schema).validate(json.loads(encode(params)))


def test_the_session_and_the_update_go_out_as_a_notification() -> None:
    update = v2_june.SessionInfoUpdate("T")
    assert DIALECT.update is v2_june.SESSION_UPDATE
    assert DIALECT.encode_update("s", update) == v2_june.SessionNotification("s", update)
    assert DIALECT.decode_update(v2_june.SessionNotification("s", update)) == ("s", update)


@rows("ask", [Cancel("s", META), Cancel("s")])
def test_a_cancel_is_heard_as_it_was_said(ask: Cancel) -> None:
    assert DIALECT.cancel is v2_june.SESSION_CANCEL
    assert DIALECT.decode_cancel(carried(DIALECT.cancel.params, DIALECT.encode_cancel(ask))) == ask


# ── the handshake ──


def test_a_client_announces_nothing_but_itself() -> None:
    able = ClientCapabilities(
        read_files=True,
        write_files=True,
        terminals=True,
        elicit_form=True,
        elicit_url=True,
        notices=True,
        compaction=True,
        toggles=True,
        terminal_login=True,
    )
    assert said(Initialize(Implementation("c", "1"), able)) == {
        "protocolVersion": 2,
        "clientInfo": {"name": "c", "version": "1"},
        "capabilities": {},
    }
    assert heard(Initialize(None, able)) == Initialize(None, ClientCapabilities())


def test_an_agent_that_can_nothing_more_still_serves_sessions() -> None:
    answer = row_of(Initialize(None, ClientCapabilities()))[0].encode_result(Initialized(None, BARE))
    assert json.loads(encode(answer)) == {"protocolVersion": 2, "capabilities": {"session": {}, "auth": {}}}


def test_every_capability_is_an_object() -> None:
    answer = row_of(Initialize(None, ClientCapabilities()))[0].encode_result(
        Initialized(None, replaced(FULL, auth_methods=[], meta=None))
    )
    assert json.loads(encode(answer))["capabilities"] == {
        "session": {
            "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
            "mcp": {"stdio": {}, "http": {}},
            "load": {},
            "list": {},
            "delete": {},
            "additionalDirectories": {},
            "resume": {},
            "close": {},
        },
        "auth": {"logout": {}},
    }


def replaced(capabilities: AgentCapabilities, **changes: Any) -> AgentCapabilities:
    return msgspec.structs.replace(capabilities, **changes)


@rows(
    ("offered", "left"),
    [
        (replaced(BARE, fork=True), BARE),
        (replaced(BARE, mcp=frozenset({"sse"})), BARE),
        (replaced(BARE, mcp=frozenset({"http", "sse"})), replaced(BARE, mcp=frozenset({"http"}))),
        (replaced(BARE, auth_methods=[AuthMethod("t", "T", "terminal", args=["--login"])]), BARE),
    ],
)
def test_what_the_edition_has_no_word_for_is_not_offered(offered: AgentCapabilities, left: AgentCapabilities) -> None:
    ask = Initialize(None, ClientCapabilities())
    assert heard_answer(Initialized(None, offered), ask) == Initialized(None, left)


@rows(
    "capabilities",
    [
        {},
        {"session": None, "auth": {"logout": None}},
        {"session": {"load": None, "list": None, "prompt": None, "mcp": None}},
        {"session": {"prompt": {"image": None}, "mcp": {"stdio": None}}},
        {"session": {"load": True, "prompt": {"image": True}}},
    ],
)
def test_what_is_null_or_no_object_is_not_served(capabilities: dict[str, Any]) -> None:
    ask = Initialize(None, ClientCapabilities())
    assert answered(ask, {"protocolVersion": 2, "capabilities": capabilities}) == Initialized(None, BARE)


def test_a_way_to_log_in_of_another_type_is_kept_unless_it_has_no_name() -> None:
    methods = [
        {"type": "_sso", "id": "a", "name": "A", "realm": 1},
        {"type": "_sso", "id": "a"},
        {"type": "agent", "id": "b", "name": "B"},
    ]
    result = answered(Initialize(None, ClientCapabilities()), {"protocolVersion": 2, "authMethods": methods})
    assert result.capabilities.auth_methods == [AuthMethod("a", "A", "_sso"), AuthMethod("b", "B")]


@given(
    st.builds(
        AgentCapabilities,
        load=st.booleans(),
        resume=st.booleans(),
        listing=st.booleans(),
        close=st.booleans(),
        delete=st.booleans(),
        additional_directories=st.booleans(),
        prompts=st.frozensets(st.sampled_from(["image", "audio", "resource"])),
        mcp=st.frozensets(st.sampled_from(["stdio", "http"])),
        logout=st.booleans(),
        auth_methods=st.lists(st.builds(AuthMethod, names, texts, word("agent"), optional, meta=metas), max_size=2),
        meta=metas,
    )
)
def test_capabilities_are_heard_as_they_were_said(capabilities: AgentCapabilities) -> None:
    answer = Initialized(None, capabilities)
    assert heard_answer(answer, Initialize(None, ClientCapabilities())) == answer


# ── opening ──


def test_a_replay_is_a_load_and_anything_else_a_resume() -> None:
    load, resume = DIALECT.find(ReopenSession)
    assert (load.method, resume.method) == (v2_june.SESSION_LOAD, v2_june.SESSION_RESUME)
    assert load.encode_params(ReopenSession("s", "/w")) is None
    assert resume.encode_params(ReopenSession("s", "/w", replay=True)) is None


def test_every_key_of_a_server_is_written_even_if_it_is_empty() -> None:
    servers: list[McpServer | Unknown] = [McpServer("a", command="/a"), McpServer("b", "http", url="https://b")]
    expected = [
        {"type": "stdio", "name": "a", "command": "/a", "args": [], "env": []},
        {"type": "http", "name": "b", "url": "https://b", "headers": []},
    ]
    asks = [
        NewSession("/w", servers=servers),
        ReopenSession("s", "/w", servers=servers),
        ReopenSession("s", "/w", servers=servers, replay=True),
    ]
    for ask in asks:
        assert said(ask)["mcpServers"] == expected


def test_a_server_over_sse_cannot_be_asked_for() -> None:
    server = McpServer("a", "sse", url="https://a")
    asks = [
        NewSession("/w", servers=[server]),
        ReopenSession("s", "/w", servers=[server]),
        ReopenSession("s", "/w", servers=[server], replay=True),
    ]
    for ask in asks:
        with pytest.raises(LocalProtocolError, match="v2_june") as caught:
            DIALECT.encode(ask)
        assert caught.value.field == "servers"


def test_a_server_of_another_kind_is_kept_for_the_agent_to_judge() -> None:
    sse = {"type": "sse", "name": "a", "url": "https://a", "headers": []}
    params = Codec().convert(v2_june.NewSessionRequest, {"cwd": "/w", "mcpServers": [sse]})
    (binding,) = DIALECT.find(NewSession)
    assert binding.decode_params(params).servers == [Unknown("sse", sse)]


def test_a_resume_without_servers_has_none() -> None:
    params = Codec().convert(v2_june.ResumeSessionRequest, {"sessionId": "s", "cwd": "/w"})
    assert DIALECT.find(ReopenSession)[1].decode_params(params) == ReopenSession("s", "/w")


@rows("ask", [NewSession("/w"), ReopenSession("s", "/w"), ReopenSession("s", "/w", replay=True)])
@rows("options", [{}, {"configOptions": None}, {"configOptions": []}])
def test_a_session_without_options_has_none(ask: Any, options: dict[str, Any]) -> None:
    assert answered(ask, {"sessionId": "s", **options}) == SessionOpened("s")


def test_commands_and_toggles_have_no_place_in_an_opening() -> None:
    command = Command("plan", "Makes one")
    opened = SessionOpened("s", [Toggle("t", "T", value=True), MODE], [command], models=True)
    for ask in (NewSession("/w"), ReopenSession("s", "/w"), ReopenSession("s", "/w", replay=True)):
        assert heard_answer(opened, ask) == SessionOpened("s", [MODE])
    assert DIALECT.leftover_events(opened) == [CommandsChanged([command])]
    assert DIALECT.leftover_events(SessionOpened("s")) == []


@given(st.lists(selects | unknown_variants, max_size=2), metas)
def test_options_are_heard_as_they_were_said(options: list[Any], meta: dict[str, Any] | None) -> None:
    opened, changed = SessionOpened("s", options, meta=meta), OptionsSet(options, meta)
    assert heard_answer(opened, NewSession("/w")) == opened
    assert heard_answer(changed, SetOption("s", "m", "x")) == changed


# ── prompts and options ──


@given(st.lists(blocks(st.none()), max_size=3), metas)
def test_a_prompt_is_heard_as_it_was_said(content: list[Any], meta: dict[str, Any] | None) -> None:
    assert heard(Prompt("s", content, meta)) == Prompt("s", content, meta)


@rows("reason", ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "_further"])
def test_every_reason_passes_because_reasons_are_open(reason: str) -> None:
    assert heard_answer(PromptAnswered(reason), Prompt("s", [])) == PromptAnswered(reason)


def test_a_reason_from_the_future_is_heard() -> None:
    assert answered(Prompt("s", []), {"stopReason": "later"}) == PromptAnswered("later")


def test_a_turn_that_gave_no_reason_just_ended() -> None:
    assert heard_answer(PromptAnswered(), Prompt("s", [])) == PromptAnswered("end_turn")


def test_the_id_of_a_message_has_no_place() -> None:
    assert heard_answer(PromptAnswered("refusal", "1"), Prompt("s", [])) == PromptAnswered("refusal")


def test_a_value_is_said_bare() -> None:
    assert said(SetOption("s", "m", "code")) == {"sessionId": "s", "configId": "m", "value": "code"}


def test_an_option_cannot_be_turned_on() -> None:
    with pytest.raises(LocalProtocolError, match="v2_june") as caught:
        DIALECT.encode(SetOption("s", "m", value=True))
    assert caught.value.field == "value"


# ── permissions ──


def asked(**fields: Any) -> Any:
    """The tool call that a question is put as, as plain JSON."""
    return said(RequestPermission("s", [ALLOW], **fields))["toolCall"]


def test_the_question_is_the_title_and_its_description_stands_last() -> None:
    call = asked(title="May I?", description="Because.", tool=TOOL)
    assert call["title"] == "May I?"
    assert [item["type"] for item in call["content"]] == ["content", "diff", "content"]
    assert call["content"][-1]["content"] == {"type": "text", "text": "Because."}
    assert asked(tool=TOOL)["title"] == "Edit"
    assert asked(tool=ToolChanged("t"), description="Because.") == {
        "toolCallId": "t",
        "content": [{"type": "content", "content": {"type": "text", "text": "Because."}}],
    }


def test_the_tool_call_that_was_handed_in_stays_as_it_was() -> None:
    tool = ToolChanged("t", title="Edit", content=[])
    asked(title="May I?", description="Because.", tool=tool)
    assert tool == ToolChanged("t", title="Edit", content=[])


def test_a_call_that_shows_a_terminal_keeps_what_was_said_of_it() -> None:
    tool = ToolChanged("t", status="pending", content=[TerminalView("1")])
    assert asked(tool=tool) == {"toolCallId": "t", "status": "pending"}


def test_what_a_tool_call_clears_is_cleared() -> None:
    tool = ToolChanged("t", title=None, content=None, locations=[])
    assert asked(tool=tool) == {"toolCallId": "t", "title": None, "content": None, "locations": []}


def test_a_command_is_put_as_a_tool_call_that_executes() -> None:
    subject = CommandSubject("make", "/w", "t", "1", META)
    assert asked(command=subject, description="Because.") == {
        "toolCallId": "t",
        "title": "make",
        "kind": "execute",
        "content": [{"type": "content", "content": {"type": "text", "text": "Because."}}],
        "rawInput": {"command": "make", "cwd": "/w"},
        "_meta": META,
    }
    assert asked(command=subject, title="May I?")["title"] == "May I?"


def test_a_command_without_a_tool_call_always_has_the_same_id() -> None:
    first = asked(command=CommandSubject("make", "/w"))["toolCallId"]
    assert first.startswith("command-")
    assert asked(command=CommandSubject("make", "/w"), title="May I?")["toolCallId"] == first
    assert asked(command=CommandSubject("make", "/v"))["toolCallId"] != first
    assert asked(command=CommandSubject("make all", "/w"))["toolCallId"] != first


def test_a_bare_question_is_put_as_a_tool_call_of_no_kind() -> None:
    call = asked(title="Go on?", other={"type": "_x"})
    assert call == {"toolCallId": call["toolCallId"], "title": "Go on?", "kind": "other"}
    assert call["toolCallId"].startswith("permission-")
    assert asked(title="Go on?")["toolCallId"] == call["toolCallId"]
    assert asked(title="Stop?")["toolCallId"] != call["toolCallId"]
    assert asked()["title"] == "Permission required"


def test_half_a_character_does_not_spoil_an_id() -> None:
    assert asked(title="\ud83d")["toolCallId"].startswith("permission-")


def test_the_kind_of_an_option_passes_because_kinds_are_open() -> None:
    option = PermissionOption("x", "X", custom("_allow_session"), META)
    assert heard(RequestPermission("s", [option], title="?")).options == [option]


@given(tool_changes(blocks(st.none())), optional, optional)
def test_whatever_is_heard_of_a_question_is_said_and_heard_again(
    tool: ToolChanged, title: str | None, description: str | None
) -> None:
    once = heard(RequestPermission("s", [ALLOW], title, description, tool))
    assert once.title is None
    assert once.description is None
    assert once.tool.id == tool.id
    assert once.tool.title == (title or tool.title)
    assert once.tool.created is False
    assert once.tool.cancellable is UNSET
    assert heard(once) == once


@rows("outcome", [{"outcome": "cancelled"}, {"outcome": "_later", "optionId": "yes"}, {"outcome": "approved"}])
def test_an_outcome_that_selects_nothing_approves_of_nothing(outcome: dict[str, Any]) -> None:
    ask = RequestPermission("s", [ALLOW], "?")
    assert answered(ask, {"outcome": outcome, "_meta": META}) == PermissionGiven(None, META)
