"""`accord run`: one prompt for any agent, from the words of the line, files, stdin and pictures."""

from __future__ import annotations

import argparse
import asyncio
import mimetypes
import sys
from collections.abc import Sequence
from pathlib import Path

from accord.cli.options import (
    AgentOptions,
    Parser,
    add_agent_options,
    add_log_option,
    add_permission_options,
    add_session_options,
    agent_options_of,
    count_of,
    split_command,
)
from accord.cli.run.conversation import Conversation, Form
from accord.cli.show.screen import is_terminal
from accord.cli.status import UsageFailure
from accord.cli.target import Target, split_agent, target_of

FORMS = ("text", "final", "events", "wire")

USAGE = """accord run AGENT "text" [options]
       accord run "text" [options] -- COMMAND...
       accord run --compare AGENT,AGENT "text" [options]"""

EXAMPLES = """\
  accord run demo 'write "print(42)" to a.py' --allow edit
  accord run "explain this repository" -- gemini --acp
  accord run demo -c "replace 42 with 43 in a.py" --allow edit
  git diff | accord run gemini "review this" -f - --allow read -o final
  accord run demo "run ls -l" --allow 'execute:ls *' --deny all --timeout 300
  accord run --compare claude,gemini "add a test for parse()" --allow all
  accord run demo "read a.py" -o events | jq -r 'select(.type == "end") | .answer'

exit codes: 0 done, 1 agent or protocol failure, 2 usage, 3 timeout or --max-tools, 4 no such session,
            5 denied by a rule, or because nobody could be asked (a no at the terminal is 0), 6 authentication needed,
            7 the agent did not start or died, 130 interrupted
"""


def add_prompt_options(parser: Parser) -> None:
    """The prompt, and the form of the output."""
    parser.add_argument(
        "-f", "--file", action="append", default=[], metavar="FILE", help="text from a file; - is stdin"
    )
    parser.add_argument("--image", action="append", default=[], metavar="P", help="a picture")
    parser.add_argument("--max-tools", type=count_of, metavar="N", help="stop the turn when it makes more tool calls")
    parser.add_argument("-o", "--output", choices=FORMS, default="text", help="text unless given; see docs/cli.md")


def _parser() -> Parser:
    parser = Parser("run", USAGE, "Send one prompt to an agent and show what it does.", EXAMPLES)
    parser.add_argument("arguments", nargs="*", metavar="AGENT text", help="the agent, and the prompt (else stdin)")
    parser.add_argument("--compare", metavar="A,B", help="several agents, each in a copy of this folder")
    add_prompt_options(parser)
    add_session_options(parser)
    add_permission_options(parser)
    add_agent_options(parser)
    add_log_option(parser)
    return parser


def run(arguments: Sequence[str]) -> int:
    before, command = split_command(arguments)
    parsed = _parser().read(before)
    options = agent_options_of(parsed)
    if parsed.compare is not None:
        return _compare(parsed, command, options)
    name, text = split_agent(parsed.arguments, command, "run")
    target = target_of(name, command)
    content = read_prompt(text, parsed.file, parsed.image)
    return asyncio.run(_converse(target, options, parsed.output, content))


def _compare(parsed: argparse.Namespace, command: Sequence[str] | None, options: AgentOptions) -> int:
    from accord.cli.compare import checked_options, compare, targets_of  # noqa: PLC0415 - only for this

    if command is not None:
        raise UsageFailure("--compare takes agents by their names, and no command behind --")
    if parsed.output not in {"text", "events"}:
        raise UsageFailure(f"--compare has -o text and -o events, not {parsed.output}")
    options = checked_options(options)
    targets = targets_of(parsed.compare)
    content = read_prompt(parsed.arguments, parsed.file, parsed.image)
    return asyncio.run(compare(targets, options, parsed.output, content))


async def _converse(target: Target, options: AgentOptions, form: Form, content: Sequence[str | Path]) -> int:
    return await Conversation(target, options, form).run(content)


def read_prompt(
    arguments: Sequence[str], files: Sequence[str], images: Sequence[str], verb: str = "run"
) -> list[str | Path]:
    """The parts of a prompt: one text, then the pictures. Without words and files the text is stdin.

    Raises:
        UsageFailure: The prompt is empty, or a file cannot be read.
    """
    pictures = [picture_of(image) for image in images]
    texts = [" ".join(arguments)] if arguments else []
    if not arguments and not files and not (pictures and is_terminal(sys.stdin)):
        if is_terminal(sys.stdin):
            raise UsageFailure("there is no text", advice=f'Type: accord {verb} demo "text", or use -f FILE, or a pipe')
        files = ["-"]
    texts += [_text_of(file) for file in files]
    text = "\n\n".join(texts)
    if not text.strip() and not pictures:
        raise UsageFailure("the text is empty")
    return [*([text] if text.strip() else []), *pictures]


def _text_of(file: str) -> str:
    what = "stdin" if file == "-" else file
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageFailure(f"{what} cannot be read: {error.strerror}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageFailure(f"{what} is no UTF-8 text (byte {error.start})") from error


def picture_of(name: str) -> Path:
    """The path of a picture.

    Raises:
        UsageFailure: It is no picture, or cannot be read.
    """
    path = Path(name).absolute()
    kind, _ = mimetypes.guess_type(path.name)
    if not (kind or "").startswith("image/"):
        raise UsageFailure(f"--image {name}: its name is not that of a picture")
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise UsageFailure(f"--image {name}: {error.strerror}") from error
    return path
