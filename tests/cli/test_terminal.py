"""`accord run` at a terminal: questions, progress, colours, Ctrl+C."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.cli.command import SCRIPTS, Accord, Screen, first_pid, is_gone, noted, scripted

pytest.importorskip("termios")

ASK = "allow the edit of file.txt?  [y] Just this once  [a] From now on (always)  [n] Rather not  [v] whole diff > "


def test_the_session_of_the_guide_can_be_typed(accord: Accord) -> None:
    (accord.cwd / "a.py").write_text('pritn("hi")\n', encoding="utf-8")
    with accord.terminal("run", "demo", "replace pritn with print in a.py", NO_COLOR="1") as screen:
        shown = screen.expect("[v] whole diff > ")
        screen.type("y\n")
        rest = screen.rest()
        assert screen.status() == 0
    for expected in (
        "  plan  ▸ read a.py  ○ edit a.py\n",
        '    - pritn("hi")\n',
        '    + print("hi")\n',
        "allow the edit of a.py?",
    ):
        assert expected in shown
    assert "Replaced 1 occurrence in a.py.\n" in rest
    assert 'go on: accord run demo -c "…"' in rest
    assert (accord.cwd / "a.py").read_text(encoding="utf-8") == 'print("hi")\n'


@pytest.mark.sampled(2)
@pytest.mark.parametrize("columns", [60, 40])
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {}], ids=["plain", "coloured"])
def test_prompts_questions_and_the_last_line_are_broken_at_blanks(
    accord: Accord, columns: int, environment: dict[str, str]
) -> None:
    (accord.cwd / "a.py").write_text('pritn("hi")\n', encoding="utf-8")
    words = ("run", "demo", "replace pritn with print in a.py")
    with accord.terminal(*words, columns=columns, **environment) as screen:
        shown = screen.expect("> ")
        screen.type("y\n")
        shown += screen.rest()
        assert screen.status() == 0
    # Progress is written over itself; colours take no columns.
    plain = re.sub(r"\x1b\[[0-9;]*m", "", re.sub(r"\r\x1b\[2K[^\n]*(?=\r\x1b\[2K)", "", shown)).replace("\r\x1b[2K", "")
    rows = plain.splitlines()
    assert max(map(len, rows)) <= columns
    said = " ".join(plain.split())
    assert "[a] Always allow exactly this in this session [n] Reject [v] whole diff >" in said
    assert "always can also mean: [f] every edit below ./ [e] every edit" in said
    assert ' 1 file read · 1 file written · go on: accord run demo -c "…"' in said


def test_long_lines_are_clipped_and_that_is_said_once(accord: Accord) -> None:
    with accord.terminal("run", "x", *scripted("long_lines"), NO_COLOR="1") as screen:
        shown = screen.rest().replace("\r\n", "\n")
        assert screen.status() == 0
    lines = shown.splitlines()
    results = [line for line in lines if line.startswith(("    one xxx", "    two xxx", "  weather "))]
    assert [len(line) for line in results] == [80, 80, 80]
    assert all(line.endswith("…") for line in results)
    assert [line for line in lines if "| cat" in line] == [lines[lines.index(results[0]) + 1]]
    # What the agent says is never clipped.
    assert "z" * 5000 in shown


def test_in_a_pipe_long_lines_are_whole(accord: Accord) -> None:
    shown = accord("run", "x", *scripted("long_lines")).stdout
    assert f"    one {'x' * 5000} end\n" in shown
    assert "y" * 5000 in shown
    assert "| cat" not in shown


def test_a_question_shows_the_agent_s_own_options_and_stands_behind_what_it_is_about(accord: Accord) -> None:
    with accord.terminal("run", "x", *scripted("asks"), NO_COLOR="1") as screen:
        shown = screen.expect(ASK)
        assert shown.index("Let me see.") < shown.index("  edit  file.txt   +1") < shown.index("    - two")
        screen.type("y\n")
        assert "chosen: once" in screen.rest()
        assert screen.status() == 0


def test_the_whole_diff_can_be_seen_and_nonsense_is_asked_again(accord: Accord) -> None:
    with accord.terminal("run", "x", *scripted("asks"), NO_COLOR="1") as screen:
        screen.expect(ASK)
        screen.type("v\n")
        assert "    @ line 2\n    - two\n    + three\n" in screen.expect(ASK)
        screen.type("perhaps\n")
        assert "one of: y, a, n, f, e, v" in screen.expect(ASK)
        screen.type("Rather not\n")
        assert "chosen: no" in screen.rest()
        assert screen.status() == 0


def test_a_line_that_was_typed_before_the_question_does_not_answer_it(accord: Accord) -> None:
    with accord.terminal("run", "x", *scripted("asks"), NO_COLOR="1") as screen:
        screen.type("y\n")
        screen.expect(ASK)
        screen.type("n\n")
        assert "chosen: no" in screen.rest()
        assert screen.status() == 0


def test_the_end_of_the_input_is_a_no(accord: Accord) -> None:
    with accord.terminal("run", "x", *scripted("asks"), NO_COLOR="1") as screen:
        screen.expect(ASK)
        screen.type("\x04")
        assert "chosen: no" in screen.rest()
        assert screen.status() == 0


def test_always_holds_when_the_session_goes_on_and_the_line_s_rules_come_before_it(accord: Accord) -> None:
    with accord.terminal("run", "x", *scripted("asks"), NO_COLOR="1") as screen:
        screen.expect(ASK)
        screen.type("a\n")
        assert "chosen: ever" in screen.rest()
        assert screen.status() == 0
    again = accord("run", "-c", "x", *scripted("asks"))
    assert again.status == 0
    assert "allowed: as you answered before" in again.stdout
    other = accord("run", "-c", "x", "--deny", "edit", *scripted("asks"))
    assert "chosen: no" in other.stdout


@pytest.mark.parametrize(("key", "scope"), [("f", "folder"), ("e", "kind")])
def test_a_wider_always_is_a_choice_of_its_own_that_is_named(accord: Accord, key: str, scope: str) -> None:
    with accord.terminal("run", "x", *scripted("asks"), NO_COLOR="1") as screen:
        shown = screen.expect(ASK)
        assert "always can also mean:  [f] every edit below ./  [e] every edit\n" in shown
        screen.type(f"{key}\n")
        assert "chosen: ever" in screen.rest()
        assert screen.status() == 0
    (kept,) = (accord.home / ".local/state/accord/always").iterdir()
    (answer,) = json.loads(kept.read_bytes())["answers"]
    assert answer["scope"] == scope


def test_what_was_answered_always_for_one_command_allows_no_other(accord: Accord) -> None:
    with accord.terminal("run", "a command", *scripted("asks"), NO_COLOR="1") as screen:
        screen.expect("allow to run make all?")
        screen.type("a\n")
        assert screen.status() == 0
    kept = list((accord.home / ".local/state/accord/always").iterdir())
    (document,) = [json.loads(path.read_bytes()) for path in kept]
    (answer,) = document["answers"]
    assert [target["argv"] for target in answer["targets"]] == [["make", "all"]]


def test_other_forms_of_output_ask_at_the_terminal_too(accord: Accord) -> None:
    with accord.terminal("run", "x", "-o", "final", *scripted("asks"), NO_COLOR="1") as screen:
        assert "    - two\n" in screen.expect(ASK)
        screen.type("y\n")
        assert screen.rest().endswith("chosen: once\n")
        assert screen.status() == 0


def test_a_project_s_file_is_trusted_at_the_terminal_once(accord: Accord) -> None:
    words = [sys.executable, "-m", "accord.testing.program", f"{SCRIPTS}:plain"]
    entry = {"command": words[0], "args": words[1:], "env": {"LD_PRELOAD": "/x.so"}}
    (accord.cwd / "acp.json").write_text(json.dumps({"agent_servers": {"mine": entry}}), encoding="utf-8")
    with accord.terminal("run", "mine", "hello", NO_COLOR="1") as screen:
        shown = screen.expect("trust this file?  [y] yes  [n] no > ")
        for expected in ("accord.testing.program", "with LD_PRELOAD=/x.so", f"in {accord.cwd}", "permission: "):
            assert expected in shown
        screen.type("n\n")
        assert "was not started" in screen.rest()
        assert screen.status() == 7
    with accord.terminal("run", "mine", "hello", NO_COLOR="1") as screen:
        screen.expect("trust this file?")
        screen.type("y\n")
        assert "hello" in screen.rest()
        assert screen.status() == 0
    assert accord("run", "mine", "hello").status == 0


FORM = """\
import accord

agent = accord.Agent("form", version="1", store=None)


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    if turn.text == "visit":
        answer = await turn.elicit_url("Log in there", "https://example.org/login")
    else:
        fields = {"name": {"type": "string"}, "age": {"type": "integer", "title": "Your age"}}
        answer = await turn.elicit("Who are you?", fields)
    await turn.say(f"{answer.action} {answer.content}")


agent.run()
"""


def test_a_form_is_filled_in_field_by_field(accord: Accord) -> None:
    (accord.cwd / "form.py").write_text(FORM, encoding="utf-8")
    with accord.terminal("run", "ask", "--edition", "2", "--", sys.executable, "form.py", NO_COLOR="1") as screen:
        assert "  the agent asks: Who are you?\n" in screen.expect("  | name > ")
        screen.type("Ann\n")
        screen.expect("  | Your age > ")
        screen.type("old\n")
        screen.expect("  | Your age > ")
        screen.type("7\n")
        assert "accept {'name': 'Ann', 'age': 7}" in screen.rest()
        assert screen.status() == 0


def test_an_address_is_shown_whole_and_asked_about(accord: Accord) -> None:
    (accord.cwd / "form.py").write_text(FORM, encoding="utf-8")
    with accord.terminal("run", "visit", "--edition", "2", "--", sys.executable, "form.py", NO_COLOR="1") as screen:
        assert "https://example.org/login\n" in screen.expect("[y] yes  [n] no > ")
        screen.type("n\n")
        assert "decline" in screen.rest()
        assert screen.status() == 0


def test_the_way_to_log_in_is_chosen_at_the_terminal(accord: Accord) -> None:
    with accord.terminal("agents", "login", *scripted("two_logins"), NO_COLOR="1") as screen:
        screen.expect("  [2] By a key (key)\n")
        screen.type("2\n")
        assert "by key" in screen.rest()
        assert screen.status() == 0
    assert (accord.cwd / "logged-in").read_text(encoding="utf-8") == "key"
    elsewhere = accord("agents", "login", *scripted("two_logins"))
    assert elsewhere.status == 2
    assert "browser (In the browser), key (By a key)" in elsewhere.stderr


# --- how it looks


def test_there_are_colours_on_a_terminal_and_none_where_they_are_not_wanted(accord: Accord) -> None:
    with accord.terminal("run", "x", *scripted("everything")) as screen:
        coloured = screen.rest()
        assert screen.status() == 0
    with accord.terminal("run", "x", *scripted("everything"), NO_COLOR="1") as screen:
        plain = screen.rest()
        assert screen.status() == 0
    assert "\x1b[31m- two" in coloured
    assert "\x1b[32m+ three" in coloured
    assert "\x1b[3" not in plain
    assert "\x1b]0" not in coloured + plain


def test_progress_is_shown_while_the_agent_works_and_leaves_no_trace(accord: Accord) -> None:
    with accord.terminal("run", "x", *scripted("patient"), NO_COLOR="1") as screen:
        screen.expect("working on it\n")
        screen.expect("(Ctrl+C stops it)")
        screen.type("\x03")
        shown = screen.rest()
        assert screen.status() == 130
    last = shown.rpartition("\x1b[2K")[2]
    assert "Ctrl+C stops it" not in last
    assert "cancelled · " in last


# --- Ctrl+C


def interrupted(screen: Screen) -> int:
    screen.type("\x03")
    return screen.status()


def test_ctrl_c_stops_the_turn(accord: Accord) -> None:
    with accord.terminal("run", "x", *scripted("patient"), NO_COLOR="1") as screen:
        screen.expect("working on it")
        screen.type("\x03")
        assert "stopping; once more to leave at once" in screen.rest()
        assert screen.status() == 130
    assert is_gone(first_pid(accord))


def test_ctrl_c_twice_leaves_at_once_and_leaves_nothing_behind(accord: Accord) -> None:
    with accord.terminal("run", "x", *scripted("silent"), NO_COLOR="1") as screen:
        pid = first_pid(accord)
        noted(accord, "prompted")
        screen.type("\x03")
        screen.expect("stopping")
        assert interrupted(screen) == 130
    assert is_gone(pid)


@pytest.mark.usefixtures("short_graces")
def test_ctrl_c_while_the_agent_starts(accord: Accord) -> None:
    with accord.terminal("run", "x", *scripted("hangs"), NO_COLOR="1") as screen:
        pid = first_pid(accord)
        assert interrupted(screen) == 130
    assert is_gone(pid)


def test_ctrl_c_at_a_question_cancels_it(accord: Accord) -> None:
    with accord.terminal("run", "x", *scripted("asks"), NO_COLOR="1") as screen:
        screen.expect(ASK)
        screen.type("\x03")
        assert "chosen: cancelled" in screen.rest()
        assert screen.status() == 130
