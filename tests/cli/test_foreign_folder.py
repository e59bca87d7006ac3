"""The command in a folder whose files have the names of modules and programs: none of them runs.

The folder has a file for every module that can be imported here, and for those that Accord would import if they were
installed; and programs, with the folder first on the `PATH`. What runs leaves its name.
"""

from __future__ import annotations

import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

import accord as package
from accord.cli import fault
from accord.cli.chat import programs
from accord.cli.main import VERBS
from accord.cli.target import built_in_target, noted_target
from accord.cli.verbs import serve
from accord.testing import program
from accord.transport.interpreter import own_command
from tests.cli import scripts
from tests.cli.command import SECONDS, Accord, Screen

CTRL_Q = "\x11"
# What is not installed here, and would be imported by Python itself or by libraries where it is.
SELDOM = {"sitecustomize", "usercustomize", "apport_python_hook", "uvloop", "orjson", "brotli", "zstandard", "socksio"}
PROGRAMS = (
    *("accord", "python", "python3", "sh", "env", "git", "node", "npx", "uvx", "uv", "gemini", "claude", "codex"),
    *("nano", "vi", "gcc", "cc", "ld", "objdump", "ldconfig", "uname", "hostname", "ifconfig", "ip", "stty", "tput"),
)
_IMPORT = re.compile(r"^\s*(?:from|import) ([A-Za-z]\w*)", re.MULTILINE)
# As the variables of a shell whose folders are relative, for what is started by a process that has begun without them.
VARIABLES = """\
import os, sys
os.environ["PYTHONPATH"] = os.pathsep.join([".", os.environ.get("PYTHONPATH", ""), ""])
os.environ["PYTHONSTARTUP"] = "json.py"
os.environ["PYTHONUSERBASE"] = "."
from accord.cli.main import main
sys.exit(main())
"""
STARTS = {
    "script": [str(Path(sys.executable).with_name("accord"))],
    "module": [sys.executable, "-P", "-m", "accord"],
    "variables": [sys.executable, "-P", "-c", VARIABLES],
}
# Every verb once, and the status with which the line ends.
QUICK = {
    "--version": 0,
    "run demo list": 0,
    "chat demo": 2,
    "agents ls": 0,
    "sessions ls": 0,
    "cancel": 4,
    "new project": 0,
    "agent --store memory": 0,
    "serve --add-token ada": 2,
    "fleet ls": 2,
    "check --rules": 0,
    "tap -w t.jsonl -- PLAIN": 70,
    "trace t.jsonl": 0,
    "replay t.jsonl --as agent": 0,
}
LINES = {
    "run": {"run demo list": 0, "run demo -c list": 0, "run nothing list": 2, "bridge": 2},
    "compare": {"run --compare demo,plain list": 0},
    "agents": {"agents info gemini": 0, "agents doctor plain": 0, "run gemini hello": 7},
    "sessions": {"run plain hello": 0, "sessions show s-1234567890": 4, "sessions prune plain": 0},
    "module": {"agent mine:agent": 0, "run mine:agent hello": 0},
    "check": {"check demo --edition 1 --only ACP-INIT": 0, "check --client --only ACCORD-CLIENT-INIT -- true": 1},
    "trace": {"tap -w t.jsonl -- PLAIN": 70, "trace t.jsonl --as md": 0, "replay t.jsonl --as client -- PLAIN": 0},
}
# What stands on stdin of the verbs that speak the protocol there.
INITIALIZE = b'{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}\n'
SPEAKING = ("agent", "tap", "replay")
MINE = """\
import json, logging, typing
import accord

agent = accord.Agent("mine", store=None)


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    await turn.say(json.dumps(turn.text))
"""


@cache
def importable() -> frozenset[str]:
    """The modules that are installed, and those of the standard library."""
    return frozenset({each.name for each in pkgutil.iter_modules()} | sys.stdlib_module_names | {"accord"})


@cache
def wanted() -> frozenset[str]:
    """The modules that Accord imports, installed or not."""
    files = Path(str(package.__file__)).parent.rglob("*.py")
    return frozenset(SELDOM.union(*(_IMPORT.findall(each.read_text(encoding="utf-8")) for each in files)))


class Folder:
    """The command in such a folder."""

    def __init__(self, accord: Accord, modules: Iterable[str]) -> None:
        self._accord = accord
        self.cwd = accord.cwd
        self._ran = accord.cwd.parent / "ran"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        for name in modules:
            # With `posix`, which is built in: `open` does not exist before the interpreter has imported some of them.
            text = f"import posix\nposix.write(posix.open({str(self._ran)!r}, {flags}), b'{name}\\n')\n"
            (self.cwd / f"{name}.py").write_text(text, encoding="utf-8")
        entries = self.cwd / "evil-1.0.dist-info"
        entries.mkdir()
        groups = ("accord.dialects", "accord.applications", "opentelemetry_tracer_provider", "pytest11")
        text = "\n".join(f"[{group}]\nasgi = json:evil\nsimse = json:evil" for group in groups)
        (entries / "entry_points.txt").write_text(text, encoding="utf-8")
        for name in PROGRAMS:
            path = self.cwd / name
            path.write_text(f"#!/bin/sh\necho {name} >> {shlex.quote(str(self._ran))}\n", encoding="utf-8")
            path.chmod(0o755)
        command, *args = program.command_of(scripts.plain)
        self.plain = [command, *args]
        servers = {"plain": {"command": command, "args": args}}
        accord.config.write_text(json.dumps({"agent_servers": servers}), encoding="utf-8")

    @property
    def env(self) -> dict[str, str]:
        return {**self._accord.env, "PATH": os.pathsep.join(["", ".", str(self.cwd), os.environ["PATH"]])}

    @property
    def ran(self) -> list[str]:
        return self._ran.read_text(encoding="utf-8").split() if self._ran.exists() else []

    def __call__(self, start: str, line: str) -> int:
        """Run a line as a process of its own; its exit status."""
        words = shlex.split(line.replace("PLAIN", shlex.join(self.plain)))
        done = subprocess.run(
            [*STARTS[start], *words], cwd=self.cwd, env=self.env, capture_output=True, timeout=SECONDS, check=False,
            input=INITIALIZE if words[0] in SPEAKING else b"",
        )  # fmt: skip
        return done.returncode


@pytest.fixture
def foreign(accord: Accord) -> Folder:
    return Folder(accord, importable() | wanted())


# The start with variables has every way in that the others have.
@pytest.mark.parametrize(
    "start", ["variables", *(pytest.param(each, marks=pytest.mark.long) for each in ("script", "module"))]
)
def test_nothing_of_the_folder_runs_with_any_verb(foreign: Folder, start: str) -> None:
    assert {line.split()[0] for line in QUICK} >= set(VERBS)
    for line, status in QUICK.items():
        assert (line, foreign(start, line), foreign.ran) == (line, status, [])


@pytest.mark.sampled(7)
@pytest.mark.rotated("start")
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("verb", LINES)
def test_nothing_of_the_folder_runs_with_what_takes_longer(accord: Accord, verb: str, start: str) -> None:
    # A module that is named on the line is the user's own: from then on the folder is behind all that is installed.
    folder = Folder(accord, importable() if verb == "module" else importable() | wanted())
    (folder.cwd / "mine.py").write_text(MINE, encoding="utf-8")
    for line, status in LINES[verb].items():
        assert (line, folder(start, line), folder.ran) == (line, status, [])


@pytest.mark.long
def test_a_chat_does_not_run_what_is_in_the_folder(foreign: Folder) -> None:
    screen = Screen([*STARTS["script"], "chat", "demo"], foreign.cwd, foreign.env, columns=100)
    try:
        screen.expect("ready")
        screen.type(CTRL_Q)
        assert (screen.status(), foreign.ran) == (0, [])
    finally:
        screen.close()


@pytest.mark.long
@pytest.mark.parametrize("agent", ["demo", "mine:agent"])
def test_a_server_does_not_run_what_is_in_the_folder(accord: Accord, agent: str) -> None:
    folder = Folder(accord, importable() if agent != "demo" else importable() | wanted())
    (folder.cwd / "mine.py").write_text(MINE, encoding="utf-8")
    env = {**folder.env, "ACCORD_SERVE_TOKEN": "secret-secret-secret"}
    line = [*STARTS["script"], "serve", agent, "--port", "0"]
    with subprocess.Popen(line, cwd=folder.cwd, env=env, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            address = next(each for text in server.stderr for each in text.split() if each.startswith("ws://"))
            client = [*STARTS["module"], "run", address, "hello"]
            done = subprocess.run(
                client, cwd=folder.cwd, env={**folder.env, "ACCORD_TOKEN": "secret-secret-secret"},
                stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False,
            )  # fmt: skip
        finally:
            server.terminate()
        server.stderr.read()
    assert (done.returncode, server.wait(SECONDS), folder.ran) == (0, 0, [])


def test_the_variables_of_python_in_a_trusted_file_are_not_passed_to_our_interpreter(foreign: Folder) -> None:
    command, *args = own_command("accord.coder", "--model", "offline")
    env = {"PYTHONPATH": str(foreign.cwd), "PYTHONHOME": str(foreign.cwd), "PYTHONSTARTUP": "json.py"}
    file = {"agent_servers": {"ours": {"command": command, "args": args, "env": env}}}
    (foreign.cwd / "acp.json").write_text(json.dumps(file), encoding="utf-8")
    assert (foreign("module", "run ours list"), foreign.ran) == (5, [])
    assert (foreign("module", "run ours list --trust"), foreign.ran) == (0, [])


def test_a_module_that_is_served_is_searched_behind_all_that_is_installed(
    accord: Accord, monkeypatch: pytest.MonkeyPatch
) -> None:
    (accord.cwd / "served_from_here.py").write_text(MINE, encoding="utf-8")
    monkeypatch.chdir(accord.cwd)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    before = sys.path.copy()
    assert serve._imported("served_from_here:agent").name == "mine"
    assert sys.path == [*before, str(accord.cwd)]


def test_a_program_that_accord_names_is_not_one_of_the_folder(foreign: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(foreign.cwd)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", str(foreign.cwd)]))
    assert fault._node_version() == ""
    with pytest.raises(programs.EditorFailed):
        programs.editor_of(os.environ)
    assert foreign.ran == []


def test_a_session_that_was_noted_without_the_option_is_continued_with_it() -> None:
    target = built_in_target("offline")
    words = shlex.split(target.key)
    assert words[1:4] == [sys.executable, "-P", "-m"]
    assert noted_target(shlex.join(["--", sys.executable, "-m", *words[4:]])).key == target.key
