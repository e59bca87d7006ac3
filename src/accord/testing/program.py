"""A scripted agent as a program of its own: `python -P -m accord.testing.program module:function`.

Its stdout is not guarded, so prints of the script appear between the messages, as with many real programs.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import importlib.util
import inspect
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from accord.errors import TransportError
from accord.testing.peer import ScriptExit
from accord.testing.roles import AgentPeer, AgentScript
from accord.transport import open_stdio
from accord.transport.interpreter import own_command

__all__ = ["command_of", "main"]

FAILED = 70


def command_of(script: AgentScript) -> tuple[str, ...]:
    """The command that runs a script as a program: `accord.connect(*command_of(script))`.

    Raises:
        ValueError: It is not at the top of a file, where another process could find it.
    """
    path, name = inspect.getsourcefile(script), getattr(script, "__qualname__", "")
    if path is None or not name.isidentifier():
        raise ValueError(f"{script!r} is no function at the top of a file")
    return own_command("accord.testing.program", f"{Path(path).absolute()}:{name}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named script; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -P -m accord.testing.program", description="A script as an ACP agent."
    )
    parser.add_argument("script", help="module:function or path.py:function; an async function of one AgentPeer")
    parser.add_argument("--ignore-sigterm", action="store_true", help="do not end when asked to by a signal")
    options = parser.parse_args(arguments)
    if options.ignore_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return asyncio.run(_run(_find(options.script)))


def _find(name: str) -> AgentScript:
    where, _, function = name.rpartition(":")
    if not where or not function:
        raise SystemExit(f"{name!r} is not module:function")
    # Behind all that is installed, whose names a file of the folder must not take.
    sys.path.append(str(Path.cwd()))
    module = _load(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    script: Any = getattr(module, function, None)
    if script is None:
        raise SystemExit(f"{where} has no {function}")
    found: AgentScript = script
    return found


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


async def _run(script: AgentScript) -> int:
    link = open_stdio(guard=False)
    peer = AgentPeer(link)
    try:
        await script(peer)
        await peer.finish()
    except ScriptExit as leave:
        return leave.status
    except TransportError:
        return 0
    except Exception:  # noqa: BLE001 - a program reports on stderr
        traceback.print_exc()
        return FAILED
    finally:
        await link.close()
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Tasks that the script left running end here.
    os._exit(status)
