"""The texts of a new project: `$name` is its name, `$module` the name of its package, `$title` its name for people."""

from __future__ import annotations

from string import Template

from accord.cli.new_project.frameworks import NATIVE, FrameworkTexts
from accord.version import NOT_PUBLISHED, own_requirement

__all__ = ["FRAMEWORKS", "files_of"]

PLAIN_AGENT = '''\
"""$title: an agent that every editor with the Agent Client Protocol can use."""

import accord

agent = accord.Agent("$name", version="0.1.0")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """Answer one prompt; what to do instead is in Accord's guide to writing an agent."""
    words = len(turn.text.split())
    async with turn.tool("Count the words", kind="think") as tool:
        await tool.complete(f"{words} words")
    await turn.say(f"That was {words} words: {turn.text}")


def main() -> None:
    """Serve an editor on stdin and stdout."""
    agent.run()


if __name__ == "__main__":
    main()
'''

PLAIN_TEST = '''\
"""The answers of the agent, with both ends of the conversation in this process."""

import asyncio

import accord
from accord.testing import join

from $module.agent import agent


async def talk(text: str) -> accord.client.Turn:
    async with join(agent) as remote:
        session = await remote.new_session()
        return await session.prompt(text)


def test_it_counts_the_words() -> None:
    turn = asyncio.run(talk("three small words"))
    assert turn.text == "That was 3 words: three small words"
    assert [call.status for call in turn.tool_calls] == ["completed"]
    assert turn.stop_reason == "end_turn"
'''

CONFORMANCE_TEST = '''\
"""Whether the agent keeps the protocol: one test for each rule, in the stable edition and in the draft of the next."""

import sys

from accord.check import Options, conformance

COMMAND = [sys.executable, "-m", "$module.agent"]

test_v1 = conformance(COMMAND, Options(edition="v1"))
test_v2 = conformance(COMMAND, Options(edition="v2"))
'''

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "$name"
version = "0.1.0"
description = "An agent for editors with the Agent Client Protocol"
readme = "README.md"
requires-python = ">=3.11"
dependencies = [$dependencies]

[project.optional-dependencies]
test = ["accord[cli]", "pytest>=8"]

[project.scripts]
$name = "$module.agent:main"

[tool.hatch.build.targets.wheel]
packages = ["src/$module"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src"]
"""

README = """\
# $title

An agent for editors that speak the [Agent Client Protocol](https://agentclientprotocol.com).

```sh
python -m venv .venv && . .venv/bin/activate
pip install '$requirement'
pip install -e '.[test]'
pytest
accord chat -- $name
```

$unpublished: the second line installs the copy that wrote this project. On another machine, put the path or
the address of a copy there in its place.

## In an editor

Give the whole path of the program (`which $name`): an editor that was started from a desktop has another `PATH`.

Zed, in `settings.json`:

```json
{"agent_servers": {"$title": {"type": "custom", "command": "/path/to/.venv/bin/$name", "args": []}}}
```

JetBrains IDEs, in `~/.jetbrains/acp.json`:

```json
{"agent_servers": {"$title": {"command": "/path/to/.venv/bin/$name", "args": []}}}
```

Every other editor needs the same two words: the command, and no arguments.
$more"""

WORKFLOW = """\
name: test
on: [push, pull_request]
jobs:
  test:
    runs-on: ubuntu-latest
    strategy:
      matrix:
        python: ["3.11", "3.13"]
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: $${{ matrix.python }}
      # $unpublished: put the address of a repository or of a wheel here that this machine reaches.
      - run: pip install '$requirement'
      - run: pip install '.[test]'
      - run: pytest
"""

IGNORED = """\
.venv/
__pycache__/
*.egg-info/
dist/
"""

_PLAIN = FrameworkTexts("", PLAIN_AGENT, PLAIN_TEST, "")
_TEXTS = {"plain": _PLAIN, **NATIVE}
FRAMEWORKS = tuple(_TEXTS)
"""The kinds of projects."""


def files_of(name: str, framework: str) -> dict[str, str]:
    """The files of a project, by their paths."""
    module = name.replace("-", "_")
    own = _TEXTS[framework]
    words = {
        "name": name,
        "module": module,
        "title": name.replace("-", " ").capitalize(),
        "variable": f"{module.upper()}_MODEL",
        "requirement": own_requirement("cli"),
        "unpublished": NOT_PUBLISHED,
        "dependencies": ", ".join(f'"{each}"' for each in ("accord", own.requirement) if each),
    }
    more = Template(own.readme).substitute(words)
    texts = {
        "pyproject.toml": PYPROJECT,
        "README.md": README,
        ".gitignore": IGNORED,
        ".github/workflows/test.yml": WORKFLOW,
        f"src/{module}/__init__.py": '"""$title."""\n',
        f"src/{module}/agent.py": own.agent,
        **({} if own.offline is None else {f"src/{module}/offline.py": own.offline}),
        "tests/test_agent.py": own.test,
        "tests/test_conformance.py": CONFORMANCE_TEST,
    }
    return {path: Template(text).substitute(words, more=more) for path, text in texts.items()}
