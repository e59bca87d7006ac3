"""Row by row: how v1 asks and answers, what it says where it has no binding, and what it refuses."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from accord.errors import InvalidParams, LocalProtocolError
from accord.protocol import v1
from accord.protocol.codec import Codec, encode
from accord.protocol.edition import V1
from accord.protocol.model import UNSET, Unknown
from accord.protocol.v1 import draft
from accord.session.agent_requests import (
    AwaitTerminal,
    CommandSubject,
    ElicitationDone,
    Elicited,
    ElicitForm,
    ElicitUrl,
    FileRead,
    KillTerminal,
    PermissionGiven,
    ReadFile,
    ReadTerminal,
    ReleaseTerminal,
    RequestPermission,
    StartTerminal,
    TerminalEnded,
    TerminalRead,
    TerminalStarted,
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
from accord.session.editions.v1 import DIALECT
from accord.session.event import CommandsChanged, MessageChunk, TerminalExit, TokenUsage, ToolChanged
from accord.session.meta_original import ORIGINAL
from accord.session.option import MADE_FROM, Choice, Command, Group, PermissionOption, Select, Toggle
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView, ToolContent
from tests.session import events
from tests.session.editions import plain
from tests.tables import rows

META = {"k": 1}
FURTHER = Unknown("_x", {"type": "_x", "k": 1})
MODE = Select(
    "m",
    "Mode",
    "ask",
    [Choice("ask", "Ask", "asks first", META), Choice("code", "Code")],
    description="how",
    category="mode",
    meta=META,
)
MODEL = Select("llm", "Model", "big", groups=[Group("g", "G", [Choice("big", "Big"), Choice("small", "Small")], META)])
MODEL.category = "model"
TOGGLE = Toggle("t", "T", value=True, description="on", category=custom("_c"), meta=META)
SERVERS: list[McpServer | Unknown] = [
    McpServer("files", "stdio", "/bin/files", ["-v"], [("A", "1"), ("A", "2")], meta=META),
    McpServer("bare", command="/bin/bare"),
    McpServer("web", "http", url="https://x/y", headers=[("h", "1"), ("h", "2")], meta=META),
    McpServer("old", "sse", url="https://x/z"),
]
CLIENT = ClientCapabilities(
    read_files=True,
    write_files=True,
    terminals=True,
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
    mcp=frozenset({"stdio", "http", "sse"}),
    logout=True,
    auth_methods=[
        AuthMethod("a", "A", description="by a call", meta=META),
        AuthMethod("b", "B", "terminal", "by hand", ["--login"], {"X": "1"}, META),
    ],
    meta=META,
)
TOOL = ToolChanged(
    "tool",
    title="Edit a.py",
    kind="edit",
    status="pending",
    name="edit_file",
    content=[Diff([FileChange("/w/a.py", "old", "new")])],
    locations=[Location("/w/a.py", 3)],
    raw_input={"path": "/w/a.py"},
    raw_output=[1],
    meta=META,
)
YES_OR_NO = [
    PermissionOption("yes", "Yes", "allow_once"),
    PermissionOption("ever", "Always", "allow_always", META),
    PermissionOption("no", "No", "reject_once"),
    PermissionOption("never", "Never", "reject_always"),
]
FORM = {
    "type": "object",
    "title": "You",
    "properties": {
        "name": {"type": "string", "minLength": 1, "format": "email"},
        "size": {"type": "number", "minimum": 0.5},
        "age": {"type": "integer", "default": 3},
        "sure": {"type": "boolean"},
        "few": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        "many": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "maxItems": 2},
    },
    "required": ["name"],
    "description": "all of it",
    "_meta": META,
}


class Sample(NamedTuple):
    """One row's ask and answer, with every field that v1 has a place for."""

    request: Any
    answer: Any
    method: str


SAMPLES = [
    Sample(
        Initialize(Implementation("editor", "1.0", "Editor", META), CLIENT, META),
        Initialized(Implementation("agent", "2.0", "Agent", META), AGENT, META),
        "initialize",
    ),
    Sample(Initialize(None, ClientCapabilities()), Initialized(None, AgentCapabilities()), "initialize"),
    Sample(Login("a", META), Done(META), "authenticate"),
    Sample(Logout(META), Done(META), "logout"),
    Sample(
        NewSession("/w", ["/x", "/y"], SERVERS, META),
        SessionOpened("s", [MODE, MODEL, TOGGLE], models=True, meta=META),
        "session/new",
    ),
    Sample(NewSession("/w"), SessionOpened("s"), "session/new"),
    Sample(
        ReopenSession("s", "/w", ["/x"], SERVERS, replay=True, meta=META),
        SessionOpened("s", [MODE, MODEL, TOGGLE], models=True, meta=META),
        "session/load",
    ),
    Sample(
        ReopenSession("s", "/w", ["/x"], SERVERS, meta=META),
        SessionOpened("s", [MODE, TOGGLE], meta=META),
        "session/resume",
    ),
    Sample(
        ListSessions("/w", "", META),
        SessionsListed(
            [SessionSummary("s", "/w", ["/x"], "Title", "2026-11-15T10:00:00Z", META), SessionSummary("t", "/w")],
            "next",
            META,
        ),
        "session/list",
    ),
    Sample(ListSessions(), SessionsListed([]), "session/list"),
    Sample(CloseSession("s", META), Done(META), "session/close"),
    Sample(DeleteSession("s", META), Done(META), "session/delete"),
    Sample(
        Prompt(
            "s",
            [
                Text("hello"),
                Image("AA==", "image/png"),
                Audio("AA==", "audio/wav"),
                Link("https://x/y", "y"),
                Resource("file:///w/a", "text"),
            ],
            META,
        ),
        PromptAnswered("max_tokens", meta=META, token_usage=TokenUsage(1, 2, 4, 1, 0, meta=META)),
        "session/prompt",
    ),
    Sample(SetOption("s", "m", "code", META), OptionsSet([MODE, TOGGLE], META), "session/set_config_option"),
    Sample(SetOption("s", "t", value=False), OptionsSet([]), "session/set_config_option"),
    Sample(SetMode("s", "code", META), Done(META), "session/set_mode"),
    Sample(SetModel("s", "big", META), Done(META), "session/set_model"),
    Sample(
        RequestPermission("s", YES_OR_NO, tool=TOOL, meta=META),
        PermissionGiven("yes", META),
        "session/request_permission",
    ),
    Sample(RequestPermission("s", [], tool=ToolChanged("t")), PermissionGiven(None), "session/request_permission"),
    Sample(
        ElicitForm("Who?", FORM, "s", "tool", meta=META),
        Elicited("accept", {"name": "a", "age": 3, "sure": True, "few": ["a"], "size": 0.5}, META),
        "elicitation/create",
    ),
    Sample(
        ElicitForm("Who?", {"type": "object", "properties": {}}, request_id=0),
        Elicited("decline", meta=META),
        "elicitation/create",
    ),
    Sample(
        ElicitUrl("Log in", "e", "https://x/y", "s", "tool", meta=META),
        Elicited("cancel", meta=META),
        "elicitation/create",
    ),
    Sample(ElicitUrl("Log in", "e", "https://x/y", request_id="r"), Elicited("accept"), "elicitation/create"),
    Sample(ReadFile("s", "/w/a", 3, 9, META), FileRead("text", META), "fs/read_text_file"),
    Sample(WriteFile("s", "/w/a", "text", META), Done(META), "fs/write_text_file"),
    Sample(
        StartTerminal("s", "make", ["-j"], [("A", "1")], "/w", 99, META),
        TerminalStarted("t", META),
        "terminal/create",
    ),
    Sample(
        ReadTerminal("s", "t", META),
        TerminalRead("out", truncated=True, exit=TerminalExit(None, "SIGKILL", META), meta=META),
        "terminal/output",
    ),
    Sample(ReadTerminal("s", "t"), TerminalRead(""), "terminal/output"),
    Sample(AwaitTerminal("s", "t", META), TerminalEnded(TerminalExit(3), META), "terminal/wait_for_exit"),
    Sample(KillTerminal("s", "t", META), Done(META), "terminal/kill"),
    Sample(ReleaseTerminal("s", "t", META), Done(META), "terminal/release"),
    Sample(
        ForkSession("s", "/w", ["/x"], SERVERS, META), SessionOpened("new", [MODE, TOGGLE], meta=META), "session/fork"
    ),
]
each_sample = rows("sample", SAMPLES)


def said(ask: Any) -> tuple[Binding, Any]:
    """The row and the params, which are there."""
    found = DIALECT.encode(ask)
    assert found is not None
    return found


def carried(kind: Any, value: Any, *, strict: bool = True) -> Any:
    """The value as the other side reads it; a strict reader refuses whatever the edition does not allow."""
    return Codec(strict=strict).decode(kind, encode(value))


def heard(ask: Any, *, strict: bool = True) -> Any:
    """The ask as the other side hears it."""
    binding, params = said(ask)
    return binding.decode_params(carried(binding.method.params, params, strict=strict))


def answered(ask: Any, answer: Any, *, strict: bool = True) -> Any:
    """The answer as the asker hears it."""
    binding, _ = said(ask)
    return binding.decode_result(carried(binding.method.result, binding.encode_result(answer), strict=strict), ask)


def told(ask: Any, result: dict[str, Any]) -> Any:
    """What the asker hears of a result that another program wrote."""
    binding, _ = said(ask)
    return binding.decode_result(Codec().convert(binding.method.result, result), ask)


def asked(kind: type[Any], params: dict[str, Any], row: int = 0) -> Any:
    """What is heard of params that another program wrote."""
    binding = DIALECT.find(kind)[row]
    return binding.decode_params(Codec().convert(binding.method.params, params))


def text_of(value: Any) -> Any:
    """What goes over the wire, without the originals."""
    return plain(json.loads(encode(value)))


# ── every row ──


@each_sample
def test_what_is_asked_is_heard(sample: Sample) -> None:
    assert heard(sample.request) == sample.request


@each_sample
def test_what_is_answered_is_heard(sample: Sample) -> None:
    assert answered(sample.request, sample.answer) == sample.answer


@each_sample
def test_what_is_said_is_typed_as_the_wire_is(sample: Sample) -> None:
    binding, params = said(sample.request)
    result = binding.encode_result(sample.answer)
    assert binding.method.name == sample.method
    assert carried(binding.method.params, params) == params
    assert carried(binding.method.result, result) == result


def test_every_row_has_a_sample_and_every_method_its_row() -> None:
    rows = {
        (binding.request, binding.method.name)
        for binding in (*DIALECT.agent_bindings, *DIALECT.client_bindings, *DIALECT.draft_bindings)
    }
    assert rows == {(type(sample.request), sample.method) for sample in SAMPLES}
    others = {DIALECT.update.name, DIALECT.cancel.name, "elicitation/complete", "$/cancel_request"}
    assert {name for _, name in rows} - {"session/fork"} == {method.name for method in V1.methods} - others


def test_a_row_needs_the_capability_that_v1_demands_for_its_method() -> None:
    rows = (*DIALECT.agent_bindings, *DIALECT.client_bindings, *DIALECT.draft_bindings)
    assert {(binding.method.name, binding.needs) for binding in rows if binding.needs} == {
        ("logout", "logout"),
        ("session/load", "load"),
        ("session/resume", "resume"),
        ("session/list", "listing"),
        ("session/close", "close"),
        ("session/delete", "delete"),
        ("session/fork", "fork"),
        ("fs/read_text_file", "read_files"),
        ("fs/write_text_file", "write_files"),
        ("terminal/create", "terminals"),
        ("terminal/output", "terminals"),
        ("terminal/wait_for_exit", "terminals"),
        ("terminal/kill", "terminals"),
        ("terminal/release", "terminals"),
        ("elicitation/create", "elicit_form"),
        ("elicitation/create", "elicit_url"),
    }
    assert all(
        hasattr(AGENT, binding.needs) for binding in (*DIALECT.agent_bindings, *DIALECT.draft_bindings) if binding.needs
    )
    assert all(hasattr(CLIENT, binding.needs) for binding in DIALECT.client_bindings if binding.needs)


@functools.cache
def definitions(file: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(os.environ["ACCORD_SCHEMAS"]) / "v1" / file).read_text(encoding="utf-8"))[
        "$defs"
    ]
    return found


def faults(name: str, value: Any) -> list[str]:
    """What the official schema has against a value; only its draft knows how to fork."""
    known = definitions("schema.unstable.json" if "Fork" in name else "schema.json")
    validator = Draft202012Validator({"$defs": known, "$ref": f"#/$defs/{name}"})
    return [error.message for error in validator.iter_errors(json.loads(encode(value)))]


# Only the 2025 text has them.
WITHOUT_SCHEMA = frozenset({"session/set_model"})


@pytest.mark.usefixtures("schemas")
@rows("sample", [sample for sample in SAMPLES if sample.method not in WITHOUT_SCHEMA])
def test_what_is_said_is_what_the_official_schema_allows(sample: Sample) -> None:
    binding, params = said(sample.request)
    elicits = sample.method == "elicitation/create"
    assert faults("CreateElicitationRequest" if elicits else binding.method.params.__name__, params) == []
    result = binding.encode_result(sample.answer)
    assert faults("CreateElicitationResponse" if elicits else binding.method.result.__name__, result) == []


@pytest.mark.usefixtures("schemas")
def test_notifications_are_what_the_official_schema_allows() -> None:
    assert faults("CancelNotification", DIALECT.encode_cancel(Cancel("s", META))) == []
    assert DIALECT.encode_elicitation_done is not None
    assert faults("CompleteElicitationNotification", DIALECT.encode_elicitation_done(ElicitationDone("e", META))) == []
    (update,) = DIALECT.encoder(CLIENT).encode(MessageChunk("agent", Text("a")))
    assert faults("SessionNotification", DIALECT.encode_update("s", update)) == []


# ── the edition as a whole ──


def test_the_turn_ends_with_the_answer_and_prompts_are_not_told_back() -> None:
    assert (DIALECT.edition, DIALECT.rule, DIALECT.echoes, repr(DIALECT)) == (V1, "end", False, "<dialect v1>")


@rows("ask", [CancelTool("s", "t"), CancelTerminal("s", "t")])
def test_one_tool_or_terminal_cannot_be_cancelled(ask: Any) -> None:
    assert DIALECT.encode(ask) is None


def test_a_cancel_is_a_notification() -> None:
    cancel = Cancel("s", META)
    assert DIALECT.decode_cancel(carried(DIALECT.cancel.params, DIALECT.encode_cancel(cancel))) == cancel


def test_the_end_of_an_elicitation_is_a_notification() -> None:
    done = ElicitationDone("e", META)
    method, say, hear = DIALECT.elicitation_done, DIALECT.encode_elicitation_done, DIALECT.decode_elicitation_done
    assert method is not None
    assert say is not None
    assert hear is not None
    assert hear(carried(method.params, say(done))) == done


def test_an_update_names_its_session() -> None:
    chunk = MessageChunk("agent", Text("a"), "m")
    (update,) = DIALECT.encoder(CLIENT).encode(chunk)
    session_id, came = DIALECT.decode_update(carried(DIALECT.update.params, DIALECT.encode_update("s", update)))
    assert (session_id, DIALECT.decoder().decode(came)) == ("s", [chunk])


def test_commands_are_told_behind_the_answer() -> None:
    opened = SessionOpened("s", commands=[Command("go", "Go")])
    assert DIALECT.leftover_events(opened) == [CommandsChanged(opened.commands)]
    assert DIALECT.leftover_events(SessionOpened("s", [MODE])) == []


# ── the handshake ──


def test_what_a_client_cannot_do_is_not_said() -> None:
    _, params = said(Initialize(None, ClientCapabilities()))
    assert text_of(params) == {"protocolVersion": 1, "clientCapabilities": {"fs": {}, "auth": {}}}


@rows(
    ("capability", "capabilities"),
    [
        ("read_files", {"fs": {"readTextFile": True}}),
        ("write_files", {"fs": {"writeTextFile": True}}),
        ("terminals", {"terminal": True}),
        ("elicit_form", {"elicitation": {"form": {}}}),
        ("elicit_url", {"elicitation": {"url": {}}}),
        ("notices", {"session": {"notices": {}}}),
        ("compaction", {"session": {"compaction": {}}}),
        ("toggles", {"session": {"configOptions": {"boolean": {}}}}),
        ("terminal_login", {"auth": {"terminal": True}}),
    ],
)
def test_a_capability_of_a_client_is_one_capability(capability: str, capabilities: dict[str, Any]) -> None:
    ask = Initialize(None, ClientCapabilities(**{capability: True}))  # type: ignore[arg-type]
    _, params = said(ask)
    assert text_of(params)["clientCapabilities"] == {"fs": {}, "auth": {}, **capabilities}
    assert heard(ask) == ask


@given(st.fixed_dictionaries({name: st.booleans() for name in ClientCapabilities.__struct_fields__ if name != "meta"}))
def test_any_mix_of_a_clients_capabilities_is_heard(capabilities: dict[str, Any]) -> None:
    ask = Initialize(None, ClientCapabilities(**capabilities))
    assert heard(ask) == ask


@rows(
    ("capability", "capabilities"),
    [
        ({"load": True}, {"loadSession": True}),
        ({"resume": True}, {"sessionCapabilities": {"resume": {}}}),
        ({"listing": True}, {"sessionCapabilities": {"list": {}}}),
        ({"close": True}, {"sessionCapabilities": {"close": {}}}),
        ({"delete": True}, {"sessionCapabilities": {"delete": {}}}),
        ({"additional_directories": True}, {"sessionCapabilities": {"additionalDirectories": {}}}),
        ({"prompts": frozenset({"image"})}, {"promptCapabilities": {"image": True}}),
        ({"prompts": frozenset({"audio"})}, {"promptCapabilities": {"audio": True}}),
        ({"prompts": frozenset({"resource"})}, {"promptCapabilities": {"embeddedContext": True}}),
        ({"mcp": frozenset({"stdio", "http"})}, {"mcpCapabilities": {"http": True}}),
        ({"mcp": frozenset({"stdio", "sse"})}, {"mcpCapabilities": {"sse": True}}),
        ({"logout": True}, {"auth": {"logout": {}}}),
    ],
)
def test_a_capability_of_an_agent_is_one_capability(capability: dict[str, Any], capabilities: dict[str, Any]) -> None:
    ask, answer = Initialize(None, ClientCapabilities()), Initialized(None, AgentCapabilities(**capability))
    result = said(ask)[0].encode_result(answer)
    nothing: dict[str, Any] = {name: {} for name in ("promptCapabilities", "mcpCapabilities", "sessionCapabilities")}
    assert text_of(result)["agentCapabilities"] == {**nothing, "auth": {}, **capabilities}
    assert answered(ask, answer) == answer


def test_a_fork_is_offered_in_the_words_of_the_draft() -> None:
    ask, answer = Initialize(None, ClientCapabilities()), Initialized(None, AgentCapabilities(fork=True, close=True))
    binding, _ = said(ask)
    result = binding.encode_result(answer)
    assert text_of(result)["agentCapabilities"]["sessionCapabilities"] == {"fork": {}, "close": {}}
    assert binding.decode_result(carried(draft.InitializeResponse, result), ask) == answer
    stable = carried(v1.InitializeResponse, result, strict=False)
    assert binding.decode_result(stable, ask).capabilities == AgentCapabilities(close=True)


def test_a_capability_that_is_null_is_not_there() -> None:
    result = {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"list": None}, "auth": {}}}
    assert told(Initialize(None, ClientCapabilities()), result).capabilities == AgentCapabilities()
    said_so = {"session": None, "elicitation": None}
    params = {"protocolVersion": 1, "clientCapabilities": said_so, "clientInfo": None}
    assert asked(Initialize, params) == Initialize(None, ClientCapabilities())


def test_a_peer_of_the_oldest_text_says_only_its_version() -> None:
    assert asked(Initialize, {"protocolVersion": 1}) == Initialize(None, ClientCapabilities())
    assert told(Initialize(None, ClientCapabilities()), {"protocolVersion": 1}) == Initialized(
        None, AgentCapabilities()
    )


def test_a_login_of_an_unknown_kind_is_not_offered() -> None:
    capabilities = AgentCapabilities(auth_methods=[AuthMethod("x", "X", "_x"), AuthMethod("a", "A")])
    result = said(Initialize(None, ClientCapabilities()))[0].encode_result(Initialized(None, capabilities))
    assert text_of(result)["authMethods"] == [{"id": "a", "name": "A"}]


@rows(
    ("method", "meant"),
    [
        ({"id": "x", "name": "X", "type": "_x", "description": "d"}, AuthMethod("x", "X", "_x", "d")),
        ({"id": 1, "type": "_x"}, AuthMethod("", "", "_x")),
        ({"id": "a", "name": "A", "type": "agent"}, AuthMethod("a", "A")),
    ],
)
def test_a_login_of_an_unknown_kind_is_heard_as_such(method: dict[str, Any], meant: AuthMethod) -> None:
    result = {"protocolVersion": 1, "authMethods": [method]}
    assert told(Initialize(None, ClientCapabilities()), result).capabilities.auth_methods == [meant]


# ── sessions ──


def test_a_program_has_no_type_and_all_lists_are_there() -> None:
    _, params = said(NewSession("/w", servers=[McpServer("a", command="/a"), McpServer("b", "http", url="https://b")]))
    assert text_of(params) == {
        "cwd": "/w",
        "mcpServers": [
            {"name": "a", "command": "/a", "args": [], "env": []},
            {"type": "http", "name": "b", "url": "https://b", "headers": []},
        ],
    }


def test_no_servers_are_said_as_none() -> None:
    assert text_of(said(NewSession("/w"))[1]) == {"cwd": "/w", "mcpServers": []}


@rows("kind", [NewSession, ForkSession])
def test_an_unknown_transport_is_kept_both_ways(kind: type[NewSession | ForkSession]) -> None:
    named = {} if kind is NewSession else {"sessionId": "s"}
    params = {"cwd": "/w", "mcpServers": [FURTHER.payload], **named}
    ask = asked(kind, params)
    assert ask.servers == [FURTHER]
    assert heard(ask, strict=False) == ask


def test_a_server_at_the_clients_end_is_kept_as_it_came() -> None:
    server = {"type": "acp", "name": "a", "serverId": "1"}
    ask = asked(ForkSession, {"sessionId": "s", "cwd": "/w", "mcpServers": [server]})
    assert ask.servers == [Unknown("acp", server)]


def test_a_server_with_the_type_of_newer_editions_is_a_program() -> None:
    server = {"type": "stdio", "name": "a", "command": "/a", "args": None, "env": None}
    assert asked(NewSession, {"cwd": "/w", "mcpServers": [server]}).servers == [McpServer("a", command="/a")]


def test_a_conversation_is_told_again_by_load_and_not_by_resume() -> None:
    assert said(ReopenSession("s", "/w", replay=True))[0].method is v1.SESSION_LOAD
    assert said(ReopenSession("s", "/w"))[0].method is v1.SESSION_RESUME
    load, resume = DIALECT.find(ReopenSession)
    assert load.encode_params(ReopenSession("s", "/w")) is None
    assert resume.encode_params(ReopenSession("s", "/w", replay=True)) is None


def test_modes_are_told_beside_their_option() -> None:
    result = said(NewSession("/w"))[0].encode_result(SessionOpened("s", [TOGGLE, MODE]))
    assert text_of(result)["modes"] == {
        "currentModeId": "ask",
        "availableModes": [
            {"id": "ask", "name": "Ask", "description": "asks first", "_meta": META},
            {"id": "code", "name": "Code"},
        ],
    }


def test_models_are_told_only_where_they_are_wanted() -> None:
    say = said(NewSession("/w"))[0].encode_result
    assert "models" not in text_of(say(SessionOpened("s", [MODEL])))
    assert "models" not in text_of(say(SessionOpened("s", [MODE], models=True)))
    assert text_of(say(SessionOpened("s", [MODEL], models=True)))["models"] == {
        "currentModelId": "big",
        "availableModels": [{"modelId": "big", "name": "Big"}, {"modelId": "small", "name": "Small"}],
    }


@rows("ask", [NewSession("/w"), ReopenSession("s", "/w", replay=True)])
def test_modes_and_models_without_options_become_options(ask: Any) -> None:
    result = {
        "sessionId": "s",
        "modes": {
            "currentModeId": "ask",
            "availableModes": [{"id": "ask", "name": "Ask", "description": "d", "_meta": META}],
            "_meta": META,
        },
        "models": {"currentModelId": "big", "availableModels": [{"modelId": "big", "name": "Big"}]},
    }
    mode = Select("mode", "Mode", "ask", [Choice("ask", "Ask", "d", META)], category="mode")
    mode.meta = {**META, MADE_FROM: "modes"}
    model = Select("model", "Model", "big", [Choice("big", "Big")], category="model", meta={MADE_FROM: "models"})
    assert told(ask, result) == SessionOpened("s", [mode, model], models=True)


def test_an_option_that_is_made_of_modes_takes_a_free_name() -> None:
    taken = [{"id": name, "name": "", "type": "boolean", "currentValue": True} for name in ("mode", "mode-2", "x")]
    result = {
        "sessionId": "s",
        "configOptions": [*taken, FURTHER.payload],
        "modes": {"currentModeId": "a", "availableModes": []},
    }
    opened = told(NewSession("/w"), result)
    assert opened.options[3:] == [
        FURTHER,
        Select("mode-3", "Mode", "a", category="mode", meta={MADE_FROM: "modes"}),
    ]


def test_modes_beside_an_option_of_that_category_are_ignored() -> None:
    binding, _ = said(NewSession("/w"))
    result = binding.encode_result(SessionOpened("s", [MODE, MODEL], models=True))
    result.modes.current_mode_id = "code"
    result.models.current_model_id = "small"
    assert binding.decode_result(result, NewSession("/w")).options == [MODE, MODEL]


@given(events.options, st.booleans(), events.metas)
def test_options_of_a_new_session_are_heard(options: list[Any], models: bool, meta: Any) -> None:  # noqa: FBT001
    has_models = any(isinstance(option, Select) and option.category == "model" for option in options)
    opened = SessionOpened("s", options, models=models and has_models, meta=meta)
    assert answered(NewSession("/w"), opened, strict=False) == opened


@rows("ask", [NewSession("/w"), ReopenSession("s", "/w", replay=True), ReopenSession("s", "/w")])
def test_a_session_without_options_says_nothing_of_them(ask: Any) -> None:
    result = said(ask)[0].encode_result(SessionOpened("s"))
    assert text_of(result) in ({}, {"sessionId": "s"})


# ── prompts and settings ──


@given(st.lists(events.blocks(st.none()), max_size=3), events.metas)
def test_any_blocks_of_a_prompt_are_heard(content: list[Any], meta: Any) -> None:
    ask = Prompt("s", content, meta)
    assert heard(ask) == ask


@rows("reason", ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"])
def test_a_known_stop_reason_is_said(reason: str) -> None:
    answer = PromptAnswered(reason)
    assert said(Prompt("s", []))[0].encode_result(answer) == v1.PromptResponse(reason)
    assert answered(Prompt("s", []), answer) == answer


@rows("reason", ["_error", "tired"])
def test_an_unknown_stop_reason_is_said_as_an_ordinary_end(reason: str) -> None:
    answer = PromptAnswered(reason, meta=META)
    result = said(Prompt("s", []))[0].encode_result(answer)
    assert text_of(result) == {"stopReason": "end_turn", "_meta": META}
    assert answered(Prompt("s", []), answer) == answer


def test_an_answer_without_a_reason_is_an_ordinary_end() -> None:
    answer = PromptAnswered(message_id="m")
    assert answered(Prompt("s", []), answer) == PromptAnswered("end_turn")


def test_an_unknown_stop_reason_of_another_agent_is_kept() -> None:
    assert told(Prompt("s", []), {"stopReason": "tired", "_meta": META}) == PromptAnswered("tired", meta=META)


@given(st.booleans() | st.text(max_size=3), events.metas)
def test_any_value_of_an_option_is_heard(value: bool | str, meta: Any) -> None:  # noqa: FBT001
    ask = SetOption("s", "o", value, meta)
    assert heard(ask) == ask


def test_a_choice_is_said_bare_and_a_toggle_with_its_type() -> None:
    assert text_of(said(SetOption("s", "o", "v"))[1]) == {"sessionId": "s", "configId": "o", "value": "v"}
    toggle = {"sessionId": "s", "configId": "o", "value": True, "type": "boolean"}
    assert text_of(said(SetOption("s", "o", value=True))[1]) == toggle


def test_a_string_of_an_unknown_type_is_a_choice() -> None:
    assert asked(SetOption, {"sessionId": "s", "configId": "o", "value": "v", "type": "_x"}) == SetOption("s", "o", "v")


# ── permission ──


def call_of(ask: RequestPermission) -> Any:
    """The tool call that a question goes out with."""
    return text_of(said(ask)[1])["toolCall"]


reports = st.builds(
    ToolChanged,
    events.ids,
    title=events.maybe(events.texts),
    kind=events.maybe(events.word("read", "edit", "other").filter(lambda kind: kind is not None)),
    status=events.maybe(events.word("pending", "paused", "failed")),
    name=events.maybe(events.texts),
    locations=st.just(UNSET) | st.lists(events.places, max_size=2),
    raw_input=events.json_values | st.just(UNSET),
    raw_output=events.json_values | st.just(UNSET),
    meta=st.just(UNSET) | events.metas,
)


@given(reports, events.metas)
def test_any_report_of_a_tool_call_is_heard_with_its_question(tool: ToolChanged, meta: Any) -> None:
    # What v1 has no null for is said as its default.
    defaults = {"kind": "other"} if tool.kind is None else {}
    if tool.status is None:
        defaults["status"] = "pending"
    ask = RequestPermission("s", [], tool=tool, meta=meta)
    meant = msgspec.structs.replace(tool, **defaults)
    assert heard(ask) == RequestPermission("s", [], tool=meant, meta=meta)


def test_of_a_known_call_only_what_is_new_is_said() -> None:
    assert call_of(RequestPermission("s", [], tool=ToolChanged("t", status="pending"))) == {
        "toolCallId": "t",
        "status": "pending",
    }


def test_a_call_that_begins_with_the_question_has_a_title() -> None:
    ask = RequestPermission("s", [], tool=ToolChanged("t", name="rm", created=True))
    assert call_of(ask) == {"toolCallId": "t", "name": "rm", "title": "rm"}


@rows("own", [UNSET, None, "Edit a.py"])
def test_the_title_of_the_question_stands_in_the_calls_place(own: Any) -> None:
    ask = RequestPermission("s", [], title="May I?", tool=ToolChanged("t", title=own))
    assert call_of(ask) == {"toolCallId": "t", "title": "May I?"}
    assert heard(ask) == RequestPermission("s", [], tool=ToolChanged("t", title="May I?"))


def shown(text: str) -> ToolContent:
    return Shown(Text(text))


@rows(
    ("tool", "content"),
    [
        (ToolChanged("t", content=[shown("a")]), ["a", "because"]),
        (ToolChanged("t", content=[]), ["because"]),
        (ToolChanged("t", content=None), ["because"]),
        (ToolChanged("t", created=True), ["because"]),
    ],
)
def test_the_description_comes_after_what_the_call_shows(tool: ToolChanged, content: list[str]) -> None:
    call = call_of(RequestPermission("s", [], description="because", tool=tool))
    assert [item["content"]["text"] for item in call["content"]] == content


def test_a_description_does_not_replace_what_was_shown_before() -> None:
    assert "content" not in call_of(RequestPermission("s", [], description="because", tool=ToolChanged("t")))
    command = CommandSubject("rm", "/w", "t")
    assert "content" not in call_of(RequestPermission("s", [], description="because", command=command))


def test_a_terminal_that_may_not_be_the_clients_is_not_shown() -> None:
    tool = ToolChanged("t", content=[TerminalView("x"), shown("a")])
    (item,) = call_of(RequestPermission("s", [], tool=tool))["content"]
    assert item["content"]["text"] == "a"


def test_a_command_becomes_a_tool_call() -> None:
    command = CommandSubject("rm -r x", "/w", terminal_id="x", meta=META)
    call = call_of(RequestPermission("s", [], description="because", command=command))
    name = call.pop("toolCallId")
    assert call == {
        "title": "rm -r x",
        "kind": "execute",
        "rawInput": {"command": "rm -r x", "cwd": "/w"},
        "content": [{"type": "content", "content": {"type": "text", "text": "because"}}],
        "_meta": META,
    }
    again, elsewhere = CommandSubject("rm -r x", "/w"), CommandSubject("rm -r x", "/")
    assert call_of(RequestPermission("s", [], title="Now?", command=again)) == {
        "toolCallId": name,
        "title": "Now?",
        "kind": "execute",
        "rawInput": {"command": "rm -r x", "cwd": "/w"},
    }
    assert name.startswith("command-")
    assert call_of(RequestPermission("s", [], command=elsewhere))["toolCallId"] != name


def test_a_command_of_a_known_tool_call_keeps_its_id() -> None:
    call = call_of(RequestPermission("s", [], command=CommandSubject("ls \ud83d", "/w", "t")))
    assert (call["toolCallId"], call["kind"]) == ("t", "execute")


def test_a_command_with_half_a_character_has_a_name_too() -> None:
    assert call_of(RequestPermission("s", [], command=CommandSubject("ls \ud83d", "/w")))["toolCallId"]


def test_a_bare_question_becomes_a_tool_call() -> None:
    question = RequestPermission("s", [], title="Go on?", other={"type": "_x"})
    call = call_of(question)
    assert call == {"toolCallId": call["toolCallId"], "title": "Go on?", "kind": "other", "rawInput": {"type": "_x"}}
    assert call["toolCallId"].startswith("question-")
    untitled = call_of(RequestPermission("s", []))
    assert untitled == {"toolCallId": untitled["toolCallId"], "title": "Permission required", "kind": "other"}
    assert untitled["toolCallId"] != call["toolCallId"]


def test_an_unknown_kind_of_option_is_said_as_a_rejection() -> None:
    ask = RequestPermission("s", [PermissionOption("x", "X", custom("_perhaps"), META)], tool=ToolChanged("t"))
    assert text_of(said(ask)[1])["options"] == [{"optionId": "x", "name": "X", "kind": "reject_once", "_meta": META}]
    assert heard(ask) == ask


def test_an_original_that_is_none_does_not_hide_what_was_said() -> None:
    option = {"optionId": "x", "name": "X", "kind": "allow_once", "_meta": {ORIGINAL: 5}}
    params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": [option]}
    assert asked(RequestPermission, params).options == [PermissionOption("x", "X", "allow_once")]


@rows(
    ("kind", "original"), [("allow_always", "reject_once"), ("allow_once", "_perhaps"), ("reject_once", "allow_once")]
)
def test_an_option_is_of_the_kind_that_every_client_gets(kind: str, original: str) -> None:
    option = {"optionId": "x", "name": "X", "kind": kind, "_meta": {ORIGINAL: {"kind": original}}}
    params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": [option]}
    assert asked(RequestPermission, params).options == [PermissionOption("x", "X", Custom(kind))]


@rows(
    ("outcome", "option"),
    [
        ({"outcome": "selected", "optionId": "yes"}, "yes"),
        ({"outcome": "cancelled"}, None),
        ({"outcome": "_later", "optionId": "yes"}, None),
    ],
)
def test_only_a_selected_option_is_given(outcome: dict[str, Any], option: str | None) -> None:
    ask = RequestPermission("s", YES_OR_NO, tool=ToolChanged("t"))
    assert told(ask, {"outcome": outcome, "_meta": META}) == PermissionGiven(option, META)


# ── elicitation ──


@rows("row", [0, 1])
def test_either_row_hears_a_form_and_an_address(row: int) -> None:
    hear = (*DIALECT.find(ElicitForm), *DIALECT.find(ElicitUrl))[row].decode_params
    for ask in (ElicitForm("Who?", FORM, "s"), ElicitUrl("Go", "e", "https://x/y", "s")):
        assert hear(said(ask)[1]) == ask


def test_an_unknown_kind_of_field_is_kept() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "_color", "deep": [1]}}}
    ask = ElicitForm("Which?", schema, "s")
    assert heard(ask, strict=False) == ask


def test_what_another_agent_left_out_of_a_form_is_there() -> None:
    params = {"mode": "form", "message": "Ok?", "requestedSchema": {}, "sessionId": "s"}
    assert asked(ElicitForm, params) == ElicitForm("Ok?", {"type": "object", "properties": {}}, "s")


@rows(
    ("schema", "field"),
    [
        ({"properties": {"x": {"type": "string", "minLength": -1}}}, "schema.properties.*.minLength"),
        ("none", "schema"),
    ],
)
def test_what_is_no_form_is_not_said(schema: Any, field: str) -> None:
    with pytest.raises(LocalProtocolError) as refused:
        DIALECT.encode(ElicitForm("Who?", schema, "s"))
    assert refused.value.field == field


@rows("scope", [{}, {"session_id": "s", "request_id": 1}, {"request_id": 1, "tool_id": "t"}, {"tool_id": "t"}])
def test_a_question_without_exactly_one_scope_is_not_said(scope: dict[str, Any]) -> None:
    for ask in (ElicitForm("Who?", {}, **scope), ElicitUrl("Go", "e", "https://x/y", **scope)):
        with pytest.raises(LocalProtocolError):
            DIALECT.encode(ask)


def test_an_unknown_kind_of_elicitation_is_refused() -> None:
    with pytest.raises(InvalidParams) as refused:
        asked(ElicitForm, {"mode": "_voice", "message": "Say it", "sessionId": "s"})
    assert (refused.value.field, refused.value.expected) == ("mode", "form or url")


def test_an_unknown_action_counts_as_cancel() -> None:
    ask = ElicitUrl("Go", "e", "https://x/y", "s")
    assert told(ask, {"action": "_later", "content": {"a": 1}}) == Elicited("cancel")


# ── files and terminals ──


@given(st.none() | st.integers(1, 9), st.none() | st.integers(0, 9), events.texts, events.metas)
def test_any_part_of_a_file_is_heard(line: int | None, limit: int | None, path: str, meta: Any) -> None:
    ask = ReadFile("s", path, line, limit, meta)
    assert heard(ask) == ask


def test_line_0_is_where_the_file_begins() -> None:
    assert asked(ReadFile, {"sessionId": "s", "path": "/w/a", "line": 0}) == ReadFile("s", "/w/a")


@rows("exit_", [TerminalExit(0), TerminalExit(None, "SIGTERM"), TerminalExit()])
def test_any_end_of_a_command_is_heard(exit_: TerminalExit) -> None:
    ended, read = TerminalEnded(exit_), TerminalRead("x", exit=exit_)
    assert answered(AwaitTerminal("s", "t"), ended) == ended
    assert answered(ReadTerminal("s", "t"), read) == read


def test_the_metadata_of_an_exit_is_said_with_that_of_its_answer() -> None:
    ended = TerminalEnded(TerminalExit(1, meta={"a": 1, "b": 1}), {"b": 2})
    assert answered(AwaitTerminal("s", "t"), ended) == TerminalEnded(TerminalExit(1), {"a": 1, "b": 2})
