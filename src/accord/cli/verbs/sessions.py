"""`accord sessions`: lists, shows, exports and deletes sessions; the agent's list is merged with our records."""

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
    ALIASES,
    AgentOptions,
    Parser,
    add_agent_options,
    add_permission_options,
    add_session_options,
    agent_options_of,
    named_action,
    split_command,
)
from accord.cli.run.conversation import Conversation
from accord.cli.session_index import SessionIndex, is_listed
from accord.cli.session_transfer import (
    IMPORTED,
    delete_imported,
    export_kept,
    export_replayed,
    import_session,
    imported_transcript,
    is_built_in,
    is_imported,
)
from accord.cli.show.line import ago, moment_of, table_lines
from accord.cli.show.screen import Progress, put, put_json, stdout_screen
from accord.cli.show.text_layout import markdown, transcript_lines
from accord.cli.status import CommandFailure, Status, UsageFailure, remark
from accord.cli.target import Target, approve, noted_target, target_of
from accord.cli.terminal import Questions, UserTerminal, is_interactive
from accord.cli.verbs.run import add_prompt_options, read_prompt
from accord.config import AgentEntry, ClientSessionRecord
from accord.display import SafeText, exact, filled, joined, json_line, own, trimmed
from accord.session.transcript import Transcript

USAGE = """accord sessions [ls] [AGENT] [--all] [--json]
       accord sessions show SESSION
       accord sessions resume SESSION "text" [options of run]
       accord sessions fork SESSION
       accord sessions rm SESSION [--local]
       accord sessions export SESSION [--as md|events|session] [-w FILE]
       accord sessions import FILE [--new-id]
       accord sessions prune [AGENT] [--older-than 30d] [--dry-run]
       accord sessions watch [SESSION] [-o text|events]"""
EXAMPLES = """\
  accord sessions
  accord sessions ls demo --all
  accord sessions show k3f9
  accord sessions resume k3f9 "and now the tests"
  accord sessions export k3f9 -w running.md
  accord sessions export k3f9 --as session -w k3f9.session
  accord sessions import k3f9.session
  accord sessions prune --older-than 30d --dry-run
  accord sessions watch
  accord sessions watch k3f9 -o events | jq -r .type
  accord sessions ls -- python my_agent.py

SESSION is a name that was given with -s, or an id, or the beginning of one. An agent is asked only where one is named,
or known from our records; with --agent NAME, or a command behind --, sessions are found that only it knows.
"""

BRIEF = ("--agent",)
HEADS = (own("session"), own("name"), own("agent"), own("used"), own("known"), own("title"))


class SessionRow(NamedTuple):
    """One session in the list."""

    record: ClientSessionRecord
    known: str
    """The source of the row: our records, the agent, or both."""


def _parser() -> Parser:
    parser = Parser("sessions", USAGE, "Earlier conversations, and those that go on.", EXAMPLES, BRIEF)
    verbs = "ls, show, resume, fork, rm, export, import, watch, prune"
    parser.add_argument("arguments", nargs="*", metavar="VERB SESSION", help=f"{verbs}; and the session")
    parser.add_argument("--agent", metavar="NAME", help="the agent that has it, where our records do not say")
    parser.add_argument("--all", action="store_true", help="ls: those of every directory")
    parser.add_argument("--json", action="store_true", help="ls: print JSON")
    parser.add_argument("--local", action="store_true", help="rm: only our record, without asking the agent")
    parser.add_argument(
        "--as",
        dest="form",
        choices=("md", "events", "session"),
        default="md",
        help="export: Markdown, records, or a file that `import` reads",
    )
    parser.add_argument("--new-id", action="store_true", help="import: as a copy, beside one that is here already")
    parser.add_argument("--older-than", metavar="AGE", default="30d", help="prune: as 12h, 30d or 8w; 30d unless given")
    parser.add_argument("--dry-run", action="store_true", help="prune: only list what would be deleted")
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
    verb = ALIASES.get(verb, verb)
    options = agent_options_of(parsed)
    if options.last or options.session is not None:
        raise UsageFailure("accord sessions names the session itself: leave -c and -s out")
    if verb == "ls":
        return asyncio.run(_list(operands, command, parsed, options))
    if verb == "watch":
        return _watch(operands, command, parsed.output)
    if verb == "import":
        return asyncio.run(_import(operands, new_id=parsed.new_id))
    if verb == "prune":
        return asyncio.run(_prune(operands, command, parsed, options))
    action = _ACTIONS[named_action("sessions", verb, VERBS)]
    if not operands:
        raise UsageFailure("name a session", advice="See: accord sessions ls")
    with SessionIndex() as index:
        record, target = _find(index, operands[0], command, parsed.agent)
        if target is None and verb not in _OF_IMPORTED:
            message = f"{record.session_id} was imported from another agent: it can be shown and exported, and no more"
            raise CommandFailure(Status.FAILED, "session", message)
        return (_OF_IMPORTED[verb] if target is None else action)(
            _Job(index, record, target or IMPORTED_TARGET, options, parsed, operands[1:])
        )


class _Job(NamedTuple):
    sessions: SessionIndex
    record: ClientSessionRecord
    target: Target
    options: AgentOptions
    parsed: argparse.Namespace
    arguments: list[str]


def _find(
    index: SessionIndex, name: str, command: Sequence[str] | None, agent: str | None
) -> tuple[ClientSessionRecord, Target | None]:
    """The session, and the agent that has it; None for one that was imported from another agent.

    Raises:
        CommandFailure: No agent is known to have it.
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
    if target is None and is_imported(record):
        return record, None
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
        index.remark_left_out()
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
        here = own("" if everywhere else " of this directory (--all shows those of every one)")
        remark(filled("these are our records{}; `accord sessions ls AGENT` asks the agent too", here))


# --- sessions of other processes


def _watch(words: Sequence[str], command: Sequence[str] | None, form: str) -> int:
    from accord.cli.owner import only_one, wanted_sessions  # noqa: PLC0415 - only for this

    if form not in {"text", "events"}:
        raise UsageFailure(f"accord sessions watch has -o text and -o events, not {form}")
    names = [*words, *([] if command is None else [target_of(None, command).key])]
    wanted = only_one(wanted_sessions(names, running=False), "sessions watch")
    from accord.cli.owner.watch import watch  # noqa: PLC0415 - only where there is something

    return watch(wanted, "text" if form == "text" else "events")


# --- export and import


async def _import(words: Sequence[str], *, new_id: bool) -> int:
    if len(words) != 1:
        raise UsageFailure("name one file", advice="Type: accord sessions import FILE")
    progress = Progress(sys.stderr, shown=True)

    def show(done: int, count: int) -> None:
        progress.show(filled("{} of {} events", done, count))

    with SessionIndex() as index:
        try:
            record = await import_session(Path(words[0]), index, new_id=new_id, progress=show)
        finally:
            progress.stop()
    put(exact(record.session_id))
    if is_imported(record):
        line = f"accord sessions show {record.session_id}"
        put(filled("it is kept to be read, as {} does not know it here: {}", record.agent.removeprefix(IMPORTED), line))
    else:
        put(filled("it belongs to this directory now; go on: {}", noted_target(record.agent).go_on("…")))
    return Status.DONE


async def _prune(
    words: Sequence[str], command: Sequence[str] | None, parsed: argparse.Namespace, options: AgentOptions
) -> int:
    from accord.cli.session_prune import age_of, prune  # noqa: PLC0415 - only for this

    if len(words) > 1 or (words and (command is not None or parsed.agent)):
        raise UsageFailure("accord sessions prune takes one agent")
    age_of(parsed.older_than)
    name = words[0] if words else parsed.agent
    with SessionIndex() as index:
        if name is None and command is None:
            return await prune(index, None, parsed.older_than, dry_run=parsed.dry_run)
        target = await _ready(target_of(name, command), options)
        async with running_agent(target, options) as running:
            return await prune(index, running, parsed.older_than, dry_run=parsed.dry_run)


def _show_imported(job: _Job) -> int:
    transcript = asyncio.run(imported_transcript(job.record))
    screen = stdout_screen(Progress(sys.stderr, shown=False))
    screen.lines(transcript_lines(transcript, job.record.cwd, screen.columns))
    screen.flush()
    return Status.DONE


def _remove_imported(job: _Job) -> int:
    asyncio.run(delete_imported(job.record))
    job.sessions.forget(job.record)
    put(filled("{} is forgotten", job.record.session_id))
    return Status.DONE


def _export_imported(job: _Job) -> int:
    if job.parsed.form == "session":
        return _exported(asyncio.run(export_kept(_file(job), job.record, built_in=False)), job)
    transcript = asyncio.run(imported_transcript(job.record))
    return _put_text(job, _text(job, transcript, job.record.session_id, job.record.cwd))


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
    is_file = job.parsed.form == "session"
    if is_file and is_built_in(job.target):
        # As it is stored, with the agent's own state; also while a process has the session open.
        return _exported(await export_kept(_file(job), job.record, built_in=True), job)
    path = _file(job) if is_file else None
    target = await _ready(job.target, job.options)
    async with running_agent(target, job.options) as running:
        session = await running.reopen(job.record, replay=True)
        if path is not None:
            return _exported(await export_replayed(path, job.record, session), job)
        text = _text(job, session.transcript, session.id, session.cwd)
    return _put_text(job, text)


def _file(job: _Job) -> Path:
    if job.parsed.write is None:
        raise UsageFailure("--as session writes a file", advice="Name it: -w FILE")
    return Path(job.parsed.write)


def _exported(count: int, job: _Job) -> int:
    put(filled("{}: {} events of {}", job.parsed.write, count, job.record.session_id))
    return Status.DONE


def _text(job: _Job, transcript: Transcript, session_id: str, cwd: str) -> SafeText:
    from accord.cli.run.records import as_record  # noqa: PLC0415 - only for this

    if job.parsed.form == "md":
        return markdown(transcript, session_id, cwd)
    records = [{**as_record(event), "session": session_id} for event in transcript.events(states=False)]
    return joined(filled("{}\n", json_line(record)) for record in records)


def _put_text(job: _Job, text: SafeText) -> int:
    if job.parsed.write is None:
        put(trimmed(text))
        return Status.DONE
    try:
        Path(job.parsed.write).write_text(text, encoding="utf-8")
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
VERBS = ("ls", *_ACTIONS, "import", "watch", "prune")
_OF_IMPORTED: dict[str, Callable[[_Job], int]] = {
    "show": _show_imported,
    "rm": _remove_imported,
    "export": _export_imported,
}
IMPORTED_TARGET = Target(AgentEntry("imported", (), "user", "an imported session"), IMPORTED, is_command=False)
