"""`accord new`: writes a small project with an agent, its tests, a workflow and the lines for editors."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from accord.cli.new_project.templates import FRAMEWORKS, files_of
from accord.cli.options import Parser, split_command
from accord.cli.show.screen import put
from accord.cli.status import CommandFailure, Status, UsageFailure
from accord.display import exact, filled, own

USAGE = "accord new NAME [--framework plain|pydantic-ai|langgraph|openai-agents|google-adk|strands]"
EXAMPLES = """\
  accord new my-agent
  accord new my-agent --framework pydantic-ai

Writes the folder NAME: an agent, a test of it, a test of the protocol, an entry point, a CI workflow, and a README with
the lines for editors. Its tests pass as it is written.

exit codes: 0 it is written, 1 it cannot be, 2 usage (the name, or the folder is there already)
"""
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def _parser() -> Parser:
    parser = Parser("new", USAGE, "Write a small project with an agent.", EXAMPLES)
    parser.add_argument(
        "name", metavar="NAME", help="of the project and of its program: lower-case letters, digits, hyphens"
    )
    parser.add_argument("--framework", choices=FRAMEWORKS, default="plain", help="the framework of the agent")
    return parser


def run(arguments: Sequence[str]) -> int:
    before, command = split_command(arguments)
    options = _parser().read(before)
    if command is not None:
        raise UsageFailure("accord new takes no command behind --")
    name: str = options.name
    module = name.replace("-", "_")
    if (
        not _NAME.fullmatch(name)
        or keyword.iskeyword(module)
        or module in sys.stdlib_module_names
        or module == "accord"
    ):
        raise UsageFailure(
            f"{name!r} is no name for a project",
            advice="Use lower-case letters, digits and hyphens, and no module of Python",
        )
    folder = Path(name)
    if folder.exists():
        raise UsageFailure(f"{name} is there already", advice="Take another name, or remove it first")
    files = files_of(name, options.framework)
    try:
        for path, text in files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
            put(filled("{}/{}", exact(name), exact(path)))
    except OSError as error:
        message = f"{error.filename or name}: {error.strerror or error}"
        raise CommandFailure(Status.FAILED, "start", message, cause=type(error).__name__) from error
    put(own(""))
    put(filled("now: cd {}, and type the first lines of its README.md, which install and test it", exact(name)))
    return Status.DONE
