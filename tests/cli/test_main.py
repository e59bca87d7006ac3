"""The first word of the line."""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
from typing import Any

import pytest

from accord.cli.main import GROUPS
from accord.version import VERSION
from tests.cli.command import Accord
from tests.limits import limit

CPU_SECONDS = 0.15
VERBS = (
    "run",
    "chat",
    "agents",
    "sessions",
    "cancel",
    "agent",
    "serve",
    "fleet",
    "check",
    "new",
    "trace",
    "tap",
    "replay",
)


def test_the_version_is_told(accord: Accord) -> None:
    result = accord("--version")
    assert (result.status, result.stdout) == (0, f"accord {VERSION}\n")


def test_telling_the_version_costs_little(accord: Accord) -> None:
    spent = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*accord.argv, "--version"], env=accord.env, capture_output=True, timeout=limit(20), check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) <= CPU_SECONDS


def test_nothing_heavy_is_imported_for_the_version_and_the_help(accord: Accord) -> None:
    code = "import sys; from accord.cli.main import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=accord.env, capture_output=True, text=True, timeout=limit(20), check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"asyncio", "argparse", "msgspec", "rich", "textual", "sqlite3", "accord.client"}


@pytest.mark.parametrize("words", [(), ("--help",), ("help",)])
def test_help_names_every_verb_and_has_lines_to_copy(accord: Accord, words: tuple[str, ...]) -> None:
    result = accord(*words)
    assert result.status == 0
    assert all(f"  {verb} " in result.stdout for verb in VERBS)
    assert 'accord run demo "' in result.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_help_with_lines_to_copy(accord: Accord, verb: str) -> None:
    result = accord(verb, "--help")
    assert result.status == 0
    assert f"usage: accord {verb}" in result.stdout
    assert f"to copy:\n  accord {verb}" in result.stdout


def test_the_lines_with_the_built_in_agent_work_in_an_empty_folder_one_after_another(accord: Accord) -> None:
    helps = [accord(*words, "--help").stdout for words in ((), ("run",), ("sessions",))]
    lines = [line.strip() for text in helps for line in text.splitlines() if line.startswith("  accord ")]
    ours = [line for line in lines if " demo" in line and "chat" not in line]

    assert len(ours) >= 5
    assert list(accord.cwd.iterdir()) == []
    for line in ours:
        words = shlex.split(line.partition(" | ")[0])
        result = accord(*words[1:])
        assert result.status == 0, f"{line}\n{result.stdout}{result.stderr}"
        assert "failed" not in result.stdout
    assert (accord.cwd / "a.py").read_text() == "print(43)\n"


@pytest.mark.parametrize("verb", ["inspect", "bridge", "proxy"])
def test_a_reserved_verb_says_that_it_comes_later(accord: Accord, verb: str) -> None:
    result = accord(verb, "demo")
    assert result.status == 2
    assert "comes later" in result.stderr
    assert f"  {verb} " not in accord("--help").stdout


def test_a_verb_that_does_not_exist_is_usage(accord: Accord) -> None:
    result = accord("rnu", "demo", "hello")
    assert result.status == 2
    assert "there is no verb 'rnu'; did you mean run?" in result.stderr
    assert "run, chat, agents, sessions, cancel, new, agent, serve" in result.stderr


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("demo", "hello you"), "Type: accord run demo 'hello you'"),
        (("Gemini",), "Type: accord chat Gemini"),
        (("explain this",), "Type: accord run AGENT 'explain this'; try demo"),
    ],
)
def test_an_agent_or_a_text_in_place_of_the_verb_gets_the_line_that_was_meant(
    accord: Accord, words: tuple[str, ...], advice: str
) -> None:
    result = accord(*words)
    assert result.status == 2
    assert advice in result.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("doctor", "--", "python", "a.py"), "Type: accord agents doctor -- python a.py"),
        (("trace", "show", "talk.jsonl"), "Type: accord trace talk.jsonl"),
    ],
)
def test_an_action_in_a_wrong_place_gets_the_line_that_was_meant(
    accord: Accord, words: tuple[str, ...], meant: str
) -> None:
    result = accord(*words)
    assert (result.status, result.stdout) == (2, "")
    assert meant in result.stderr


def test_the_help_fits_a_narrow_terminal(accord: Accord) -> None:
    help_text = accord("--help").stdout
    assert [line for line in help_text.splitlines() if len(line) > 80 and not line.startswith("  ")] == []


def test_an_option_that_does_not_exist_is_one_line(accord: Accord) -> None:
    result = accord("run", "demo", "hello", "--colour")
    assert result.status == 2
    assert result.stderr == "accord: usage: there is no option --colour. See: accord run --help\n"


def test_a_list_that_nobody_reads_ends_quietly(accord: Accord) -> None:
    command = f"{sys.executable} -m accord agents info demo | true"
    done = subprocess.run(
        ["sh", "-c", command],
        env=accord.env,
        cwd=accord.cwd,
        capture_output=True,
        text=True,
        timeout=limit(20),
        check=False,
    )
    assert done.stderr == ""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("words", "status"),
    [("--version", 0), ("agents ls", 0), ("sessions ls", 0), ("run demo hello -o events", 0), ("nonesuch", 2)],
)
def test_a_closed_stream_is_no_traceback_and_changes_no_status(
    accord: Accord, words: str, status: int, closed: str
) -> None:
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if words == "--version":
        line = f"{shlex.join(accord.argv)} {words} {closed}"
        process = subprocess.Popen(["sh", "-c", line], **pipes, env=accord.env, cwd=accord.cwd)
    else:
        numbers = [("<", ">", "2>").index(each.removesuffix("&-")) for each in closed.split()]
        process = accord.start(*words.split(), **pipes, preexec_fn=lambda: [*map(os.close, numbers)])
    done = accord.end_of(process)
    assert done.status == status, done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is of Linux")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", ["--version", "--help", "agents ls", "run demo hello"])
def test_an_output_that_takes_nothing_is_one_line(accord: Accord, words: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join(accord.argv)} {words} > /dev/full"],
        stdin=subprocess.DEVNULL, env=accord.env, cwd=accord.cwd, capture_output=True, text=True, timeout=limit(60),
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "accord: system: No space left on device\n")


def test_the_verbs_are_grouped_by_what_they_are_for(accord: Accord) -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(VERBS)
    lines = accord("--help").stdout.splitlines()
    heads = [lines.index(f"{group}:") for group in ("use", "write", "serve", "inspect")]
    assert heads == sorted(heads)


@pytest.mark.parametrize(("verb", "hidden"), [("serve", "--fleet-secret-file"), ("sessions", "--older-than AGE")])
def test_a_long_help_fits_on_a_screen_and_all_of_it_is_behind_an_option(
    accord: Accord, monkeypatch: pytest.MonkeyPatch, verb: str, hidden: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    brief, whole = accord(verb, "--help").stdout, accord(verb, "--help-all").stdout
    assert sum(-(-len(line) // 80) or 1 for line in brief.splitlines()) <= 24
    assert f"accord {verb} --help-all" in brief
    assert hidden not in brief
    assert hidden in whole


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("run", "demo", "hi", "--alow", "read"), "--allow"),
        (("sessions", "shwo", "x"), "show"),
        (("agents", "inf", "demo"), "info"),
    ],
)
def test_a_mistyped_option_or_action_is_guessed(accord: Accord, words: tuple[str, ...], meant: str) -> None:
    result = accord(*words)
    assert result.status == 2
    assert f"did you mean {meant}?" in result.stderr


@pytest.mark.parametrize("verb", ["agents", "sessions"])
def test_list_is_another_name_of_ls(accord: Accord, verb: str) -> None:
    assert accord(verb, "list").status == 0
    assert accord(verb, "list").stdout == accord(verb, "ls").stdout
