"""A simse user's files with `accord run`, as they are: servers, the default one, limits, policy, the dialect."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Accord, scripted

BACKEND = Path(__file__).parents[1] / "simse" / "page_backend.py"


def write_servers(accord: Accord, *servers: dict[str, Any], **more: Any) -> None:
    """simse's own acp.json."""
    path = accord.home / ".config" / "simse" / "acp.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"servers": servers, **more}), encoding="utf-8")


def server(name: str, script: str, **more: Any) -> dict[str, Any]:
    words = scripted(script)[1:]
    return {"name": name, "command": words[0], "args": words[1:], **more}


def test_its_servers_are_known_by_name_and_its_default_is_the_default(accord: Accord) -> None:
    write_servers(accord, server("first", "plain"), server("second", "repeats"), defaultServer="second")
    assert accord("run", "first", "x", "-o", "final").stdout == "hello\n"
    assert accord("run", "default", "it is me", "-o", "final").stdout == "it is me\n"
    settings = accord.cwd / ".simse" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"defaultServer": "first", "theme": "dark"}', encoding="utf-8")
    assert accord("run", "default", "it is me", "-o", "final").stdout == "hello\n"


def test_without_a_default_the_first_server_is_it(accord: Accord) -> None:
    write_servers(accord, server("first", "plain"), server("second", "repeats"))
    assert accord("run", "default", "it is me", "-o", "final").stdout == "hello\n"


@pytest.mark.usefixtures("short_graces")
def test_its_timeout_is_a_limit_of_silence(accord: Accord) -> None:
    write_servers(accord, server("mine", "stalls", timeoutMs=1500))
    result = accord("run", "mine", "x")
    assert result.status == 3
    assert "idle: the agent gave no sign of life for 1.5 s" in result.stderr


@pytest.mark.parametrize(("policy", "chosen"), [("auto-approve", "ever"), ("deny", "no"), ("prompt", "no")])
def test_its_policy_answers_where_nobody_can_be_asked(accord: Accord, policy: str, chosen: str) -> None:
    write_servers(accord, server("mine", "asks", permissionPolicy=policy))
    result = accord("run", "mine", "x")
    assert f"chosen: {chosen}" in result.stdout
    assert result.status == (5 if policy == "prompt" else 0)


def test_a_broken_file_of_it_is_told_and_not_taken_for_an_empty_one(accord: Accord) -> None:
    write_servers(accord, {"name": "mine", "command": "", "timeoutMs": 5})
    result = accord("run", "mine", "x")
    assert result.status == 2
    assert "simse/acp.json: servers[0].command: expected" in result.stderr
    assert "servers[0].timeoutMs: expected" in result.stderr


def test_its_mcp_servers_are_given_to_a_session_and_those_that_lack_a_variable_are_named(accord: Accord) -> None:
    file = accord.home / ".config" / "simse" / "mcp.json"
    file.parent.mkdir(parents=True)
    listed = [
        {"name": "files", "transport": "stdio", "command": "files-server", "args": []},
        {"name": "mail", "transport": "stdio", "command": "mail-server", "requiredEnv": ["NOBODY_HAS_THIS"]},
    ]
    file.write_text(json.dumps({"servers": listed}), encoding="utf-8")
    result = accord("run", "x", "--mcp", str(file), *scripted("shows_session"))
    assert result.status == 0
    assert (accord.cwd / "journal").read_text(encoding="utf-8").startswith("servers ['files'] ")
    assert "mail" in result.stderr
    assert "NOBODY_HAS_THIS" in result.stderr


def test_a_backend_that_speaks_its_page_is_understood_where_the_entry_says_so(accord: Accord) -> None:
    args = [str(BACKEND), str(accord.cwd / "heard"), "{}"]
    page = {"name": "page", "command": sys.executable, "args": args, "permissionPolicy": "auto-approve"}
    write_servers(accord, {**page, "dialect": "simse"})
    result = accord("run", "page", "ask delete the file\ntool rm {}", "-o", "events")
    assert result.status == 0, result.stderr
    assert result.of_type("permission")[0]["by"] == "policy"
    assert result.of_type("end")[0]["stop_reason"] == "end_turn"
    said = "".join(record["block"]["text"] for record in result.of_type("message_chunk"))
    assert "allow_always" in said
    assert "error" in said
    heard = [json.loads(line) for line in (accord.cwd / "heard").read_text(encoding="utf-8").splitlines()]
    prompts = [each["params"]["prompt"] for each in heard if each.get("method") == "session/prompt"]
    assert prompts == ["ask delete the file\ntool rm {}"]
