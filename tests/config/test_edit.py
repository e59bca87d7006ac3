"""The user's file is changed in one step, in the shape it has, and keeps whatever else is in it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.config.edit import add_agent, remove_agent, set_default
from accord.config.errors import ConfigError, UnknownAgent
from tests.config.world import write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "acp.json"


def content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_new_file_has_the_shape_of_editors_and_is_private(path: Path) -> None:
    add_agent("gemini", ["gemini", "--acp"], env={"A": "1"}, settings={"timeoutMs": 5000}, path=path)
    entry = {"command": "gemini", "args": ["--acp"], "env": {"A": "1"}, "timeoutMs": 5000}
    assert content(path) == {"agent_servers": {"gemini": entry}}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_file_of_simse_keeps_its_shape_and_its_keys(path: Path) -> None:
    write(path, {"theme": "dark", "servers": [{"name": "a", "command": "c", "own": [1]}], "defaultServer": "a"})
    add_agent("b", ["d"], path=path)
    assert content(path) == {
        "theme": "dark",
        "servers": [{"name": "a", "command": "c", "own": [1]}, {"name": "b", "command": "d", "args": []}],
        "defaultServer": "a",
    }


def test_a_file_with_both_shapes_keeps_both(path: Path) -> None:
    write(path, {"servers": [{"name": "a", "command": "c"}], "agent_servers": {"b": {"command": "d"}}})
    add_agent("e", ["f"], path=path)
    add_agent("a", ["changed"], replace=True, path=path)
    after = content(path)
    assert after["servers"] == [{"name": "a", "command": "changed", "args": []}]
    assert list(after["agent_servers"]) == ["b", "e"]


def test_a_name_that_is_taken_is_refused_and_nothing_changes(path: Path) -> None:
    write(path, {"servers": [{"name": "a", "command": "c"}]})
    before = path.read_bytes()
    with pytest.raises(ConfigError) as caught:
        add_agent("a", ["d"], path=path)
    assert (caught.value.path, caught.value.key) == (str(path), "agent_servers.a")
    assert path.read_bytes() == before


def test_replacing_keeps_what_is_not_given(path: Path) -> None:
    write(path, {"agent_servers": {"a": {"command": "c", "env": {"K": "V"}, "own": 1}}})
    add_agent("a", ["d", "x"], replace=True, path=path)
    assert content(path)["agent_servers"]["a"] == {"command": "d", "env": {"K": "V"}, "own": 1, "args": ["x"]}


def test_removing_takes_the_agent_out_of_either_shape_and_out_of_the_default(path: Path) -> None:
    write(
        path,
        {
            "servers": [{"name": "a", "command": "c"}, "junk"],
            "agent_servers": {"b": {"command": "d"}},
            "defaultServer": "a",
            "own": 1,
        },
    )
    remove_agent("a", path=path)
    remove_agent("b", path=path)
    assert content(path) == {"servers": ["junk"], "agent_servers": {}, "own": 1}


def test_removing_nobody_is_told_and_makes_no_file(path: Path) -> None:
    with pytest.raises(UnknownAgent):
        remove_agent("a", path=path)
    assert not path.exists()


def test_the_default_is_kept_in_the_file(path: Path) -> None:
    set_default("demo", path=path)
    assert content(path) == {"defaultServer": "demo"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"agent_servers": []}'])
def test_a_file_that_cannot_be_understood_is_not_touched(path: Path, text: str) -> None:
    write(path, text)
    with pytest.raises(ConfigError) as caught:
        add_agent("a", ["c"], path=path)
    assert caught.value.path == str(path)
    assert path.read_text() == text


def test_a_linked_file_is_changed_where_it_really_is(path: Path, tmp_path: Path) -> None:
    real = write(tmp_path / "dotfiles" / "acp.json", {})
    path.parent.mkdir()
    path.symlink_to(real)
    add_agent("a", ["c"], path=path)
    assert path.is_symlink()
    assert "a" in content(real)["agent_servers"]


def test_a_mode_that_the_user_chose_stays(path: Path) -> None:
    write(path, {}).chmod(0o644)
    add_agent("a", ["c"], path=path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize(("name", "argv"), [("", ["c"]), (" ", ["c"]), ("a", [])])
def test_an_agent_has_a_name_and_a_command(path: Path, name: str, argv: list[str]) -> None:
    with pytest.raises(ValueError, match="a name and a command"):
        add_agent(name, argv, path=path)


PROGRAM = """
import sys
from accord.config.edit import add_agent
for number in range(20):
    add_agent(f"{sys.argv[2]}-{number}", ["c"], path=sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no lock of folders")
def test_two_processes_lose_nothing_of_each_other(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", PROGRAM, path, name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(content(path)["agent_servers"]) == 40
