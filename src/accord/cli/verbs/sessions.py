"""`accord sessions`: conversations from before, the agent's list merged with ours."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from accord.cli.agent_session import RunningAgent, running_agent, within
from accord.cli.fault import phase
from accord.cli.options import (
    AgentOptions,
    Parser,
    add_agent_options,
    add_permission_options,
    add_session_options,
    agent_options_of,
    split_command,
)
from accord.cli.run.conversation import Conversation
from accord.cli.session_index import SessionIndex, is_listed
from accord.cli.show.line import ago, moment_of, table_lines
from accord.cli.show.screen import Progress, put, put_json, stdout_screen
from accord.cli.show.text_layout import markdown, transcript_lines
from accord.cli.status import CommandFailure, Status, UsageFailure, remark
from accord.cli.target import Target, approve, noted_target, target_of
from accord.cli.terminal import Questions, UserTerminal, is_interactive
from accord.cli.verbs.run import add_prompt_options, read_prompt
from accord.config import ClientSessionRecord
from accord.display import SafeText, exact, filled, joined, json_line, own, trimmed

USAGE = """accord sessions [ls] [AGENT] [--all] [--json]
       accord sessions show SESSION
       accord sessions resume SESSION "text" [options of run]
       accord sessions fork SESSION
       accord sessions rm SESSION [--local]
       accord sessions export SESSION [--as md|events] [-w FILE]
       accord sessions watch [SESSION] [-o text|events]"""
EXAMPLES = """\
  accord sessions
  accord sessions ls demo --all
  accord sessions show k3f9
  accord sessions resume k3f9 "and now the tests"
  accord sessions export k3f9 -w running.md
  accord sessions watch
  accord sessions watch k3f9 -o events | jq -r .type
  accord sessions ls -- python my_agent.py

SESSION is a name that was given with -s, or an id, or the beginning of one. An agent is asked only where one is named,
or known from our records; with --agent NAME, or a command behind --, sessions are found that only it knows.
"""


HEADS = (own("session"), own("name"), own("agent"), own("used"), own("known"), own("title"))


class SessionRow(NamedTuple):
    """One session in the list."""

    record: ClientSessionRecord
    known: str
    """Who knows it: we, the agent, or both."""


def _parser() -> Parser:
    parser = Parser("sessions", USAGE, "Earlier conversations.", EXAMPLES)
    parser.add_argument(
        "arguments", nargs="*", metavar="VERB SESSION", help="ls, show, resume, fork, rm, export; and the session"
    )
    parser.add_argument("--agent", metavar="NAME", help="the agent that has it, where our records do not say")
    parser.add_argument("--all", action="store_true", help="ls: those of every directory")
    parser.add_argument("--json", action="store_true", help="ls: print JSON")
    parser.add_argument("--local", action="store_true", help="rm: only our record, without asking the agent")
    parser.add_argument(
        "--as", dest="form", choices=("md", "events"), default="md", help="export: Markdown, or records"
    )
    parser.add_argument("-w", "--write", metavar="FILE", help="export: where to; stdout unless given")
    add_prompt_options(parser)
    add_session_options(parser)
    add_permission_options(parser)
    add_agent_options(parser)
    return parser


def run(arguments: Sequence[str]) -> int:
    before, command = split_command(arguments)
    parsed = _parser().read(before)
    verb, operands = (parsed.arguments[0], parsed.arguments[1:]) if parsed.arguments else ("ls", [])
    options = agent_options_of(parsed)
    if options.last or options.session is not None:
        raise UsageFailure("accord sessions names the session itself: leave -c and -s out")
    if verb == "ls":
        return asyncio.run(_list(operands, command, parsed, options))
    if verb == "watch":
        return _watch(operands, command, parsed.output)
    action = _ACTIONS.get(verb)
    if action is None:
        raise UsageFailure(f"there is no accord sessions {verb}; there are: {', '.join(['ls', *_ACTIONS, 'watch'])}")
    if not operands:
        raise UsageFailure("name a session", advice="See: accord sessions ls")
    with SessionIndex() as index:
        record, target = _find(index, operands[0], command, parsed.agent)
        return action(_Job(index, record, target, options, parsed, operands[1:]))


class _Job(NamedTuple):
    sessions: SessionIndex
    record: ClientSessionRecord
    target: Target
    options: AgentOptions
    parsed: argparse.Namespace
    arguments: list[str]


def _find(
    index: SessionIndex, name: str, command: Sequence[str] | None, agent: str | None
) -> tuple[ClientSessionRecord, Target]:
    """The session, and who has it.

    Raises:
        CommandFailure: Nobody is known to have it.
    """
    target = target_of(agent, command) if agent is not None or command is not None else None
    record = index.named(name, None if target is None else target.key)
    if record is None and target is None:
        advice = "See: accord sessions ls --all; one that only an agent knows needs --agent NAME"
        raise CommandFailure(
            Status.NO_SESSION, "session", f"there is no session {name!r} in our records", advice=advice
        )
    if record is None and target is not None:
        record = ClientSessionRecord(target.key, name, str(Path.cwd()), None, None, 0.0, 0.0)
    if record is None:  # pragma: no cover - one of the two is there
        raise UsageFailure("name a session")
    return record, target or noted_target(record.agent)


async def _ready(target: Target, options: AgentOptions) -> Target:
    questions = Questions(UserTerminal(), lambda _: False) if is_interactive() else None
    return await approve(target, trust=options.trust, yes=None if questions is None else questions.yes)


# --- ls


async def _list(
    arguments: Sequence[str], command: Sequence[str] | None, parsed: argparse.Namespace, options: AgentOptions
) -> int:
    if len(arguments) > 1 or (arguments and (command is not None or parsed.agent)):
        raise UsageFailure("accord sessions ls takes one agent")
    name = arguments[0] if arguments else parsed.agent
    target = target_of(name, command) if name is not None or command is not None else None
    with SessionIndex() as index:
        ours = index.all(everywhere=parsed.all, agent=None if target is None else target.key)
    rows = [SessionRow(each, "ours") for each in ours if is_listed(each)]
    if target is not None:
        target = await _ready(target, options)
        async with running_agent(target, options) as running:
            rows = await _merged(running, ours, everywhere=parsed.all)
    if parsed.json:
        put_json([_facts(row) for row in rows], 2)
        return Status.DONE
    _show_rows(rows, everywhere=parsed.all, has_agent_list=target is not None)
    return Status.DONE


async def _merged(running: RunningAgent, ours: Sequence[ClientSessionRecord], *, everywhere: bool) -> list[SessionRow]:
    mine = {each.session_id: each for each in ours}
    if not running.agent.capabilities.listing:
        remark(own("this agent has no list of its sessions; these are our records"))
        return [SessionRow(each, "ours") for each in ours if is_listed(each)]
    rows: dict[str, SessionRow] = {}
    with phase("session", running.target.typed):
        async with asyncio.timeout(running.deadlines.start_seconds):
            async for each in running.agent.list_sessions(None if everywhere else Path.cwd()):
                noted = mine.get(each.id)
                if noted is not None and not is_listed(noted):
                    continue
                at = max(moment_of(each.updated_at) or 0.0, noted.updated_at if noted else 0.0)
                title, name = each.title or (noted.title if noted else None), noted.name if noted else None
                record = ClientSessionRecord(
                    running.target.key, each.id, each.cwd, name, title, 0.0, at, prompt=noted.prompt if noted else None
                )
                rows[each.id] = SessionRow(record, "both" if noted else "agent")
    rows.update({id_: SessionRow(noted, "ours") for id_, noted in mine.items() if id_ not in rows and is_listed(noted)})
    return sorted(rows.values(), key=lambda row: -row.record.updated_at)


def _facts(row: SessionRow) -> dict[str, Any]:
    record = row.record
    return {
        "session": record.session_id,
        "agent": record.agent,
        "name": record.name,
        "title": record.title,
        "prompt": record.prompt,
        "cwd": record.cwd,
        "updated": record.updated_at or None,
        "known": row.known,
    }


def _show_rows(rows: Sequence[SessionRow], *, everywhere: bool, has_agent_list: bool) -> None:
    screen = stdout_screen(Progress(sys.stderr, shown=False))
    if rows:
        now = time.time()
        cells = [
            [
                exact(each.session_id),
                exact(each.name or ""),
                exact(each.agent),
                ago(each.updated_at, now),
                exact(known),
                filled("{}  ({})" if everywhere else "{}", each.title or each.prompt or "", each.cwd),
            ]
            for each, known in rows
        ]
        screen.lines(table_lines(HEADS, cells))
        screen.flush()
    else:
        where = own("") if everywhere else own(" in this directory (--all shows those of every one)")
        put(filled("there are no sessions{}", where))
    if not has_agent_list:
        remark(own("these are our records; `accord sessions ls AGENT` asks the agent too"))


# --- what goes on in another process


def _watch(words: Sequence[str], command: Sequence[str] | None, form: str) -> int:
    from accord.cli.owner.client import only_one, wanted_sessions  # noqa: PLC0415 - only for this

    if form not in {"text", "events"}:
        raise UsageFailure(f"accord sessions watch has -o text and -o events, not {form}")
    names = [*words, *([] if command is None else [target_of(None, command).key])]
    wanted = only_one(wanted_sessions(names, running=False), "sessions watch")
    from accord.cli.owner.watch import watch  # noqa: PLC0415 - only where there is something

    return watch(wanted, "text" if form == "text" else "events")


# --- one session


def _show(job: _Job) -> int:
    return asyncio.run(_show_transcript(job))


async def _show_transcript(job: _Job) -> int:
    target = await _ready(job.target, job.options)
    async with running_agent(target, job.options) as running:
        session = await running.reopen(job.record, replay=True)
        screen = stdout_screen(Progress(sys.stderr, shown=False))
        screen.lines(transcript_lines(session.transcript, session.cwd, screen.columns))
        screen.flush()
    return Status.DONE


def _resume(job: _Job) -> int:
    content = read_prompt(job.arguments, job.parsed.file, job.parsed.image, "sessions resume")
    return asyncio.run(_go_on(job, content))


async def _go_on(job: _Job, content: Sequence[str | Path]) -> int:
    return await Conversation(job.target, job.options, job.parsed.output, record=job.record).run(content)


def _fork(job: _Job) -> int:
    return asyncio.run(_make_fork(job))


async def _make_fork(job: _Job) -> int:
    target = await _ready(job.target, job.options)
    async with running_agent(target, job.options) as running:
        if not running.agent.capabilities.fork:
            raise CommandFailure(Status.FAILED, "session", "this agent cannot fork sessions")
        session = await running.reopen(job.record)
        with phase("session", target.typed):
            twin = await within(running.deadlines.start_seconds, "session", running.agent.fork_session(session))
        job.sessions.note(target.key, twin.id, twin.cwd, title=twin.title, key=twin.key)
    put(exact(twin.id))
    put(filled("go on: {}", target.go_on("…", f"-s {twin.id}")))
    return Status.DONE


def _remove(job: _Job) -> int:
    if not job.parsed.local:
        asyncio.run(_delete(job))
    if not job.sessions.forget(job.record) and job.parsed.local:
        raise CommandFailure(Status.NO_SESSION, "session", f"there is no record of {job.record.session_id}")
    put(filled("{} is forgotten", job.record.session_id))
    return Status.DONE


async def _delete(job: _Job) -> None:
    target = await _ready(job.target, job.options)
    async with running_agent(target, job.options) as running:
        if not running.agent.capabilities.delete:
            remark(own("this agent cannot delete sessions; only our record is forgotten"))
            return
        with phase("session", target.typed):
            deleting = running.agent.delete_session(job.record.session_id)
            await within(running.deadlines.start_seconds, "session", deleting)


def _export(job: _Job) -> int:
    return asyncio.run(_write(job))


async def _write(job: _Job) -> int:
    from accord.cli.run.records import as_record  # noqa: PLC0415 - only for this

    target = await _ready(job.target, job.options)
    async with running_agent(target, job.options) as running:
        session = await running.reopen(job.record, replay=True)
        if job.parsed.form == "md":
            text: SafeText = markdown(session.transcript, session.id, session.cwd)
        else:
            records = [{**as_record(event), "session": session.id} for event in session.transcript.events(states=False)]
            text = joined(filled("{}\n", json_line(record)) for record in records)
    if job.parsed.write is None:
        put(trimmed(text))
        return Status.DONE
    try:
        Path(job.parsed.write).write_text(text, encoding="utf-8")  # noqa: ASYNC240 - nothing else waits
    except OSError as error:
        raise UsageFailure(f"-w {job.parsed.write}: {error.strerror}") from error
    return Status.DONE


_ACTIONS: dict[str, Callable[[_Job], int]] = {
    "show": _show,
    "resume": _resume,
    "fork": _fork,
    "rm": _remove,
    "export": _export,
}
