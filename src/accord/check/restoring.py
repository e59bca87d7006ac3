"""Sets back what a check changed: in the process that it was changed in, and at the end in a new one that shows it.

Agents keep settings in files of their own, and a process may write its old view over what another one has set back. So
the last word has a process that runs alone: what a new session of it says is what the next user will find.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from accord.check.journal import Change, Journal, JournalError
from accord.check.ledger import Ledger, Untouched
from accord.check.link import Program
from accord.check.options import Options
from accord.check.settings import Key, Setting, Value, request_for
from accord.check.talk import REPLIES, StepFailed, Talk
from accord.check.wire import Silence, Wire
from accord.errors import ConnectFailed

__all__ = ["RESTORE_SECONDS", "Restored", "State", "leftovers", "restore_in", "restore_last"]

RESTORE_SECONDS = 20.0
"""For the process that sets everything back, from its start to its last answer."""
ANSWER_SECONDS = 5.0
_ROUNDS = 3
"""One setting may bring another with it: what is still different is set once more."""

State: TypeAlias = Literal["set back", "left changed", "changed by another", "not offered", "not visible"]


@dataclass(frozen=True)
class Restored:
    """What became of one setting that was changed."""

    key: Key
    old: Value
    now: Value | None
    """As a new session says; None where that could not be seen."""
    state: State

    @property
    def line(self) -> str:
        """One line for people."""
        if self.state == "set back":
            return f"{self.key} was left at {self.now!r} and is set back to {self.old!r}"
        if self.state == "not offered":
            return f"{self.key} was {self.old!r} before and is no longer offered"
        now = "could not be seen" if self.now is None else f"is {self.now!r}"
        why = ", set by somebody else" if self.state == "changed by another" else ""
        return f"{self.key} {now}{why}; before the check it was {self.old!r}"


# --- in the process that changed it


async def restore_in(talk: Talk, ledger: Ledger) -> None:
    """Set back what a process changed, in the sessions that it was changed in; what fails is left to `restore_last`."""
    for session, keys in ledger.changed_in(talk.wire).items():
        for _ in range(_ROUNDS):
            for key in reversed(keys):
                if talk.wire.ended or not await _set(talk, session, key, ledger.changes[key].old):
                    break
            keys = ledger.changed_in(talk.wire).get(session, [])  # noqa: PLW2901 - others may have come with them
            if ledger.is_back(talk.wire, session):
                break


async def _set(talk: Talk, session: str, key: Key, value: Value) -> bool:
    seconds = min(talk.options.timeout_seconds, ANSWER_SECONDS)
    with suppress(Silence, Untouched):
        await talk.wire.request(*request_for(talk.edition, session, key, value), seconds=seconds)
        return True
    return False


# --- in a process of its own


async def restore_last(
    program: Program, options: Options, folder: Path, ledger: Ledger, changes: Mapping[Key, Change]
) -> list[Restored]:
    """Start the agent once more and set back what is not back; bounded by `RESTORE_SECONDS`.

    Only a value that came of the check is replaced. What was dealt with is taken from the ledger and so from the
    journal; what could not be seen stays there for the next run.
    """
    found: dict[Key, Restored] = {
        key: Restored(key, change.old, None, "not visible") for key, change in changes.items()
    }
    wire: Wire | None = None
    try:
        async with asyncio.timeout(RESTORE_SECONDS):
            wire = await Wire.open("restore", program, options.env, options.timeout_seconds, REPLIES, None, ledger)
            talk = Talk(wire, options, folder, {})
            await talk.shake_hands(able=True)
            await _restore_all(talk, ledger, changes, found)
    except (TimeoutError, Silence, StepFailed, Untouched, ConnectFailed):
        pass  # What was not seen to be back is named.
    finally:
        if wire is not None:
            await wire.shut(min(options.grace_seconds, 1.0))
    for key, restored in found.items():
        if restored.state not in ("not visible", "left changed"):
            with suppress(JournalError):
                ledger.forget(key)
    return list(found.values())


async def _restore_all(talk: Talk, ledger: Ledger, changes: Mapping[Key, Change], found: dict[Key, Restored]) -> None:
    seen_first: dict[Key, Setting] = {}
    for _ in range(_ROUNDS):
        session = await talk.new()
        settings = ledger.settings(talk.wire, session)
        seen_first = seen_first or settings
        wrong = []
        for key, change in changes.items():
            found[key] = _judged(change, settings.get(key), seen_first.get(key))
            if found[key].state == "left changed":
                wrong.append(key)
        if not wrong:
            return
        for key in wrong:
            await _set(talk, session, key, changes[key].old)


def _judged(change: Change, setting: Setting | None, first: Setting | None) -> Restored:
    """What a new session says of a setting; `first` is what the first session of this process said."""
    if setting is None:
        return Restored(change.key, change.old, None, "not offered")
    if setting.value == change.old:
        return Restored(change.key, change.old, change.old if first is None else first.value, "set back")
    is_ours = setting.value in change.new
    return Restored(change.key, change.old, setting.value, "left changed" if is_ours else "changed by another")


# --- what a killed run left


async def leftovers(program: Program, options: Options, folder: Path, journal: Journal) -> list[Restored]:
    """What an earlier check of this agent left changed, and set back where it still has the value of that check.

    Raises:
        JournalError: The journal cannot be read.
    """
    page = journal.read()
    if page is None or not journal.lock():
        return []  # Nothing is left; or the run that wrote it is alive.
    page = journal.read()
    if page is None:
        journal.unlock()
        return []
    if page.env != journal.env:
        # With other variables it may be another configuration of the agent: only the same one is touched.
        journal.unlock()
        return [Restored(each.key, each.old, None, "not visible") for each in page.changes]
    ledger = Ledger(replace(options, edition=page.edition), journal)
    ledger.changes = {change.key: change for change in page.changes}
    try:
        return await restore_last(program, replace(options, edition=page.edition), folder, ledger, dict(ledger.changes))
    finally:
        ledger.close()
