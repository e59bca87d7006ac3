"""`accord sessions prune`: deletes old sessions, and never one that a process has open."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

from accord.cli.agent_session import RunningAgent, within
from accord.cli.fault import phase
from accord.cli.owner import live_sessions
from accord.cli.session_index import SessionIndex
from accord.cli.session_transfer import delete_imported, is_imported
from accord.cli.show.line import ago, moment_of, table_lines
from accord.cli.show.screen import Progress, put, stdout_screen
from accord.cli.status import CommandFailure, Status, UsageFailure, remark
from accord.config import ClientSessionRecord
from accord.display import exact, filled, own
from accord.errors import SessionInUse

DEFAULT_AGE = "30d"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
HEADS = (own("session"), own("agent"), own("used"), own("directory"), own("title"))


def age_of(text: str) -> float:
    """Seconds of `30d`, `12h`, `2w`.

    Raises:
        UsageFailure: It is no age.
    """
    found = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if found is None:
        raise UsageFailure(f"--older-than {text}: expected a number and s, m, h, d or w, as in {DEFAULT_AGE}")
    return float(int(found[1]) * _UNITS[found[2]])


async def prune(index: SessionIndex, running: RunningAgent | None, age: str, *, dry_run: bool) -> int:
    """Delete older sessions and report them. With an agent, also those that only the agent has, and there too.

    Raises:
        CommandFailure: A process does not report its open sessions, or the agent does not delete one.
    """
    before = time.time() - age_of(age)
    known = {(each.agent, each.session_id): each for each in index.all(everywhere=True)}
    if running is not None:
        key = running.target.key
        known = {each: record for each, record in known.items() if each[0] == key}
        known |= await _listed(running, known)
    live, silent = live_sessions()
    if silent:
        message = f"{silent} of the processes with open sessions did not answer; nothing was forgotten"
        raise CommandFailure(Status.FAILED, "session", message, advice="Wait until they go on, or end them")
    held = {(each.agent, each.session_id) for each in live}
    old = {each: record for each, record in known.items() if 0 < record.updated_at < before}
    kept_open = [each for each, record in old.items() if record.is_open or each in held]
    wanted = sorted((old[each] for each in old if each not in kept_open), key=lambda record: record.updated_at)
    gone, in_use = (wanted, 0) if dry_run else await _remove(index, running, wanted)
    _show(gone)
    if kept_open or in_use:
        remark(filled("{} that are older stay: a process has them open", len(kept_open) + in_use))
    verb = own("would be forgotten") if dry_run else own("forgotten")
    put(filled("{} {} {}", len(gone), own("session") if len(gone) == 1 else own("sessions"), verb))
    return Status.DONE


async def _listed(
    running: RunningAgent, known: dict[tuple[str, str], ClientSessionRecord]
) -> dict[tuple[str, str], ClientSessionRecord]:
    """The agent's list, with the later of two times where we have a record too."""
    found: dict[tuple[str, str], ClientSessionRecord] = {}
    if not running.agent.capabilities.listing:
        return found
    key = running.target.key
    with phase("session", running.target.typed):
        async for each in running.agent.list_sessions():
            noted = known.get((key, each.id))
            at = max(moment_of(each.updated_at) or 0.0, noted.updated_at if noted else 0.0)
            is_open = noted is not None and noted.is_open
            found[key, each.id] = ClientSessionRecord(
                key, each.id, each.cwd, None, each.title or (noted.title if noted else None), 0.0, at, is_open=is_open
            )
    return found


async def _remove(
    index: SessionIndex, running: RunningAgent | None, wanted: list[ClientSessionRecord]
) -> tuple[list[ClientSessionRecord], int]:
    """Delete sessions; returns those deleted, and how many an agent refused because another process has them open."""
    if running is not None and not running.agent.capabilities.delete:
        remark(own("this agent cannot delete sessions; only our records are forgotten"))
    progress = Progress(sys.stderr, shown=True)
    gone: list[ClientSessionRecord] = []
    in_use = 0
    try:
        for count, record in enumerate(wanted, 1):
            progress.show(filled("forgetting {} of {}  (Ctrl+C stops it)", count, len(wanted)))
            if running is not None and running.agent.capabilities.delete:
                try:
                    deleting = running.agent.delete_session(record.session_id)
                    with phase("session", running.target.typed):
                        await within(running.deadlines.start_seconds, "session", deleting)
                except CommandFailure as failure:
                    if not isinstance(failure.__cause__, SessionInUse):
                        raise
                    in_use += 1
                    continue
            elif is_imported(record):
                await delete_imported(record)
            index.forget(record)
            gone.append(record)
    finally:
        progress.stop()
    return gone, in_use


def _show(records: list[ClientSessionRecord]) -> None:
    if not records:
        return
    now, home = time.time(), str(Path.home())
    screen = stdout_screen(Progress(sys.stderr, shown=False))
    screen.lines(
        table_lines(
            HEADS,
            [
                [
                    exact(each.session_id), exact(each.agent), ago(each.updated_at, now),
                    exact(each.cwd.replace(home, "~", 1) if each.cwd.startswith(home) else each.cwd),
                    exact(each.title or each.prompt or ""),
                ]
                for each in records
            ],
        )
    )  # fmt: skip
    screen.flush()
