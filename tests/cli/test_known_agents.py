"""What agents that people use do on the wire, and what a run says about it: nothing that they did not do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.command import Accord

AGENTS = Path(__file__).with_name("known_agents.py")


def known(name: str) -> list[str]:
    return ["--", sys.executable, "-P", "-m", "accord.testing.program", f"{AGENTS}:{name}"]


# --- terminals behind a question


@pytest.mark.parametrize("agent", ["claude_code_acp", "kimi"])
def test_the_variables_that_an_agent_always_sets_ask_no_second_question(accord: Accord, agent: str) -> None:
    result = accord("run", "x", "--allow", "execute:echo *", "-o", "events", *known(agent))
    assert result.status == 0, result.stderr
    (served,) = result.of_type("request")
    assert (served["by"], served["allowed"]) == ("question", True)
    (end,) = result.of_type("end")
    assert (end["answer"], end["commands_run"], end["denied_unasked"]) == ("[hello]", 1, 0)


def test_a_terminal_that_differs_from_what_was_allowed_is_denied_with_the_difference(accord: Accord) -> None:
    (accord.cwd / "inner").mkdir()
    result = accord("run", "x", "--allow", "execute:echo *", "-o", "text", *known("with_a_path"))
    assert result.status == 5
    assert "otherwise than was allowed: with PATH=/opt/evil, in " in result.stdout
    assert "without having asked" not in result.stdout
    assert "CLAUDECODE=1," not in result.stdout
    assert "[refused]" in result.stdout


def test_a_shell_of_its_own_is_a_difference(accord: Accord) -> None:
    result = accord("run", "x", "--allow", "execute:echo *", "-o", "text", *known("with_a_shell"))
    assert result.status == 5
    assert "otherwise than was allowed: with SHELL=/opt/sh" in result.stdout


# --- calls that were refused


@pytest.mark.parametrize("rules", [("--deny", "execute"), ("--deny", "execute:rm *", "--allow", "all")])
def test_a_refused_call_that_is_reported_as_done_is_called_so(accord: Accord, rules: tuple[str, ...]) -> None:
    shown = accord("run", "x", *rules, "-o", "text", *known("deep_agents"))
    assert "[User rejected the tool call" in shown.stdout
    assert "reported as done although it was refused" in shown.stdout
    assert "without asking" not in shown.stdout + shown.stderr
    assert "although it was refused" in shown.stderr
    records = accord("run", "x", *rules, "-o", "events", *known("deep_agents"))
    (unasked,) = records.of_type("unasked")
    (end,) = records.of_type("end")
    assert (unasked["tool"], unasked["refused"]) == ("call_1", True)
    assert (end["completed_unasked"], end["completed_refused"]) == (1, 1)


def test_a_question_that_repeats_a_call_under_another_id_has_its_kind(accord: Accord) -> None:
    result = accord("run", "x", "--allow", "execute:rm *", "-o", "events", *known("deep_agents"))
    assert result.status == 0, result.stderr
    (permission,) = result.of_type("permission")
    assert (permission["tool"], permission["rule"]) == ("a7c1f0", "allow execute:rm *")
    assert result.of_type("unasked") == []


def test_another_call_than_the_refused_one_was_done_without_asking(accord: Accord) -> None:
    result = accord("run", "x", "--deny", "execute", "-o", "events", *known("disobedient"))
    assert result.status == 5
    (unasked,) = result.of_type("unasked")
    assert unasked["refused"] is False


# --- questions


def test_a_rule_for_a_new_file_allows_it_where_the_patch_has_a_prefix_before_nothing(accord: Accord) -> None:
    result = accord("run", "x", "--allow", "edit:w.txt", "-o", "text", *known("copilot"))
    assert result.status == 0, result.stderr
    assert "[written]" in result.stdout
    assert "edit  dev/null" not in result.stdout


def test_a_question_that_says_nothing_shows_the_calls_that_it_may_mean(accord: Accord) -> None:
    result = accord("run", "x", "-o", "text", *known("openhands"))
    assert result.status == 5
    assert "it may mean: execute Running tests" in result.stdout
    assert "make test" in result.stdout
    assert "[rejected]" in result.stdout


def test_a_rule_that_denies_a_call_denies_the_question_that_may_mean_it(accord: Accord) -> None:
    denied = accord("run", "x", "--deny", "execute:make *", "--allow", "all", "-o", "events", *known("openhands"))
    (permission,) = denied.of_type("permission")
    assert (permission["by"], permission["rule"]) == ("rule", "deny execute:make *")
    assert denied.status == 0
    allowed = accord("run", "x", "--allow", "execute:make *", "-o", "events", *known("openhands"))
    (permission,) = allowed.of_type("permission")
    assert permission["by"] == "nobody"


# --- a history that comes late


def test_what_was_said_before_is_not_part_of_the_answer_where_it_comes_behind_the_load(accord: Accord) -> None:
    first = accord("run", "first", "-o", "text", *known("qwen_serve"))
    assert first.stdout.count("[the new answer]") == 1
    shown = accord("run", "second", "-c", "--deny", "execute", "-o", "text", *known("qwen_serve"))
    assert (shown.status, shown.stdout.count("[the new answer]")) == (0, 1), shown.stderr
    assert "[the old answer]" not in shown.stdout
    assert "rm a" not in shown.stdout + shown.stderr
    records = accord("run", "third", "-c", "-o", "events", *known("qwen_serve"))
    (end,) = records.of_type("end")
    assert end["answer"] == "[the new answer]"
    assert [each["block"]["text"] for each in records.of_type("message_chunk")] == ["[the new answer]"]
