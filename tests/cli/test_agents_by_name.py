"""Agents of the catalogue by their names: found on the PATH, never in the project, downloaded only when asked."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.command import Accord, Result, scripted
from tests.forking_python import forking_python

pytest.importorskip("termios")

NOT_STARTED = 7
TOUCH = shutil.which("touch") or "touch"
ECHO = shutil.which("echo") or "echo"


class Machine:
    """The command with a PATH of its own, on which programs can be put."""

    def __init__(self, accord: Accord, folder: Path) -> None:
        self.accord = accord
        self.programs = folder / "programs"
        self.programs.mkdir()

    def install(self, name: str, *argv: str, folder: Path | None = None) -> Path:
        """A program that becomes another one, whatever its arguments are."""
        path = (folder or self.programs) / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\nexec {shlex.join(argv)}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def environment(self) -> str:
        # No folder of this machine: it may have agents of its own.
        return str(self.programs)

    def run(self, *words: str) -> Result:
        before = os.environ["PATH"]
        os.environ["PATH"] = self.environment()
        try:
            return self.accord(*words)
        finally:
            os.environ["PATH"] = before


@pytest.fixture
def machine(accord: Accord, tmp_path: Path) -> Machine:
    return Machine(accord, tmp_path)


def agent_argv(name: str) -> list[str]:
    # A shell starts it.
    return [str(forking_python()), *scripted(name)[2:]]


def test_an_agent_on_the_path_is_started_by_its_name(machine: Machine) -> None:
    machine.install("gemini", *agent_argv("plain"))
    for name in ("gemini", "gemini-cli", "Gemini"):
        result = machine.run("run", name, "x", "-o", "final")
        assert (result.status, result.stdout) == (0, "hello\n")


def test_an_agent_that_offers_no_login_gets_that_of_the_catalogue(machine: Machine) -> None:
    machine.install("auggie", *agent_argv("offers_no_login"))
    by_name = machine.run("run", "auggie", "x")
    by_command = machine.run("run", "x", "--", str(machine.programs / "auggie"))
    assert (by_name.status, by_command.status) == (6, 6)
    assert "`auggie login`" in by_name.stderr
    assert "auggie offers no login. Log in with an Augment account" in machine.run("agents", "login", "auggie").stdout
    assert "--env K=V" in by_command.stderr


def test_an_agent_that_offers_a_login_gets_the_key_of_the_catalogue_beside_it(machine: Machine) -> None:
    machine.install("grok", *agent_argv("wants_login"))
    said = machine.run("run", "grok", "x").stderr
    assert "Type: accord agents login grok; or log in with an xAI account" in said
    assert "XAI_API_KEY" in said


@pytest.mark.parametrize(("script", "status"), [("exits", NOT_STARTED), ("fails", 1)])
def test_a_failure_that_a_missing_key_may_have_caused_names_how_the_agent_is_set_up(
    machine: Machine, script: str, status: int
) -> None:
    machine.install("fast-agent-acp", *agent_argv(script))
    by_name = machine.run("run", "fast-agent", "x")
    by_command = machine.run("run", "x", "--", str(machine.programs / "fast-agent-acp"))
    assert (by_name.status, by_command.status) == (status, status)
    assert "FAST_AGENT_MODEL" in by_name.stderr
    assert "set up" not in by_command.stderr


@pytest.mark.parametrize(("script", "is_shown"), [("fails_with_a_traceback", False), ("fails_without_a_reason", True)])
def test_the_stderr_of_a_well_known_agent_is_shown_where_its_error_gives_no_reason(
    machine: Machine, script: str, *, is_shown: bool
) -> None:
    machine.install("vibe-acp", *agent_argv(script))
    by_name = machine.run("run", "vibe", "x")
    by_command = machine.run("run", "x", "--", str(machine.programs / "vibe-acp"))
    assert (by_name.status, by_command.status) == (1, 1)
    assert ("  | TimeoutError" in by_name.stderr) == is_shown
    assert "  | TimeoutError" in by_command.stderr


def test_an_agent_that_shows_a_screen_at_its_first_start_is_set_up_in_a_terminal_first(machine: Machine) -> None:
    machine.install("nanocoder", *agent_argv("shows_a_screen"))
    by_name = machine.run("run", "nanocoder", "x")
    by_command = machine.run("run", "x", "--", str(machine.programs / "nanocoder"))
    assert (by_name.status, by_command.status) == (NOT_STARTED, NOT_STARTED)
    assert by_name.stderr.count("Trust this folder?") == 1
    assert "start it in a terminal and set up a model provider: `nanocoder`" in by_name.stderr
    assert "Does it speak ACP" in by_command.stderr


@pytest.mark.parametrize(("version", "is_old"), [("v20.20.2", True), ("v22.1.0", False), ("nonsense", False)])
def test_a_node_that_is_too_old_for_an_agent_is_named_as_the_cause(
    machine: Machine, version: str, *, is_old: bool
) -> None:
    machine.install("kimi", *agent_argv("exits"))
    machine.install("node", ECHO, version)
    said = machine.run("run", "kimi", "x").stderr
    assert ("needs Node.js 22 or newer" in said) == (version in said) == is_old
    assert ("`kimi login`" in said) == (not is_old)


def test_a_failure_with_another_cause_says_nothing_of_keys(machine: Machine) -> None:
    machine.install("fast-agent-acp", *agent_argv("dies"))
    assert "FAST_AGENT_MODEL" not in machine.run("run", "fast-agent", "x").stderr


def test_a_program_of_the_project_is_never_started_by_a_name(machine: Machine) -> None:
    mark = machine.accord.cwd / "started"
    machine.install("opencode", TOUCH, str(mark), folder=machine.accord.cwd / "bin")
    (machine.programs / "opencode").symlink_to(machine.accord.cwd / "bin" / "opencode")
    result = machine.run("run", "opencode", "x")
    assert result.status == NOT_STARTED
    assert "not installed" in result.stderr
    assert not mark.exists()


def test_what_to_type_is_said_where_the_program_is_not_there(machine: Machine) -> None:
    result = machine.run("run", "gemini", "x")
    assert result.status == NOT_STARTED
    assert "npm install -g @google/gemini-cli" in result.stderr
    assert "GEMINI_API_KEY" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_nothing_is_downloaded_where_nobody_can_be_asked(machine: Machine, tmp_path: Path) -> None:
    mark = tmp_path / "downloaded"
    machine.install("npx", TOUCH, str(mark))
    result = machine.run("run", "gemini", "x")
    assert result.status == NOT_STARTED
    assert "npx --yes" in result.stderr
    assert not mark.exists()


@pytest.mark.parametrize(("answer", "status"), [("no", NOT_STARTED), ("yes", 0)])
def test_a_download_is_asked_for_with_its_line_and_runs_outside_the_project(
    machine: Machine, tmp_path: Path, answer: str, status: int
) -> None:
    mark = tmp_path / "started_in"
    program = f"import os, sys; open({str(mark)!r}, 'w').write(os.getcwd()); os.execv(sys.executable, sys.argv[1:])"
    machine.install("npx", sys.executable, "-c", program, *scripted("plain")[1:])
    with machine.accord.terminal("run", "gemini", "x", PATH=machine.environment()) as screen:
        screen.expect("@google/gemini-cli")
        screen.expect("run it?")
        assert not mark.exists()
        screen.type(f"{answer}\r")
        assert screen.status() == status
    assert mark.exists() == (answer == "yes")
    if answer == "yes":
        assert not Path(mark.read_text()).is_relative_to(machine.accord.cwd)


def test_the_config_comes_before_the_catalogue(machine: Machine) -> None:
    machine.install("gemini", *agent_argv("plain"))
    assert machine.run("agents", "add", "gemini", *scripted("repeats")).status == 0
    assert machine.run("run", "gemini", "x", "-o", "final").stdout == "x\n"


def test_a_known_agent_is_added_without_a_command(machine: Machine) -> None:
    program = machine.install("gemini", *agent_argv("plain"))
    assert machine.run("agents", "add", "gemini").status == 0
    entry = json.loads(machine.accord.config.read_text(encoding="utf-8"))["agent_servers"]["gemini"]
    assert [entry["command"], *entry["args"]] == [str(program), "--acp"]


def test_the_list_shows_which_are_installed(machine: Machine) -> None:
    machine.install("gemini", *agent_argv("plain"))
    result = machine.run("agents", "ls")
    assert [line.split()[:2] for line in result.stdout.splitlines() if line.startswith("gemini")] == [
        ["gemini", "catalogue"]
    ]
    assert "not installed" in result.stdout
    facts = {each["name"]: each["installed"] for each in json.loads(machine.run("agents", "ls", "--json").stdout)}
    assert facts["gemini"]
    assert not facts["opencode"]
    assert len(facts) > 30


def test_what_the_catalogue_knows_is_shown_with_its_source(machine: Machine) -> None:
    facts = json.loads(machine.run("agents", "info", "claude", "--json").stdout)
    assert facts["installed"] is False
    assert facts["source"].startswith("https://")
    assert facts["install"]
    assert facts["login"]


def test_a_name_that_is_nearly_one_of_the_catalogue_gets_a_guess(machine: Machine) -> None:
    result = machine.run("run", "gemni", "x")
    assert result.status == 2
    assert "did you mean gemini" in result.stderr
