"""The registry's format: what an agent's description means here, which copy counts, and what is left out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from accord.config.errors import DownloadError, RegistryError
from accord.config.registry import Launch, RegistryAgent, launch, load_registry, parse_registry, target_of
from tests.config.test_fields import JSON
from tests.config.world import write
from tests.tables import rows

ADDRESS = "https://agents.test/registry.json"
ARCHIVE = "https://agents.test/a.tar.gz"


def described(distribution: Any, **more: Any) -> dict[str, Any]:
    return {"id": "an-agent", "name": "An Agent", "version": "1.2.3", "distribution": distribution, **more}


def registry_of(*agents: Any) -> bytes:
    return json.dumps({"version": "1.0.0", "agents": list(agents)}).encode()


def agent_of(distribution: Any) -> RegistryAgent:
    registry = parse_registry(registry_of(described(distribution)), ADDRESS)
    assert registry.warnings == ()
    return registry.agents["an-agent"]


def everywhere(program: str) -> str:
    return program


def nowhere(_: str) -> None:
    return None


# --- commands

COMMANDS = [
    ({"npx": {"package": "@x/y@1.0", "args": ["--acp"]}}, ("npx", "--yes", "@x/y@1.0", "--acp")),
    ({"npx": {"package": "@x/y", "cmd": "z", "args": ["a"]}}, ("npx", "--yes", "--package", "@x/y", "z", "a")),
    ({"uvx": {"package": "y==1.0", "args": ["serve"]}}, ("uvx", "y==1.0", "serve")),
    ({"uvx": {"package": "y[acp]==1.0", "cmd": "z"}}, ("uvx", "--from", "y[acp]==1.0", "z")),
    ({"uvx": {"package": "u"}, "npx": {"package": "n"}}, ("npx", "--yes", "n")),
]


@rows(("distribution", "argv"), COMMANDS)
def test_a_package_becomes_a_command(distribution: Any, argv: tuple[str, ...], tmp_path: Path) -> None:
    assert launch(agent_of(distribution), tmp_path, which=everywhere) == Launch(argv, is_runner=True)


def test_a_runner_that_is_not_installed_is_passed_over(tmp_path: Path) -> None:
    agent = agent_of({"npx": {"package": "n"}, "uvx": {"package": "u", "env": {"A": "1"}}})
    found = launch(agent, tmp_path, which=lambda program: "/bin/uvx" if program == "uvx" else None)
    assert found == Launch(("uvx", "u"), {"A": "1"}, is_runner=True)


def test_a_program_for_this_platform_is_put_into_the_cache(tmp_path: Path) -> None:
    binary = {"archive": ARCHIVE, "cmd": "./bin/agent", "args": ["serve"], "env": {"A": "1"}, "sha256": "AB" * 32}
    agent = agent_of({"binary": {"linux-x86_64": binary}})
    found = launch(agent, tmp_path, target="linux-x86_64", which=nowhere)
    assert found.download is not None
    assert (found.download.address, found.download.program) == (ARCHIVE, "bin/agent")
    assert found.download.sha256 == "ab" * 32
    assert found.argv == (str(found.download.folder / "bin" / "agent"), "serve")
    assert found.download.folder.is_relative_to(tmp_path)
    assert found.env == {"A": "1"}
    write(found.download.folder / "bin" / "agent", "#!")
    assert launch(agent, tmp_path, target="linux-x86_64", which=nowhere).download is None


def test_another_release_has_another_folder(tmp_path: Path) -> None:
    folders = set()
    for archive in ("https://x.test/1.zip", "https://x.test/2.zip"):
        agent = agent_of({"binary": {"linux-x86_64": {"archive": archive, "cmd": "a"}}})
        download = launch(agent, tmp_path, target="linux-x86_64").download
        assert download is not None
        folders.add(download.folder)
    assert len(folders) == 2


def test_what_cannot_run_here_says_what_is_missing(tmp_path: Path) -> None:
    agent = agent_of({"npx": {"package": "n"}, "binary": {"darwin-aarch64": {"archive": ARCHIVE, "cmd": "a"}}})
    with pytest.raises(RegistryError) as caught:
        launch(agent, tmp_path, target="linux-x86_64", which=nowhere)
    assert caught.value.agent == "an-agent"
    assert str(caught.value) == "the agent 'an-agent' needs npx on the PATH or one of the platforms darwin-aarch64"


@rows(
    ("system", "machine", "target"),
    [
        ("linux", "x86_64", "linux-x86_64"),
        ("darwin", "arm64", "darwin-aarch64"),
        ("win32", "AMD64", "windows-x86_64"),
        ("linux", "riscv64", None),
        ("sunos5", "x86_64", None),
    ],
)
def test_a_platform_has_its_name_in_the_registry(system: str, machine: str, target: str | None) -> None:
    assert target_of(system, machine) == target


# --- descriptions


def with_binary(**more: Any) -> dict[str, Any]:
    return described({"binary": {"linux-x86_64": {"archive": ARCHIVE, "cmd": "a", **more}}})


A_TEXT = "a text that is not empty"
AN_ID = "small letters, digits and hyphens, a letter first"
A_WORD = "a name that does not begin with '-'"
INSIDE = "a program inside the archive"
BAD = [
    ({"name": "x"}, "id", A_TEXT),
    (described({}, id="Bad Id"), "id", AN_ID),
    (described({}, id="../../x"), "id", AN_ID),
    (described([]), "distribution", "an object, not a list"),
    (described({"npx": {}}), "distribution.npx.package", A_TEXT),
    (described({"npx": {"package": "--evil"}}), "distribution.npx.package", A_WORD),
    (described({"uvx": {"package": "a", "cmd": "-c"}}), "distribution.uvx.cmd", A_WORD),
    (with_binary(archive="file:///etc/x"), "distribution.binary.linux-x86_64.archive", "a web address"),
    (with_binary(cmd="../sh"), "distribution.binary.linux-x86_64.cmd", INSIDE),
    (with_binary(cmd="/bin/sh"), "distribution.binary.linux-x86_64.cmd", INSIDE),
    (with_binary(cmd="C:\\x"), "distribution.binary.linux-x86_64.cmd", INSIDE),
    (with_binary(sha256="12"), "distribution.binary.linux-x86_64.sha256", "64 hexadecimal digits"),
]


@rows(("entry", "key", "expected"), BAD)
def test_a_bad_description_is_left_out_and_costs_nobody_the_others(entry: Any, key: str, expected: str) -> None:
    good = described({"npx": {"package": "n"}}, id="good")
    registry = parse_registry(registry_of(entry, good), ADDRESS)
    assert list(registry.agents) == ["good"]
    assert registry.warnings[0] == f"{ADDRESS}: agents[0].{key}: expected {expected}; the agent is left out"


def test_what_later_versions_of_the_format_add_is_no_harm() -> None:
    entry = described({"npx": {"package": "n"}, "docker": {"image": "i"}}, preview={"version": "2"}, website="w")
    assert parse_registry(registry_of(entry), ADDRESS).warnings == ()


def test_the_description_of_one_agent_is_a_registry_of_one() -> None:
    content = json.dumps(described({"npx": {"package": "n"}})).encode()
    assert list(parse_registry(content, ADDRESS).agents) == ["an-agent"]


@rows("content", [b"", b"[]", b"{}", b"<html>"])
def test_what_is_no_registry_says_so(content: bytes) -> None:
    with pytest.raises(RegistryError) as caught:
        parse_registry(content, ADDRESS)
    assert caught.value.address == ADDRESS
    assert ADDRESS in str(caught.value)


@given(JSON, JSON)
def test_whatever_a_description_holds_it_is_an_agent_or_left_out(distribution: Any, more: Any) -> None:
    registry = parse_registry(registry_of(described(distribution, description=more), more), ADDRESS)
    assert set(registry.agents) <= {"an-agent"}


# --- copies


class Web:
    """An address that answers what it is told to, and counts."""

    def __init__(self, *answers: bytes | Exception) -> None:
        self.answers = list(answers)

    def __call__(self, address: str, *, max_bytes: int, timeout_seconds: float) -> Iterator[bytes]:
        assert address == ADDRESS
        assert max_bytes
        assert timeout_seconds
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield answer


GOOD = registry_of(described({"npx": {"package": "n"}}))
GONE = DownloadError(ADDRESS, "gone", reason="failed")


def test_a_file_is_read_where_it_stands(tmp_path: Path) -> None:
    place = tmp_path / "list.json"
    place.write_bytes(GOOD)
    assert list(load_registry(str(place), tmp_path / "cache").agents) == ["an-agent"]
    assert not (tmp_path / "cache").exists()
    with pytest.raises(RegistryError, match="no such registry file"):
        load_registry(str(tmp_path / "other.json"), tmp_path)
    with pytest.raises(RegistryError, match="regular file"):
        load_registry(str(tmp_path), tmp_path)


def test_what_was_fetched_counts_for_an_hour(tmp_path: Path) -> None:
    web = Web(GOOD, registry_of())
    now = load(tmp_path, web)
    (kept,) = tmp_path.iterdir()
    written = kept.stat().st_mtime
    assert list(now.agents) == ["an-agent"]
    assert list(load(tmp_path, web, written + 3599).agents) == ["an-agent"]
    assert list(load(tmp_path, web, written + 3601).agents) == []
    assert web.answers == []


def load(cache: Path, web: Web, now: float | None = None) -> Any:
    return load_registry(ADDRESS, cache, fetch=web, **({} if now is None else {"now": lambda: now}))


@rows("answer", [GONE, b"<html>"])
def test_an_older_copy_is_used_and_told_where_fetching_fails(tmp_path: Path, answer: bytes | Exception) -> None:
    load(tmp_path, Web(GOOD))
    (kept,) = tmp_path.iterdir()
    found = load(tmp_path, Web(answer), kept.stat().st_mtime + 999_999)
    assert list(found.agents) == ["an-agent"]
    assert "an older copy of the registry is used" in found.warnings[0]
    assert kept.read_bytes() == GOOD


def test_without_a_copy_the_failure_is_told(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="gone") as caught:
        load(tmp_path, Web(GONE))
    assert caught.value.address == ADDRESS


def test_a_copy_that_is_damaged_is_fetched_again(tmp_path: Path) -> None:
    load(tmp_path, Web(GOOD))
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(b"torn")
    assert list(load(tmp_path, Web(GOOD)).agents) == ["an-agent"]


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    assert list(load(tmp_path / "cache", Web(GOOD)).agents) == ["an-agent"]
    assert os.listdir(tmp_path) == ["cache"]  # noqa: PTH208 - names are what counts
