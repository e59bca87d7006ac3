"""What `accord serve` and `accord fleet` refuse at the start: each with a sentence, and without a secret in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accord.cli.main import main
from accord.stores import PostgresStore
from tests.fleet.nodes import FLEET_SECRET

CONNINFO = "host=127.0.0.1 port=1 user=u password=do-not-show dbname=d connect_timeout=2"
HERE = str(Path(__file__).parent)


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(HERE)
    for name in ("ACCORD_STORE", "ACCORD_FLEET_SECRET", "ACCORD_SERVE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    yield
    # The next one begins with an agent that has no store yet.
    sys.modules.pop("fleet_agent", None)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The sentence of a command that fails."""
    assert main(arguments) != 0
    told = capsys.readouterr()
    assert "do-not-show" not in told.out + told.err
    assert FLEET_SECRET not in told.out + told.err
    return " ".join(told.err.split())


@pytest.mark.parametrize(
    "option", [("--node", "a"), ("--node-address", "http://h:1"), ("--lease", "3"), ("--patience", "3")]
)
def test_a_node_needs_a_store(capsys: pytest.CaptureFixture[str], option: tuple[str, str]) -> None:
    assert "needs a store" in refused(capsys, "serve", "fleet_agent:agent", *option)


def test_a_node_needs_the_secret_of_its_fleet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCORD_STORE", CONNINFO)
    assert "need a secret" in refused(capsys, "serve", "fleet_agent:agent", "--node", "a")
    assert "ACCORD_STORE" not in os.environ  # taken out: no program that is started here inherits it


def test_more_connections_than_the_process_may_have_files_are_said_at_the_start(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource", reason="Windows has no limit of files: run it on Linux or macOS")
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed in {resource.RLIM_INFINITY, -1}:
        pytest.skip("this process may open any number of files: lower the limit (ulimit -n)")
    for count, is_said in ((allowed, True), (1, False)):
        monkeypatch.setenv("ACCORD_STORE", CONNINFO)
        arguments = ("serve", "fleet_agent:agent", "--node", "a", "--max-connections", str(count))
        assert (f"open {allowed} files" in refused(capsys, *arguments)) == is_said


def test_a_short_secret_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCORD_STORE", CONNINFO)
    monkeypatch.setenv("ACCORD_FLEET_SECRET", "short")
    assert "at least 32 characters" in refused(capsys, "serve", "fleet_agent:agent", "--node", "a")
    assert "ACCORD_FLEET_SECRET" not in os.environ


def test_a_file_that_others_can_read_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "store"
    file.write_text(CONNINFO, encoding="utf-8")
    file.chmod(0o644)
    assert "chmod 600" in refused(capsys, "serve", "fleet_agent:agent", "--store-file", str(file))
    assert "chmod 600" in refused(capsys, "fleet", "ls", "--store-file", str(file))


def test_a_program_cannot_be_served_by_a_fleet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for agent in (("demo",), ("--", "cat")):
        monkeypatch.setenv("ACCORD_STORE", CONNINFO)
        assert "keeps its sessions itself" in refused(capsys, "serve", *agent)


@pytest.mark.parametrize("name", ["a.b", "", "-a", "ä", "a" * 64])
def test_a_name_that_no_connection_id_can_have_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("ACCORD_STORE", CONNINFO)
    monkeypatch.setenv("ACCORD_FLEET_SECRET", FLEET_SECRET)
    assert "letters, digits and hyphens" in refused(capsys, "serve", "fleet_agent:agent", f"--node={name}")


def test_every_address_of_the_machine_is_no_address_for_other_nodes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCORD_STORE", CONNINFO)
    monkeypatch.setenv("ACCORD_SERVE_TOKEN", "secret")
    line = ("serve", "fleet_agent:agent", "--node", "a", "--host", "0.0.0.0", "--behind-proxy")  # noqa: S104
    assert "--node-address" in refused(capsys, *line)


def test_a_database_that_is_down_is_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = PostgresStore.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "patience_seconds", 0.3)
    monkeypatch.setenv("ACCORD_STORE", CONNINFO)
    assert "PostgreSQL cannot be reached" in refused(capsys, "fleet", "ls")
    monkeypatch.setenv("ACCORD_STORE", CONNINFO)
    monkeypatch.setenv("ACCORD_FLEET_SECRET", FLEET_SECRET)
    assert "PostgreSQL cannot be reached" in refused(capsys, "serve", "fleet_agent:agent", "--node", "a", "--port", "0")
