"""Terminals: those of the client (v1) and those of the agent (v2)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import TerminalReplies
from accord.check.agent.permission import cancelled_when, choosing
from accord.check.agent.queries import (
    RecordedUpdate,
    as_dict,
    completed,
    is_absolute,
    is_relative,
    listed,
    questions,
    updates_of,
)
from accord.check.agent.tools import check_cancellation_offers, tool_contents, updates_of_three_turns
from accord.check.agent.turns import heeds_cancel, updates_in_turns
from accord.check.engine.evidence import Entry, Evidence, Inconclusive, Violation, is_request, skip_unless
from accord.check.engine.judging import Notes, judge
from accord.check.rule import V1, RuleRow, agent_rules
from accord.workspace.launch import command_argv

# fmt: off
RULES = agent_rules(
    RuleRow("ACP-PATCH-206", "--C", "#TerminalUpdate", gate="session",
        says="The folder of a terminal is absolute and never another"),
    RuleRow("ACP-PATCH-207", "--C", "#TerminalOutputChunk", gate="session",
        says="Each piece of a terminal's output is base64 by itself"),
    RuleRow("ACCORD-TERM-201", "--A", "tool-calls", "A terminal that a tool call shows is described", gate="session"),
    RuleRow("ACCORD-TERM-202", "--A", "#TerminalCapabilities", gate="session",
        says="A terminal that has exited offers no cancellation"),
    RuleRow("ACCORD-TERM-203", "--C", "#TerminalId", gate="session",
        says="The id of a terminal is not used for another one"),
    RuleRow("ACCORD-TERMINAL-001", "M--", "overview", "Commands run in folders that are named by absolute paths"),
    RuleRow("ACCORD-TERMINAL-002", "M--", "terminals", "Every terminal is released when its command has ended"),
    RuleRow("ACCORD-TERMINAL-003", "M--", "terminals", "Only terminals that were given and not yet released are used"),
    RuleRow("ACCORD-TERMINAL-004", "M--", "terminals",
        says="A tool call shows terminals of the client, and each before it is released"),
    RuleRow("ACCORD-TERMINAL-005", "M--", "prompt-turn#cancellation",
        says="A turn that is cancelled while it waits for a command ends as cancelled"),
    RuleRow("ACCORD-TERMINAL-006", "M--", "terminals", "A terminal is released also when its turn is cancelled"),
    RuleRow("ACCORD-TERMINAL-007", "A--", "terminals", "A command is a program, and its arguments stand apart from it"),
)
# fmt: on


@step("able", editions=V1, order=38)
async def cancel_in_terminal(agent: AgentConversation) -> Notes:
    """A turn that is cancelled while a command runs that ends only when it is killed."""
    with agent.replying(
        session__request_permission=choosing("allow_once", "allow_always"), **TerminalReplies().replies()
    ):
        return await cancelled_when(
            agent,
            lambda entry: is_request(entry.message, "terminal/wait_for_exit", "terminal/output"),
            "ACCORD-TERMINAL-005",
        )


@judge("ACCORD-TERMINAL-001", steps=("allowed_work",))
def commands_run_in_absolute_folders(evidence: Evidence) -> None:
    found = list(questions(evidence, "terminal/create"))
    for _, entry, params in found:
        if is_relative(params.get("cwd")):
            raise Violation(f"the cwd {params['cwd']!r} is relative", entry)
    skip_unless(found, "it used no terminal of the client")


@judge("ACCORD-TERMINAL-007", steps=("allowed_work",))
def arguments_stand_apart_from_the_program(evidence: Evidence) -> None:
    found = list(questions(evidence, "terminal/create"))
    for _, entry, params in found:
        command = params.get("command")
        if isinstance(command, str) and _is_shell_line(command, params):
            raise Violation(f"the command {command!r} is a line for a shell, which a client need not have", entry)
    skip_unless(found, "it used no terminal of the client")


def _is_shell_line(command: str, params: dict[str, Any]) -> bool:
    """Whether a client of ours would need a shell for it: the same function decides."""
    arguments = [str(each) for each in listed(params.get("args"))]
    variables = {as_dict(each).get("name"): as_dict(each).get("value") for each in listed(params.get("env"))}
    changes = {name: value for name, value in variables.items() if isinstance(name, str) and isinstance(value, str)}
    if "\0" in command:
        return False
    return command_argv(command, arguments, str(params.get("cwd") or "/"), changes) != [command, *arguments]


def _terminals_of(entries: list[Entry], session: Any) -> dict[str, tuple[Entry, Entry | None]]:
    """The terminals that were made for a session: where each was given, and where it was released."""
    made: dict[str, Entry] = {}
    found: dict[str, tuple[Entry, Entry | None]] = {}
    for entry in entries:
        message = as_dict(entry.message)
        params = as_dict(message.get("params"))
        if not entry.sent and params.get("sessionId") == session:
            if message.get("method") == "terminal/create":
                made[str(message.get("id"))] = entry
            id_ = str(params.get("terminalId"))
            if message.get("method") == "terminal/release" and id_ in found:
                found[id_] = (found[id_][0], entry)
        given = as_dict(message.get("result")).get("terminalId")
        if entry.sent and str(message.get("id")) in made and isinstance(given, str):
            found[given] = (entry, None)
    return found


def _released(evidence: Evidence, step: str, rule: str) -> None:
    run = completed(evidence, step, rule)
    terminals = _terminals_of(run.entries, run["session"])
    skip_unless(terminals, "it used no terminal of the client")
    for id_, (given, released) in terminals.items():
        if released is None:
            raise Violation(f"the terminal {id_!r} was never released", given, run.answer_entry(run["prompt"]))


@judge("ACCORD-TERMINAL-002", steps=("allowed_work",))
def every_terminal_is_released(evidence: Evidence) -> None:
    _released(evidence, "allowed_work", "ACCORD-TERMINAL-002")


@judge("ACCORD-TERMINAL-006", steps=("cancel_in_terminal",))
def a_terminal_is_released_also_when_its_turn_is_cancelled(evidence: Evidence) -> None:
    if completed(evidence, "cancel_in_terminal")["asked"] is None:
        raise Inconclusive("it used no terminal of the client")
    _released(evidence, "cancel_in_terminal", "ACCORD-TERMINAL-006")


@judge("ACCORD-TERMINAL-005", steps=("cancel_in_terminal",))
def a_turn_that_waits_for_a_command_can_be_cancelled(evidence: Evidence) -> None:
    run = completed(evidence, "cancel_in_terminal", "ACCORD-TERMINAL-005")
    if run["asked"] is None:
        raise Inconclusive("it used no terminal of the client")
    skip_unless(heeds_cancel(evidence, run["session"]), "no cancellation is heeded")
    if as_dict(run.answer(run["prompt"]).get("result")).get("stopReason") != "cancelled":
        entry = run.answer_entry(run["prompt"])
        raise Violation("the prompt was not answered with `cancelled`", run.entries[run["asked"]], entry)


@judge("ACCORD-TERMINAL-003", steps=("allowed_work",))
def a_released_terminal_is_left_alone(evidence: Evidence) -> None:
    run = completed(evidence, "allowed_work")
    terminals = _terminals_of(run.entries, run["session"])
    skip_unless(terminals, "it used no terminal of the client")
    for entry, message in run.calls():
        params = as_dict(message.get("params"))
        if str(message["method"]).startswith("terminal/") and params.get("sessionId") == run["session"]:
            _check_use(entry, message, terminals)


def _check_use(entry: Entry, message: dict[str, Any], terminals: dict[str, tuple[Entry, Entry | None]]) -> None:
    id_ = str(message["params"].get("terminalId"))
    if message["method"] == "terminal/create":
        return
    if id_ not in terminals:
        raise Violation(f"no request created the terminal {id_!r}", entry)
    released = terminals[id_][1]
    if released is not None and entry.place > released.place:
        raise Violation(f"it uses the terminal {id_!r} after it was released", released, entry)


@judge("ACCORD-TERMINAL-004", steps=("allowed_work",))
def a_terminal_is_shown_before_it_is_released(evidence: Evidence) -> None:
    run = completed(evidence, "allowed_work")
    terminals = _terminals_of(run.entries, run["session"])
    shown = [
        (entry, str(content.get("terminalId")))
        for entry, update in run.updates(run["session"], "tool_call", "tool_call_update")
        for content in listed(update.get("content"))
        if as_dict(content).get("type") == "terminal"
    ]
    skip_unless(shown, "it showed no terminal")
    for place, (entry, id_) in enumerate(shown):
        if id_ not in terminals:
            raise Violation(f"it shows the terminal {id_!r}, which it was never given", entry)
        released = terminals[id_][1]
        is_first = all(before != id_ for _, before in shown[:place])
        if is_first and released is not None and released.place < entry.place:
            raise Violation(f"it shows the terminal {id_!r} for the first time when it is gone", released, entry)


@judge("ACCORD-TERM-202", steps=("v2_stopped_alone",))
def exited_terminals_offer_nothing(evidence: Evidence) -> None:
    check_cancellation_offers(evidence, "terminal_update", "terminalId", "no terminal offered to be cancelled")


@judge("ACCORD-TERM-203", steps=("v2_prompts_in_order",))
def terminals_are_not_used_again(evidence: Evidence) -> None:
    exited: dict[Any, Entry] = {}
    for entry, update in updates_of_three_turns(evidence, "terminal_update"):
        id_ = update.get("terminalId")
        if update.get("command") is not None and id_ in exited:
            raise Violation(f"terminal {id_!r} had exited, and has a command again", exited[id_], entry)
        if update.get("exitStatus") is not None:
            exited[id_] = entry
    skip_unless(exited, "no terminal has exited")


@judge("ACCORD-TERM-201", steps=("v2_finished_things",))
def shown_terminals_are_described(evidence: Evidence) -> None:
    shown = [
        (entry, each.get("terminalId")) for entry, each in tool_contents(evidence) if each.get("type") == "terminal"
    ]
    skip_unless(shown, "no terminal was shown")
    described = {
        each.update.get("terminalId") for each in updates_of(evidence, "terminal_update", "terminal_output_chunk")
    }
    for entry, terminal in shown:
        if terminal not in described:
            raise Violation(f"there is no update of terminal {terminal!r}", entry)


@judge("ACP-PATCH-206", steps=("turns", "meet_able"))
def a_terminal_stays_in_its_absolute_folder(evidence: Evidence) -> None:
    folders: dict[tuple[str, str], RecordedUpdate] = {}
    for each in updates_in_turns(evidence, "terminal_update"):
        cwd = each.update.get("cwd")
        if cwd is None:
            continue
        if not is_absolute(cwd):
            raise Violation(f"the folder of a terminal is {cwd!r}", each.entry)
        key = str(each.session), str(each.update.get("terminalId"))
        # Another process may use the same ids: only one record at a time.
        first = folders.setdefault((f"{each.record.name} {key[0]}", key[1]), each)
        if first.update["cwd"] != cwd:
            raise Violation(f"the folder of a terminal changed to {cwd!r}", first.entry, each.entry)
    skip_unless(folders, "no terminal has a folder")


@judge("ACP-PATCH-207", steps=("turns", "meet_able"))
def each_piece_of_output_is_base64_by_itself(evidence: Evidence) -> None:
    parts = list(_output_parts(updates_in_turns(evidence, "terminal_output_chunk", "terminal_update")))
    skip_unless(parts, "no terminal had output")
    for entry, data in parts:
        try:
            base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise Violation("a piece of a terminal's output is not base64", entry) from None


def _output_parts(updates: list[RecordedUpdate]) -> Iterator[tuple[Entry, Any]]:
    for each in updates:
        if each.update["sessionUpdate"] == "terminal_output_chunk":
            yield each.entry, each.update.get("data")
        elif isinstance(each.update.get("output"), dict):
            yield each.entry, each.update["output"].get("data")
