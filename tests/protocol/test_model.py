"""The field vocabulary: states, wire names, unknown variants, and unions without tags."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from accord.protocol import v1, v2, v2_june
from accord.protocol.codec import Codec, encode
from accord.protocol.model import Unknown, Untagged, UntaggedLists, Wire, required_keys, wire_name
from tests.tables import rows


@rows(
    ("name", "key"),
    [("cwd", "cwd"), ("session_id", "sessionId"), ("read_text_file", "readTextFile"), ("meta", "_meta")],
)
def test_a_field_is_camel_case_on_the_wire(name: str, key: str) -> None:
    assert wire_name(name) == key


def test_absent_and_null_are_falsy_and_not_the_same() -> None:
    absent = v1.SessionInfoUpdate()
    null = v1.SessionInfoUpdate(title=None)
    assert not absent.title
    assert not null.title
    assert absent != null
    assert encode(absent) == b'{"sessionUpdate":"session_info_update"}'
    assert encode(null) == b'{"sessionUpdate":"session_info_update","title":null}'


def test_the_repr_of_a_struct_shows_only_what_was_said() -> None:
    request = v1.NewSessionRequest(cwd="/work", mcp_servers=[])
    assert repr(request) == "NewSessionRequest(cwd='/work', mcp_servers=[])"
    assert repr(v2.ToolCallUpdated(tool_call_id="1", title=None)) == "ToolCallUpdated(tool_call_id='1', title=None)"


def test_a_struct_can_be_matched_by_its_parts() -> None:
    update: Any = v1.AgentMessageChunk(content=v1.TextContent(text="hello"))
    match update:
        case v1.AgentMessageChunk(content=v1.TextContent(text)):
            assert text == "hello"
        case _:
            pytest.fail("not matched")


def test_an_unknown_variant_can_be_matched_and_reads_well() -> None:
    unknown = Unknown("hologram", {"type": "hologram", "depth": 3})
    match unknown:
        case Unknown(tag, {"depth": depth}):
            assert (tag, depth) == ("hologram", 3)
        case _:
            pytest.fail("not matched")
    assert repr(unknown) == "Unknown('hologram', {'type': 'hologram', 'depth': 3})"


def test_unknown_variants_are_equal_by_what_they_hold() -> None:
    unknown = Unknown("a", {"type": "a"})
    assert unknown == Unknown("a", {"type": "a"})
    assert unknown != Unknown("a", {"type": "a", "b": 1})
    assert unknown != {"type": "a"}
    with pytest.raises(TypeError):
        hash(unknown)


def test_lists_that_are_defaults_are_not_shared() -> None:
    first = v1.InitializeResponse(protocol_version=1)
    first.auth_methods.append(v1.AuthMethodAgent(id="a", name="A"))
    first.agent_capabilities.load_session = True
    assert v1.InitializeResponse(protocol_version=1).auth_methods == []
    assert v1.InitializeResponse(protocol_version=1).agent_capabilities.load_session is False


def test_the_required_keys_of_a_struct_are_those_on_the_wire() -> None:
    assert required_keys(v1.NewSessionRequest) == ["cwd", "mcpServers"]
    assert required_keys(v2.McpServerStdio) == ["name", "command"]


STDIO = {"name": "n", "command": "/c", "args": [], "env": []}
HTTP = {"name": "n", "url": "http://localhost", "headers": []}


@rows(
    ("kind", "value", "chosen"),
    [
        (v1.McpServer, STDIO, v1.McpServerStdio),
        (v1.McpServer, STDIO | {"type": "stdio"}, v1.McpServerStdio),
        (v1.McpServer, STDIO | {"type": None}, v1.McpServerStdio),
        (v1.McpServer, HTTP | {"type": "http"}, v1.McpServerHttp),
        (v1.McpServer, HTTP | {"type": "sse"}, v1.McpServerSse),
        (v1.McpServer, {"type": "pigeon"}, Unknown),
        (v1.McpServer, {"type": 5}, None),
        (v1.McpServer, HTTP, None),
        (v1.McpServer, "stdio", None),
        (v1.AuthMethod, {"id": "a", "name": "A"}, v1.AuthMethodAgent),
        (v1.AuthMethod, {"id": "a", "name": "A", "type": "agent"}, v1.AuthMethodAgent),
        (v1.AuthMethod, {"id": "a", "name": "A", "type": "terminal"}, v1.AuthMethodTerminal),
        (v1.AuthMethod, {"id": "a", "name": "A", "type": "oauth"}, Unknown),
        (v1.EmbeddedResourceResource, {"uri": "u", "text": "t"}, v1.TextResourceContents),
        (v2.EmbeddedResourceResource, {"uri": "u", "blob": ""}, v2.BlobResourceContents),
        (v2.EmbeddedResourceResource, {"uri": "u", "type": "text"}, None),
        (v2.MultiSelectItems, {"type": "string", "enum": ["a"]}, v2.StringMultiSelectItems),
        (v2.MultiSelectItems, {"anyOf": []}, v2.TitledMultiSelectItems),
        (v2.MultiSelectItems, {"type": "colour", "anyOf": []}, Unknown),
        (v2_june.AvailableCommandInput, {"hint": "h"}, v2_june.UnstructuredCommandInput),
        (v2_june.AvailableCommandInput, {"hint": "h", "type": "text"}, Unknown),
    ],
)
def test_a_member_without_a_tag_is_known_by_its_keys(kind: type[Untagged], value: Any, chosen: Any) -> None:
    assert kind.choose(value) is chosen


FLAT = {"value": "a", "name": "A"}
GROUP = {"group": "g", "name": "G", "options": [FLAT]}


@rows(
    ("value", "chosen"),
    [
        ([], list[v1.SessionConfigSelectOption]),
        ([FLAT], list[v1.SessionConfigSelectOption]),
        ([GROUP], list[v1.SessionConfigSelectGroup]),
        ([{}], list[v1.SessionConfigSelectOption]),
        ([5], list[v1.SessionConfigSelectOption]),
        ({}, None),
    ],
)
def test_a_list_of_options_or_groups_is_known_by_its_first_item(value: Any, chosen: Any) -> None:
    kind: type[UntaggedLists] = v1.SessionConfigSelectOptions  # type: ignore[assignment]
    assert kind.choose(value) == chosen


@rows("options", [[FLAT], [GROUP], []])
def test_options_survive_flat_and_grouped(options: list[Any]) -> None:
    text = encode({"type": "select", "id": "m", "name": "M", "currentValue": "a", "options": options})
    option = Codec().decode(v1.SessionConfigOption, text)
    assert Codec().decode(v1.SessionConfigOption, encode(option)) == option
    assert [type(item) for item in option.options] == [
        v1.SessionConfigSelectGroup if "options" in item else v1.SessionConfigSelectOption for item in options
    ]


def test_every_edition_allows_a_value_without_metadata() -> None:
    kinds: list[type[Wire]] = [v1.LogoutRequest, v2.LogoutAuthRequest, v2_june.LogoutRequest]
    for kind in kinds:
        assert kind().meta is UNSET  # type: ignore[attr-defined]
        assert encode(kind()) == b"{}"


@rows("scope", [{"session_id": "s"}, {"request_id": 1}, {"request_id": None}])
def test_a_question_belongs_to_a_session_or_a_request(scope: dict[str, Any]) -> None:
    question = v1.ElicitationUrlMode(message="m", elicitation_id="e", url="u", **scope)
    assert Codec().decode(v1.CreateElicitationRequest, encode(question)) == question


def test_a_question_without_a_scope_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="sessionId"):
        v1.ElicitationUrlMode(message="m", elicitation_id="e", url="u")
    with pytest.raises(ValueError, match="sessionId"):
        v2.ElicitationUrlMode(message="m", elicitation_id="e", url="u")
    with pytest.raises(ValueError, match="exactly one"):
        v2.ElicitationUrlMode(message="m", elicitation_id="e", url="u", session_id="s", request_id=1)


def test_a_config_value_fits_its_type() -> None:
    assert v1.SetSessionConfigOptionRequest(session_id="s", config_id="c", value="v").type is UNSET
    assert v1.SetSessionConfigOptionRequest(session_id="s", config_id="c", value=True, type="boolean").value is True
    assert v1.SetSessionConfigOptionRequest(session_id="s", config_id="c", value="v", type="_list").value == "v"
    assert v2.SetSessionConfigOptionRequest(session_id="s", config_id="c", value=[1], type="_list").value == [1]
    with pytest.raises(ValueError, match="boolean"):
        v1.SetSessionConfigOptionRequest(session_id="s", config_id="c", value=True)
    with pytest.raises(ValueError, match="type id"):
        v2.SetSessionConfigOptionRequest(session_id="s", config_id="c", value=True, type="id")
