"""The parser of a verb, and the options that several verbs share."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from accord.cli.status import UsageFailure, remark
from accord.display import filled

if TYPE_CHECKING:
    from accord.trace.writer import TraceWriter


def split_command(arguments: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """The words before the first `--`, and the command behind it; None where there is no `--`.

    Raises:
        UsageFailure: There is no program behind it.
    """
    line = list(arguments)
    if "--" not in line:
        return line, None
    place = line.index("--")
    command = line[place + 1 :]
    if not command:
        raise UsageFailure("a command must follow --")
    if not command[0]:
        raise UsageFailure("the command behind -- is empty", advice="Its first word names the program")
    return line[:place], command


ALIASES = {"list": "ls", "remove": "rm", "delete": "rm"}
"""Other names of what a verb does."""


def named_action(verb: str, word: str, known: Iterable[str]) -> str:
    """The action of a verb that a word names.

    Raises:
        UsageFailure: There is none; the text has the one that may have been meant.
    """
    known = list(known)
    name = ALIASES.get(word, word)
    if name not in known:
        from difflib import get_close_matches  # noqa: PLC0415 - only when something is wrong

        guess = "".join(f"; did you mean {near}?" for near in get_close_matches(word, known, 1, 0.5))
        raise UsageFailure(f"there is no accord {verb} {word}{guess or ';'} There are: {', '.join(known)}")
    return name


class Parser(argparse.ArgumentParser):
    """Options and words in any order; an error is one line and the status 2.

    With `brief` the help has only these options, the first lines of the usage and of the examples: what fits on a
    screen. `--help-all` has all.
    """

    def __init__(self, verb: str, usage: str, description: str, examples: str, brief: Sequence[str] = ()) -> None:
        super().__init__(
            prog=f"accord {verb}",
            usage=usage,
            description=description,
            epilog=f"to copy:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.verb = verb
        self._brief = frozenset(("-h", "--help-all", *brief)) if brief else None
        if brief:
            self.add_argument("--help-all", action=_HelpAll, nargs=0, help="show all options and exit")

    def format_help(self) -> str:
        if self._brief is not None:
            for each in self._actions:
                each.help = each.help if self._brief & {*each.option_strings} else argparse.SUPPRESS
            self.usage = "\n".join(line for line in (self.usage or "").splitlines() if len(line) <= SCREEN_CELLS)
            lines = (self.epilog or "").splitlines()[: BRIEF_EXAMPLES + 1]
            self.epilog = "\n".join([*lines, "", f"all options: accord {self.verb} --help-all"])
        return super().format_help()

    def show_whole_help(self) -> None:
        """Print the help with all options."""
        self._brief = None
        self.print_help()

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The parsed arguments.

        Raises:
            UsageFailure: The arguments are invalid for this verb.
        """
        return self.parse_intermixed_args(list(arguments))

    def error(self, message: str) -> NoReturn:
        """Raise a failure of ours; argparse would print its usage and exit."""
        unknown = re.match(r"unrecognized arguments: .*?(--?[^\s=]+)", message)
        if unknown is not None:
            from difflib import get_close_matches  # noqa: PLC0415 - as above

            # The longest common part would be the hyphens.
            options = {each.lstrip("-"): each for each in self._option_string_actions}
            guess = [options[near] for near in get_close_matches(unknown[1].lstrip("-"), options, 1, 0.7)]
            message = f"there is no option {unknown[1]}{'; did you mean ' + guess[0] + '?' if guess else ''}"
        raise UsageFailure(message, advice=f"See: accord {self.verb} --help")


class _HelpAll(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> NoReturn:
        assert isinstance(parser, Parser)  # noqa: S101 - no other parser has it
        parser.show_whole_help()
        parser.exit()


class InOrder(argparse.Action):
    """Collects the values of several options in one list, in the order of the line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - how argparse calls it
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        kept = list(getattr(namespace, self.dest) or ())
        kept.append(((option_string or "").lstrip("-"), values))
        setattr(namespace, self.dest, kept)


SCREEN_CELLS = 80
BRIEF_EXAMPLES = 3
EDITIONS = ("auto", "newest", "1", "2", "2-june")


@dataclass(frozen=True)
class AgentOptions:
    """The options for the start of an agent and for its session."""

    edition: str | None = None
    framing: str | None = None
    timeout: float | None = None
    env: dict[str, str] = field(default_factory=dict)
    trust: bool = False
    mcp: tuple[str, ...] = ()
    dirs: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    model: str | None = None
    mode: str | None = None
    rules: tuple[tuple[str, str], ...] = ()
    """`allow`, `deny` or `rules`, with their values, in the order of the line."""
    last: bool = False
    session: str | None = None
    max_tools: int | None = None
    offer: str | None = None
    """The services of this machine for an agent at an address: `files`, `terminals` or `all`."""
    trace: TraceWriter | None = None
    """Records the wire: the file of `--log`."""


def add_agent_options(parser: Parser) -> None:
    """Options for the start of the agent."""
    group = parser.add_argument_group("the agent")
    group.add_argument("--edition", choices=EDITIONS, help="the protocol's edition; auto unless given")
    group.add_argument("--framing", choices=("lines", "headers"), help="how messages are separated; lines unless given")
    group.add_argument("--env", action="append", default=[], metavar="K=V", help="a variable for the agent's process")
    group.add_argument(
        "--offer",
        choices=("files", "terminals", "all"),
        help="of this machine, to an agent at an address: nothing else is",
    )
    group.add_argument("--timeout", type=seconds_of, metavar="S", help="how long each phase may take, in seconds")
    group.add_argument("--trust", action="store_true", help="trust the commands of this project's acp.json from now on")


def add_log_option(parser: Parser, what: str = "the wire") -> None:
    """The option that records the wire."""
    parser.add_argument("--log", metavar="FILE", help=f"record {what} into this file, secrets masked; see: accord tap")


def log_writer(path: str, command: Sequence[str] = ()) -> TraceWriter:
    """The trace of `--log`; a remark names the file where another one had its name.

    Raises:
        UsageFailure: It cannot be written.
    """
    from accord.trace.new_file import create_writer  # noqa: PLC0415 - only where it is wanted

    try:
        writer = create_writer(path, command=command)
    except OSError as error:
        advice = "Name a file in a folder that exists and that you may write to"
        raise UsageFailure(f"--log {path}: {error.strerror}", advice=advice) from error
    if writer.path.name != os.path.basename(path):  # noqa: PTH119 - as it was typed
        remark(filled("{} exists already: recording into {}", path, str(writer.path)))
    return writer


def add_session_options(parser: Parser) -> None:
    group = parser.add_argument_group("the session")
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "-c", "--continue", dest="last", action="store_true", help="continue the last one in this directory"
    )
    which.add_argument(
        "-s", "--session", metavar="NAME", help="continue the one of this name or id; a new name begins one"
    )
    group.add_argument(
        "--mcp", action="append", default=[], metavar="FILE", help="MCP servers for it, from a JSON file"
    )
    group.add_argument("--dir", action="append", default=[], metavar="PATH", help="a further directory that it may use")
    group.add_argument("--set", action="append", default=[], metavar="K=V", help="an option of the agent")
    group.add_argument("--model", metavar="M", help="the agent's model, where it can be chosen")
    group.add_argument("--mode", metavar="M", help="the agent's mode")


def add_permission_options(parser: Parser) -> None:
    """Options for permission without asking."""
    group = parser.add_argument_group(
        "permission (the first rule that matches counts; no rule and no terminal: denied)"
    )
    for name, what in (
        ("--allow", "allow what matches: all, read, 'edit:src/**', 'execute:git *'"),
        ("--deny", "deny what matches"),
    ):
        group.add_argument(name, action=InOrder, dest="rules", metavar="RULE", help=what)
    group.add_argument("--rules", action=InOrder, dest="rules", metavar="FILE", help="a file of rules, one per line")


def agent_options_of(options: argparse.Namespace) -> AgentOptions:
    """The given options; those that a verb does not have count as not given.

    Raises:
        UsageFailure: A value is no `K=V`.
    """
    given = vars(options)
    return AgentOptions(
        edition=given.get("edition"),
        framing=given.get("framing"),
        timeout=given.get("timeout"),
        env=dict(pair_of(each, "--env") for each in given.get("env") or ()),
        trust=bool(given.get("trust")),
        mcp=tuple(given.get("mcp") or ()),
        dirs=tuple(given.get("dir") or ()),
        settings=tuple(pair_of(each, "--set") for each in given.get("set") or ()),
        model=given.get("model"),
        mode=given.get("mode"),
        rules=tuple(given.get("rules") or ()),
        last=bool(given.get("last")),
        session=given.get("session"),
        max_tools=given.get("max_tools"),
        offer=given.get("offer"),
        trace=None if given.get("log") is None else log_writer(given["log"]),
    )


def pair_of(text: str, option: str) -> tuple[str, str]:
    """The two sides of `K=V`."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageFailure(f"{option} {text}: expected K=V")
    return name, value


def count_of(text: str) -> int:
    """The value of an option that is a count."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def seconds_of(text: str) -> float:
    """The value of an option that is a number of seconds."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return seconds
