"""`accord run`: one prompt for any agent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from accord.cli.conversation import Conversation, Form
from accord.cli.prompt import read_prompt
from accord.cli.target import Target, split_agent, target_of
from accord.cli.wish import Wish, add_agent_options, add_permission_options, add_session_options, wish_of
from accord.cli.words import Parser, split_command

__all__ = ["FORMS", "add_prompt_options", "run"]

FORMS = ("text", "final", "events", "wire")

USAGE = """accord run AGENT "text" [options]
       accord run "text" [options] -- COMMAND..."""

EXAMPLES = """\
  accord run demo "replace pritn with print in a.py"
  accord run "explain this repository" -- gemini --acp
  accord run demo -c "and now the tests"
  git diff | accord run demo "review this" -f - --allow read -o final
  accord run demo "run pytest" --allow 'execute:pytest *' --deny all --timeout 300
  accord run demo "what is in README.md" -o events | jq -r 'select(.type == "end") | .answer'

exit codes: 0 done, 1 agent or protocol failure, 2 usage, 3 timeout, 4 no such session, 5 permission denied,
            6 authentication needed, 7 the agent did not start or died, 130 interrupted
"""


def add_prompt_options(parser: Parser) -> None:
    """What is said, and how what follows is told."""
    parser.add_argument(
        "-f", "--file", action="append", default=[], metavar="FILE", help="text from a file; - is stdin"
    )
    parser.add_argument("--image", action="append", default=[], metavar="P", help="a picture")
    parser.add_argument("-o", "--output", choices=FORMS, default="text", help="text unless given; see docs/cli.md")


def _parser() -> Parser:
    parser = Parser("run", USAGE, "Say one thing to an agent and show what it does.", EXAMPLES)
    parser.add_argument("words", nargs="*", metavar="AGENT text", help="whom, and what; without text it is stdin")
    add_prompt_options(parser)
    add_session_options(parser)
    add_permission_options(parser)
    add_agent_options(parser)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Do it; the exit status."""
    before, command = split_command(arguments)
    options = _parser().read(before)
    name, words = split_agent(options.words, command, "run")
    wish = wish_of(options)
    target = target_of(name, command)
    content = read_prompt(words, options.file, options.image)
    return asyncio.run(_converse(target, wish, options.output, content))


async def _converse(target: Target, wish: Wish, form: Form, content: Sequence[str | Path]) -> int:
    return await Conversation(target, wish, form).run(content)
