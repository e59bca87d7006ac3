"""The process of one of the compared agents: a run in the copy of the folder, with its records on stdout.

`accord.cli.compare` starts it. It gets its job on stdin, and ends with the process that compares.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from accord.cli.options import AgentOptions
from accord.cli.target import Target


@dataclass(frozen=True)
class Job:
    """One prompt for one agent, in a folder."""

    folder: str
    target: Target
    options: AgentOptions
    content: Sequence[str | Path]


def main() -> int:
    """Run the job; returns the exit status of the run."""
    from accord.cli.fault import unforeseen  # noqa: PLC0415 - after the import of the job's types
    from accord.cli.status import CommandFailure, direct_logs, direct_tracebacks  # noqa: PLC0415
    from accord.errors import AccordError  # noqa: PLC0415

    direct_logs()
    direct_tracebacks()
    job: Job = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that has started this one
    os.chdir(job.folder)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        return asyncio.run(_run(job))
    except (CommandFailure, AccordError, OSError) as error:
        failure = error if isinstance(error, CommandFailure) else unforeseen(error)
        return int(failure.status)


async def _run(job: Job) -> int:
    from accord.cli.run.conversation import Conversation  # noqa: PLC0415

    return int(await Conversation(job.target, job.options, "events").run(job.content))


def _leave_with_parent() -> None:
    # Not through the buffer: a thread could hold its lock when the interpreter ends.
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)


def encoded(job: Job) -> bytes:
    return pickle.dumps(job)


if __name__ == "__main__":
    sys.exit(main())
