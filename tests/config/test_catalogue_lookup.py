"""The choice of a row's start line: with real files on a `PATH`, some of them inside the project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from accord.config.catalogue import CatalogueAgent, CatalogueLogin, PackageManager, StartLine, load_catalogue
from accord.config.catalogue_lookup import ResolvedAgent, find_program, resolve_agent
from tests.limits import limit
from tests.tables import rows

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links and modes of files: run it on a POSIX system")

NPX = StartLine(("npx", "--yes", "--package=agent@latest", "--", "agent", "--acp"), download=True)


@dataclass
class Machine:
    """Folders with programs, and a project."""

    root: Path

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def project(self) -> Path:
        return self.root / "project"

    def program(self, path: str, *, mode: int = 0o755) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\necho {path}\n")
        file.chmod(mode)
        return file

    def link(self, path: str, target: Path) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)
        return file

    def find(self, name: str, path: str | None = None, *, project: Path | None = None) -> str | None:
        return find_program(
            name, path=str(self.bin) if path is None else path, project=project or self.project, platform="linux"
        )

    def resolve(self, *start: StartLine, path: Sequence[Path] = (), platform: str = "linux") -> ResolvedAgent:
        separator = ";" if platform == "win32" else ":"
        folders = separator.join(str(folder) for folder in path or (self.bin,))
        return resolve_agent(agent(*start), path=folders, project=self.project, platform=platform)


def agent(*start: StartLine, install: dict[PackageManager, str] | None = None) -> CatalogueAgent:
    return CatalogueAgent(
        id="agent",
        name="Agent",
        aliases=(),
        start=start,
        editions=("v1",),
        install=install or {"npm": "npm install -g agent"},
        login=CatalogueLogin("Log in.", "agent login", ("AGENT_KEY",)),
        homepage="https://example.org",
        source="https://example.org",
        date=date(2026, 11, 17),
        tried=False,
    )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.bin.mkdir()
    made.project.mkdir()
    return made


# --- which program


@posix
def test_a_program_on_the_path_is_found_by_its_absolute_path_and_can_be_started(machine: Machine) -> None:
    machine.program("bin/agent")
    found = machine.find("agent")
    assert found == str(machine.bin / "agent")
    result = subprocess.run([found], capture_output=True, text=True, check=True, timeout=limit(30))
    assert result.stdout.strip() == "bin/agent"


@posix
def test_the_first_entry_of_the_path_counts(machine: Machine) -> None:
    machine.program("bin/agent")
    machine.program("other/agent")
    assert machine.find("agent", f"{machine.root / 'other'}:{machine.bin}") == str(machine.root / "other/agent")


@posix
@pytest.mark.parametrize("name", ["Agent", "AGENT", "agen", "agent.exe"])
def test_a_name_in_another_case_is_another_program(machine: Machine, name: str) -> None:
    machine.program("bin/agent")
    if (machine.bin / name).exists():
        pytest.skip("this file system does not tell upper from lower case: run it on one that does")
    assert machine.find(name) is None


@posix
def test_a_file_that_cannot_be_executed_is_no_program(machine: Machine) -> None:
    machine.program("bin/agent", mode=0o644)
    machine.program("other/agent")
    assert machine.find("agent", f"{machine.bin}:{machine.root / 'other'}") == str(machine.root / "other/agent")


@posix
def test_a_folder_and_a_link_to_nothing_are_no_programs(machine: Machine) -> None:
    (machine.bin / "agent").mkdir()
    machine.link("other/agent", machine.root / "nothing")
    assert machine.find("agent", f"{machine.bin}:{machine.root / 'other'}") is None


@posix
def test_a_path_without_entries_has_no_programs(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.program("project/agent")
    monkeypatch.chdir(machine.project)
    assert machine.find("agent", "") is None


# --- never from the project folder


@posix
@pytest.mark.parametrize("folder", ["project", "elsewhere"])
@pytest.mark.parametrize("entry", ["", ".", "./bin", "bin", "node_modules/.bin", "~/bin", "../tools"])
def test_an_empty_or_relative_entry_is_passed_over_wherever_the_process_runs(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, entry: str, folder: str
) -> None:
    machine.program(f"{folder}/agent")
    machine.program(f"{folder}/{entry}/agent")
    monkeypatch.chdir(machine.root / folder)
    assert machine.find("agent", f"{entry}:{machine.bin}") is None
    machine.program("bin/agent")
    assert machine.find("agent", f"{entry}:{machine.bin}") == str(machine.bin / "agent")


@posix
@pytest.mark.parametrize("folder", ["project", "project/node_modules/.bin", "project/.venv/bin", "bin/../project/bin"])
def test_a_program_in_the_project_folder_is_passed_over(machine: Machine, folder: str) -> None:
    machine.program(f"{folder}/agent")
    entries = f"{machine.root}/{folder}:{machine.bin}"
    assert machine.find("agent", entries) is None
    machine.program("bin/agent")
    assert machine.find("agent", entries) == str(machine.bin / "agent")


@posix
def test_a_folder_whose_name_only_begins_like_the_project_is_another_one(machine: Machine) -> None:
    machine.program("project-tools/agent")
    assert machine.find("agent", str(machine.root / "project-tools")) == str(machine.root / "project-tools/agent")


@posix
def test_a_link_on_the_path_into_the_project_is_passed_over(machine: Machine) -> None:
    machine.link("bin/agent", machine.program("project/evil"))
    assert machine.find("agent") is None


@posix
def test_a_link_over_the_project_to_somewhere_else_is_passed_over(machine: Machine) -> None:
    outside = machine.program("opt/agent")
    machine.link("bin/agent", machine.link("project/current", outside))
    assert machine.find("agent") is None


@posix
def test_an_entry_that_is_a_link_into_the_project_is_passed_over(machine: Machine) -> None:
    machine.program("project/bin/agent")
    machine.link("tools", machine.project / "bin")
    assert machine.find("agent", str(machine.root / "tools")) is None


@posix
def test_an_entry_in_the_project_that_is_a_link_to_somewhere_else_is_passed_over(machine: Machine) -> None:
    machine.program("opt/agent")
    machine.link("project/bin", machine.root / "opt")
    assert machine.find("agent", str(machine.project / "bin")) is None


@posix
def test_a_project_that_is_named_by_a_link_or_from_the_working_directory_is_the_same(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.program("project/bin/agent")
    entry = str(machine.project / "bin")
    assert machine.find("agent", entry, project=machine.link("named", machine.project)) is None
    monkeypatch.chdir(machine.project)
    assert machine.find("agent", entry, project=Path()) is None


@posix
def test_a_link_between_folders_outside_of_the_project_is_followed(machine: Machine) -> None:
    machine.link("bin/agent", machine.program("opt/agent"))
    assert machine.find("agent") == str(machine.bin / "agent")


@posix
def test_links_that_lead_in_a_circle_are_no_program(machine: Machine) -> None:
    machine.link("bin/agent", machine.bin / "other")
    machine.link("bin/other", machine.bin / "agent")
    assert machine.find("agent") is None


# --- which start line


@posix
def test_an_installed_program_comes_before_a_download(machine: Machine) -> None:
    machine.program("bin/npx")
    machine.program("bin/agent")
    found = machine.resolve(NPX, StartLine(("agent", "--acp")))
    assert (found.argv, found.download, found.is_installed) == ((str(machine.bin / "agent"), "--acp"), False, True)


@posix
def test_of_several_programs_the_first_one_of_the_row_is_taken_wherever_it_is(machine: Machine) -> None:
    machine.program("bin/old")
    machine.program("other/new")
    found = machine.resolve(StartLine(("new",)), StartLine(("old",)), path=(machine.bin, machine.root / "other"))
    assert found.argv == (str(machine.root / "other/new"),)


@posix
def test_without_the_program_the_package_runner_is_offered_as_a_download(machine: Machine) -> None:
    machine.program("bin/npx")
    found = machine.resolve(StartLine(("agent", "--acp")), NPX)
    assert (found.argv, found.download) == ((str(machine.bin / "npx"), *NPX.argv[1:]), True)
    assert not found.is_installed


@posix
@pytest.mark.parametrize("runner", ["npx", "uvx"])
def test_without_program_and_runner_nothing_is_started_and_the_runner_is_missing(machine: Machine, runner: str) -> None:
    found = machine.resolve(StartLine(("agent",)), StartLine((runner, "agent"), download=True))
    assert (found.argv, found.download, found.missing) == ((), False, (runner,))


@posix
def test_a_package_runner_in_the_project_folder_is_passed_over(machine: Machine) -> None:
    runner = machine.program("project/node_modules/.bin/npx")
    found = machine.resolve(StartLine(("agent",)), NPX, path=(runner.parent, machine.bin))
    assert (found.argv, found.ignored) == ((), (str(runner),))


@posix
def test_a_program_that_was_passed_over_is_named_also_where_another_program_is_taken(machine: Machine) -> None:
    in_project = machine.program("project/bin/agent")
    machine.program("bin/agent")
    found = machine.resolve(StartLine(("agent",)), path=(in_project.parent, machine.bin))
    assert (found.argv, found.ignored) == ((str(machine.bin / "agent"),), (str(in_project),))


@posix
def test_a_line_needs_all_programs_that_it_requires(machine: Machine) -> None:
    line = StartLine(("adapter",), requires=("tool",))
    machine.program("bin/adapter")
    assert (machine.resolve(line).argv, machine.resolve(line).missing) == ((), ("tool",))
    machine.program("bin/tool")
    assert machine.resolve(line).argv == (str(machine.bin / "adapter"),)


@posix
def test_a_required_program_in_the_project_folder_is_none(machine: Machine) -> None:
    machine.program("bin/adapter")
    tool = machine.program("project/bin/tool")
    found = machine.resolve(StartLine(("adapter",), requires=("tool",)), path=(tool.parent, machine.bin))
    assert (found.argv, found.missing, found.ignored) == ((), ("tool",), (str(tool),))


def test_on_windows_a_program_is_found_by_its_extensions_in_their_order(machine: Machine) -> None:
    machine.program("bin/agent")
    machine.program("bin/agent.ps1")
    assert machine.resolve(StartLine(("agent",)), platform="win32").argv == ()
    machine.program("bin/agent.cmd")
    assert machine.resolve(StartLine(("agent",)), platform="win32").argv == (str(machine.bin / "agent.cmd"),)
    machine.program("bin/agent.exe")
    assert machine.resolve(StartLine(("agent",)), platform="win32").argv == (str(machine.bin / "agent.exe"),)


def test_on_windows_entries_are_separated_by_semicolons_and_may_be_quoted(machine: Machine) -> None:
    machine.program("bin/agent.exe")
    path = f'.;"{machine.bin}";{machine.root}'
    found = find_program("agent", path=path, project=machine.project, platform="win32")
    assert found == str(machine.bin / "agent.exe")


# --- what to type


@posix
def test_the_install_line_is_that_of_a_package_manager_that_is_there(machine: Machine) -> None:
    row = agent(StartLine(("agent",)), install={"npm": "npm install -g agent", "uv": "uv tool install agent"})

    def line() -> str:
        return resolve_agent(row, path=str(machine.bin), project=machine.project, platform="linux").install_line

    assert line() == "npm install -g agent"
    machine.program("bin/uv")
    assert line() == "uv tool install agent"
    machine.program("bin/npm")
    assert line() == "npm install -g agent"


@pytest.mark.parametrize(
    ("platform", "expected"), [("linux", "curl | sh"), ("darwin", "curl | sh"), ("win32", "irm | iex")]
)
def test_the_install_line_is_one_for_the_platform(machine: Machine, platform: str, expected: str) -> None:
    row = agent(StartLine(("agent",)), install={"powershell": "irm | iex", "script": "curl | sh"})
    assert resolve_agent(row, path="", project=machine.project, platform=platform).install_line == expected


@posix
def test_a_page_is_no_package_manager(machine: Machine) -> None:
    machine.program("bin/page")
    row = agent(StartLine(("agent",)), install={"cargo": "cargo install agent", "page": "https://example.org/install"})
    found = resolve_agent(row, path=str(machine.bin), project=machine.project, platform="linux")
    assert found.install_line == "cargo install agent"


@posix
def test_a_package_manager_in_the_project_folder_is_neither_used_nor_named(machine: Machine) -> None:
    manager = machine.program("project/bin/uv")
    row = agent(StartLine(("agent",)), install={"npm": "npm install -g agent", "uv": "uv tool install agent"})
    found = resolve_agent(row, path=str(manager.parent), project=machine.project, platform="linux")
    assert (found.install_line, found.ignored) == ("npm install -g agent", ())


@posix
def test_the_advice_names_what_to_type_and_what_is_in_the_way(machine: Machine) -> None:
    in_project = machine.program("project/bin/agent")
    advice = machine.resolve(StartLine(("agent",)), NPX, path=(in_project.parent, machine.bin)).advice
    for text in (str(in_project), "npx", "npm install -g agent", "agent login", "AGENT_KEY"):
        assert text in advice


@posix
def test_the_advice_for_an_installed_agent_is_how_to_log_in(machine: Machine) -> None:
    machine.program("bin/agent")
    advice = machine.resolve(StartLine(("agent",))).advice
    assert "agent login" in advice
    assert "npm install" not in advice


@rows("platform", ["linux", "darwin", "win32"])
@rows("row", load_catalogue().agents.values())
def test_every_row_has_something_to_type_on_every_platform(row: CatalogueAgent, platform: str, tmp_path: Path) -> None:
    found = resolve_agent(row, path="", project=tmp_path, platform=platform)
    assert (found.argv, found.is_installed) == ((), False)
    assert found.missing
    assert found.install_line in row.install.values()
    assert row.login.sentence.removesuffix(".") in found.advice


@posix
@pytest.mark.parametrize("row", load_catalogue().agents.values(), ids=lambda row: row.id)
def test_every_row_is_installed_once_its_first_program_is_there(row: CatalogueAgent, machine: Machine) -> None:
    for name in (row.start[0].argv[0], *row.start[0].requires):
        machine.program(f"bin/{name}")
    found = resolve_agent(row, path=str(machine.bin), project=machine.project, platform="linux")
    assert found.argv == (os.path.join(machine.bin, row.start[0].argv[0]), *row.start[0].argv[1:])  # noqa: PTH118
    assert found.is_installed
