"""`accord run` on pipes: what is said, what is shown, in which session, with which settings."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import Accord, first_pid, is_gone, scripted
from tests.limits import limit
from tests.tables import rows

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000"
    "0500010d0a2db40000000049454e44ae426082"
)


# --- what is said


def test_the_words_of_the_line_are_the_text(accord: Accord) -> None:
    result = accord("run", "fix", "the bug", "-o", "final", *scripted("repeats"))
    assert (result.status, result.stdout) == (0, "fix the bug\n")


def test_without_words_the_text_is_stdin(accord: Accord) -> None:
    assert accord("run", "-o", "final", *scripted("repeats"), stdin="from a pipe\n").stdout == "from a pipe\n"


def test_files_follow_the_words_in_order(accord: Accord) -> None:
    (accord.cwd / "one.txt").write_text("ONE", encoding="utf-8")
    words = ("run", "look", "-f", "one.txt", "-f", "-", "-o", "final")
    assert accord(*words, *scripted("repeats"), stdin="TWO").stdout == "look\n\nONE\n\nTWO\n"


def test_a_text_of_ten_megabytes_arrives_whole(accord: Accord) -> None:
    result = accord("run", "-o", "final", *scripted("counts"), stdin="x" * 10_000_000)
    assert (result.status, result.stdout) == (0, "10000000 letters, text\n")


def test_a_picture_is_sent_as_one(accord: Accord) -> None:
    (accord.cwd / "p.png").write_bytes(PNG)
    result = accord("run", "look", "--image", "p.png", "-o", "final", *scripted("counts"))
    assert result.stdout == "4 letters, text image\n"


def test_a_name_and_words_may_stand_anywhere_between_options(accord: Accord) -> None:
    (accord.cwd / "a.py").write_text("x = 1\n", encoding="utf-8")
    result = accord("run", "--allow", "all", "demo", "-o", "final", "read", "--timeout", "60", "a.py")
    assert result.status == 0
    assert "x = 1" in result.stdout


# --- what is shown


@rows(("text", "is_quoted"), [("paint", True), ("with a reason", False)])
def test_the_reason_of_a_call_that_failed_silently_is_the_end_of_stderr(
    accord: Accord, text: str, *, is_quoted: bool
) -> None:
    result = accord("run", text, *scripted("fails_silently"))
    assert result.status == 0
    assert ("  | KeyError: 'colour'" in result.stderr.splitlines()) is is_quoted


def test_the_session_of_the_guide(accord: Accord) -> None:
    (accord.cwd / "a.py").write_text('pritn("hi")\n', encoding="utf-8")
    result = accord("run", "demo", "replace pritn with print in a.py", "--allow", "all")
    assert result.status == 0
    assert (accord.cwd / "a.py").read_text(encoding="utf-8") == 'print("hi")\n'
    lines = result.stdout.splitlines()
    assert lines[0].startswith("demo 0.1")
    assert " · v1 · session " in lines[0]
    assert "  plan  ▸ read a.py  ○ edit a.py" in lines
    read = next(line for line in lines if line.startswith("  read  a.py "))
    assert read.split()[2] == "ok"
    place = lines.index("  edit  a.py   +1 \N{MINUS SIGN}1")
    assert lines[place + 1 : place + 3] == ['    - pritn("hi")', '    + print("hi")']
    assert "Replaced 1 occurrence in a.py." in lines
    assert lines[-1].startswith("end_turn · ")
    assert lines[-1].endswith('· go on: accord run demo -c "…"')


def test_everything_that_an_agent_says_is_shown_and_nothing_of_it_is_an_escape_sequence(accord: Accord) -> None:
    result = accord("run", "do", *scripted("everything"))
    assert result.status == 0
    shown = result.stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown
    for expected in (
        "  think I should look first.",
        "  plan  ✓ look  ○ change",
        "  read  b.txt ",
        "  edit  b.txt   +1 \N{MINUS SIGN}1 ",
        "    - two",
        "    + three",
        "  run   make \\x1b[31mred ",
        " failed ",
        "    no rule to make red",
        '  weather {"sessionUpdate": "weather", "sky": "blue"}',
        "All done.",
        "end_turn · ",
        " · 1.2k/200k tokens 0% · $0.25",
    ):
        assert expected in shown


def test_final_is_only_the_answer(accord: Accord) -> None:
    result = accord("run", "do", "-o", "final", *scripted("everything"))
    assert (result.status, result.stdout, result.stderr) == (0, "All \x1b]0;gotcha\x07done.\n", "")


def test_requests_that_were_allowed_and_failed_are_not_counted(accord: Accord) -> None:
    (accord.cwd / "folder").mkdir()
    end = accord("run", "go", "--allow", "all", "-o", "events", *scripted("uses_files")).of_type("end")[0]
    assert (end["files_written"], end["files_read"], end["commands_run"]) == (1, 1, 1)


@pytest.mark.parametrize("text", ["without", "with ids"])
def test_a_tool_call_that_is_announced_inside_a_message_does_not_tear_it(accord: Accord, text: str) -> None:
    assert accord("run", text, "-o", "final", *scripted("announces")).stdout == "All is well.\n"
    assert accord("run", text, "-o", "events", *scripted("announces")).of_type("end")[0]["answer"] == "All is well."
    shown = accord("run", text, *scripted("announces")).stdout.splitlines()
    assert shown[1:3] == ["I will look.", "All is well."]


def test_the_log_has_one_line_for_each_message_and_nothing_of_its_content(accord: Accord) -> None:
    done = accord("run", "SECRET", *scripted("repeats"), env={**accord.env, "ACCORD_LOG": "debug"})
    assert done.status == 0
    lines = [line.partition("accord.connection.message_log DEBUG ")[2] for line in done.stderr.splitlines()]
    told = [line.split(" id=")[0].split(",")[0] for line in lines if line]
    methods = ("initialize", "session/new", "session/prompt")
    expected = [line for each in methods for line in (f"client out {each}", f"client in result of {each}")]
    assert told == [*expected[:-1], "client in session/update", expected[-1]]
    assert "SECRET" not in done.stderr


def test_there_are_no_colours_and_no_progress_in_a_pipe(accord: Accord) -> None:
    result = accord("run", "hello", *scripted("plain"))
    assert "\x1b" not in result.stdout + result.stderr
    assert result.stderr == ""


@pytest.mark.parametrize("most", ["0", "2"])
def test_a_turn_with_more_tool_calls_than_allowed_is_cancelled_and_that_is_said(accord: Accord, most: str) -> None:
    result = accord("run", "stop", "--max-tools", most, "-o", "events", *scripted("works_on"))
    assert result.status == 3
    assert "cancelled" in (accord.cwd / "journal").read_text(encoding="utf-8").splitlines()
    assert result.of_type("end")[0]["stop_reason"] == "cancelled"
    (line,) = result.stderr.splitlines()
    assert f"more than {most} tool calls" in line
    assert "--max-tools" in line
    assert result.records[-1]["cause"] == "max_tools"


def test_as_many_tool_calls_as_allowed_are_no_reason_to_stop(accord: Accord) -> None:
    result = accord("run", "x", "--max-tools", "3", "-o", "final", *scripted("works_on"))
    assert (result.status, result.stdout, result.stderr) == (0, "three calls\n", "")


@pytest.mark.parametrize("wrong", ["-1", "many", "1.5"])
def test_a_limit_of_tool_calls_is_a_number(accord: Accord, wrong: str) -> None:
    assert accord("run", "demo", "x", f"--max-tools={wrong}").status == 2


def test_every_other_stop_reason_is_success(accord: Accord) -> None:
    result = accord("run", "hello", *scripted("full"))
    assert result.status == 0
    assert "max_tokens" in result.stdout


def test_a_turn_that_the_agent_cancels_is_interrupted(accord: Accord) -> None:
    with accord.start(
        "run", "hello", *scripted("patient"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline() != b"working on it\n":
            pass
        process.terminate()
        assert process.wait(20) == 130


# --- a pipe that nobody reads


@pytest.mark.parametrize("form", ["text", "events", "wire"])
def test_a_closed_pipe_stops_the_turn_quietly(accord: Accord, form: str) -> None:
    words = ("run", "hello", "-o", form, *scripted("floods"))
    with accord.start(*words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        complaints = process.stderr.read()
        assert process.wait(30) == 130
    assert complaints == b""
    journal = (accord.cwd / "journal").read_text(encoding="utf-8").splitlines()
    assert "cancelled" in journal
    assert is_gone(int(journal[0].split()[1]))


# --- sessions


def test_the_last_session_goes_on(accord: Accord) -> None:
    first = accord("run", "demo", "list", "-o", "events")
    again = accord("run", "demo", "-c", "list", "-o", "events")
    other = accord("run", "demo", "list", "-o", "events")
    assert again.status == 0
    assert again.of_type("start")[0]["resumed"] is True
    assert again.of_type("start")[0]["session"] == first.of_type("start")[0]["session"]
    assert other.of_type("start")[0]["session"] != first.of_type("start")[0]["session"]


@pytest.mark.parametrize(("script", "offered"), [("plain", False), ("asks", True), ("drafts", True)])
def test_going_on_is_offered_only_where_the_agent_can_load_or_resume(
    accord: Accord,
    script: str,
    offered: bool,  # noqa: FBT001
) -> None:
    result = accord("run", "x", "--allow", "all", *scripted(script))
    assert result.status == 0
    assert result.stdout.splitlines()[-1].startswith("end_turn")
    assert ("accord run -c" in result.stdout) is offered


def test_a_name_begins_a_session_and_then_finds_it(accord: Accord) -> None:
    first = accord("run", "demo", "-s", "work", "list", "-o", "events").of_type("start")[0]
    accord("run", "demo", "list")
    again = accord("run", "demo", "-s", "work", "list", "-o", "events").of_type("start")[0]
    assert (first["resumed"], again["resumed"]) == (False, True)
    assert first["session"] == again["session"]
    assert again["name"] == "work"


def test_the_beginning_of_an_id_finds_a_session(accord: Accord) -> None:
    session = accord("run", "demo", "list", "-o", "events").of_type("start")[0]["session"]
    short = session.removeprefix("session-")[:8]
    again = accord("run", "demo", "-s", short, "list", "-o", "events").of_type("start")[0]
    assert (again["session"], again["resumed"]) == (session, True)


def test_sessions_of_another_directory_are_not_the_last_one_here(accord: Accord) -> None:
    accord("run", "demo", "list")
    accord.cwd = accord.cwd / "below"
    accord.cwd.mkdir()
    assert accord("run", "demo", "-c", "list").status == 4


def test_an_agent_that_is_lost_before_the_prompt_is_started_again_and_that_is_said(accord: Accord) -> None:
    accord("run", "hello", *scripted("plain"))
    (accord.cwd / "journal").unlink()
    records = sqlite3.connect(accord.home / ".local" / "state" / "accord" / "sessions.db", isolation_level=None)
    # The session cannot be noted as long as this is held: time for the agent to die between session and prompt.
    records.execute("BEGIN IMMEDIATE")
    with subprocess.Popen(
        [*accord.argv, "run", "hello", *scripted("dies_once")], cwd=accord.cwd, env=accord.env, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert is_gone(first_pid(accord))
        records.execute("ROLLBACK")
        records.close()
        shown, complaints = process.communicate(timeout=limit(30))
    assert (process.returncode, complaints) == (0, "")
    assert "the agent was lost and started again" in shown
    assert "here I am again" in shown


# --- how the agent is started, and its session opened


def test_settings_reach_the_agent(accord: Accord) -> None:
    words = ("run", "x", "--set", "loud=on", "--model", "large")
    assert accord(*words, *scripted("settings")).status == 0
    assert (accord.cwd / "journal").read_text(encoding="utf-8").splitlines() == ["loud=True", "model=large"]


def test_servers_directories_and_variables_reach_the_agent(accord: Accord, tmp_path: Path) -> None:
    (accord.cwd / "mcp.json").write_text('{"mcpServers": {"files": {"command": "files-server"}}}', encoding="utf-8")
    more = tmp_path / "more"
    more.mkdir()
    words = ("run", "x", "--mcp", "mcp.json", "--dir", str(more), "--env", "COLOUR=blue")
    assert accord(*words, *scripted("shows_session")).status == 0
    told = (accord.cwd / "journal").read_text(encoding="utf-8")
    assert told == f"servers ['files'] roots ['{more}'] colour blue\n"


@pytest.mark.parametrize(
    ("options", "spoken"), [("auto", "v1"), ("newest", "v2"), ("1", "v1"), ("2", "v2"), ("2-june", "v2_june")]
)
def test_the_edition_is_the_one_that_is_asked_for(accord: Accord, options: str, spoken: str) -> None:
    result = accord("run", "demo", "/help", "--edition", options, "-o", "events")
    assert result.status == 0
    assert result.of_type("start")[0]["edition"] == spoken


def test_an_agent_that_speaks_only_a_draft_is_understood(accord: Accord) -> None:
    result = accord("run", "hello", *scripted("drafts"))
    assert result.status == 0
    assert "hello from a draft" in result.stdout


def test_an_agent_framed_by_headers_is_understood(accord: Accord) -> None:
    program = accord.cwd / "framed.py"
    program.write_text(
        "import asyncio\n"
        "import accord\n"
        "agent = accord.Agent('framed', version='1', store=None)\n"
        "@agent.prompt\n"
        "async def reply(turn: accord.agent.Turn) -> None:\n"
        "    await turn.say('in a frame')\n"
        "async def main() -> None:\n"
        "    await agent.serve(accord.open_stdio('headers'))\n"
        "asyncio.run(main())\n",
        encoding="utf-8",
    )
    result = accord(
        "run", "x", "--framing", "headers", "-o", "final", "--timeout", "20", "--", sys.executable, str(program)
    )
    assert (result.status, result.stdout) == (0, "in a frame\n")


# --- permission


def test_the_first_rule_that_matches_counts(accord: Accord) -> None:
    allowed = accord("run", "x", "--allow", "edit:*.txt", "--deny", "all", *scripted("asks"))
    denied = accord("run", "x", "--deny", "all", "--allow", "edit:*.txt", *scripted("asks"))
    assert (allowed.status, denied.status) == (0, 0)
    assert "chosen: once" in allowed.stdout
    assert "allowed: by the rule: allow edit:*.txt" in allowed.stdout
    assert "chosen: no" in denied.stdout


def test_a_file_of_rules_stands_where_it_stands_on_the_line(accord: Accord) -> None:
    (accord.cwd / "my.rules").write_text("# nothing is run\ndeny execute\nallow edit\n", encoding="utf-8")
    before = accord("run", "a command", "--allow", "execute:make *", "--rules", "my.rules", *scripted("asks"))
    behind = accord("run", "a command", "--rules", "my.rules", "--allow", "execute:make *", *scripted("asks"))
    assert "chosen: once" in before.stdout
    assert "chosen: no" in behind.stdout


@pytest.mark.parametrize(("policy", "chosen"), [("auto-approve", "ever"), ("deny", "no")])
def test_the_policy_of_the_config_answers_where_nobody_can(accord: Accord, policy: str, chosen: str) -> None:
    words = scripted("asks")[1:]
    server = {"name": "mine", "command": words[0], "args": words[1:], "permissionPolicy": policy}
    accord.config.write_text(json.dumps({"servers": [server]}), encoding="utf-8")
    result = accord("run", "mine", "x")
    assert result.status == 0
    assert f"chosen: {chosen}" in result.stdout


def test_the_default_agent_of_the_config_is_called_default(accord: Accord) -> None:
    words = scripted("plain")[1:]
    server = {"name": "mine", "command": words[0], "args": words[1:]}
    accord.config.write_text(json.dumps({"servers": [server], "defaultServer": "mine"}), encoding="utf-8")
    result = accord("run", "default", "hello")
    assert result.status == 0
    assert result.stdout.startswith("mine 1 · v1 · ")
    assert os.fspath(accord.cwd) not in result.stdout
