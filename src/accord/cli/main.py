"""The entry point: selects the verb by the first argument, and imports that verb alone."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from accord.version import VERSION

VERBS = {
    "run": "send one prompt to an agent and show what it does",
    "chat": "a conversation with an agent, full screen",
    "agents": "the known agents: ls, info, add, rm, login, doctor",
    "sessions": "conversations: ls, show, resume, fork, rm, export, import, watch, prune",
    "cancel": "stop a turn that runs in another terminal",
    "new": "write a small project with an agent, its tests and the lines for editors",
    "agent": "the built-in coding agent, or one of a module, on stdin and stdout, for editors",
    "serve": "an agent over WebSocket and HTTP, for clients with a token",
    "fleet": "the servers that share one database: ls, sessions, drain, move, export, import",
    "check": "judge whether an agent or a client keeps the protocol",
    "tap": "record what an editor and an agent say to each other",
    "replay": "one side of a recorded conversation against a live other",
    "trace": "show, filter, judge and convert a recording of the wire",
}
GROUPS = {
    "use": ("run", "chat", "agents", "sessions", "cancel"),
    "write": ("new", "agent", "check"),
    "serve": ("serve", "fleet"),
    "inspect": ("tap", "replay", "trace"),
}
LATER = ("inspect", "bridge", "proxy")

HELP = """\
usage: accord VERB ...

Run any agent that speaks the Agent Client Protocol.

{verbs}

AGENT is a name from acp.json or the catalogue (see: accord agents), `demo` for
the built-in agent that needs no key, `default` for the default agent of
acp.json, MODULE:ATTRIBUTE for an agent of a Python framework, or, at the end of
the line, a command behind `--`.

to copy:
  accord run demo "what can you do?"
  accord run "explain this repository" -- gemini --acp
  accord chat demo
  accord VERB --help
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    line = list(sys.argv[1:] if arguments is None else arguments)
    _open_closed_streams()
    _take_any_text()
    status = 0
    try:
        status = _main(line)
        sys.stdout.flush()
    except BrokenPipeError:
        from accord.cli.show.screen import silence  # noqa: PLC0415 - not for `--version`

        # The reader has closed the pipe, which is no error: `accord agents | head -1`.
        silence()
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        return _stop_writing(error, status)
    return status


def _stop_writing(error: OSError, status: int) -> int:
    """Write nothing more to stdout, which takes no more (its disk is full), and say so unless a failure was said."""
    from accord.cli.fault import unforeseen  # noqa: PLC0415 - only when something is wrong
    from accord.cli.show.screen import silence  # noqa: PLC0415
    from accord.cli.status import complain  # noqa: PLC0415

    silence()
    if status:
        return status
    failure = unforeseen(error)
    complain(failure)
    return failure.status


def _open_closed_streams() -> None:
    """Put the null device in the place of a standard stream that was closed by the caller, as `>&-` does.

    Otherwise the next file or pipe that is opened would get its number, and be taken for that stream.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            # Programs that are started have it too.
            os.set_inheritable(number, True)  # noqa: FBT003 - it takes no names
        setattr(sys, name, os.fdopen(os.dup(number), "w" if number else "r", encoding="utf-8"))


def _take_any_text() -> None:
    """Have streams without UTF-8 replace characters that they cannot encode."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _main(line: list[str]) -> int:
    verb = line[0] if line else "--help"
    if verb in {"--version", "-V"}:
        sys.stdout.write(f"accord {VERSION}\n")
        return 0
    if verb in {"--help", "-h", "help"}:
        lines = []
        for group, names in GROUPS.items():
            lines += [f"{group}:", *(f"  {name:<9} {VERBS[name]}" for name in names)]
        sys.stdout.write(HELP.format(verbs="\n".join(lines)))
        return 0
    from accord.cli.status import CommandFailure, UsageFailure, complain  # noqa: PLC0415 - not for `--version`
    from accord.errors import AccordError  # noqa: PLC0415

    try:
        if verb in LATER:
            raise UsageFailure(f"accord {verb} comes later: this version does not have it")
        if verb not in VERBS:
            _refuse_verb(line)
        return _run(verb, line[1:])
    except BrokenPipeError:
        raise
    except (CommandFailure, AccordError, OSError) as error:
        from accord.cli.fault import unforeseen  # noqa: PLC0415 - only when something is wrong

        failure = error if isinstance(error, CommandFailure) else unforeseen(error)
        complain(failure)
        return failure.status


def _refuse_verb(line: list[str]) -> None:
    """Raise a failure that guesses what was meant: a mistyped verb, a text for an agent, an agent without the verb."""
    import shlex  # noqa: PLC0415 - only when something is wrong
    from difflib import get_close_matches  # noqa: PLC0415

    from accord.cli.status import UsageFailure  # noqa: PLC0415
    from accord.cli.target import refuse_text  # noqa: PLC0415
    from accord.config.catalogue import load_catalogue  # noqa: PLC0415

    verb = line[0]
    refuse_text(verb)
    if verb == "demo" or load_catalogue().find(verb) is not None:
        advice = f"Type: accord {'run' if line[1:] else 'chat'} {shlex.join(line)}"
        raise UsageFailure(f"there is no verb {verb!r}; it is an agent", advice=advice)
    if verb in {"doctor", "info", "login"}:
        raise UsageFailure(f"there is no verb {verb!r}", advice=f"Type: accord agents {shlex.join(line)}")
    meant = get_close_matches(verb, VERBS, 1, 0.5)
    guess = f"; did you mean {meant[0]}?" if meant else ""
    raise UsageFailure(f"there is no verb {verb!r}{guess}", advice=f"The verb comes first, one of: {', '.join(VERBS)}")


def _run(verb: str, line: list[str]) -> int:
    from accord.cli.status import direct_logs, direct_tracebacks  # noqa: PLC0415 - not for `--version`
    from accord.lazy import import_uncollected  # noqa: PLC0415

    if verb != "agent":
        _need_directory()
    # An editor that starts the agent shows its log; at a terminal one line is enough.
    direct_logs(warnings=verb == "agent")
    direct_tracebacks()
    module = import_uncollected(f"accord.cli.verbs.{verb}")
    status: int = module.run(line)
    return status


def _need_directory() -> None:
    from accord.cli.status import UsageFailure  # noqa: PLC0415 - not for `--version`

    try:
        os.getcwd()  # noqa: PTH109 - pathlib costs more than it is worth here
    except OSError as error:
        message = f"the current directory cannot be used: {error.strerror}"
        raise UsageFailure(message, advice="It may have been deleted: go to another one") from error
