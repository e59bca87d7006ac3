"""`acp.json` in both shapes: what counts, what is only odd, and what is wrong, by file, key and expectation."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from accord.config.acp_json import ConfigFile, read_config, read_default_server
from tests.config.test_fields import JSON
from tests.config.world import write

SIMSE = {
    "servers": [
        {
            "name": "claude",
            "command": "node",
            "args": ["agent.js"],
            "cwd": "/abs",
            "env": {"K": "V", "GONE": None},
            "defaultAgent": "big",
            "timeoutMs": 90000,
            "permissionPolicy": "auto-approve",
            "dialect": "simse",
        },
        {"name": "plain", "command": "plain-agent"},
    ],
    "defaultServer": "plain",
    "defaultAgent": "some",
}
EDITORS = {
    "agent_servers": {
        "Gemini CLI": {"command": "gemini", "args": ["--acp"], "env": {"A": "1"}},
        "codex-acp": {"type": "registry", "default_mode": "plan", "default_model": "m", "favorite_models": ["x"]},
    },
    "default_mcp_settings": {"use_idea_mcp": True},
}


def read(path: Path, content: Any) -> ConfigFile:
    file = read_config(write(path, content), "user")
    assert file is not None
    return file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "acp.json"


def test_the_shape_of_simse_is_read_whole(path: Path) -> None:
    file = read(path, SIMSE)
    claude, plain = file.servers["claude"], file.servers["plain"]
    assert (claude.command, claude.args, claude.cwd) == ("node", ("agent.js",), "/abs")
    assert claude.env == {"K": "V", "GONE": None}
    assert (claude.timeout_ms, claude.permission_policy, claude.dialect) == (90000, "auto-approve", "simse")
    assert claude.default_agent == "big"
    assert (plain.args, plain.env, plain.timeout_ms, plain.dialect) == ((), {}, None, None)
    assert (file.default_server, file.default_agent) == ("plain", "some")
    assert (file.warnings, file.errors) == ((), ())


def test_the_shape_of_editors_is_read_whole(path: Path) -> None:
    file = read(path, EDITORS)
    gemini, codex = file.servers["Gemini CLI"], file.servers["codex-acp"]
    assert (gemini.command, gemini.args, gemini.env) == ("gemini", ("--acp",), {"A": "1"})
    assert (codex.command, codex.registry_id, codex.mode, codex.model) == (None, "codex-acp", "plan", "m")
    assert (file.warnings, file.errors) == ((), ())


def test_both_shapes_stand_in_one_file(path: Path) -> None:
    assert list(read(path, {**SIMSE, **EDITORS}).servers) == ["claude", "plain", "Gemini CLI", "codex-acp"]


def test_a_file_is_known_by_the_digest_of_its_bytes(path: Path) -> None:
    assert read(path, "{}").sha256 == hashlib.sha256(b"{}").hexdigest()


def test_no_file_is_nothing(path: Path) -> None:
    assert read_config(path, "user") is None


def server(**more: Any) -> dict[str, Any]:
    return {"servers": [{"name": "a", "command": "c", **more}]}


def editor(**more: Any) -> dict[str, Any]:
    return {"agent_servers": {"a": {"command": "c", **more}}}


A_TEXT = "a text that is not empty"
A_NAME = "a name that is not empty and can be printed"
A_TIME = "a whole number from 1000 to 600000"
WRONG = [
    ({"servers": {}}, "servers", "a list of objects, not an object"),
    ({"servers": [{"command": "c"}]}, "servers[0].name", A_TEXT),
    (server(name="a\x1b"), "servers[0].name", A_NAME),
    ({"servers": [{"name": "a"}]}, "servers[0].command", A_TEXT),
    (server(command=""), "servers[0].command", A_TEXT),
    (server(command=["c"]), "servers[0].command", f"{A_TEXT}, not a list"),
    (server(args="x"), "servers[0].args", "a list of texts, not a text"),
    (server(timeoutMs=999), "servers[0].timeoutMs", A_TIME),
    (server(timeoutMs=600001), "servers[0].timeoutMs", A_TIME),
    (server(timeoutMs="60"), "servers[0].timeoutMs", f"{A_TIME}, not a text"),
    (server(permissionPolicy="yes"), "servers[0].permissionPolicy", "one of auto-approve, prompt, deny"),
    (server(dialect="v9"), "servers[0].dialect", "one of simse"),
    ({"agent_servers": []}, "agent_servers", "an object of objects, by name, not a list"),
    ({"agent_servers": {"a": "gemini"}}, "agent_servers.a", "an object, not a text"),
    ({"agent_servers": {"a b": {}}}, 'agent_servers["a b"].command', A_TEXT),
    ({"agent_servers": {"": {"command": "c"}}}, 'agent_servers[""]', A_NAME),
    (editor(type="extension"), "agent_servers.a.type", "one of custom, registry"),
    (editor(env={"A": 1}), "agent_servers.a.env.A", "a text, or null to unset the variable, not a number"),
    ({"defaultServer": 1}, "defaultServer", f"{A_TEXT}, not a number"),
    ({"registry": []}, "registry", f"{A_TEXT}, not a list"),
]


@pytest.mark.parametrize(("content", "key", "expected"), WRONG)
def test_what_is_wrong_names_the_file_the_key_and_what_was_expected(
    path: Path, content: Any, key: str, expected: str
) -> None:
    (error,) = read(path, content).errors
    assert (error.path, error.key, error.expected) == (str(path), key, expected)
    assert str(error) == f"{path}: {key}: expected {expected}"


def test_no_value_is_shown_because_it_may_be_a_secret(path: Path) -> None:
    file = read(path, {"agent_servers": {"a": {"command": "c", "env": {"TOKEN": ["hunter2"]}}}})
    assert "hunter2" not in str(file.errors[0])


def test_all_problems_of_an_entry_are_told_at_once(path: Path) -> None:
    (error,) = read(path, {"servers": [{"name": "a", "args": 1, "timeoutMs": 1}]}).errors
    assert [problem.key for problem in error.problems] == [
        "servers[0].command",
        "servers[0].args",
        "servers[0].timeoutMs",
    ]


def test_a_bad_entry_does_not_take_the_others_along(path: Path) -> None:
    file = read(path, {"servers": [{"name": "bad"}, {"name": "good", "command": "c"}]})
    assert list(file.servers) == ["good"]
    assert file.broken["bad"].key == "servers[0].command"


def test_every_bad_entry_of_a_file_is_told(path: Path) -> None:
    file = read(path, {"servers": [{"name": "a"}, {"name": "b"}], "registry": 1})
    assert [error.key for error in file.errors] == ["servers[0].command", "servers[1].command", "registry"]


def test_a_file_that_is_no_json_is_one_error(path: Path) -> None:
    file = read(path, "{")
    assert file.servers == {}
    assert file.sha256 == ""
    assert file.errors[0].expected.startswith("JSON (line 1, column 2")


TWICE = {"servers": [{"name": "a", "command": "first"}, {"name": "a", "command": "second"}]}
ODD = [
    ({"server": []}, "server: unknown key, ignored; did you mean servers?"),
    (server(colour=1), "servers[0].colour: unknown key, ignored"),
    (TWICE, "servers[1]: there is another 'a' in this file, which counts"),
    (
        editor(command="npx agent --acp"),
        "agent_servers.a: the command has a space and there are no args: each word is an element of args",
    ),
    ({"defaultServer": "elsewhere"}, "defaultServer: names no server of this file"),
]


@pytest.mark.parametrize(("content", "warning"), ODD)
def test_what_is_only_odd_is_a_warning(path: Path, content: Any, warning: str) -> None:
    file = read(path, content)
    assert file.warnings == (f"{path}: {warning}",)
    assert file.errors == ()


def test_of_two_entries_of_one_name_the_first_counts(path: Path) -> None:
    assert read(path, TWICE).servers["a"].command == "first"


def test_the_settings_of_a_workspace_name_its_default(path: Path) -> None:
    assert read_default_server(path) == (None, None)
    write(path, {"defaultServer": "a", "theme": "dark"})
    assert read_default_server(path) == ("a", None)
    write(path, {"defaultServer": 1})
    name, error = read_default_server(path)
    assert name is None
    assert error is not None
    assert (error.path, error.key) == (str(path), "defaultServer")


KEYS = ("name", "command", "args", "cwd", "env", "timeoutMs", "permissionPolicy", "dialect", "type")
ENTRY = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JSON))


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "servers": JSON | st.lists(ENTRY, max_size=3),
            "agent_servers": JSON | st.dictionaries(st.text(max_size=4), ENTRY, max_size=3),
            "defaultServer": JSON,
            "registry": JSON,
        },
    )
)
def test_whatever_a_file_holds_it_is_read_without_an_exception(
    tmp_path_factory: pytest.TempPathFactory, content: Any
) -> None:
    file = read(tmp_path_factory.getbasetemp() / "any.json", content)
    assert all(error.key and error.expected for error in file.errors)
    assert all(server.command or server.registry_id for server in file.servers.values())
    assert not set(file.servers) & set(file.broken)
