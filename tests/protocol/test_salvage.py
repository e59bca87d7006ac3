"""The slow path: the leniency of each mark, errors without a mark, and unknown values that are kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET

from accord.protocol import v1, v2, v2_june
from accord.protocol.codec import Codec, encode
from accord.protocol.model import DROPPED, Unknown, Untagged
from accord.protocol.salvage import Misfit, Salvage
from accord.protocol.v1 import draft as v1_draft
from accord.protocol.v2 import draft as v2_draft
from tests.tables import rows

TEXT = {"type": "text", "text": "t"}
ENTRY = {"content": "c", "priority": "high", "status": "pending"}


def read(kind: Any, value: Any, *, strict: bool = False) -> tuple[Any, int, int]:
    """The value through a whole codec, and its two counts."""
    codec = Codec(strict=strict)
    return codec.decode(kind, json.dumps(value).encode()), codec.dropped, codec.unknown


def misfit(kind: Any, value: Any, *, strict: bool = False) -> tuple[str, str]:
    """Where a value does not fit, and what was expected there."""
    with pytest.raises(Misfit) as caught:
        read(kind, value, strict=strict)
    return caught.value.field, caught.value.expected


LENIENT: list[tuple[Any, Any, Any]] = [
    (v1.LogoutRequest, {"_meta": 5}, v1.LogoutRequest()),
    (v1.AgentCapabilities, {"loadSession": "yes"}, v1.AgentCapabilities()),
    (v1.AgentCapabilities, {"loadSession": None}, v1.AgentCapabilities()),
    (v1.InitializeRequest, {"protocolVersion": 1, "clientCapabilities": 5}, v1.InitializeRequest(protocol_version=1)),
    (v1.ListSessionsResponse, {"sessions": 5}, v1.ListSessionsResponse(sessions=[])),
    (
        v1.ToolCall,
        {"toolCallId": "1", "title": "t", "kind": 5},
        v1.ToolCall(tool_call_id="1", title="t", meta={DROPPED: True}),
    ),
    (v1.ToolCall, {"toolCallId": "1", "title": "t", "kind": None}, v1.ToolCall(tool_call_id="1", title="t")),
    (v1.ToolCallLocation, {"path": "/", "line": -1}, v1.ToolCallLocation(path="/")),
    (v1_draft.Usage, {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2, "thoughtTokens": "few"}, None),
    (v2.ToolCallLocation, {"path": "/", "line": 0}, v2.ToolCallLocation(path="/")),
    (v2.Annotations, {"priority": 1.5}, v2.Annotations()),
    (v2.TerminalUpdate, {"terminalId": "1", "size": {"cols": 0, "rows": 1}}, v2.TerminalUpdate(terminal_id="1")),
    (v2.IdleStateUpdate, {"background": [{"type": "terminal"}]}, v2.IdleStateUpdate()),
    (v2_draft.AuthAccount, {"label": "l", "active": 1}, v2_draft.AuthAccount(label="l")),
    (v2_june.AgentAuthCapabilities, {"logout": True}, v2_june.AgentAuthCapabilities()),
    (v2_june.PlanItems, {"id": "p", "entries": "none"}, v2_june.PlanItems(id="p", entries=[])),
]


@rows(("kind", "value", "expected"), LENIENT)
def test_a_bad_value_of_a_lenient_field_counts_as_absent(kind: Any, value: Any, expected: Any) -> None:
    got, dropped, unknown = read(kind, value)
    assert expected is None or got == expected
    assert (dropped, unknown) == (1, 0)


SIEVED: list[tuple[Any, dict[str, Any], str, int]] = [
    (v1.Plan, {"entries": [ENTRY, {}, 5, ENTRY]}, "entries", 2),
    (v1.ListSessionsResponse, {"sessions": [{"sessionId": "s", "cwd": "/"}, None]}, "sessions", 1),
    (v1.ToolCallUpdate, {"toolCallId": "1", "content": [{"type": "diff"}]}, "content", 1),
    (v1.InitializeResponse, {"protocolVersion": 1, "authMethods": [{}, {"id": "a", "name": "A"}]}, "auth_methods", 1),
    (v2.PlanItems, {"planId": "p", "entries": [ENTRY, 5]}, "entries", 1),
    (v2.UserMessage, {"messageId": "m", "content": [TEXT, {"type": "text"}]}, "content", 1),
    (v2.AvailableCommandsUpdate, {"availableCommands": [{"type": "command", "name": "n"}]}, "available_commands", 1),
    (v2_draft.AuthStatusResponse, {"state": "unknown", "accounts": [{"label": "l"}, {}]}, "accounts", 1),
    (v2_june.AvailableCommandsUpdate, {"availableCommands": [{"name": "n"}]}, "available_commands", 1),
]


@rows(("kind", "value", "name", "bad"), SIEVED)
def test_bad_items_of_a_sieved_list_are_dropped_one_by_one(
    kind: Any, value: dict[str, Any], name: str, bad: int
) -> None:
    got, dropped, unknown = read(kind, value)
    sent = next(item for item in value.values() if isinstance(item, list))
    assert len(getattr(got, name)) == len(sent) - bad
    assert (dropped, unknown) == (bad, 0)


NULLS: list[tuple[Any, dict[str, Any], str, Any]] = [
    (v1.NewSessionRequest, {"cwd": "/", "mcpServers": None}, "mcp_servers", []),
    (v1.CreateTerminalRequest, {"sessionId": "s", "command": "c", "args": None}, "args", []),
    (v1.AuthMethodTerminal, {"id": "a", "name": "A", "env": None}, "env", {}),
    (v1_draft.ForkSessionRequest, {"sessionId": "s", "cwd": "/", "mcpServers": None}, "mcp_servers", []),
    (v2.McpServerStdio, {"name": "n", "command": "/c", "env": None}, "env", []),
    (v2.SessionInfo, {"sessionId": "s", "cwd": "/", "additionalDirectories": None}, "additional_directories", []),
]


@rows(("kind", "value", "name", "expected"), NULLS)
def test_null_is_empty_where_the_schema_says_so(kind: Any, value: dict[str, Any], name: str, expected: Any) -> None:
    got, dropped, unknown = read(kind, value)
    assert getattr(got, name) == expected
    assert (dropped, unknown) == (0, 0)


MISFITS: list[tuple[Any, Any, str, str]] = [
    (v1.LogoutRequest, None, "", "an object"),
    (v1.LogoutRequest, [], "", "an object"),
    (v1.NewSessionRequest, {"cwd": "/"}, "mcpServers", "a value: it is required"),
    (v1.NewSessionRequest, {"cwd": "/", "mcpServers": "none"}, "mcpServers", "an array"),
    (v1.NewSessionRequest, {"cwd": 5, "mcpServers": []}, "cwd", "a string"),
    (v1.NewSessionRequest, {"cwd": "/", "mcpServers": [{"name": "n"}]}, "mcpServers[0]", "an object of a known shape"),
    (v1.InitializeRequest, {"protocolVersion": "1"}, "protocolVersion", "an integer of at least 0 and at most 65535"),
    (v1.InitializeRequest, {"protocolVersion": -1}, "protocolVersion", "an integer of at least 0 and at most 65535"),
    (v1.InitializeRequest, {"protocolVersion": 65536}, "protocolVersion", "an integer of at least 0 and at most 65535"),
    (v1.InitializeRequest, {"protocolVersion": True}, "protocolVersion", "an integer of at least 0 and at most 65535"),
    (v1.UsageUpdate, {"used": -1, "size": 1}, "used", "an integer of at least 0"),
    (v1.Cost, {"amount": "1", "currency": "EUR"}, "amount", "a number"),
    (v1.TerminalOutputResponse, {"output": "", "truncated": 1}, "truncated", "true or false"),
    (v1.PromptResponse, {"stopReason": None}, "stopReason", "a string"),
    (
        v1.PromptRequest,
        {"sessionId": "s", "prompt": [TEXT, {"type": "text"}]},
        "prompt[1].text",
        "a value: it is required",
    ),
    (v1.PromptRequest, {"sessionId": "s", "prompt": [{"type": 5}]}, "prompt[0].type", "a string"),
    (v1.PromptRequest, {"sessionId": "s", "prompt": ["text"]}, "prompt[0]", "an object"),
    (v1.SessionNotification, {"sessionId": "s", "update": {}}, "update.sessionUpdate", "a string"),
    (
        v1.SessionNotification,
        {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": 5}}},
        "update.content.text",
        "a string",
    ),
    (v1.Notice, {"severity": "info", "title": ""}, "title", "a string that is not empty"),
    (
        v1.CreateElicitationResponse,
        {"action": "accept", "content": {"a": {}}},
        "content.*",
        "a string or true or false or an integer or a number or another shape",
    ),
    (v1.CreateElicitationResponse, {"action": "accept", "content": []}, "content", "an object"),
    (
        v1.CreateElicitationRequest,
        {"mode": "url", "message": "m", "elicitationId": "e", "url": "u"},
        "",
        "a sessionId or a requestId",
    ),
    (
        v1.SetSessionConfigOptionRequest,
        {"sessionId": "s", "configId": "c", "value": True},
        "",
        "a boolean with type boolean, or the id of a value",
    ),
    (v1.CancelRequestNotification, {"requestId": 1.5}, "requestId", "an integer or a string"),
    (v1.EmbeddedResource, {"resource": {"uri": "u"}}, "resource", "an object of a known shape"),
    (
        v1.SessionConfigOption,
        {"type": "select", "id": "i", "name": "n", "currentValue": "v", "options": {}},
        "options",
        "an array",
    ),
    (v2.PromptRequest, {"sessionId": "s", "prompt": []}, "prompt", "at least 1 item"),
    (v2.CancelRequestNotification, {"requestId": None}, "requestId", "an integer or a string"),
    (v2.ElicitationSchema, {"type": "array", "properties": {}}, "type", "one of object"),
    (v2.ElicitationSchema, {"type": "object", "properties": {"a": 5}}, "properties.*", "an object"),
    (v2.PlanItems, {"planId": "p", "entries": 5}, "entries", "an array"),
    (v2.ListSessionsRequest, {"cursor": 5}, "cursor", "a string"),
    (v2.ResumeSessionRequest, {"sessionId": "s", "cwd": "/", "replayFrom": "start"}, "replayFrom", "an object"),
    (
        v2.UpdateSessionNotification,
        {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": 5}},
        "update.state",
        "one of running, idle, requires_action",
    ),
    (
        v2.UpdateSessionNotification,
        {"sessionId": "s", "update": {"sessionUpdate": "state_update"}},
        "update.state",
        "a value: it is required",
    ),
    (v2_june.LogoutRequest, {"_meta": 5}, "_meta", "an object"),
    (v2_june.Implementation, {"name": "n", "version": "1", "title": 5}, "title", "a string"),
    (v2_june.PlanUpdateContent, {"type": "items", "id": "p"}, "entries", "a value: it is required"),
]


@rows(("kind", "value", "field", "expected"), MISFITS)
def test_what_no_mark_excuses_is_a_misfit_that_says_where_and_why(
    kind: Any, value: Any, field: str, expected: str
) -> None:
    assert misfit(kind, value) == (field, expected)
    assert misfit(kind, value, strict=True) == (field, expected)


def test_a_misfit_reads_as_a_sentence() -> None:
    assert str(Misfit("a.b[0]", "a string")) == "a.b[0]: expected a string"
    assert str(Misfit("", "an object")) == "the value: expected an object"


SECRET = "hunter2"  # noqa: S105 - what must not be quoted
SECRETS = st.recursive(
    st.just(SECRET) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just(SECRET), inner, max_size=1),
    max_leaves=3,
)
TARGETS: list[tuple[Any, dict[str, Any]]] = [(kind, value) for kind, value, _, _ in MISFITS if isinstance(value, dict)]


@given(target=st.sampled_from(TARGETS), secret=SECRETS, data=st.data())
def test_a_misfit_quotes_nothing_that_was_received(
    target: tuple[Any, dict[str, Any]], secret: Any, data: st.DataObject
) -> None:
    kind, value = target
    key = data.draw(st.sampled_from([*value, SECRET]))
    for strict in (False, True):
        try:
            read(kind, value | {key: secret}, strict=strict)
        except Misfit as caught:
            words = str(caught)
        else:
            words = ""
        assert SECRET not in words


UNKNOWN: list[tuple[Any, dict[str, Any], str]] = [
    (v1.ContentBlock, {"type": "hologram", "text": 5}, "hologram"),
    (v1.SessionUpdate, {"sessionUpdate": "mood", "mood": None}, "mood"),
    (v1.ToolCallContent, {"type": "map"}, "map"),
    (v1.SessionConfigOption, {"type": "slider", "id": 5}, "slider"),
    (v1.RequestPermissionOutcome, {"outcome": "later"}, "later"),
    (v1.CreateElicitationRequest, {"mode": "voice", "message": "m"}, "voice"),
    (v1.McpServer, {"type": "pigeon"}, "pigeon"),
    (v1.AuthMethod, {"type": "oauth", "id": "a"}, "oauth"),
    (v1.ElicitationPropertySchema, {"type": "colour"}, "colour"),
    (v1_draft.McpServer, {"type": "pigeon"}, "pigeon"),
    (v2.ContentBlock, {"type": "hologram", "text": 5}, "hologram"),
    (v2.AvailableCommand, {"type": "macro", "name": "n"}, "macro"),
    (v2.AvailableCommandInput, {"type": "form"}, "form"),
    (v2.PlanUpdateContent, {"type": "graph", "planId": "p"}, "graph"),
    (v2.ReplayFrom, {"type": "message", "messageId": "m"}, "message"),
    (v2.DiffChange, {"operation": "chmod", "path": "/"}, "chmod"),
    (v2.StateUpdate, {"state": "dreaming", "of": "sheep"}, "dreaming"),
    (v2.SessionUpdate, {"sessionUpdate": "state_update", "state": "dreaming", "of": "sheep"}, "dreaming"),
    (v2.MultiSelectItems, {"type": "colour"}, "colour"),
    (v2_draft.SessionUpdate, {"sessionUpdate": "state_update", "state": "dreaming"}, "dreaming"),
    (v2_june.SessionConfigOption, {"type": "boolean", "id": "i"}, "boolean"),
    (v2_june.AuthMethod, {"type": "terminal", "id": "i", "name": "n"}, "terminal"),
    (v2_june.AvailableCommandInput, {"type": "text", "hint": "h"}, "text"),
]


@rows(("kind", "value", "tag"), UNKNOWN)
def test_an_unknown_variant_is_kept_whole_and_sent_on_unchanged(kind: Any, value: dict[str, Any], tag: str) -> None:
    got, dropped, unknown = read(kind, value)
    assert got == Unknown(tag, value)
    assert json.loads(encode(got)) == value
    assert (dropped, unknown) == (0, 1)


@rows(("kind", "value", "tag"), UNKNOWN)
def test_a_strict_connection_refuses_unknown_variants_that_nobody_owns(
    kind: Any, value: dict[str, Any], tag: str
) -> None:
    _, expected = misfit(kind, value, strict=True)
    assert expected == "a variant that this edition names"
    private = {key: f"_{item}" if item == tag else item for key, item in value.items()}
    got, _, unknown = read(kind, private, strict=True)
    assert (got, unknown) == (Unknown(f"_{tag}", private), 1)


@rows(
    ("kind", "value", "name"),
    [
        (v1.PromptResponse, {"stopReason": "bored"}, "stop_reason"),
        (v1.ToolCallUpdate, {"toolCallId": "1", "status": "paused"}, "status"),
        (v2.ToolCallUpdate, {"toolCallId": "1", "kind": "dance"}, "kind"),
        (v2.IdleStateUpdate, {"stopReason": "bored"}, "stop_reason"),
        (v2_june.PromptResponse, {"stopReason": "bored"}, "stop_reason"),
    ],
)
def test_an_unknown_enum_value_is_kept(kind: Any, value: dict[str, Any], name: str) -> None:
    got, dropped, _ = read(kind, value)
    assert json.loads(encode(got)).items() >= value.items()
    assert dropped == 0
    salvage = Salvage()
    assert getattr(salvage.read(kind, value), name) == list(value.values())[-1]
    assert (salvage.dropped, salvage.unknown) == (0, 1)


def test_a_strict_connection_refuses_enum_values_that_nobody_owns() -> None:
    expected = "one of info, warning, error"
    assert misfit(v1.Notice, {"severity": "panic", "title": "t"}, strict=True) == ("severity", expected)
    private, _, unknown = read(v1.Notice, {"severity": "_panic", "title": "t"}, strict=True)
    assert (private.severity, unknown) == ("_panic", 1)


def test_a_strict_connection_refuses_every_further_value_of_a_closed_enum() -> None:
    field, _ = misfit(v1.PromptResponse, {"stopReason": "_bored"}, strict=True)
    assert field == "stopReason"


@rows(("kind", "value"), [row[:2] for row in LENIENT])
def test_a_strict_connection_forgives_no_lenient_field(kind: Any, value: Any) -> None:
    field, _ = misfit(kind, value, strict=True)
    assert field.partition(".")[0].partition("[")[0] in value


@rows(("kind", "value"), [row[:2] for row in SIEVED])
def test_a_strict_connection_drops_no_items(kind: Any, value: dict[str, Any]) -> None:
    field, _ = misfit(kind, value, strict=True)
    assert "[" in field


@rows(("kind", "value", "empty"), [(kind, value, empty) for kind, value, _, empty in NULLS])
def test_a_strict_connection_takes_null_for_no_list(kind: Any, value: dict[str, Any], empty: Any) -> None:
    _, expected = misfit(kind, value, strict=True)
    assert expected == ("an object" if empty == {} else "an array")


@rows(
    ("kind", "value", "field"),
    [
        (v1.LogoutRequest, {"trace": 1}, ""),
        (v1.PromptRequest, {"sessionId": "s", "prompt": [TEXT | {"colour": "red"}]}, "prompt[0]"),
        (v2.InitializeRequest, {"protocolVersion": 2, "info": {"name": "n", "version": "1", "logo": ""}}, "info"),
        (v2_june.McpServerStdio, {"name": "n", "command": "c", "args": [], "env": [], "cwd": "/"}, ""),
    ],
)
def test_unknown_keys_are_passed_over_except_by_a_strict_connection(kind: Any, value: Any, field: str) -> None:
    _, dropped, unknown = read(kind, value)
    assert (dropped, unknown) == (0, 0)
    assert misfit(kind, value, strict=True) == (
        field,
        "no keys beyond those of this edition; further data belongs in _meta",
    )


def test_the_only_variant_of_a_union_needs_no_tag_except_on_a_strict_connection() -> None:
    value = {"name": "n", "description": "d"}
    command = v2.Command(name="n", description="d")
    assert read(v2.AvailableCommand, value) == (command, 0, 0)
    # The slow path, which another part of the message may ask for, says the same.
    assert Salvage().read(v2.AvailableCommand, value) == command
    assert misfit(v2.AvailableCommand, value, strict=True) == ("type", "a string")


def test_one_bad_part_does_not_cost_the_rest_of_a_message() -> None:
    got, dropped, unknown = read(
        v1.RequestPermissionRequest,
        {
            "sessionId": "s",
            "toolCall": {
                "toolCallId": "1",
                "title": 5,
                "content": [{"type": "content", "content": TEXT}, {"type": "map"}, {"type": "diff"}],
                "locations": [{"path": "/", "line": "first"}],
            },
            "options": [{"optionId": "o", "name": "n", "kind": "allow_twice"}],
        },
    )
    assert got == v1.RequestPermissionRequest(
        session_id="s",
        tool_call=v1.ToolCallUpdate(
            tool_call_id="1",
            content=[v1.Content(content=v1.TextContent(text="t")), Unknown("map", {"type": "map"})],
            locations=[v1.ToolCallLocation(path="/")],
            meta={DROPPED: True},
        ),
        options=[v1.PermissionOption(option_id="o", name="n", kind="allow_twice")],
    )
    assert (dropped, unknown) == (3, 2)


def test_all_three_states_survive_the_slow_path() -> None:
    got, _, _ = read(v2.ToolCallUpdate, {"toolCallId": "1", "title": None, "rawInput": None, "_meta": 5})
    assert (got.title, got.raw_input, got.name, got.raw_output, got.meta) == (None, None, UNSET, UNSET, UNSET)


def test_a_union_of_an_edition_that_is_imported_late_is_known() -> None:
    Salvage().read(v1.McpServer, {"type": "pigeon"})

    class Late(Untagged):
        plain = (v1.EnvVariable,)

    assert Salvage().read(Late, {"name": "n", "value": "v"}) == v1.EnvVariable(name="n", value="v")
