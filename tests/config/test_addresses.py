"""Agents at an address in `acp.json`: how they are reached, and which token goes to whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord.config import AgentEntry
from accord.config.acp_json import read_config
from accord.config.connect import connect_to
from accord.config.entry import entry_of, is_installed
from accord.config.errors import ConfigError, UntrustedFile
from tests.config.world import write
from tests.tables import rows

URL = "wss://agents.example.org/acp"


def entry(folder: Path, **said: Any) -> AgentEntry:
    file = read_config(write(folder / "acp.json", {"agent_servers": {"far": said}}), "user")
    assert file is not None
    assert file.errors == ()
    return entry_of(file.servers["far"], file, needs_trust=False)


def options_of(entry: AgentEntry) -> dict[str, Any]:
    given: dict[str, Any] = {}

    def connect(*argv: str, **options: Any) -> Any:
        given.update(options, argv=argv)

    connect_to(entry, connect=connect)
    return given


def test_a_url_takes_the_place_of_a_command(tmp_path: Path) -> None:
    far = entry(tmp_path, url=URL, headers={"X-Team": "blue"})
    assert (far.argv, far.address, is_installed(far)) == ((URL,), URL, True)
    given = options_of(far)
    assert (given["argv"], given["headers"]) == ((URL,), {"X-Team": "blue"})


def test_a_token_is_that_of_the_variable_or_the_file_that_the_entry_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_TOKEN", "of-a-variable\n")
    (tmp_path / "token").write_text("of-a-file\n", encoding="utf-8")
    assert options_of(entry(tmp_path, url=URL, tokenEnv="FAR_TOKEN"))["token"] == "of-a-variable"  # noqa: S105
    assert options_of(entry(tmp_path, url=URL, tokenFile="token"))["token"] == "of-a-file"  # noqa: S105


def test_an_entry_without_a_token_of_its_own_gets_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCORD_TOKEN", "for-another-address")
    assert options_of(entry(tmp_path, url=URL))["token"] == ""


@rows("said", [{"tokenFile": "nowhere"}, {"caFile": "nowhere"}])
def test_a_file_that_is_not_there_is_an_error_of_the_config(tmp_path: Path, said: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as failed:
        options_of(entry(tmp_path, url=URL, **said))
    assert failed.value.key == f"far.{next(iter(said))}"


@rows(
    ("said", "key"),
    [({"url": "ftp://x"}, "agent_servers.far.url"), ({"url": URL, "command": "x"}, "agent_servers.far")],
)
def test_an_address_that_cannot_be_one_is_a_problem(tmp_path: Path, said: dict[str, str], key: str) -> None:
    file = read_config(write(tmp_path / "acp.json", {"agent_servers": {"far": said}}), "user")
    assert file is not None
    assert [error.key for error in file.errors] == [key]


def test_the_address_of_a_file_that_nobody_trusted_is_not_connected_to(tmp_path: Path) -> None:
    file = read_config(write(tmp_path / "acp.json", {"agent_servers": {"far": {"url": URL}}}), "project")
    assert file is not None
    with pytest.raises(UntrustedFile):
        options_of(entry_of(file.servers["far"], file, needs_trust=True))
