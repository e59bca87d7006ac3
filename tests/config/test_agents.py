"""A name means one agent: which file counts, who must trust it first, and what is said where there is none."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.config import find
from accord.config.entry import AgentEntry, is_installed
from accord.config.errors import ConfigError, RegistryError, UnknownAgent
from tests.config.world import World, write


def simse(*names: str, **more: Any) -> dict[str, Any]:
    return {"servers": [{"name": name, "command": f"{name}-program"} for name in names], **more}


def argv(entry: AgentEntry) -> list[str]:
    return list(entry.argv)


# --- which file counts


def test_the_project_comes_before_the_user_and_the_user_before_simse(world: World) -> None:
    write(world.project_file, {"agent_servers": {"a": {"command": "of-project"}}})
    write(world.paths.user_file, {"agent_servers": {name: {"command": "of-user"} for name in "ab"}})
    write(world.simse_file, {"servers": [{"name": name, "command": "of-simse"} for name in "abc"]})
    agents = world.agents()
    found = {name: (agents.find(name).argv, agents.find(name).origin) for name in "abc"}
    assert found == {
        "a": (("of-project",), "project"),
        "b": (("of-user",), "user"),
        "c": (("of-simse",), "simse"),
    }
    shown = [(entry.name, entry.origin, entry.shadowed) for entry in agents.entries()]
    assert shown == [
        *(("a", "project", False), ("a", "user", True), ("b", "user", False)),
        *(("a", "simse", True), ("b", "simse", True), ("c", "simse", False), ("demo", "built-in", False)),
    ]


def test_a_fleet_gets_those_of_the_files_that_count(world: World) -> None:
    write(world.paths.user_file, simse("a", "b"))
    write(world.simse_file, simse("b", "c"))
    servers = [(entry.name, entry.origin) for entry in world.agents().servers()]
    assert servers == [("a", "user"), ("b", "user"), ("c", "simse")]


def test_a_folder_above_the_project_is_not_searched(world: World) -> None:
    write(world.project_file, simse("a"))
    below = world.project / "src"
    below.mkdir()
    with pytest.raises(UnknownAgent):
        find("a", cwd=below, trust=world.trust, paths=world.paths)


def test_demo_is_the_built_in_agent_unless_a_file_says_otherwise(world: World) -> None:
    demo = world.agents().find("demo")
    assert demo.argv == (sys.executable, "-P", "-m", "accord.coder", "--model", "offline")
    assert (demo.origin, demo.needs_trust) == ("built-in", False)
    write(world.paths.user_file, simse("demo"))
    assert world.agents().find("demo").origin == "user"


def test_the_user_who_stands_beside_the_config_is_not_in_a_project(world: World) -> None:
    write(world.paths.user_file, simse("a"))
    entry = find("a", cwd=world.paths.config, trust=world.trust, paths=world.paths)
    assert (entry.origin, entry.needs_trust) == ("user", False)


# --- what an entry means


def test_simse_has_its_numbers(world: World) -> None:
    chosen = {"name": "a", "command": "c", "timeoutMs": 5000, "permissionPolicy": "deny"}
    plain = {"name": "b", "command": "c"}
    write(world.paths.user_file, {"servers": [chosen, plain], "defaultAgent": "label"})
    agents = world.agents()
    a, b = agents.find("a"), agents.find("b")
    assert (a.start_seconds, a.idle_seconds, a.permission_policy, a.label) == (30.0, 5.0, "deny", "label")
    assert (b.start_seconds, b.idle_seconds, b.permission_policy) == (30.0, 60.0, None)
    assert b.env == {"CLAUDECODE": None}


def test_an_editors_agent_has_no_deadline_that_its_editor_has_not(world: World) -> None:
    write(world.paths.user_file, {"agent_servers": {"a": {"command": "c"}}})
    entry = world.agents().find("a")
    assert (entry.start_seconds, entry.idle_seconds, entry.env, entry.label) == (120.0, None, {}, "a")


def test_a_path_is_one_beside_the_file_and_a_name_is_looked_up_later(world: World) -> None:
    write(
        world.paths.user_file,
        {
            "agent_servers": {
                "name": {"command": "gemini"},
                "path": {"command": "./bin/agent", "args": ["./x"]},
                "placed": {"command": "./agent", "cwd": "sub"},
                "home": {"command": "~/agent", "cwd": "~/work"},
            }
        },
    )
    agents, folder = world.agents(), world.paths.config
    assert argv(agents.find("name")) == ["gemini"]
    assert argv(agents.find("path")) == [str(folder / "bin" / "agent"), "./x"]
    assert argv(agents.find("placed")) == [str(folder / "sub" / "agent")]
    assert agents.find("placed").cwd == str(folder / "sub")
    assert argv(agents.find("home")) == [str(Path.home() / "agent")]
    assert agents.find("home").cwd == str(Path.home() / "work")
    assert agents.find("name").cwd is None


def test_whether_a_program_is_there_can_be_asked(world: World) -> None:
    write(
        world.paths.user_file,
        {"agent_servers": {"a": {"command": sys.executable}, "b": {"command": "no-such-program"}}},
    )
    agents = world.agents()
    assert [is_installed(agents.find(name)) for name in "ab"] == [True, False]


# --- trust


def test_a_projects_command_needs_trust_once_and_again_when_the_file_changes(world: World) -> None:
    write(world.project_file, simse("a"))
    entry = world.agents().find("a")
    assert (entry.needs_trust, entry.source) == (True, str(world.project_file))
    world.trust.trust(entry.source, entry.sha256)
    assert not world.agents().find("a").needs_trust
    write(world.project_file, simse("a", "b"))
    assert world.agents().find("a").needs_trust


def test_the_users_own_files_need_none(world: World) -> None:
    write(world.paths.user_file, simse("a"))
    write(world.simse_file, simse("b"))
    agents = world.agents()
    assert not any(entry.needs_trust for entry in agents.entries())


def test_a_project_cannot_hide_behind_a_name_of_the_user(world: World) -> None:
    write(world.paths.user_file, simse("claude"))
    write(world.project_file, simse("claude"))
    assert world.agents().find("claude").needs_trust


# --- the default


def test_the_default_is_found_as_simse_finds_it(world: World) -> None:
    names = ("first", "second", "third", "fourth")
    write(world.simse_file, simse(*names))
    assert world.agents().find("default").name == "first"
    write(world.simse_file, simse(*names, defaultServer="second"))
    assert world.agents().find("default").name == "second"
    write(world.project_file, {"defaultServer": "third"})
    assert world.agents().find("default").name == "third"
    write(world.settings_file, {"defaultServer": "fourth"})
    assert world.agents().find("default").name == "fourth"
    assert world.agents().default("first").name == "first"
    assert not world.agents().default().needs_trust


def test_a_default_that_names_nobody_says_where_it_stands(world: World) -> None:
    write(world.paths.user_file, simse("claude"))
    write(world.settings_file, {"defaultServer": "claud"})
    with pytest.raises(ConfigError) as caught:
        world.agents().default()
    assert (caught.value.path, caught.value.key) == (str(world.settings_file), "defaultServer")
    assert "did you mean claude?" in caught.value.expected


def test_without_any_agent_the_default_says_what_to_do(world: World) -> None:
    with pytest.raises(UnknownAgent, match="accord agents add"):
        world.agents().find("default")


def test_the_name_default_is_taken(world: World) -> None:
    write(world.paths.user_file, simse("default", "real"))
    agents = world.agents()
    assert agents.find("default").name == "real"
    assert agents.warnings == [
        f"{world.paths.user_file}: the name 'default' means the default agent; this one is hidden"
    ]


# --- nobody, and broken files


def test_an_unknown_name_gets_the_nearest_ones(world: World) -> None:
    write(world.paths.user_file, simse("gemini", "claude"))
    with pytest.raises(UnknownAgent) as caught:
        world.agents().find("gemni")
    assert caught.value.suggestions == ("gemini",)
    assert caught.value.known == ("gemini", "claude", "demo")
    assert str(caught.value) == "there is no agent 'gemni'; did you mean gemini?"


def test_a_broken_file_does_not_hide_the_other(world: World) -> None:
    write(world.project_file, "{")
    write(world.paths.user_file, simse("a"))
    agents = world.agents()
    assert agents.find("a").origin == "user"
    assert [error.path for error in agents.errors] == [str(world.project_file)]
    with pytest.raises(ConfigError) as caught:
        agents.find("b")
    assert caught.value.path == str(world.project_file)


def test_a_broken_entry_is_not_replaced_by_another_files(world: World) -> None:
    write(world.project_file, {"servers": [{"name": "a"}]})
    write(world.paths.user_file, simse("a", "b"))
    agents = world.agents()
    with pytest.raises(ConfigError) as caught:
        agents.find("a")
    assert (caught.value.path, caught.value.key) == (str(world.project_file), "servers[0].command")
    assert agents.find("b").name == "b"


def test_the_problems_elsewhere_are_told_with_an_unknown_name(world: World) -> None:
    write(world.paths.user_file, {"servers": [{"name": "a"}]})
    with pytest.raises(UnknownAgent, match=r"servers\[0\]\.command: expected a text"):
        world.agents().find("b")


def test_a_file_that_cannot_be_read_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    write(world.paths.user_file, simse("a"))
    monkeypatch.setattr(Path, "open", refuse)
    (error,) = world.agents().errors
    assert (error.path, error.expected) == (str(world.paths.user_file), "a file that can be read (Permission denied)")


# --- registries

FAR = {"archive": "https://x.test/a.tar.gz", "cmd": "./far", "args": ["serve"], "env": {"A": "1"}}
PLATFORMS = [f"{system}-{machine}" for system in ("linux", "darwin", "windows") for machine in ("x86_64", "aarch64")]
REGISTRY = {
    "agents": [
        {
            "id": "far-agent",
            "name": "Far",
            "version": "1.0.0",
            "distribution": {"binary": dict.fromkeys(PLATFORMS, FAR)},
        }
    ]
}


def test_a_name_that_no_file_has_is_looked_for_in_the_registry(world: World) -> None:
    write(world.paths.config / "list.json", REGISTRY)
    write(world.paths.user_file, {"registry": "list.json"})
    entry = world.agents().find("far-agent")
    assert (entry.origin, entry.source) == ("registry", str(world.paths.config / "list.json"))
    assert entry.argv[1:] == ("serve",)
    assert entry.env == {"A": "1"}
    assert entry.download is not None
    with pytest.raises(UnknownAgent) as caught:
        world.agents().find("far-agnet")
    assert caught.value.suggestions == ("far-agent",)


def test_an_entry_may_leave_its_command_to_the_registry(world: World) -> None:
    write(world.paths.config / "list.json", REGISTRY)
    entry = {"type": "registry", "args": ["--more"], "env": {"B": "2"}, "default_mode": "plan"}
    write(world.paths.user_file, {"registry": "list.json", "agent_servers": {"far-agent": entry}})
    agents = world.agents()
    assert [each.argv for each in agents.entries() if each.name == "far-agent"] == [()]
    found = agents.find("far-agent")
    assert found.argv[1:] == ("serve", "--more")
    assert found.env == {"A": "1", "B": "2"}
    assert (found.mode, found.origin) == ("plan", "user")


def test_an_entry_of_a_registry_that_nobody_named_says_what_is_missing(world: World) -> None:
    write(world.paths.user_file, {"agent_servers": {"far-agent": {"type": "registry"}}})
    with pytest.raises(ConfigError) as caught:
        world.agents().find("far-agent")
    assert (caught.value.path, caught.value.key) == (str(world.paths.user_file), "registry")


def test_a_projects_registry_is_not_asked_before_its_file_is_trusted(world: World) -> None:
    write(world.project / "list.json", REGISTRY)
    write(world.project_file, {"registry": "list.json"})
    with pytest.raises(UnknownAgent, match="before that file is trusted"):
        world.agents().find("far-agent")
    world.trust_project()
    assert world.agents().find("far-agent").origin == "registry"


def test_a_registry_that_is_not_there_is_told_only_when_it_is_needed(world: World) -> None:
    write(world.paths.user_file, {**simse("a"), "registry": "missing.json"})
    agents = world.agents()
    assert agents.find("a").name == "a"
    with pytest.raises(RegistryError, match=r"missing\.json"):
        agents.find("b")
