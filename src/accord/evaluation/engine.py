"""The engine of evaluations and comparisons: runs each trial in a fresh copy of one folder, so many at a time.

What a trial is, its caller decides: `accord.evaluate` connects to an agent, `accord run --compare` starts a program for
each. The engine makes the copy, finds what is different in it when the run is over, and removes it in any case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from accord.evaluation.copies import FolderCopies
from accord.session.tool import FileChange

__all__ = ["run_trials"]

_Trial = TypeVar("_Trial")
_Outcome = TypeVar("_Outcome")


async def run_trials(
    copies: FolderCopies,
    trials: Sequence[_Trial],
    run: Callable[[_Trial, Path], Awaitable[_Outcome]],
    on_end: Callable[[_Trial, _Outcome, list[FileChange]], None],
    *,
    parallel: int,
) -> None:
    """Run all trials, `parallel` at a time and in their order, and report each with its changes as soon as it is over.

    Cancelled, it cancels the runs and returns when they have ended. So it does when one raises, or a copy cannot be
    made.

    Raises:
        CopyFailed: The folder cannot be copied.
        Exception: Whatever a run raises.
    """
    waiting = iter(enumerate(trials))

    async def work() -> None:
        for number, trial in waiting:
            folder = await copies.copy(f"trial-{number}")
            try:
                outcome = await run(trial, folder)
                changes = await copies.changes(folder)
            finally:
                await copies.remove(folder)
            on_end(trial, outcome, changes)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(parallel, len(trials))):
                group.create_task(work())
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
