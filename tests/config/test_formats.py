"""Files that earlier versions wrote open; those of later ones are refused in a sentence. See docs/formats.md."""

from __future__ import annotations

import codecs
import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.config import ConfigError, Records, Trust, load_mcp, load_registry, read_config
from accord.config.acp_json import FILE_VERSION
from accord.config.edit import add_agent, remove_agent
from accord.config.trust import NOTE_VERSION
from accord.errors import StoreError
from tests.config.world import World, write

FIXTURES = Path(__file__).parent / "fixtures"
REGISTRY = "https://example.org/registry.json"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "acp.json"


# --- trust


def test_notes_on_trust_without_a_version_count(tmp_path: Path) -> None:
    trust = Trust(shutil.copyfile(FIXTURES / "trusted-0.jsonl", tmp_path / "trusted.jsonl"))
    project, other = "/home/ada/project/.acp.json", "/home/ada/other/acp.json"
    seen = [trust.is_trusted(project, "a" * 64), trust.is_trusted(project, "b" * 64), trust.is_trusted(other, "c" * 64)]
    assert seen == [True, False, True]
    trust.distrust(project, "a" * 64)
    assert not trust.is_trusted(project, "a" * 64)


def test_a_note_on_trust_has_a_version(tmp_path: Path) -> None:
    notes = tmp_path / "trusted.jsonl"
    Trust(notes).trust("/p/acp.json", "x")
    assert [json.loads(line)["version"] for line in notes.read_text().split("\n") if line] == [NOTE_VERSION]


def test_notes_on_trust_of_a_later_version_are_refused(tmp_path: Path) -> None:
    notes = tmp_path / "trusted.jsonl"
    Trust(notes).trust("/p/acp.json", "x")
    with notes.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"version": NOTE_VERSION + 1, "revoked": ["x"]}) + "\n")
    with pytest.raises(ConfigError, match="update Accord") as caught:
        Trust(notes).is_trusted("/p/acp.json", "x")
    assert (caught.value.path, caught.value.key) == (str(notes), "version")


@pytest.mark.parametrize("kind", ["folder", "fifo", "huge"])
def test_notes_on_trust_that_cannot_be_read_name_the_cause_and_hide_no_agent(world: World, kind: str) -> None:
    notes = world.paths.trust_file
    notes.parent.mkdir(parents=True, exist_ok=True)
    if kind == "folder":
        notes.mkdir()
    elif kind == "fifo":
        os.mkfifo(notes)
    else:
        with notes.open("wb") as file:
            file.truncate(1024**3)
    write(world.project_file, {"agent_servers": {"mine": {"command": "x"}}})
    agents = world.agents()
    assert [(entry.name, entry.needs_trust) for entry in agents.entries()] == [("mine", True), ("demo", False)]
    assert [error.path for error in agents.errors] == [str(notes)]
    with pytest.raises(ConfigError):
        agents.find("mine")
    if kind != "huge":
        with pytest.raises(ConfigError):
            world.trust.trust("/p/acp.json", "x")


# --- the registry's copy


def test_a_copy_of_a_registry_is_used_without_asking_again(tmp_path: Path) -> None:
    (kept,) = FIXTURES.glob("registry-*.json")
    shutil.copyfile(kept, tmp_path / kept.name)

    def fetch(*_: Any, **__: Any) -> Iterator[bytes]:
        pytest.fail("the copy is fresh")

    registry = load_registry(REGISTRY, tmp_path, fetch=fetch)
    assert registry.agents["echo"].packages["npx"].name == "echo-acp@1.2.3"


def test_a_copy_of_a_registry_that_cannot_be_read_is_fetched_again(tmp_path: Path) -> None:
    (kept,) = FIXTURES.glob("registry-*.json")
    os.mkfifo(tmp_path / kept.name)
    content = kept.read_bytes()
    assert "echo" in load_registry(REGISTRY, tmp_path, fetch=lambda *_, **__: iter([content])).agents


def test_a_copy_of_a_registry_is_private_whatever_the_umask_is(tmp_path: Path) -> None:
    (kept,) = FIXTURES.glob("registry-*.json")
    content = kept.read_bytes()
    before = os.umask(0)
    try:
        load_registry(REGISTRY, tmp_path / "cache", fetch=lambda *_, **__: iter([content]))
    finally:
        os.umask(before)
    made = [tmp_path / "cache", *(tmp_path / "cache").iterdir()]
    assert [stat.S_IMODE(each.stat().st_mode) for each in made] == [0o700, 0o600]


# --- records


def test_records_that_are_only_read_stay_of_their_version(tmp_path: Path) -> None:
    kept = tmp_path / "records.db"
    shutil.copyfile(FIXTURES / "records-1.db", kept)
    with Records(kept, read_only=True) as records:
        assert [record.session_id for record in records.all("/home/ada/other")] == ["s2"]
        assert {record.key for record in records.all()} == {None}
        with pytest.raises(StoreError):
            records.note("a", "s", "/")
    assert sqlite3.connect(kept).execute("PRAGMA user_version").fetchone() == (1,)


def test_records_that_are_not_there_are_read_as_none_and_not_made(tmp_path: Path) -> None:
    with Records(tmp_path / "state" / "records.db", read_only=True) as records:
        assert records.all() == []
        with pytest.raises(StoreError):
            records.note("a", "s", "/")
    assert list(tmp_path.iterdir()) == []


# --- acp.json


def test_a_config_with_a_version_is_read_and_keeps_it(path: Path) -> None:
    write(path, {"version": FILE_VERSION, "agent_servers": {"a": {"command": "c"}}})
    found = read_config(path, "user")
    assert found is not None
    assert (list(found.servers), found.errors, found.warnings) == (["a"], (), ())
    add_agent("b", ["d"], path=path)
    assert json.loads(path.read_text())["version"] == FILE_VERSION


def test_a_config_of_a_later_version_is_refused_and_not_changed(path: Path) -> None:
    write(path, {"version": FILE_VERSION + 1, "agent_servers": {"a": {"command": "c"}}})
    before = path.read_bytes()
    found = read_config(path, "project")
    assert found is not None
    assert not found.servers
    assert [(error.key, "update Accord" in str(error)) for error in found.errors] == [("version", True)]
    with pytest.raises(ConfigError, match="update Accord"):
        add_agent("b", ["d"], path=path)
    with pytest.raises(ConfigError, match="update Accord"):
        remove_agent("a", path=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", ["2.0", None, 1.5, True])
def test_what_other_programs_mean_by_version_is_theirs(path: Path, version: Any) -> None:
    write(path, {"version": version, "agent_servers": {"a": {"command": "c"}}})
    found = read_config(path, "user")
    assert found is not None
    assert (list(found.servers), found.errors) == (["a"], ())


def test_simses_own_version_is_simses(path: Path) -> None:
    write(path, {"version": 7, "servers": [{"name": "a", "command": "c"}]})
    found = read_config(path, "simse")
    assert found is not None
    assert list(found.servers) == ["a"]


# --- a config that is changed


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"agent_servers": {"a": {"command": "b"}, "a": {"command": "c"}}}', "agent_servers.a"),
        ('{"servers": [{"name": "a", "command": "b", "env": {"K": "1", "K": "2"}}]}', "servers[0].env.K"),
        ('{"own": 1, "own": {"deep": 1, "deep": 2}}', "own"),
    ],
)
def test_a_key_that_stands_there_twice_is_named_and_never_lost(path: Path, text: str, key: str) -> None:
    path.write_text(text, encoding="utf-8")
    found = read_config(path, "user")
    assert found is not None
    assert any(f"{path}: {key}: this key occurs more than once" in warning for warning in found.warnings)
    with pytest.raises(ConfigError) as adding:
        add_agent("x", ["y"], path=path)
    with pytest.raises(ConfigError) as removing:
        remove_agent("a", path=path)
    assert (adding.value.key, removing.value.key) == (key, key)
    assert path.read_text(encoding="utf-8") == text


def test_many_keys_that_stand_there_twice_are_found_in_time(path: Path) -> None:
    names = ", ".join(f'"k{number}": 1' for number in range(100_000))
    path.write_text(f'{{{names}, "k0": 2}}', encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        add_agent("x", ["y"], path=path)
    assert [problem.key for problem in caught.value.problems] == ["k0"]


def test_half_a_character_in_a_config_that_is_changed_is_kept(path: Path) -> None:
    path.write_text('{"own \\ud83d": "a\\udc00b \U0001f600 ü", "agent_servers": {}}', encoding="utf-8")
    add_agent("x", ["y", "\udcff"], path=path)
    after = json.loads(path.read_text(encoding="utf-8"))
    assert after["own \ud83d"] == "a\udc00b \U0001f600 ü"
    assert after["agent_servers"]["x"]["args"] == ["\udcff"]
    assert "\U0001f600 ü" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_json_cannot_say_is_refused_and_nothing_changes(path: Path, number: str) -> None:
    text = f'{{"own": {number}}}'
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError):
        add_agent("x", ["y"], path=path)
    assert path.read_text(encoding="utf-8") == text
    assert list(path.parent.iterdir()) == [path]


def test_a_byte_order_mark_is_read_and_kept(path: Path) -> None:
    path.write_bytes(codecs.BOM_UTF8 + b'{"agent_servers": {"a": {"command": "c"}}}')
    found = read_config(path, "user")
    assert found is not None
    assert list(found.servers) == ["a"]
    add_agent("b", ["d"], path=path)
    assert path.read_bytes().count(codecs.BOM_UTF8) == 1
    assert path.read_bytes().startswith(codecs.BOM_UTF8)
    servers = path.with_name("mcp.json")
    servers.write_bytes(codecs.BOM_UTF8 + b'{"mcpServers": {"a": {"command": "c"}}}')
    assert [server.name for server in load_mcp(servers).servers] == ["a"]


def test_a_config_that_another_process_keeps_locked_is_not_waited_for_without_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr("accord.config.edit.LOCK_SECONDS", 0.05)
    holder = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with pytest.raises(ConfigError, match="another process keeps its folder locked"):
        add_agent("x", ["y"], path=path)
    os.close(holder)
    add_agent("x", ["y"], path=path)


@pytest.mark.parametrize("argv", [[], [""], [" "]])
def test_an_agent_without_a_program_is_not_kept(path: Path, argv: list[str]) -> None:
    with pytest.raises(ValueError, match="a name and a command"):
        add_agent("x", argv, path=path)
    assert not path.exists()
