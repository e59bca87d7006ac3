"""Terminals of the client (v1): commands, output and exits."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from accord.check.client.conversation import ClientConversation, step
from accord.check.engine.evidence import Evidence, StepFailed, StepResult, Violation, skip_if
from accord.check.engine.judging import Notes, judge
from accord.check.engine.program import outlives
from accord.check.rule import V1, RuleRow, client_rules

# fmt: off
RULES = client_rules(
    RuleRow("ACCORD-CLIENT-TERM-001", "C--", "terminals", gate="terminal",
        says="A terminal has an id at once, while its command runs"),
    RuleRow("ACCORD-CLIENT-TERM-002", "C--", "terminals", gate="terminal",
        says="Output can be asked for at any time; what runs has no exit status"),
    RuleRow("ACCORD-CLIENT-TERM-003", "C--", "terminals", gate="terminal",
        says="Arguments, variables and directory are those that were asked for"),
    RuleRow("ACCORD-CLIENT-TERM-004", "C--", "terminals", gate="terminal",
        says="A request that waits gets the exit code, also when the command has ended before"),
    RuleRow("ACCORD-CLIENT-TERM-005", "C--", "terminals", gate="terminal",
        says="No more than the limit is kept of the output, and it is the end of it"),
    RuleRow("ACCORD-CLIENT-TERM-006", "C--", "terminals", "Output is cut between characters", gate="terminal"),
    RuleRow("ACCORD-CLIENT-TERM-007", "C--", "terminals", "`truncated` says whether output was cut", gate="terminal"),
    RuleRow("ACCORD-CLIENT-TERM-008", "C--", "terminals", gate="terminal",
        says="A killed command ends, and its terminal can still be asked"),
    RuleRow("ACCORD-CLIENT-TERM-009", "A--", "terminals", gate="terminal",
        says="What a signal ended has that signal and no exit code"),
    RuleRow("ACCORD-CLIENT-TERM-010", "C--", "terminals", gate="terminal",
        says="A released terminal is unknown to every further call"),
    RuleRow("ACCORD-CLIENT-TERM-011", "A--", "terminals", gate="terminal",
        says="A request that waits for a terminal is answered when it is released"),
    RuleRow("ACCORD-CLIENT-TERM-012", "C--", "terminals", gate="terminal",
        says="The output of what has ended has its exit status"),
    RuleRow("ACCORD-CLIENT-TERM-013", "C--", "terminals", "Releasing a terminal ends its command", gate="terminal"),
    RuleRow("ACCORD-CLIENT-TERM-014", "A--", "terminals", gate="terminal",
        says="No command outlives the client that ran it"),
)
# fmt: on


OUTPUT_TEXT = "ä€👋" * 20
"""Characters of two, three and four bytes: most cuts would split one."""
LIMIT_BYTES = 30
CREATE, OUTPUT, WAIT, LIMIT, KILL, RELEASE = (f"ACCORD-CLIENT-TERM-{number:03}" for number in (1, 2, 4, 5, 8, 10))
_PAUSE_SECONDS = 0.01
EXIT_CODE = 3


async def _create(turn: ClientConversation, script: str, *args: str, **params: Any) -> tuple[Any, str]:
    """Run a script; gives the id of the request, and the terminal."""
    skip_if(os.name == "nt", "there is no sh here")
    given = {"command": "sh", "args": ["-c", script, "sh", *args], "cwd": turn.cwd, **params}
    id_ = turn.ask("terminal/create", **given)
    answer = await turn.answer(id_, CREATE)
    result = answer.get("result")
    terminal = result.get("terminalId") if isinstance(result, dict) else None
    if not isinstance(terminal, str) or not terminal:
        raise StepFailed("terminal/create gave no terminal", CREATE, *turn.exchange(id_))
    return id_, terminal


async def _do(turn: ClientConversation, verb: str, terminal: str, rule: str) -> Any:
    id_ = turn.ask(f"terminal/{verb}", terminalId=terminal)
    await turn.answer(id_, rule)
    return id_


@step("terminal", editions=V1, order=52)
async def command(turn: ClientConversation) -> Notes:
    """A command with arguments, variables and a place, up to its end."""
    folder = str(turn.folder)
    script = 'printf "%s %s " "$1" "$ACCORD_CHECK_X"; pwd -P; exit 3'
    env = [{"name": "ACCORD_CHECK_X", "value": "ex"}]
    create, terminal = await _create(turn, script, "one two", env=env, cwd=folder)
    wait = await _do(turn, "wait_for_exit", terminal, WAIT)
    again = await _do(turn, "wait_for_exit", terminal, WAIT)
    output = await _do(turn, "output", terminal, OUTPUT)
    await _do(turn, "release", terminal, RELEASE)
    return {"create": create, "wait": wait, "again": again, "output": output, "said": f"one two ex {_real(folder)}\n"}


def _real(folder: str) -> str:
    return str(Path(folder).resolve())


@step("terminal", editions=V1, order=53)
async def limited(turn: ClientConversation) -> Notes:
    """A command with more output than the limit."""
    create, terminal = await _create(turn, 'printf %s "$1"', OUTPUT_TEXT, outputByteLimit=LIMIT_BYTES)
    await _do(turn, "wait_for_exit", terminal, WAIT)
    output = await _do(turn, "output", terminal, LIMIT)
    await _do(turn, "release", terminal, RELEASE)
    return {"create": create, "output": output}


async def _sleeper(turn: ClientConversation, name: str) -> tuple[str, int]:
    """A command that goes on, and its process, once it has begun."""
    path = turn.folder / name
    _, terminal = await _create(turn, 'echo $$ > "$1.new"; mv "$1.new" "$1"; exec sleep 600', str(path))
    until = time.monotonic() + turn.options.timeout_seconds
    while (pid := _pid(path)) is None:
        if time.monotonic() > until:
            raise StepFailed("what should run in the terminal never began", CREATE)
        await asyncio.sleep(_PAUSE_SECONDS)
    return terminal, pid


def _pid(path: Path) -> int | None:
    return int(path.read_text(encoding="utf-8")) if path.exists() else None


@step("terminal", editions=V1, order=54)
async def killed(turn: ClientConversation) -> Notes:
    """A command that is killed; its output is requested before and after."""
    terminal, _ = await _sleeper(turn, "killed")
    before = await _do(turn, "output", terminal, OUTPUT)
    kill = await _do(turn, "kill", terminal, KILL)
    wait = await _do(turn, "wait_for_exit", terminal, KILL)
    after = await _do(turn, "output", terminal, KILL)
    await _do(turn, "release", terminal, RELEASE)
    return {"before": before, "kill": kill, "wait": wait, "after": after}


@step("terminal", editions=V1, order=55)
async def released(turn: ClientConversation) -> Notes:
    """A running command whose terminal is released while a request waits for its exit."""
    terminal, pid = await _sleeper(turn, "released")
    wait = turn.ask("terminal/wait_for_exit", terminalId=terminal)
    # So that a request waits for the exit when the terminal is released.
    await turn.is_alive("ACCORD-CLIENT-TERM-011")
    release = await _do(turn, "release", terminal, RELEASE)
    alive = await outlives(pid, turn.options.grace_seconds)
    after = [await _do(turn, verb, terminal, RELEASE) for verb in ("output", "wait_for_exit", "kill", "release")]
    return {"wait": wait, "release": release, "alive": alive, "after": after}


@step("terminal", editions=V1, order=80)
async def left_running(turn: ClientConversation) -> Notes:
    """A command that runs when the client ends; the result is noted then."""
    _, pid = await _sleeper(turn, "left")
    return {"pid": pid}


def _result(run: StepResult, note: str) -> dict[str, Any]:
    result = run.result(run[note])
    if not isinstance(result, dict):
        raise _violation("the result is no object", run, note)
    return result


def _violation(message: str, run: StepResult, note: str) -> Violation:
    return Violation(message, run.request_entry(run[note]), run.answer_entry(run[note]))


def _output(run: StepResult, note: str) -> str:
    output = _result(run, note).get("output")
    if not isinstance(output, str):
        raise _violation("the answer has no output", run, note)
    return output


@judge("ACCORD-CLIENT-TERM-001", steps=("command", "killed"))
def a_terminal_is_made_at_once(evidence: Evidence) -> None:
    for name in ("command", "killed"):
        evidence.step(name)


@judge("ACCORD-CLIENT-TERM-002", steps=("killed",))
def what_runs_has_no_exit_status(evidence: Evidence) -> None:
    run = evidence.step("killed")
    _output(run, "before")
    if _result(run, "before").get("exitStatus") is not None:
        raise _violation("a command that runs has an exit status", run, "before")


@judge("ACCORD-CLIENT-TERM-003", steps=("command",))
def arguments_variables_and_place_are_given(evidence: Evidence) -> None:
    run = evidence.step("command")
    if _output(run, "output").replace("\r\n", "\n") != run["said"]:
        raise Violation(f"the output should be {run['said']!r}", run.request_entry(run["create"]), _line(run, "output"))


def _line(run: StepResult, note: str) -> Any:
    return run.answer_entry(run[note])


@judge("ACCORD-CLIENT-TERM-004", steps=("command",))
def a_waiting_agent_receives_the_exit_status(evidence: Evidence) -> None:
    run = evidence.step("command")
    for note in ("wait", "again"):
        if _result(run, note).get("exitCode") != EXIT_CODE or _result(run, note).get("signal") is not None:
            raise _violation("it ended with the code 3 and no signal", run, note)


@judge("ACCORD-CLIENT-TERM-012", steps=("command",))
def what_has_ended_has_an_exit_status(evidence: Evidence) -> None:
    run = evidence.step("command")
    status = _result(run, "output").get("exitStatus")
    if not isinstance(status, dict) or status.get("exitCode") != EXIT_CODE:
        raise _violation("the output does not say that it ended with the code 3", run, "output")


@judge("ACCORD-CLIENT-TERM-005", steps=("limited",))
def output_is_kept_up_to_its_limit(evidence: Evidence) -> None:
    run = evidence.step("limited")
    output = _output(run, "output").replace("�", "")
    if len(output.encode()) > LIMIT_BYTES:
        raise _violation(f"more than {LIMIT_BYTES} bytes are kept", run, "output")
    if not output or not OUTPUT_TEXT.endswith(output):
        raise _violation("what is kept is not the end of the output", run, "output")


@judge("ACCORD-CLIENT-TERM-006", steps=("limited",))
def output_is_cut_between_characters(evidence: Evidence) -> None:
    run = evidence.step("limited")
    output = _output(run, "output")
    if any(character not in OUTPUT_TEXT for character in output):
        raise _violation("the output begins in the middle of a character", run, "output")


@judge("ACCORD-CLIENT-TERM-007", steps=("limited", "command"))
def what_was_cut_is_called_truncated(evidence: Evidence) -> None:
    for name, expected in (("limited", True), ("command", False)):
        run = evidence.step(name)
        if _result(run, "output").get("truncated") is not expected:
            raise _violation(f"`truncated` is not {expected}", run, "output")


@judge("ACCORD-CLIENT-TERM-008", steps=("killed",))
def what_is_killed_can_still_be_asked(evidence: Evidence) -> None:
    run = evidence.step("killed")
    for note in ("kill", "wait"):
        run.result(run[note])
    _output(run, "after")


@judge("ACCORD-CLIENT-TERM-009", steps=("killed",))
def what_is_killed_has_a_signal_and_no_code(evidence: Evidence) -> None:
    run = evidence.step("killed")
    skip_if("result" not in run.answer(run["wait"]), "its exit was not sent")
    result = _result(run, "wait")
    if result.get("exitCode") is not None or not isinstance(result.get("signal"), str):
        raise _violation("it ended by a signal, with no exit code", run, "wait")


@judge("ACCORD-CLIENT-TERM-010", steps=("released",))
def what_is_released_is_no_more(evidence: Evidence) -> None:
    run = evidence.step("released")
    run.result(run["release"])
    for id_ in run["after"]:
        run.error(id_)


@judge("ACCORD-CLIENT-TERM-013", steps=("released",))
def what_is_released_has_ended(evidence: Evidence) -> None:
    run = evidence.step("released")
    if run["alive"]:
        raise _violation("the command goes on", run, "release")


@judge("ACCORD-CLIENT-TERM-011", steps=("released",))
def who_waits_for_what_is_released_is_answered(evidence: Evidence) -> None:
    run = evidence.step("released")
    run.answer(run["wait"])


@judge("ACCORD-CLIENT-TERM-014", steps=("left_running",))
def no_command_outlives_its_client(evidence: Evidence) -> None:
    run = evidence.step("left_running")
    skip_if(run.get("ended_by") not in {"itself", "closed stdin"}, "the client did not end by itself")
    if run.get("alive"):
        raise Violation("a command still ran when its client had ended")
