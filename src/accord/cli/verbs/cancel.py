"""`accord cancel`: stops the turn that another process of this user runs."""

from __future__ import annotations

from collections.abc import Sequence

from accord.cli.options import Parser, seconds_of, split_command
from accord.cli.owner import LiveSession, connection, only_one, wanted_sessions
from accord.cli.show.screen import put
from accord.cli.status import CommandFailure, Status, UsageFailure
from accord.cli.target import target_of
from accord.display import filled
from accord.time_scale import scaled

USAGE = """accord cancel [AGENT] [SESSION] [--all] [--timeout S]
       accord cancel [SESSION] -- COMMAND..."""
EXAMPLES = """\
  accord cancel
  accord cancel demo
  accord cancel k3f9
  accord cancel --all

Stops the turn that `accord run` or `accord chat` runs in another terminal: the one of this directory, or of the agent
or the session that is named. The agent is asked to stop, as Ctrl+C does, and this waits until the turn is over.

exit codes: 0 it is over, 2 usage (several are meant), 3 the agent did not stop in time, 4 nothing runs
"""
WAIT_SECONDS = scaled(30.0)


def _parser() -> Parser:
    parser = Parser("cancel", USAGE, "Stop a turn that runs in another process.", EXAMPLES)
    parser.add_argument(
        "arguments",
        nargs="*",
        metavar="AGENT SESSION",
        help="the agent or the session; those of this directory if none",
    )
    parser.add_argument("--all", action="store_true", help="every turn of every directory")
    parser.add_argument("--timeout", type=seconds_of, metavar="S", help="how long to wait for the end, in seconds")
    return parser


def run(arguments: Sequence[str]) -> int:
    before, command = split_command(arguments)
    parsed = _parser().read(before)
    if parsed.all and (parsed.arguments or command):
        raise UsageFailure("--all means every turn: name none")
    words = [*parsed.arguments, *([] if command is None else [target_of(None, command).key])]
    found = wanted_sessions(words, running=True, everywhere=parsed.all)
    for each in found if parsed.all else [only_one(found, "cancel")]:
        reason = _cancel(each, parsed.timeout or WAIT_SECONDS)
        put(filled("{} {}: {}", each.agent, each.session_id, reason))
    return Status.DONE


def _cancel(wanted: LiveSession, seconds: float) -> str:
    """Ask for the end of the turn, and wait for it; the stop reason.

    Raises:
        CommandFailure: No turn runs any more, or it does not end.
    """
    with connection(wanted.socket_path) as owner:
        if owner is None:
            raise _over(wanted)
        try:
            owner.send("cancel", wanted.session_id)
            for answer in owner.lines(seconds):
                if answer.get("accord") == "cancelled":
                    return str(answer.get("stop_reason"))
                break
        except TimeoutError:
            message = f"{wanted.session_id} was asked to stop, and its turn was not over after {seconds:g} s"
            raise CommandFailure(Status.TIMEOUT, "session", message) from None
        except OSError:
            pass  # the process has ended, and the turn with it
    raise _over(wanted)


def _over(wanted: LiveSession) -> CommandFailure:
    return CommandFailure(Status.NO_SESSION, "session", f"nothing runs in {wanted.session_id} any more")
