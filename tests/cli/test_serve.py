"""`accord serve`: what it refuses to start with, and the tokens that it makes."""

import importlib
import json
import os
import socket
import subprocess
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.cli.command import Accord
from tests.forked import ForkedProgram, accord_command
from tests.limits import limit


def accord(*arguments: str) -> subprocess.CompletedProcess[str]:
    # Once for all the forks.
    for name in ("accord.cli.verbs.serve", "accord.serve.runner"):
        importlib.import_module(name)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ACCORD_SERVE")}
    words = ["accord", "serve", *arguments]
    with ForkedProgram(accord_command(), words, stdout=PIPE, stderr=PIPE, env=environment) as process:
        stdout, stderr = process.communicate(timeout=limit(30.0))
    return subprocess.CompletedProcess(words, process.returncode, stdout.decode(), stderr.decode())


@pytest.mark.parametrize(
    "arguments",
    [
        ("demo", "--token", "secret"),
        ("demo", "--token=secret"),
        ("demo", "--host", "0.0.0.0"),  # noqa: S104
        ("demo", "--host", "0.0.0.0", "--behind-proxy"),  # noqa: S104
        ("demo", "--tls-cert", "cert.pem"),
        ("demo", "--token-file", "there-is-none.json"),
        ("demo", "--root", "there-is-none"),
        ("--add-token", "ada"),
        (),
        ("demo", "--", "gemini"),
        ("no_such_module:agent",),
        ("json:dumps",),
    ],
)
def test_a_line_that_would_not_be_safe_or_makes_no_sense_is_refused(arguments: tuple[str, ...]) -> None:
    finished = accord(*arguments)
    assert finished.returncode == 2
    assert "secret" not in finished.stderr
    assert finished.stderr.startswith("accord: usage: ")


def test_a_token_is_added_to_the_file_and_shown_once(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    arguments = ("--token-file", str(path), "--add-token", "ada", "--expires", "30", "--token-root", str(tmp_path))
    finished = accord(*arguments)
    assert finished.returncode == 0
    token = finished.stdout.strip()
    assert len(token) > 40
    [entry] = json.loads(path.read_text(encoding="utf-8"))["tokens"]
    assert (entry["name"], entry["root"]) == ("ada", str(tmp_path))
    assert token not in path.read_text(encoding="utf-8")


def test_a_port_that_is_taken_is_answered_with_the_option_for_another(accord: Accord) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = accord("serve", "demo", "--port", str(taken.getsockname()[1]))
    assert result.status == 1
    assert "--port" in result.stderr
