"""Commands and files in a call's input: every shape in which agents name them, and shapes that hide them."""

from __future__ import annotations

import json
from typing import Any

from accord.protocol.model import Unknown
from accord.session.claims import CommandClaim, PathClaim, claims_of
from accord.session.entry import ToolCall
from accord.session.input_commands import MAX_DEPTH
from accord.session.tool import Location
from tests.tables import rows


def commands(raw_input: Any, kind: str = "other") -> tuple[CommandClaim, ...]:
    return claims_of(ToolCall("t", kind=kind, raw_input=raw_input)).commands


def paths(raw_input: Any, kind: str = "edit") -> set[str]:
    return {claim.path for claim in claims_of(ToolCall("t", kind=kind, raw_input=raw_input)).paths}


LINE = CommandClaim(line="rm -rf x")
ARGV = CommandClaim(("rm", "-rf", "x"))


@rows(
    ("raw_input", "expected"),
    [
        ({"command": "rm -rf x"}, LINE),
        ({"Command_Line": "rm -rf x"}, LINE),
        ({"run": "rm -rf x"}, LINE),
        ({"shell": True, "cmd": "rm -rf x"}, LINE),
        ({"program": "rm", "args": ["-rf", "x"]}, ARGV),
        ({"executable": "rm", "arguments": ["-rf", "x"]}, ARGV),
        ({"argv": ["rm", "-rf", "x"]}, ARGV),
        ({"commands": [["rm", "-rf", "x"]]}, ARGV),
        ({"tool": {"input": {"exec": ["rm", "-rf", "x"]}}}, ARGV),
        (json.dumps({"command": "rm -rf x"}), LINE),
        ({"arguments": json.dumps({"command": "rm -rf x"})}, LINE),
        ([{"command": "rm -rf x"}], LINE),
    ],
)
def test_a_command_is_found_wherever_it_stands(raw_input: Any, expected: CommandClaim) -> None:
    assert expected in commands(raw_input)


@rows(
    "raw_input",
    [
        {"command": "git", "args": "status; rm x"},
        {"command": "git", "args": {"0": "rm"}},
        {"command": "git", "args": ["a"], "arguments": ["b"]},
        {"command": "ls", "cwd": "/a", "workdir": "/b"},
        {"command": "ls", "cwd": ["/a"]},
        {"command": "ls", "env": {"A": "1"}, "environment": {"A": "2"}},
        {"command": "ls", "env": "PATH=/x"},
        {"command": {"unknown_update": "of"}},
        {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"command": "rm"}}}}}}}}},
        "[" + " " * 300_000 + '{"command": "rm"}]',
    ],
)
def test_what_cannot_be_read_with_certainty_is_a_command_that_is_not_known(raw_input: Any) -> None:
    assert CommandClaim() in commands(raw_input)


def test_two_keys_that_differ_in_spelling_alone_are_two_commands() -> None:
    found = commands({"command": "ls", "Command": "rm -rf x", "COMMAND": "id"})
    assert {claim.line for claim in found} == {"ls", "rm -rf x", "id"}


def test_a_text_is_a_line_for_a_call_that_runs_something() -> None:
    assert commands("rm -rf x", "execute") == (LINE,)
    assert commands("rm -rf x", "think") == ()


@rows(
    "raw_input",
    [
        {"dst": "secret/key"},
        {"to": "secret/key"},
        {"unheardOf": "./secret/key"},
        {"deep": [{"list": ["../secret/key"]}]},
        {"write": {"where": "/w/secret/key"}},
        {"where": "file:///w/secret/key"},
        json.dumps({"path": "secret/key"}),
        {"arguments": json.dumps({"file_path": "secret/key"})},
        {"input": "*** Begin Patch\n*** Update File: secret/key\n"},
        {"changes": {"secret/key": {}}},
        {"edits": {"secret/key": [1]}},
        {"unheardOf": "secret/key"},
        {"directory": "secret/key"},
        {"newName": "secret/key"},
        {"patch": ["--- a/secret/key\n+++ b/secret/key\n@@ -1 +1 @@\n-x\n+y\n"]},
        {"unifiedDiff": "diff --git a/secret/key b/secret/key\nGIT binary patch\n"},
        {"anything": "*** Begin Patch\n*** Update File: secret/key\n"},
    ],
)
def test_a_path_is_found_wherever_it_stands(raw_input: Any) -> None:
    assert any("secret/key" in path for path in paths(raw_input))


@rows("key", ["old_string", "newText", "content", "pattern", "prompt"])
def test_a_text_that_the_call_brings_along_is_no_path(key: str) -> None:
    assert paths({key: "/usr/bin/env python"}) == set()


def test_an_object_that_is_nested_too_deeply_may_name_any_file() -> None:
    nested: Any = {"path": "/w/secret/key"}
    for _ in range(MAX_DEPTH):
        nested = {"deeper": nested}
    assert paths({"path": "/w/a", **nested}) == {"/w/a", "/w/secret/key"}
    assert paths({"path": "/w/a", "deeper": nested}) == {"/w/a", ""}


def test_content_that_no_edition_names_is_read_like_input() -> None:
    call = ToolCall(
        "t", kind="edit", locations=[Location("/w/a")], content=[Unknown("x", {"path": "/w/b", "cmd": "id"})]
    )
    found = claims_of(call)
    assert PathClaim("edit", "/w/b") in found.paths
    assert CommandClaim(line="id") in found.commands


def patch_of(path: str) -> str:
    return f"diff --git a{path} b{path}\n--- a{path}\n+++ b{path}\n@@ -1 +1 @@\n-one\n+two\n"


@rows(
    ("located", "expected"),
    [
        (["/p/note.txt"], {"/p/note.txt"}),
        # Nothing shows which of the two it is.
        ([], {"/p/note.txt", "p/note.txt"}),
        (["/p/other.txt"], {"/p/other.txt", "/p/note.txt", "p/note.txt"}),
        (["p/note.txt"], {"/p/note.txt", "p/note.txt"}),
    ],
)
def test_an_absolute_path_that_lost_its_slash_in_a_patch_is_the_location_of_the_call(
    located: list[str], expected: set[str]
) -> None:
    locations = [Location(path) for path in located]
    call = ToolCall("t", kind="edit", raw_input={"diff": patch_of("/p/note.txt")}, locations=locations)
    assert {claim.path for claim in claims_of(call).paths} == expected
