"""`accord check`: checks the conformance of an agent or a client."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from accord.check import AgentAddress, JudgedAgent, Options, Report, check_agent, editions_of, rules_for
from accord.check.agent import left_changed
from accord.check.engine.program import command_of
from accord.check.engine.report import documents_of, junit_of, markdown_of
from accord.check.rule import EDITIONS, EditionName
from accord.cli.fault import phase
from accord.cli.options import Parser, pair_of, seconds_of, split_command
from accord.cli.show.line import Span
from accord.cli.show.screen import Progress, TextScreen, stdout_screen
from accord.cli.show.verdict import report_lines
from accord.cli.signals import Signals
from accord.cli.status import CommandFailure, Status, UsageFailure, remark
from accord.cli.target import TOKEN_VARIABLE, approve, split_agent, target_of
from accord.cli.terminal import Questions, UserTerminal, is_interactive
from accord.config import AgentEntry
from accord.config.connect import remote_options_of
from accord.display import exact, filled
from accord.errors import ConnectFailed

USAGE = """accord check AGENT|ADDRESS [--edition E] [--only ID]... [--json F] [--junit F] [--md F]
       accord check [options] -- COMMAND...
       accord check --client [options] -- CLIENT-COMMAND... {agent} ...
       accord check --rules [--edition E] [--client]"""
EXAMPLES = """\
  accord check demo
  accord check -- python my_agent.py
  ACCORD_TOKEN=secret accord check ws://127.0.0.1:8765/acp --dir /srv/ada
  accord check --edition 2 --junit report.xml -- python my_agent.py
  accord check --only ACP-CANCEL --cancel-prompt "count to a million" -- gemini --acp
  accord check --auth-method oauth -- my-agent
  accord check --client -- python my_client.py {agent}
  accord check --rules --edition 2
"""
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
NAMES: dict[str, tuple[EditionName, ...]] = {"1": ("v1",), "2": ("v2",), "2-june": ("v2_june",), "all": EDITIONS}


def _parser() -> Parser:
    parser = Parser("check", USAGE, "Judge whether an agent or a client keeps the protocol.", EXAMPLES)
    parser.add_argument(
        "arguments",
        nargs="*",
        metavar="AGENT",
        help="a name from the config, or an address; or a command behind --",
    )
    what = parser.add_argument_group("what is judged")
    what.add_argument("--client", action="store_true", help="the command is a client; {agent} in it is our agent")
    what.add_argument(
        "--edition",
        choices=("auto", *NAMES),
        default="auto",
        help="auto: each one that the agent speaks; of a client: 1",
    )
    what.add_argument("--only", action="append", default=[], metavar="ID", help="only rules whose ids begin with this")
    what.add_argument("--rules", action="store_true", help="list the rules; nothing is judged")
    _add_how(parser)
    reports = parser.add_argument_group("reports")
    reports.add_argument("--json", metavar="FILE", help="the whole report, with the keys of the public kit")
    reports.add_argument("--junit", metavar="FILE", help="a JUnit report, for CI")
    reports.add_argument("--md", metavar="FILE", help="a Markdown report")
    reports.add_argument("-v", "--verbose", action="store_true", help="a line for every rule")
    return parser


def _add_how(parser: Parser) -> None:
    how = parser.add_argument_group("how")
    how.add_argument("--env", action="append", default=[], metavar="K=V", help="a variable for its process")
    how.add_argument(
        "--dir",
        metavar="PATH",
        default="",
        help="its working directory; by default a new folder for an agent, the current directory for a client; of an "
        "agent at an address: a directory of its machine",
    )
    how.add_argument(
        "--header", action="append", default=[], metavar="K=V", help="a header for an address, without a secret"
    )
    how.add_argument("--auth-method", metavar="ID", default="", help="log in by this method first")
    how.add_argument("--allow-logout", action="store_true", help="judge the logout too; you may have to log in again")
    how.add_argument("--touch-model", action="store_true", help="change the model too, and set it back")
    how.add_argument(
        "--touch-permission",
        action="store_true",
        help="change modes and options that may loosen permission too, and set them back",
    )
    how.add_argument("--prompt", metavar="TEXT", default=Options.prompt, help="the text of an ordinary prompt")
    how.add_argument(
        "--tool-prompt", metavar="TEXT", default="", help="a prompt that makes it use a tool that asks for permission"
    )
    how.add_argument(
        "--cancel-prompt",
        metavar="TEXT",
        default=Options.cancel_prompt,
        help="a prompt that keeps it busy until it is cancelled",
    )
    how.add_argument(
        "--timeout", type=seconds_of, metavar="S", default=Options.timeout_seconds, help="time limit for an answer"
    )
    how.add_argument(
        "--turn-timeout", type=seconds_of, metavar="S", default=Options.turn_seconds, help="time limit for a turn"
    )
    how.add_argument(
        "--start-timeout", type=seconds_of, metavar="S", default=Options.start_seconds, help="time limit for its start"
    )
    how.add_argument(
        "--close-grace", type=seconds_of, metavar="S", default=Options.grace_seconds, help="time limit for its end"
    )
    how.add_argument("--jobs", type=int, metavar="N", default=Options.jobs, help="processes at once")
    how.add_argument("--trust", action="store_true", help="trust the commands of this project's acp.json from now on")


def run(arguments: Sequence[str]) -> int:
    """Run the check; returns 0 for conformant, 1 for not, 2 if nothing could be judged, 128 and more after a signal."""
    before, command = split_command(arguments)
    given = _parser().read(before)
    if given.rules:
        return _list_rules(given)
    signals = Signals()
    try:
        return asyncio.run(_caught(signals, given, command, ["accord", "check", *arguments]))
    except asyncio.CancelledError:
        return signals.status
    except CommandFailure as failure:
        # This verb has three exit statuses.
        raise CommandFailure(
            Status.USAGE, failure.phase, failure.message, advice=failure.advice, agent_stderr=failure.agent_stderr
        ) from failure


def _list_rules(given: argparse.Namespace) -> int:
    screen = stdout_screen(Progress(sys.stderr, shown=False))
    side = "client" if given.client else "agent"
    for edition in NAMES.get(given.edition, EDITIONS):
        screen.line([Span(exact(edition), "bold")])
        for rule in rules_for(edition, side):
            if not given.only or rule.id.startswith(tuple(given.only)):
                description = filled("{} ({})", rule.says, rule.page)
                id_, tier = filled("  {:<30} ", rule.id), filled("{:<14} ", rule.tier)
                screen.line([Span(id_), Span(tier, "dim"), Span(description)])
    screen.flush()
    return Status.DONE


async def _caught(
    signals: Signals, given: argparse.Namespace, command: Sequence[str] | None, again: Sequence[str]
) -> int:
    """The check; a signal cancels it, and it restores the settings that it changed before it ends."""
    program, env = await _program(given, command)
    with signals.caught():
        try:
            return await _check(given, program, env, again)
        except asyncio.CancelledError:
            _report_left_changes(given, program, env)
            raise


def _report_left_changes(given: argparse.Namespace, program: JudgedAgent, env: dict[str, str | None]) -> None:
    lines = [] if given.client else left_changed(command_of(program), env)
    for line in lines:
        remark(filled("{}; the next check of this agent sets it back", line))


async def _check(
    given: argparse.Namespace, program: JudgedAgent, env: dict[str, str | None], again: Sequence[str]
) -> int:
    progress = Progress(sys.stderr, shown=True)
    screen = stdout_screen(progress)
    reports = []
    try:
        for edition in await _editions(given, program, _options(given, "v1", env)):
            options = _options(given, edition, env)
            if not _knows(options, "client" if given.client else "agent"):
                continue
            report = await _judge(given, program, options, progress)
            reports.append(report)
            progress.erase()
            _show(screen, report, again, verbose=given.verbose)
    except ConnectFailed as error:
        raise CommandFailure(Status.USAGE, "start", str(error), advice=_advice(error, program)) from error
    finally:
        progress.stop()
    if not reports:
        raise UsageFailure(f"no rule begins with {' or '.join(given.only)}", advice="See: accord check --rules")
    _write(given, reports)
    if not all(report.conformant for report in reports):
        return Status.FAILED
    return Status.DONE if any(report.judged for report in reports) else Status.USAGE


def _advice(error: ConnectFailed, program: JudgedAgent) -> str:
    if not isinstance(program, AgentAddress):
        return "Name a program that can be started"
    if error.status in {401, 403}:
        return f"Put the token of the address into {TOKEN_VARIABLE}"
    return "See that the agent is served there: accord serve --help"


async def _program(
    given: argparse.Namespace, command: Sequence[str] | None
) -> tuple[JudgedAgent, dict[str, str | None]]:
    env: dict[str, str | None] = dict(pair_of(each, "--env") for each in given.env)
    if given.client:
        if not command or given.arguments:
            raise UsageFailure("accord check --client takes a client's command behind --", advice="See --help")
        return list(command), env
    name, rest = split_agent(given.arguments, command, "check")
    if rest:
        raise UsageFailure(f"accord check takes one agent, and not also {' '.join(rest)!r}")
    questions = Questions(UserTerminal(), lambda _: False) if is_interactive() else None
    target = target_of(name, command)
    target = await approve(target, trust=given.trust, yes=None if questions is None else questions.yes)
    if target.entry.address is not None:
        return _address(target.entry, given), env
    if given.header:
        raise UsageFailure("--header is for an agent at an address")
    return list(target.entry.argv), {**target.entry.env, **env}


def _address(entry: AgentEntry, given: argparse.Namespace) -> AgentAddress:
    headers = dict(pair_of(each, "--header") for each in given.header)
    for name in headers:
        if name.lower() in _SECRET_HEADERS:
            advice = f"Put a token into {TOKEN_VARIABLE}, and other secrets into the config"
            raise UsageFailure(f"--header {name}: a secret is not taken from the command line", advice=advice)
    with phase("config"):
        remote = remote_options_of(entry)
    assert entry.address is not None  # noqa: S101 - the caller's condition
    return AgentAddress(entry.address, remote.token, {**remote.headers, **headers}, remote.tls)


def _options(given: argparse.Namespace, edition: EditionName, env: dict[str, str | None]) -> Options:
    return Options(
        edition=edition,
        only=tuple(given.only),
        env=env,
        cwd=given.dir,
        prompt=given.prompt,
        tool_prompt=given.tool_prompt,
        cancel_prompt=given.cancel_prompt,
        auth_method=given.auth_method,
        allow_logout=given.allow_logout,
        touch_model=given.touch_model,
        touch_permission=given.touch_permission,
        timeout_seconds=given.timeout,
        turn_seconds=given.turn_timeout,
        start_seconds=given.start_timeout,
        grace_seconds=given.close_grace,
        jobs=max(1, given.jobs),
    )


def _knows(options: Options, side: str) -> bool:
    return any(not options.only or rule.id.startswith(options.only) for rule in rules_for(options.edition, side))


async def _editions(given: argparse.Namespace, program: JudgedAgent, options: Options) -> Sequence[EditionName]:
    if given.edition != "auto":
        return NAMES[given.edition]
    if given.client:
        return ("v1",)
    with phase("start"):
        editions = await editions_of(program, options)
    # An agent that speaks none of them is judged by the first: the report says why.
    return editions or ("v1",)


async def _judge(given: argparse.Namespace, program: JudgedAgent, options: Options, progress: Progress) -> Report:
    def report_progress(what: str, done: int, total: int) -> None:
        progress.show(filled("{} {}/{} {}", options.edition, done, total, what.replace("_", " ")))

    if given.client and not isinstance(program, AgentAddress):
        from accord.check.client import check_client  # noqa: PLC0415 - agents are judged more often

        return await check_client(program, options, report_progress)
    return await check_agent(program, options, report_progress)


def _show(screen: TextScreen, report: Report, again: Sequence[str], *, verbose: bool) -> None:
    screen.lines(report_lines(report, again, screen.columns, all_rules=verbose))
    screen.line([])
    screen.flush()


def _write(given: argparse.Namespace, reports: list[Report]) -> None:
    try:
        if given.json:
            Path(given.json).write_text(json.dumps(documents_of(reports), indent=2) + "\n", encoding="utf-8")
        if given.junit:
            Path(given.junit).write_bytes(junit_of(reports))
        if given.md:
            Path(given.md).write_text(markdown_of(reports), encoding="utf-8")
    except OSError as error:
        raise UsageFailure(f"cannot write {error.filename}: {error.strerror}") from error
