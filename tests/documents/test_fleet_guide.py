"""docs/fleet.md: its lines are typed, with a real PostgreSQL and two nodes; its programs and options are real."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import accord
from accord.cli.main import main
from tests.documents.console import Guide
from tests.fleet.nodes import FLEET_SECRET
from tests.fleet.talking import answer_to
from tests.forking_python import forking_python
from tests.limits import limit
from tests.postgres import Database
from tests.serve.in_process import running

GUIDE = Guide("fleet.md")
PROGRAMS = {
    found[1]: code for kind, code in GUIDE.blocks if kind == "python" and (found := re.match(r"# (\S+)\n", code))
}
FIRST, SERVERS, LOOKS = (code for kind, code in GUIDE.blocks if kind == "sh")
DEPLOYMENT = [code for kind, code in GUIDE.blocks if kind in {"ini", "yaml"}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The programs of the guide, and `accord` and `python` on the PATH."""
    for name, code in PROGRAMS.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
        sys.modules.pop(name.removesuffix(".py"), None)
    python = str(forking_python())
    for name, words in (("accord", [python, "-m", "accord"]), ("python", [python])):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    # Another guide has programs of the same names.
    for name in PROGRAMS:
        sys.modules.pop(name.removesuffix(".py"), None)


async def typed(lines: str, **more: str) -> str:
    """Type lines into a shell; what it prints."""
    shell = await asyncio.create_subprocess_shell(
        lines, env={**os.environ, **more}, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(limit(60.0)):
        out, _ = await shell.communicate()
    assert shell.returncode == 0, out.decode()
    return out.decode()


async def port_of(server: asyncio.subprocess.Process) -> int:
    assert server.stderr is not None
    async with asyncio.timeout(limit(60.0)):
        while line := (await server.stderr.readline()).decode():
            if found := re.search(r"serving at ws://[^ ]+:(\d+)/acp", line):
                return int(found[1])
    raise AssertionError("the server did not start")


async def test_two_nodes_in_five_minutes(folder: Path, database: Database) -> None:
    await typed(FIRST, DATABASE=database.conninfo)
    token = (folder / "ada.token").read_text(encoding="utf-8").strip()
    servers = []
    for line in SERVERS.splitlines():
        words = shlex.split(re.sub(r"--port \d+", "--port 0", line))
        servers.append(await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.PIPE))
    try:
        one, two = [await port_of(server) for server in servers]
        async with accord.connect(f"ws://127.0.0.1:{one}/acp", token=token) as at_one:
            session = await at_one.new_session(cwd=folder)
            await answer_to(session, "hello")
            async with accord.connect(f"http://127.0.0.1:{two}/acp", token=token) as at_two:
                again = await at_two.load_session(session.id, cwd=folder)
                assert await answer_to(again, "again") == "You said: again"
        nodes, sessions, drain = LOOKS.splitlines()
        assert {"one", "two"} <= set((await typed(nodes)).split())
        listed = json.loads(await typed(f"{sessions} --json"))
        assert [(each["sessionId"], each["principal"]) for each in listed] == [(session.id, "ada")]
        await typed(drain)
        async with asyncio.timeout(limit(40.0)):
            assert await servers[0].wait() == 0
    finally:
        for server in servers:
            if server.returncode is None:
                server.kill()
            await server.communicate()


async def test_the_web_application_of_the_guide(
    folder: Path, database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sorted(PROGRAMS) == ["fleet_app.py", "my_agent.py"]
    monkeypatch.setenv("ACCORD_STORE", database.conninfo)
    monkeypatch.setenv("ACCORD_FLEET_SECRET", FLEET_SECRET)
    assert await asyncio.to_thread(main, ["serve", "--token-file", "tokens.json", "--add-token", "ada"]) == 0
    token = capsys.readouterr().out.strip()
    application = import_module("fleet_app").application
    async with running(application) as port:
        headers = {"Host": "agents.example.org"}
        async with accord.connect(f"http://127.0.0.1:{port}/acp", token=token, headers=headers) as agent:
            assert await answer_to(await agent.new_session(cwd=folder), "hi") == "You said: hi"


def test_units_and_manifests_name_options_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help-all"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    named = {option for code in DEPLOYMENT for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", code)}
    assert len(DEPLOYMENT) == 3
    assert named
    assert named <= known
