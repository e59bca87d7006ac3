"""Files of MCP servers: simse's list, the common object; what lacks a variable is left out and named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord.config.errors import ConfigError
from accord.config.mcp_json import McpFile, load_mcp, user_mcp_files
from accord.session.client_requests import McpServer
from tests.config.world import World, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mcp.json"


def read(path: Path, content: Any, **environment: str) -> McpFile:
    return load_mcp(write(path, content), environment={"PATH": "", **environment})


def test_a_list_of_simse_becomes_servers(path: Path) -> None:
    entry = {"name": "s", "transport": "stdio", "command": "serve", "args": ["-x"], "env": {"A": "1", "B": None}}
    assert read(path, {"servers": [entry]}).servers == [McpServer("s", "stdio", "serve", ["-x"], [("A", "1")])]


def test_what_requires_a_variable_that_is_unset_is_left_out_and_named(path: Path) -> None:
    entries = [
        {"name": "has", "command": "c", "requiredEnv": ["KEY"]},
        {"name": "lacks", "command": "c", "requiredEnv": ["KEY", "NO", "EMPTY"]},
        {"name": "own", "command": "c", "requiredEnv": ["OWN"], "env": {"OWN": "1"}},
    ]
    found = read(path, {"servers": entries}, KEY="secret", EMPTY="")
    assert [server.name for server in found.servers] == ["has", "own"]
    assert [str(each) for each in found.skipped] == ["the MCP server 'lacks' is left out: NO, EMPTY not set"]


def test_what_is_required_is_said_to_the_server(path: Path) -> None:
    entry = {"name": "s", "command": "c", "requiredEnv": ["KEY"], "env": {"A": "1"}}
    assert read(path, {"servers": [entry]}, KEY="secret").servers[0].env == [("KEY", "secret"), ("A", "1")]


COMMON = {
    "local": {"command": "c", "args": ["x"], "env": {"A": "1"}},
    "web": {"url": "https://x.test/mcp", "headers": {"Authorization": "Bearer t"}},
    "stream": {"type": "streamable-http", "url": "http://x.test"},
    "old": {"type": "sse", "url": "https://x.test/sse"},
    "off": {"command": "c", "disabled": True},
}


@pytest.mark.parametrize("shape", ["mcpServers", "servers"])
def test_the_common_shape_becomes_servers(path: Path, shape: str) -> None:
    found = read(path, {shape: COMMON})
    assert found.servers == [
        McpServer("local", "stdio", "c", ["x"], [("A", "1")]),
        McpServer("web", "http", url="https://x.test/mcp", headers=[("Authorization", "Bearer t")]),
        McpServer("stream", "http", url="http://x.test"),
        McpServer("old", "sse", url="https://x.test/sse"),
    ]
    assert [str(each) for each in found.skipped] == ["the MCP server 'off' is switched off"]
    assert found.warnings == []


def test_a_command_is_given_with_its_whole_path_where_it_can_be_found(path: Path, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "serve"
    write(program, "#!/bin/sh\n").chmod(0o755)
    servers = {"found": {"command": "serve"}, "beside": {"command": "./x/serve"}, "lost": {"command": "nowhere"}}
    found = load_mcp(write(path, {"mcpServers": servers}), environment={"PATH": str(program.parent)})
    assert [server.command for server in found.servers] == [str(program), str(tmp_path / "x" / "serve"), "nowhere"]


WRONG = [
    ({}, "mcpServers", "an object of servers by name, or a list of `servers`"),
    ({"servers": [{"command": "c"}]}, "servers[0].name", "a text that is not empty"),
    ({"mcpServers": {"a": {}}}, "mcpServers.a.command", "a text that is not empty"),
    ({"mcpServers": {"a": {"type": "http"}}}, "mcpServers.a.url", "a text that is not empty"),
    ({"mcpServers": {"a": {"url": "ftp://x"}}}, "mcpServers.a.url", "an address that begins with http:// or https://"),
    ({"mcpServers": {"a": {"command": "c", "args": "x"}}}, "mcpServers.a.args", "a list of texts, not a text"),
    ({"mcpServers": []}, "mcpServers", "an object of objects, by name, not a list"),
]


@pytest.mark.parametrize(("content", "key", "expected"), WRONG)
def test_what_is_wrong_names_the_file_the_key_and_what_was_expected(
    path: Path, content: Any, key: str, expected: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(path, content)
    assert (caught.value.path, caught.value.key, caught.value.expected) == (str(path), key, expected)


def test_a_file_that_was_named_must_be_there(path: Path) -> None:
    with pytest.raises(ConfigError, match="a file that is there"):
        load_mcp(path)


def test_what_is_only_odd_is_a_warning(path: Path) -> None:
    found = read(path, {"servers": [{"name": "a", "command": "c", "odd": 1}, {"name": "a", "command": "d"}], "more": 1})
    assert [server.command for server in found.servers] == ["c"]
    assert found.warnings == [
        f"{path}: servers[0].odd: unknown key, ignored",
        f"{path}: servers[1]: there is another 'a' in this file, which counts",
        f"{path}: more: unknown key, ignored",
    ]


def test_the_users_own_lists_are_found(world: World) -> None:
    assert user_mcp_files(world.paths) == []
    write(world.paths.simse / "mcp.json", {"servers": []})
    write(world.paths.config / "mcp.json", {"mcpServers": {}})
    assert user_mcp_files(world.paths) == [world.paths.config / "mcp.json", world.paths.simse / "mcp.json"]
