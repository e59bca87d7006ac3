"""Row by row: how v2 asks and answers, what it says in other binding, and what it refuses."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from accord.errors import InvalidParams, LocalProtocolError
from accord.protocol import v2
from accord.protocol.codec import Codec, Misfit, encode
from accord.protocol.edition import V2
from accord.protocol.model import UNSET, Unknown
from accord.protocol.v2 import draft
from accord.session.agent_requests import (
    CommandSubject,
    ElicitationDone,
    Elicited,
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
from accord.session.content import Audio, Image, Link, Resource, Text
from accord.session.custom import Custom, custom
from accord.session.dialect import Binding
from accord.session.editions.v2 import DIALECT, V2Decoder, V2Encoder
from accord.session.event import MessageChunk, ToolChanged
from accord.session.git_patch import operation_of
from accord.session.option import Choice, Command, PermissionOption, Select, Toggle
from accord.session.tool import Diff, Location, Shown
from tests.session.events import blocks, commands, icons, ids, metas, names, options, texts, tool_changes
from tests.tables import rows

META = {"k": 1}
FURTHER = Unknown("_x", {"type": "_x", "k": 1})
FURTHER_OPTION = Unknown("_x", {"type": "_x", "configId": "x", "name": "X", "k": 1})
CLIENT = ClientCapabilities(
    elicit_form=True,
    elicit_url=True,
    notices=True,
    compaction=True,
    toggles=True,
    terminal_login=True,
    meta=META,
)
AGENT = AgentCapabilities(
    load=True,
    resume=True,
    listing=True,
    close=True,
    delete=True,
    additional_directories=True,
    prompts=frozenset({"image", "audio", "resource"}),
    mcp=frozenset({"stdio", "http"}),
    logout=True,
    auth_methods=[
        AuthMethod("a", "A", "agent", "D", meta=META),
        AuthMethod("t", "T", "terminal", "D", ["--login"], {"K": "v"}, META),
        AuthMethod("x", "X", "_x", "D", meta=META),
        AuthMethod("b", "B"),
        AuthMethod("y", "Y", "_x"),
    ],
    meta=META,
)
SERVERS: list[McpServer | Unknown] = [
    McpServer("s", "stdio", "/bin/s", ["-v"], [("A", "1"), ("A", "2")], meta=META),
    McpServer("h", "http", url="https://x/y", headers=[("A", "1"), ("A", "2")], meta=META),
    McpServer("p", command="/bin/p"),
    FURTHER,
]
OPENED = SessionOpened(
    "s",
    [Select("m", "M", "x", [Choice("x", "X")], category="mode"), Toggle("t", "T", value=True), FURTHER_OPTION],
    [Command("c", "C", "what", META)],
    meta=META,
)
OPTIONS = [PermissionOption("y", "Yes", "allow_once", META), PermissionOption("n", "No", custom("_never"))]
SCHEMA = {
    "type": "object",
    "title": "T",
    "description": "D",
    "required": ["a"],
    "_meta": META,
    "properties": {
        "a": {"type": "string", "title": "A", "minLength": 1, "format": "email", "default": "x"},
        "b": {"type": "string", "oneOf": [{"const": "x", "title": "X"}]},
        "c": {"type": "integer", "minimum": 1, "maximum": 9},
        "d": {"type": "number", "minimum": 0.5},
        "e": {"type": "boolean", "default": False},
        "f": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "minItems": 1},
        "g": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}]}, "default": ["x"]},
        "h": {"type": "_color", "alpha": True},
    },
}
PROMPT = Prompt(
    "s",
    [
        Text("a", meta=META),
        Image("AA==", "image/png"),
        Audio("AA==", "audio/wav"),
        Link("https://x/y", "y"),
        Resource("file:///a", "text"),
        Resource("file:///a", blob="AA=="),
    ],
    META,
)
TOOL = ToolChanged(
    "c",
    title="T",
    kind="edit",
    status="pending",
    name="edit",
    content=[Shown(Text("a"))],
    locations=[Location("/a", 3)],
    raw_input={"k": 1},
    cancellable=True,
    meta=META,
)
COMMAND = CommandSubject("ls", "/w", "c", "t", META)
PERMISSION = RequestPermission("s", OPTIONS, "May I?", "D", tool=TOOL, meta=META)
FORM = ElicitForm("M", SCHEMA, session_id="s", tool_id="c", meta=META)
URL = ElicitUrl("M", "e", "https://x/y", session_id="s", tool_id="c", meta=META)
DONE = Done(META)

# Each row at its fullest, and at its barest where that differs.
SAMPLES: list[tuple[Any, Any]] = [
    (
        Initialize(Implementation("c", "1", "C", META), CLIENT, META),
        Initialized(Implementation("a", "1", "A", META), AGENT, META),
    ),
    (
        Initialize(None, ClientCapabilities(notices=True, compaction=True, toggles=True)),
        Initialized(None, AgentCapabilities(load=True, resume=True, listing=True, close=True)),
    ),
    (
        Initialize(
            Implementation("c", "1"), ClientCapabilities(elicit_url=True, notices=True, compaction=True, toggles=True)
        ),
        Initialized(Implementation("a", "1"), msgspec.structs.replace(AGENT, mcp=frozenset())),
    ),
    (Login("a", META), DONE),
    (Logout(META), DONE),
    (Logout(), Done()),
    (NewSession("/w", ["/r"], SERVERS, META), OPENED),
    (NewSession("/w"), SessionOpened("s")),
    (ReopenSession("s", "/w", ["/r"], SERVERS, replay=True, meta=META), OPENED),
    (ReopenSession("s", "/w"), SessionOpened("s")),
    (ForkSession("s", "/w", ["/r"], SERVERS, META), msgspec.structs.replace(OPENED, session_id="f")),
    (
        ListSessions("/w", "c", META),
        SessionsListed(
            [SessionSummary("s", "/w", ["/r"], "T", "2026-11-15T10:00:00Z", META), SessionSummary("t", "/w")],
            "d",
            META,
        ),
    ),
    (ListSessions(), SessionsListed([])),
    (ListSessions(cursor=""), SessionsListed([], "")),
    (CloseSession("s", META), DONE),
    (DeleteSession("s", META), DONE),
    (PROMPT, PromptAnswered(message_id="m", meta=META)),
    (SetOption("s", "m", "x", META), OptionsSet(OPENED.options, META)),
    (SetOption("s", "t", value=True), OptionsSet([])),
    (SetOption("s", "t", value=False), OptionsSet([])),
    (CancelTool("s", "c", META), DONE),
    (CancelTerminal("s", "t", META), DONE),
    (PERMISSION, PermissionGiven("y", META)),
    (RequestPermission("s", OPTIONS, "May I?", command=COMMAND, meta=META), PermissionGiven(None, META)),
    (RequestPermission("s", OPTIONS, "May I?", command=CommandSubject("ls", "/w")), PermissionGiven("n")),
    (RequestPermission("s", OPTIONS, "May I?", other={"type": "_x", "k": 1}), PermissionGiven(None)),
    (RequestPermission("s", OPTIONS, "May I?"), PermissionGiven(None)),
    (FORM, Elicited("accept", {"a": "x", "f": ["x"]}, META)),
    (msgspec.structs.replace(FORM, tool_id=None), Elicited("accept")),
    (ElicitForm("M", {"type": "object", "properties": {}}, request_id=7), Elicited("decline", meta=META)),
    (URL, Elicited("cancel", meta=META)),
    (ElicitUrl("M", "e", "https://x/y", request_id="7"), Elicited("accept", {})),
]
NAMES = [f"{type(ask).__name__}-{number}" for number, (ask, _) in enumerate(SAMPLES)]
samples = pytest.mark.parametrize(("ask", "answer"), SAMPLES, ids=NAMES)


def row(ask: Any) -> Binding:
    (binding,) = DIALECT.find(type(ask))
    return binding


def carried(kind: Any, value: Any) -> Any:
    """The value as the other side reads it; a strict reader refuses whatever the edition does not allow."""
    read = Codec(strict=True).decode(kind, encode(value))
    assert read == value
    return read


def asked(ask: Any) -> Any:
    """The ask as the other side hears it."""
    binding = row(ask)
    return binding.decode_params(carried(binding.method.params, binding.encode_params(ask)))


def answered(answer: Any, ask: Any) -> Any:
    """The answer as the asker hears it."""
    binding = row(ask)
    return binding.decode_result(carried(binding.method.result, binding.encode_result(answer)), ask)


def said(ask: Any) -> Any:
    """The params as plain JSON."""
    return json.loads(encode(row(ask).encode_params(ask)))


def heard(ask: type[Any], params: Any) -> Any:
    """What is heard of params that somebody else wrote."""
    (binding,) = DIALECT.find(ask)
    return binding.decode_params(Codec().convert(binding.method.params, params))


def heard_answer(ask: Any, result: Any) -> Any:
    binding = row(ask)
    return binding.decode_result(Codec().convert(binding.method.result, result), ask)


# ── the table ──


def test_there_is_one_row_for_each_thing_that_v2_asks() -> None:
    rows = (*DIALECT.agent_bindings, *DIALECT.client_bindings, *DIALECT.draft_bindings)
    assert len({binding.request for binding in rows}) == len(rows)
    assert {binding.request for binding in rows} == {type(ask) for ask, _ in SAMPLES}
    stable = {binding.method for binding in rows} - {draft.SESSION_FORK}
    notifications = {v2.SESSION_UPDATE, v2.SESSION_CANCEL, v2.ELICITATION_COMPLETE, v2.CANCEL_REQUEST}
    assert stable == set(v2.METHODS) - notifications


def test_each_row_is_served_by_the_side_it_belongs_to() -> None:
    assert {binding.method.side for binding in (*DIALECT.agent_bindings, *DIALECT.draft_bindings)} == {"agent"}
    assert {binding.method.side for binding in DIALECT.client_bindings} == {"client"}


def test_what_is_no_baseline_names_the_capability_it_needs() -> None:
    gated = {
        binding.request: binding.needs
        for binding in (*DIALECT.agent_bindings, *DIALECT.draft_bindings)
        if binding.needs
    }
    assert gated == {Logout: "logout", DeleteSession: "delete", ForkSession: "fork"}
    assert set(gated.values()) <= set(AgentCapabilities.__struct_fields__)
    asked_of_clients = {binding.request: binding.needs for binding in DIALECT.client_bindings if binding.needs}
    assert asked_of_clients == {ElicitForm: "elicit_form", ElicitUrl: "elicit_url"}
    assert set(asked_of_clients.values()) <= set(ClientCapabilities.__struct_fields__)


@rows(
    "ask",
    [
        SetMode("s", "m"),
        SetModel("s", "m"),
        ReadFile("s", "/a"),
        WriteFile("s", "/a", "text"),
        StartTerminal("s", "ls"),
    ],
)
def test_modes_files_and_terminals_of_clients_have_no_words(ask: Any) -> None:
    assert DIALECT.encode(ask) is None


def test_the_dialect_answers_at_the_insertion_and_tells_prompts_back() -> None:
    assert (DIALECT.edition, DIALECT.rule, DIALECT.echoes) == (V2, "insertion", True)
    assert DIALECT.leftover_events(OPENED) == []
    assert isinstance(DIALECT.encoder(CLIENT), V2Encoder)
    assert isinstance(DIALECT.decoder(), V2Decoder)


# ── there and back ──


@rows(("ask", "answer"), SAMPLES)
def test_an_ask_is_heard_as_it_was_meant(ask: Any, answer: Any) -> None:  # noqa: ARG001 - the other half of a sample
    assert asked(ask) == ask


@rows(("ask", "answer"), SAMPLES)
def test_an_answer_is_heard_as_it_was_meant(ask: Any, answer: Any) -> None:
    assert answered(answer, ask) == answer


@functools.cache
def definitions_in(name: str) -> Any:
    return json.loads((Path(os.environ["ACCORD_SCHEMAS"]) / "v2" / name).read_text(encoding="utf-8"))["$defs"]


def validate(definition: str, value: Any, *, unstable: bool) -> None:
    definitions = definitions_in("schema.unstable.json" if unstable else "schema.json")
    Draft202012Validator({"$ref": f"#/$defs/{definition}", "$defs": definitions}).validate(json.loads(encode(value)))


@pytest.mark.usefixtures("schemas")
@samples
def test_what_is_said_is_what_the_schema_allows(ask: Any, answer: Any) -> None:
    binding = row(ask)
    elicits = binding.method is v2.ELICITATION_CREATE
    params, result = binding.encode_params(ask), binding.encode_result(answer)
    unstable = binding in DIALECT.draft_bindings
    validate("CreateElicitationRequest" if elicits else type(params).__name__, params, unstable=unstable)
    validate("CreateElicitationResponse" if elicits else type(result).__name__, result, unstable=unstable)


@pytest.mark.usefixtures("schemas")
def test_an_agent_that_forks_says_what_the_unstable_schema_allows() -> None:
    binding = row(SAMPLES[0][0])
    result = binding.encode_result(Initialized(None, msgspec.structs.replace(AGENT, fork=True)))
    validate("InitializeResponse", result, unstable=True)


servers = st.one_of(
    st.builds(
        McpServer,
        names,
        st.just("stdio"),
        texts,
        st.lists(texts, max_size=2),
        st.lists(st.tuples(names, texts), max_size=2),
        meta=metas,
    ),
    st.builds(
        McpServer,
        names,
        st.just("http"),
        url=texts,
        headers=st.lists(st.tuples(names, texts), max_size=2),
        meta=metas,
    ),
    st.just(FURTHER),
)
opened = st.builds(SessionOpened, st.just("s"), options, st.lists(commands, max_size=2), meta=metas)
roots = st.lists(texts, max_size=2)
titles = st.text(min_size=1, max_size=6)
permission_options = st.lists(
    st.builds(PermissionOption, names, texts, st.sampled_from(["allow_once", "reject_always", "_x"]), metas),
    min_size=1,
    max_size=2,
)
reports = tool_changes(blocks(icons)).map(lambda tool: msgspec.structs.replace(tool, created=False))


@given(
    st.builds(ReopenSession, ids, texts, roots, st.lists(servers, max_size=2), replay=st.booleans(), meta=metas),
    opened,
)
def test_any_opening_goes_and_comes_back(reopen: ReopenSession, answer: SessionOpened) -> None:
    reopen.session_id = answer.session_id
    new = NewSession(reopen.cwd, reopen.roots, reopen.servers, reopen.meta)
    fork = ForkSession("other", reopen.cwd, reopen.roots, reopen.servers, reopen.meta)
    for ask in (new, reopen, fork):
        assert asked(ask) == ask
        assert answered(answer, ask) == answer


@given(st.builds(Prompt, ids, st.lists(blocks(icons), min_size=1, max_size=3), metas))
def test_any_prompt_goes_and_comes_back(ask: Prompt) -> None:
    assert asked(ask) == ask


@given(
    st.builds(
        RequestPermission, ids, permission_options, titles, st.none() | texts, tool=st.none() | reports, meta=metas
    )
)
def test_any_question_goes_and_comes_back(ask: RequestPermission) -> None:
    # A file that has only a new text was added, whatever its author called that.
    for item in ask.tool.content or [] if ask.tool is not None else []:
        for change in item.changes if isinstance(item, Diff) else []:
            change.operation = Custom(operation_of(change))
    assert asked(ask) == ask
    for option in ask.options:
        assert answered(PermissionGiven(option.id, ask.meta), ask) == PermissionGiven(option.id, ask.meta)


# ── the handshake ──


def test_a_client_says_what_it_has_by_objects_and_nothing_of_what_it_has_not() -> None:
    assert said(Initialize(Implementation("c", "1"), CLIENT)) == {
        "protocolVersion": 2,
        "info": {"name": "c", "version": "1"},
        "capabilities": {"auth": {"terminal": {}}, "elicitation": {"form": {}, "url": {}}, "_meta": META},
    }
    services = ClientCapabilities(read_files=True, write_files=True, terminals=True)
    assert said(Initialize(None, services)) == {
        "protocolVersion": 2,
        "info": {"name": "unknown", "version": "unknown"},
        "capabilities": {},
    }


def test_files_and_terminals_of_a_client_are_not_heard_of_and_notices_need_no_word() -> None:
    every = ClientCapabilities(**dict.fromkeys(set(ClientCapabilities.__struct_fields__) - {"meta"}, True), meta=META)
    assert asked(Initialize(None, every)).capabilities == CLIENT


@rows("nothing", [{}, {"form": None}, {"form": 7}])
def test_a_marker_of_null_or_of_nonsense_is_not_there(nothing: Any) -> None:
    capabilities = {"elicitation": nothing, "auth": None}
    params = {"protocolVersion": 2, "info": {"name": "c", "version": "1"}, "capabilities": capabilities}
    assert heard(Initialize, params).capabilities == ClientCapabilities(notices=True, compaction=True, toggles=True)


def test_an_agent_says_what_it_has_by_objects_and_nothing_of_what_it_has_not() -> None:
    binding = row(SAMPLES[0][0])
    result = json.loads(encode(binding.encode_result(Initialized(Implementation("a", "1"), AGENT))))
    assert result["capabilities"] == {
        "session": {
            "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
            "mcp": {"stdio": {}, "http": {}},
            "delete": {},
            "additionalDirectories": {},
        },
        "_meta": META,
    }
    assert result["authMethods"][:3] == [
        {"type": "agent", "methodId": "a", "name": "A", "description": "D", "_meta": META},
        {
            "type": "terminal",
            "methodId": "t",
            "name": "T",
            "description": "D",
            "args": ["--login"],
            "env": [{"name": "K", "value": "v"}],
            "_meta": META,
        },
        {"type": "_x", "methodId": "x", "name": "X", "description": "D", "_meta": META},
    ]
    bare = json.loads(encode(binding.encode_result(Initialized(None, AgentCapabilities(mcp=frozenset({"sse"}))))))
    assert bare == {
        "protocolVersion": 2,
        "info": {"name": "unknown", "version": "unknown"},
        "capabilities": {"session": {}},
    }


@rows("kind", ["image", "audio", "resource"])
def test_each_kind_of_block_has_a_marker_of_its_own(kind: Any) -> None:
    capabilities = msgspec.structs.replace(AGENT, prompts=frozenset({kind}))
    assert answered(Initialized(None, capabilities), Initialize(None, CLIENT)).capabilities == capabilities


@rows("transport", ["stdio", "http"])
def test_each_transport_has_a_marker_of_its_own(transport: Any) -> None:
    capabilities = msgspec.structs.replace(AGENT, mcp=frozenset({transport}))
    assert answered(Initialized(None, capabilities), Initialize(None, CLIENT)).capabilities == capabilities


def test_an_agent_without_sessions_serves_none() -> None:
    ask = Initialize(None, CLIENT)
    result = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}}
    none = Initialized(Implementation("a", "1"), AgentCapabilities(mcp=frozenset()))
    assert heard_answer(ask, result) == none
    assert heard_answer(ask, {**result, "capabilities": {"session": None}, "authMethods": []}) == none


def test_whoever_offers_a_login_serves_the_logout() -> None:
    method = AuthMethod("a", "A")
    answer = Initialized(None, AgentCapabilities(auth_methods=[method]))
    capabilities = answered(answer, Initialize(None, CLIENT)).capabilities
    assert (capabilities.logout, capabilities.auth_methods) == (True, [method])
    without = answered(Initialized(None, AgentCapabilities(logout=True)), Initialize(None, CLIENT))
    assert not without.capabilities.logout


def test_a_further_login_is_kept_if_it_has_an_id_and_a_name() -> None:
    methods = [
        {"type": "_x", "methodId": "x", "name": "X", "description": 7, "_meta": 7, "more": 1},
        {"type": "_x", "methodId": "x", "name": 7},
        {"type": "_x", "name": "X"},
    ]
    result = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "authMethods": methods}
    assert heard_answer(Initialize(None, CLIENT), result).capabilities.auth_methods == [AuthMethod("x", "X", "_x")]


def test_of_a_variable_that_is_named_twice_the_last_counts() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    method = {"type": "terminal", "methodId": "t", "name": "T", "env": env, "args": None}
    result = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "authMethods": [method]}
    (login,) = heard_answer(Initialize(None, CLIENT), result).capabilities.auth_methods
    assert login == AuthMethod("t", "T", "terminal", env={"A": "2"})


def test_a_fork_is_offered_and_heard_in_the_words_of_the_draft_alone() -> None:
    ask = Initialize(None, CLIENT)
    binding = row(ask)
    answer = Initialized(None, msgspec.structs.replace(AGENT, fork=True))
    result = binding.encode_result(answer)
    unstable = Codec(strict=True).decode(draft.INITIALIZE.result, encode(result))
    assert binding.decode_result(unstable, ask) == answer
    stable = Codec().decode(binding.method.result, encode(result))
    assert binding.decode_result(stable, ask) == Initialized(None, AGENT)


# ── sessions ──


def test_servers_are_said_with_their_type_and_without_what_is_empty() -> None:
    assert said(NewSession("/w", servers=SERVERS))["mcpServers"] == [
        {
            "type": "stdio",
            "name": "s",
            "command": "/bin/s",
            "args": ["-v"],
            "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
            "_meta": META,
        },
        {
            "type": "http",
            "name": "h",
            "url": "https://x/y",
            "headers": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
            "_meta": META,
        },
        {"type": "stdio", "name": "p", "command": "/bin/p"},
        FURTHER.payload,
    ]


@rows("kind", [NewSession, ReopenSession, ForkSession])
def test_a_server_that_is_reached_by_sse_cannot_be_said(kind: Any) -> None:
    fields = {} if kind is NewSession else {"session_id": "s"}
    ask = kind(cwd="/w", servers=[McpServer("e", "sse", url="https://x/y")], **fields)
    with pytest.raises(LocalProtocolError, match="v2") as caught:
        row(ask).encode_params(ask)
    assert (caught.value.field, caught.value.expected) == ("servers", "stdio or http")


def test_a_server_by_sse_is_heard_as_one_that_nobody_knows() -> None:
    server = {"type": "sse", "name": "e", "url": "https://x/y"}
    assert heard(NewSession, {"cwd": "/w", "mcpServers": [server]}).servers == [Unknown("sse", server)]


def test_a_server_that_only_the_draft_names_is_kept() -> None:
    server = {"type": "acp", "name": "e", "serverId": "1"}
    params = {"sessionId": "s", "cwd": "/w", "mcpServers": [server]}
    assert heard(ForkSession, params).servers == [Unknown("acp", server)]
    (binding,) = DIALECT.find(NewSession)
    typed = Codec().convert(draft.NewSessionRequest, params)
    assert binding.decode_params(typed).servers == [Unknown("acp", server)]


def test_lists_of_null_are_empty() -> None:
    params = {"cwd": "/w", "additionalDirectories": None, "mcpServers": None}
    assert heard(NewSession, params) == NewSession("/w")


def test_a_replay_is_from_the_start() -> None:
    assert said(ReopenSession("s", "/w", replay=True))["replayFrom"] == {"type": "start"}
    assert "replayFrom" not in said(ReopenSession("s", "/w"))
    assert not heard(ReopenSession, {"sessionId": "s", "cwd": "/w", "replayFrom": None}).replay


@rows("cursor", ["_message", "turn"])
def test_a_replay_from_elsewhere_is_refused_and_not_begun_at_the_start(cursor: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        heard(ReopenSession, {"sessionId": "s", "cwd": "/w", "replayFrom": {"type": cursor}})
    assert caught.value.data == {"field": "replayFrom.type", "expected": "start"}


@rows("cursor", [{}, {"type": 5}, "start"])
def test_a_cursor_that_is_none_is_no_start(cursor: Any) -> None:
    params = encode({"sessionId": "s", "cwd": "/w", "replayFrom": cursor})
    with pytest.raises(Misfit, match="replayFrom"):
        Codec().decode(v2.ResumeSessionRequest, params)


@rows("nothing", [{}, {"configOptions": None, "availableCommands": None}])
def test_an_answer_without_options_and_commands_has_none(nothing: Any) -> None:
    assert heard_answer(ReopenSession("s", "/w"), nothing) == SessionOpened("s")
    assert heard_answer(NewSession("/w"), {"sessionId": "n", **nothing}) == SessionOpened("n")


# ── prompts and settings ──


def test_an_empty_prompt_cannot_be_said() -> None:
    with pytest.raises(LocalProtocolError) as caught:
        row(PROMPT).encode_params(Prompt("s", []))
    assert caught.value.field == "prompt"


def test_a_prompt_is_answered_with_an_id_or_not_at_all() -> None:
    with pytest.raises(LocalProtocolError) as caught:
        row(PROMPT).encode_result(PromptAnswered("end_turn"))
    assert caught.value.field == "messageId"


def test_the_reason_of_the_end_is_not_in_the_answer_to_a_prompt() -> None:
    assert answered(PromptAnswered("end_turn", "m"), PROMPT) == PromptAnswered(message_id="m")


def test_an_answer_of_august_names_no_message() -> None:
    unset: Any = UNSET
    assert row(PROMPT).decode_result(v2.PromptResponse(unset), PROMPT) == PromptAnswered()


def test_a_value_is_said_with_its_type() -> None:
    assert said(SetOption("s", "m", "x")) == {"sessionId": "s", "configId": "m", "type": "id", "value": "x"}
    switched = said(SetOption("s", "t", value=False))
    assert switched == {"sessionId": "s", "configId": "t", "type": "boolean", "value": False}


@rows("kind", ["_range", "number"])
def test_a_value_of_another_type_is_refused(kind: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        heard(SetOption, {"sessionId": "s", "configId": "m", "type": kind, "value": "x"})
    assert caught.value.data == {"field": "type", "expected": "id or boolean"}


# ── permission ──


@rows(
    ("ask", "title"),
    [
        (RequestPermission("s", OPTIONS, "May I?", tool=TOOL), "May I?"),
        (RequestPermission("s", OPTIONS, tool=TOOL), "T"),
        (RequestPermission("s", OPTIONS, tool=ToolChanged("c")), "Permission required"),
        (RequestPermission("s", OPTIONS, tool=ToolChanged("c", title=None), command=COMMAND), "ls"),
        (RequestPermission("s", OPTIONS, command=COMMAND), "ls"),
        (RequestPermission("s", OPTIONS, other=FURTHER.payload), "Permission required"),
        (RequestPermission("s", OPTIONS, ""), "Permission required"),
    ],
)
def test_every_question_has_a_title(ask: RequestPermission, title: str) -> None:
    assert said(ask)["title"] == title


def test_a_tool_call_is_told_like_any_report_of_it() -> None:
    subject = said(RequestPermission("s", OPTIONS, tool=ToolChanged("c", status=None, title="T")))["subject"]
    assert subject == {"type": "tool_call", "toolCall": {"toolCallId": "c", "title": "T", "status": None}}


def test_a_tool_call_that_begins_with_the_question_begins_from_its_defaults() -> None:
    heard_ask = asked(RequestPermission("s", OPTIONS, tool=ToolChanged("c", title="T", created=True)))
    assert heard_ask.tool.title == "T"
    assert (heard_ask.tool.kind, heard_ask.tool.status, heard_ask.tool.content) == (None, None, None)


def test_a_tool_call_stands_before_a_command_and_a_command_before_others() -> None:
    every = RequestPermission("s", OPTIONS, tool=TOOL, command=COMMAND, other=FURTHER.payload)
    assert said(every)["subject"]["type"] == "tool_call"
    assert said(msgspec.structs.replace(every, tool=None))["subject"]["type"] == "command"


def test_a_question_without_options_cannot_be_said() -> None:
    with pytest.raises(LocalProtocolError) as caught:
        row(PERMISSION).encode_params(RequestPermission("s", []))
    assert caught.value.field == "options"


def test_what_stands_at_the_subject_goes_with_the_question() -> None:
    tool = {"type": "tool_call", "toolCall": {"toolCallId": "c"}, "_meta": {"a": 1, "b": 1}}
    options_said = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    params = {"sessionId": "s", "title": "T", "options": options_said, "subject": tool, "_meta": {"b": 2}}
    assert heard(RequestPermission, params).meta == {"a": 1, "b": 2}


@rows(
    "outcome",
    [
        {"outcome": "cancelled"},
        {"outcome": "_deferred", "optionId": "y"},
        {"outcome": "approved", "optionId": "y"},
        {"outcome": "selected", "optionId": "another"},
    ],
)
def test_only_a_choice_that_was_offered_approves(outcome: Any) -> None:
    assert heard_answer(PERMISSION, {"outcome": outcome, "_meta": META}) == PermissionGiven(None, META)


def test_what_stands_at_the_outcome_goes_with_the_answer() -> None:
    result = {"outcome": {"outcome": "selected", "optionId": "y", "_meta": {"a": 1, "b": 1}}, "_meta": {"b": 2}}
    assert heard_answer(PERMISSION, result) == PermissionGiven("y", {"a": 1, "b": 2})


# ── elicitation ──


def test_one_method_asks_both_and_either_row_hears_either() -> None:
    form, url = DIALECT.find(ElicitForm)[0], DIALECT.find(ElicitUrl)[0]
    assert form.method is url.method
    assert form.decode_params(url.encode_params(URL)) == URL
    assert url.decode_params(form.encode_params(FORM)) == FORM


@rows("mode", ["_voice", "dance"])
def test_another_mode_is_refused(mode: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        heard(ElicitForm, {"mode": mode, "message": "M", "sessionId": "s"})
    assert caught.value.data == {"field": "mode", "expected": "form or url"}


@rows(
    "scope",
    [
        {},
        {"tool_id": "c"},
        {"session_id": "s", "request_id": 7},
        {"request_id": 7, "tool_id": "c"},
    ],
)
def test_a_question_without_exactly_one_scope_cannot_be_said(scope: dict[str, Any]) -> None:
    for ask in (ElicitForm("M", SCHEMA, **scope), ElicitUrl("M", "e", "https://x/y", **scope)):
        with pytest.raises(LocalProtocolError) as caught:
            row(ask).encode_params(ask)
        assert caught.value.expected == "exactly one of the two"


def test_a_request_with_the_id_zero_or_empty_is_a_scope_too() -> None:
    for request_id in (0, ""):
        ask = ElicitUrl("M", "e", "https://x/y", request_id=request_id)
        assert asked(ask) == ask


def test_a_schema_that_leaves_out_what_it_is_becomes_an_object() -> None:
    ask = asked(ElicitForm("M", {"title": "T"}, session_id="s"))
    assert ask.schema == {"type": "object", "properties": {}, "title": "T"}


@rows(
    ("schema", "field"),
    [
        ({"type": "array"}, "schema.type"),
        ({"properties": {"a": {"type": "string", "enum": []}}}, "schema.properties.*.enum"),
        ({"properties": {"a": 7}}, "schema.properties.*"),
    ],
)
def test_a_schema_that_is_no_form_cannot_be_said(schema: dict[str, Any], field: str) -> None:
    ask = ElicitForm("M", schema, session_id="s")
    with pytest.raises(LocalProtocolError) as caught:
        row(ask).encode_params(ask)
    assert caught.value.field == field
    assert caught.value.expected


def test_what_was_filled_in_goes_with_an_acceptance_alone() -> None:
    assert answered(Elicited("decline", {"a": 1}), FORM) == Elicited("decline")
    assert answered(Elicited("cancel", {"a": 1}), FORM) == Elicited("cancel")


@rows(
    ("result", "meta"),
    [
        ({"action": "_later", "content": {"a": 1}, "_meta": META}, META),
        ({"action": "later"}, None),
        ({"action": "_later", "_meta": 7}, None),
    ],
)
def test_an_action_that_nobody_names_is_a_cancel(result: Any, meta: Any) -> None:
    assert heard_answer(FORM, result) == Elicited("cancel", meta=meta)


# ── notifications ──


@rows("meta", [None, META])
def test_notifications_go_and_come_back(meta: Any) -> None:
    cancel, done = Cancel("s", meta), ElicitationDone("e", meta)
    assert DIALECT.decode_cancel(carried(DIALECT.cancel.params, DIALECT.encode_cancel(cancel))) == cancel
    assert DIALECT.elicitation_done is not None
    assert DIALECT.encode_elicitation_done is not None
    assert DIALECT.decode_elicitation_done is not None
    params = carried(DIALECT.elicitation_done.params, DIALECT.encode_elicitation_done(done))
    assert DIALECT.decode_elicitation_done(params) == done


def test_an_update_goes_with_the_id_of_its_session() -> None:
    event = MessageChunk("agent", Text("a"), "m")
    (update,) = DIALECT.encoder(CLIENT).encode(event)
    session_id, carried_update = DIALECT.decode_update(
        carried(DIALECT.update.params, DIALECT.encode_update("s", update))
    )
    assert session_id == "s"
    assert DIALECT.decoder().decode(carried_update) == [event]


@pytest.mark.usefixtures("schemas")
def test_notifications_are_what_the_schema_allows() -> None:
    (update,) = DIALECT.encoder(CLIENT).encode(MessageChunk("agent", Text("a"), "m"))
    assert DIALECT.encode_elicitation_done is not None
    said_ones = [
        DIALECT.encode_update("s", update),
        DIALECT.encode_cancel(Cancel("s", META)),
        DIALECT.encode_elicitation_done(ElicitationDone("e", META)),
    ]
    for params in said_ones:
        validate(type(params).__name__, params, unstable=False)
