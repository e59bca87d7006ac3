"""docs/fleet.md: its lines are typed, with a real PostgreSQL and two nodes; its programs and options are real."""

from __future__ import annotations

import argparse
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
from msgspec import yaml

import accord
from accord.cli.fleet_options import SECRET_VARIABLE, STORE_VARIABLE
from accord.cli.main import main
from accord.cli.verbs.serve import DEFAULT_PORT, _parser
from accord.serve.runner import SHUTDOWN_SECONDS, Listener
from accord.time_scale import scaled
from tests.documents.console import Guide
from tests.fleet.nodes import FLEET_SECRET
from tests.fleet.talking import answer_to, fleet_command
from tests.forking_python import forking_python
from tests.limits import limit
from tests.postgres import Database
from tests.serve.in_process import running
from tests.serve.raw_clients import send

GUIDE = Guide("fleet.md")
PROGRAMS = {
    found[1]: code for kind, code in GUIDE.blocks if kind == "python" and (found := re.match(r"# (\S+)\n", code))
}
FIRST, SERVERS, LOOKS = (code for kind, code in GUIDE.blocks if kind == "sh")
DEPLOYMENT = [code for kind, code in GUIDE.blocks if kind in {"ini", "yaml"} and not code.startswith("groups:")]
UNIT, COMPOSE, KUBERNETES = DEPLOYMENT
(ALERTS,) = (code for kind, code in GUIDE.blocks if code.startswith("groups:"))
(HAPROXY,) = (code for kind, code in GUIDE.blocks if kind == "haproxy")


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
        run, nodes, sessions, drain = LOOKS.splitlines()
        assert "You said: hello" in await typed(run.replace("8801", str(one)))
        assert {"one", "two"} <= set((await typed(nodes)).split())
        listed = json.loads(await typed(f"{sessions} --json"))
        assert [each["principal"] for each in listed] == ["ada", "ada"]
        assert session.id in {each["sessionId"] for each in listed}
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
    assert sorted(PROGRAMS) == ["fleet_app.py", "my_agent.py", "walk.py"]
    monkeypatch.setenv("ACCORD_STORE", database.conninfo)
    monkeypatch.setenv("ACCORD_FLEET_SECRET", FLEET_SECRET)
    assert await asyncio.to_thread(main, ["serve", "--token-file", "tokens.json", "--add-token", "ada"]) == 0
    token = capsys.readouterr().out.strip()
    application = import_module("fleet_app").application
    async with running(application) as port:
        headers = {"Host": "agents.example.org"}
        async with accord.connect(f"http://127.0.0.1:{port}/acp", token=token, headers=headers) as agent:
            assert await answer_to(await agent.new_session(cwd=folder), "hi") == "You said: hi"
        # As the guide's balancer and Kubernetes ask.
        assert (await send(port, "GET", "/ready", {"Host": "localhost"})).status == 200
        assert (await fleet_command(database, "drain", "three"))[0] == 0
        owned = "select from accord.sessions where owner is not null"
        async with asyncio.timeout(limit(20.0)):
            while database.run(owned) or (await send(port, "GET", "/ready")).status != 503:
                await asyncio.sleep(0.05)


def test_units_and_manifests_name_options_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help-all"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    named = {option for code in DEPLOYMENT for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", code)}
    assert named
    assert named <= known


# Beyond the drain: closing frames, and what is being written.
GRACE_SECONDS = Listener.drain_seconds / scaled(1.0) + SHUTDOWN_SECONDS


def served(words: list[str]) -> argparse.Namespace:
    """The options of a command line of the guide, as `accord serve` reads them."""
    assert words[:2] == ["accord", "serve"]
    return _parser().read(words[2:])


def test_the_unit_has_time_for_a_drain() -> None:
    found = re.search(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    assert found is not None
    assert int(found[1]) > GRACE_SECONDS


def test_the_compose_file_agrees_with_the_options() -> None:
    services = yaml.decode(COMPOSE)["services"]
    servers = set(re.findall(r"server \w+ \S+:(\d+)", HAPROXY))
    assert servers == {str(DEFAULT_PORT)}
    bound = re.search(r"bind :(\d+)", HAPROXY)
    assert bound is not None
    assert services["balancer"]["ports"] == [f"{bound[1]}:{bound[1]}"]
    assert set(services["balancer"]["depends_on"]) == {"one", "two"}
    for name in ("one", "two"):
        service = services[name]
        options = served(shlex.split(service["command"]))
        assert (options.node, options.port) == (name, DEFAULT_PORT)
        assert options.node_address == f"http://{name}:{DEFAULT_PORT}"
        assert int(service["stop_grace_period"].removesuffix("s")) > GRACE_SECONDS
        assert service["restart"] == "on-failure"  # a node that was drained stays away
        assert f"localhost:{DEFAULT_PORT}/health" in service["healthcheck"]["test"][-1]
        assert service["depends_on"]["database"] == {"condition": "service_healthy"}
        secrets = {secret["source"] for secret in service["secrets"]}
        files = {options.store_file, options.fleet_secret_file, options.token_file}
        assert files == {f"/run/secrets/{secret}" for secret in secrets}
    assert "pg_isready" in services["database"]["healthcheck"]["test"]


def test_the_kubernetes_file_agrees_with_the_options() -> None:
    nodes, clients, workload = map(yaml.decode, KUBERNETES.split("---\n"))
    pod = workload["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    options = served(container["command"])
    assert options.port == DEFAULT_PORT
    assert options.node_address == f"http://$(POD_NAME).{nodes['metadata']['name']}:{DEFAULT_PORT}"
    assert nodes["metadata"]["name"] == workload["spec"]["serviceName"]
    # The others reach a node that drains; clients do not.
    assert (nodes["spec"]["clusterIP"], nodes["spec"]["publishNotReadyAddresses"]) == ("None", True)
    assert not clients["spec"].get("publishNotReadyAddresses", False)
    assert nodes["spec"]["ports"] == [{"port": DEFAULT_PORT}]
    assert clients["spec"]["ports"][0]["targetPort"] == DEFAULT_PORT
    assert container["ports"] == [{"containerPort": DEFAULT_PORT}]
    probes = {probe: container[f"{probe}Probe"]["httpGet"] for probe in ("readiness", "liveness")}
    assert {probe: (each["path"], each["port"]) for probe, each in probes.items()} == {
        "readiness": ("/ready", DEFAULT_PORT),
        "liveness": ("/health", DEFAULT_PORT),
    }
    assert pod["terminationGracePeriodSeconds"] > GRACE_SECONDS
    assert {each["name"] for each in container["env"]} == {"POD_NAME", STORE_VARIABLE, SECRET_VARIABLE}


def test_the_balancer_of_the_guide_cuts_no_connection_of_a_node_that_drains() -> None:
    assert "shutdown-sessions" not in HAPROXY
    assert "option httpchk GET /ready" in HAPROXY


def test_alerts_name_metrics_of_the_guide() -> None:
    rules = [rule for group in yaml.decode(ALERTS)["groups"] for rule in group["rules"]]
    named = {name for rule in rules for name in re.findall(r"accord_\w+", rule["expr"])}
    text = Path(accord.__file__).parents[2].joinpath("docs", "fleet.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\| `(accord_\w+)` \|", text, re.MULTILINE))
    assert named
    assert named <= known
