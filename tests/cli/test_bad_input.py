"""Bad input: one clear line with the phase and advice, the right exit code, nothing left behind."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from accord.cli import agent_session
from accord.cli.options import AgentOptions
from accord.cli.target import Target
from accord.client.deadline import Deadlines
from tests.cli.command import SCRIPTS, Accord, Result, is_gone, scripted


def one_line(result: Result, status: int, *words: str) -> str:
    """Checks that the failure is one line with all the words in it; what the agent wrote to stderr may follow."""
    assert result.status == status, result.stderr
    lines = [line for line in result.stderr.splitlines() if not line.startswith("  | ")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("accord: ")
    # The command has none of its own; the quoted end of the agent's stderr may have one.
    assert not any(line.startswith("Traceback") for line in result.stderr.splitlines())
    for word in words:
        assert word in lines[0]
    return lines[0]


def pids(accord: Accord) -> list[int]:
    journal = accord.cwd / "journal"
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    return [int(line.split()[1]) for line in lines if line.startswith("pid ")]


def nothing_is_left(accord: Accord) -> bool:
    return all(is_gone(pid) for pid in pids(accord))


@pytest.fixture
def short_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    """For agents that hear no cancel: how long the end of the turn is waited for is not the subject."""
    line_deadlines = agent_session.line_deadlines

    def with_a_short_cancel(target: Target, options: AgentOptions) -> Deadlines:
        return replace(line_deadlines(target, options), cancel_seconds=0.1)

    monkeypatch.setattr(agent_session, "line_deadlines", with_a_short_cancel)


# --- the agent


def test_an_unknown_agent_is_usage_and_the_nearest_name_is_told(accord: Accord) -> None:
    one_line(
        accord("run", "dmo", "hello"), 2, "config: there is no agent 'dmo'", "did you mean demo?", "accord agents ls"
    )


def test_a_command_that_is_not_there(accord: Accord) -> None:
    one_line(accord("run", "hello", "--", "/no/such/program"), 7, "start: ", "/no/such/program", "No such file", "PATH")


def test_a_file_that_is_not_executable(accord: Accord) -> None:
    (accord.cwd / "agent.py").write_text("pass")
    line = one_line(accord("run", "hello", "--", "./agent.py"), 7, "start: ", "Permission denied", "executable")
    assert "accord agents" not in line


def test_an_agent_that_ends_at_once(accord: Accord) -> None:
    result = accord("run", "hello", *scripted("exits"))
    one_line(result, 7, "start: the agent ended before it was ready", "exit status 3", "accord agents doctor")
    assert "  | no licence found" in result.stderr


@pytest.mark.usefixtures("short_graces")
def test_an_agent_that_hangs_at_its_start(accord: Accord) -> None:
    result = accord("run", "hello", "--timeout", "1.5", *scripted("hangs"))
    one_line(result, 3, "start: the agent was not ready in 1.5 s", "--timeout")
    assert pids(accord)
    assert nothing_is_left(accord)


@pytest.mark.usefixtures("short_graces")
def test_an_agent_that_never_opens_a_session(accord: Accord) -> None:
    result = accord("run", "hello", "--timeout", "2", *scripted("hangs_at_session"))
    one_line(result, 3, "session: the agent did not open the session in 2 s")


@pytest.mark.usefixtures("short_graces", "short_cancels")
def test_an_agent_that_is_silent_after_the_prompt(accord: Accord) -> None:
    result = accord("run", "hello", "--timeout", "2", *scripted("silent"))
    one_line(result, 3, "no sign of life for 2 s after the prompt")
    assert nothing_is_left(accord)


@pytest.mark.usefixtures("short_graces")
def test_an_agent_that_falls_silent_in_the_middle_is_bounded_by_the_config(accord: Accord) -> None:
    words = scripted("stalls")[1:]
    server = {"name": "mine", "command": words[0], "args": words[1:], "timeoutMs": 1500}
    accord.config.write_text(json.dumps({"servers": [server]}), encoding="utf-8")
    result = accord("run", "mine", "hello")
    one_line(result, 3, "idle: the agent gave no sign of life for 1.5 s")
    assert nothing_is_left(accord)


@pytest.mark.usefixtures("short_graces", "short_cancels")
def test_an_agent_that_never_ends_its_turn(accord: Accord) -> None:
    result = accord("run", "hello", "--timeout", "2", *scripted("drips"))
    one_line(result, 3, "turn: the turn took longer than 2 s")
    assert result.stdout.endswith("drip \n")
    assert nothing_is_left(accord)


def test_an_agent_that_prints_a_banner_works_and_the_banner_is_flagged(accord: Accord) -> None:
    result = accord("run", "hello", *scripted("banner"))
    assert result.status == 0
    assert "noise Welcome to the agent!" in result.stdout
    assert "noise Debugger attached." in result.stdout
    assert "hello" in result.stdout


PRINTS = "import sys; sys.stdin.readline(); print({!r}, flush=True)"


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ("{not json", ("{not json", "one message a line")),
        ("Welcome!", ("Welcome!", "Does it speak ACP")),
        ('{"level": "info", "text": "ready"}', ("info", "one message a line")),
        ('{"jsonrpc": "2.0", "id": "other", "result": {}}', ("request that was not made", "other")),
        ('{\n  "jsonrpc": "2.0",\n  "id": 0\n}', ("jsonrpc", "over several lines")),
        ("Content-Length: 2\r\n\r\n{}", ("Content-Length", "--framing headers")),
        ("{\x1b[2Jx" + "x" * 5000, ("{\\x1b[2Jxxx", "…")),
    ],
)
def test_the_line_that_an_agent_printed_in_place_of_its_answer_is_shown(
    accord: Accord, printed: str, words: tuple[str, ...]
) -> None:
    result = accord("run", "hello", "--", sys.executable, "-c", PRINTS.format(printed))
    line = one_line(result, 7, "start: ", "accord agents doctor", *words)
    assert "\x1b" not in line
    assert "x" * 300 not in line.partition("accord agents doctor")[0]


def test_an_agent_that_wants_a_login(accord: Accord) -> None:
    result = accord("run", "hello", *scripted("wants_login"))
    one_line(result, 6, "login: the agent wants you to log in first", "browser", "accord agents login -- ")
    assert "Error handling request" not in result.stderr


def test_an_agent_of_a_version_that_nobody_knows(accord: Accord) -> None:
    one_line(accord("run", "hello", *scripted("future")), 1, "start: ", "99", "accord agents doctor")


def test_an_edition_that_the_agent_does_not_speak(accord: Accord) -> None:
    one_line(accord("run", "hello", "--edition", "2", *scripted("plain")), 1, "start: ", "accord agents doctor")


def test_an_agent_that_dies_in_a_turn(accord: Accord) -> None:
    result = accord("run", "hello", *scripted("dies"))
    one_line(result, 7, "prompt: the agent is gone", "exit status 9")
    assert "  | out of memory" in result.stderr


def test_an_agent_that_fails(accord: Accord) -> None:
    result = accord("run", "hello", *scripted("fails"))
    one_line(result, 1, "prompt: the agent answered with an error: Internal error (-32603): the model is on fire")


def test_an_agent_that_refuses(accord: Accord) -> None:
    one_line(accord("run", "hello", *scripted("refuses")), 1, "prompt: the agent refused")


@pytest.mark.parametrize("address", ["ws://127.0.0.1:1/acp", "http://127.0.0.1:1/acp"])
def test_an_address_at_which_nobody_is(accord: Accord, address: str) -> None:
    one_line(accord("run", address, "hello"), 7, "start: no connection", "Is the address right")


@pytest.mark.parametrize("address", ["ws://me:secret@127.0.0.1:1/acp", "http://"])
def test_an_address_that_cannot_be_one(accord: Accord, address: str) -> None:
    result = accord("run", address, "hello")
    assert result.status == 2
    assert "secret" not in result.stdout + result.stderr


# --- the config


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "acp.json: expected"),
        ("{", "acp.json: expected"),
        ("[]", "acp.json: expected"),
        ('{"agent_servers": {"mine": {"args": []}}}', "agent_servers.mine.command: expected"),
        ('{"servers": [{"name": "mine", "command": 7}]}', "servers[0].command: expected"),
        ('{"servers": [{"name": "mine", "command": "x", "timeoutMs": 1}]}', "servers[0].timeoutMs: expected"),
    ],
)
def test_a_config_that_cannot_be_used_names_file_key_and_expectation(
    accord: Accord, content: str, expected: str
) -> None:
    accord.config.write_text(content, encoding="utf-8")
    one_line(accord("run", "mine", "hello"), 2, "config: ", str(accord.config), expected)


def test_a_broken_config_does_not_hide_other_agents(accord: Accord) -> None:
    accord.config.write_text("{", encoding="utf-8")
    assert accord("run", "demo", "/help").status == 0


def test_unknown_keys_of_the_config_are_told_and_do_no_harm(accord: Accord) -> None:
    entry = {"command": sys.executable, "args": ["-m", "accord.testing.program", f"{SCRIPTS}:plain"], "colour": "red"}
    accord.config.write_text(json.dumps({"agent_servers": {"mine": entry}}), encoding="utf-8")
    assert accord("run", "mine", "hello").status == 0
    listed = accord("agents", "ls")
    assert listed.status == 0
    assert "colour" in listed.stderr


def test_no_default_agent(accord: Accord) -> None:
    one_line(accord("run", "default", "hello"), 2, "there is no agent 'default'", "accord agents add")


# --- the line


def test_no_agent(accord: Accord) -> None:
    one_line(accord("run"), 2, "usage: name an agent")


def test_no_command_behind_the_dashes(accord: Accord) -> None:
    one_line(accord("run", "hello", "--"), 2, "usage: a command must follow --")


def test_no_text(accord: Accord) -> None:
    one_line(accord("run", "demo", stdin=" \n"), 2, "usage: the text is empty")


def test_a_file_that_is_not_there(accord: Accord) -> None:
    one_line(accord("run", "demo", "-f", "nothing.txt"), 2, "usage: nothing.txt cannot be read")


def test_a_text_that_is_no_text(accord: Accord) -> None:
    one_line(accord("run", "demo", stdin=b"\xff\xfe\x00"), 2, "usage: stdin is no UTF-8 text")


def test_a_picture_that_is_none(accord: Accord, tmp_path: Path) -> None:
    one_line(accord("run", "demo", "look", "--image", "notes.txt"), 2, "--image notes.txt")
    one_line(accord("run", "demo", "look", "--image", str(tmp_path / "no.png")), 2, "no.png: No such file")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--timeout", "soon"), "'soon' is no number of seconds"),
        (("--timeout", "-1"), "'-1' is no number of seconds"),
        (("--env", "COLOUR"), "--env COLOUR: expected K=V"),
        (("--set", "=x"), "--set =x: expected K=V"),
        (("-c", "-s", "name"), "not allowed with argument"),
        (("--edition", "3"), "invalid choice: '3'"),
        (("-o", "xml"), "invalid choice: 'xml'"),
        (("--allow", "reading"), "'reading' is no kind of tool call"),
        (("--deny", "edit:"), "a pattern must follow the colon"),
        (("--rules", "no.rules"), "no.rules cannot be read"),
        (("--mcp", "no.json"), "no.json: expected a file that is there"),
        (("--dir", "nowhere"), "there is no such directory"),
    ],
)
def test_an_option_that_makes_no_sense(accord: Accord, words: tuple[str, ...], expected: str) -> None:
    one_line(accord("run", "demo", "hello", *words), 2, expected)


def test_an_option_that_the_agent_does_not_have(accord: Accord) -> None:
    one_line(accord("run", "x", "--set", "speed=9", *scripted("settings")), 2, "no option 'speed'", "model, loud")
    one_line(accord("run", "x", "--model", "huge", *scripted("settings")), 2, "no value 'huge'", "small, large")
    one_line(accord("run", "x", "--set", "loud=maybe", *scripted("settings")), 2, "loud is on or off")


# --- sessions


def test_no_last_session(accord: Accord) -> None:
    one_line(accord("run", "demo", "-c", "hello"), 4, "session: there is no session of demo in this directory", "-c")


def test_a_session_that_the_agent_has_forgotten(accord: Accord) -> None:
    assert accord("run", "hello", *scripted("forgets")).status == 0
    one_line(accord("run", "-c", "hello", *scripted("forgets")), 4, "session: ", "s-1234567890", "Session not found")


def test_an_agent_that_cannot_go_on_with_sessions(accord: Accord) -> None:
    assert accord("run", "hello", *scripted("plain")).status == 0
    one_line(accord("run", "-c", "hello", *scripted("plain")), 4, "session: the agent cannot go on with the session")


# --- nobody to ask


def test_a_question_that_nobody_can_be_asked_is_denied(accord: Accord) -> None:
    result = accord("run", "change it", *scripted("asks"))
    one_line(result, 5, "prompt: a request of the agent was denied", "--allow")
    assert "chosen: no" in result.stdout


def test_a_project_s_agent_is_not_started_before_its_file_is_trusted(accord: Accord) -> None:
    words = [sys.executable, "-m", "accord.testing.program", f"{SCRIPTS}:plain"]
    content = json.dumps({"agent_servers": {"mine": {"command": words[0], "args": words[1:]}}})
    (accord.cwd / "acp.json").write_text(content, encoding="utf-8")
    one_line(accord("run", "mine", "hello"), 5, "acp.json is not trusted", "--trust")
    assert not (accord.cwd / "journal").exists()
    assert accord("run", "mine", "hello", "--trust").status == 0
    assert accord("run", "mine", "hello").status == 0
    (accord.cwd / "acp.json").write_text(content + "\n", encoding="utf-8")
    one_line(accord("run", "mine", "hello"), 5, "is not trusted")


def test_records_that_cannot_be_kept_stop_nobody(accord: Accord) -> None:
    state = accord.home / ".local" / "state" / "accord"
    state.mkdir(parents=True)
    (state / "sessions.db").write_text(
        "this is no database, and long enough to be looked at as one" * 20, encoding="utf-8"
    )
    result = accord("run", "hello", *scripted("plain"))
    assert result.status == 0
    assert "sessions are not noted" in result.stderr
