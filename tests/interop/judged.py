"""The judged programs: plain ones on the official SDKs, and agents from npm with a scripted model."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from accord.check import Options
from accord.check.rule import CANCEL_PROMPT, EditionName
from tests.interop.llm.script import Hang, Say, Script, Step, Use, Voice
from tests.interop.llm.server import serve
from tests.interop.npm_agents import AGENTS, NpmAgent, Place
from tests.limits import limit

__all__ = ["Judged", "npm_agent", "sdk_program"]

PLAIN = Path(__file__).parent / "plain"
TOOL_PROMPT = "Please write a greeting into a new file"
# What some agents put behind a prompt that was cancelled: what stands before it is over.
INTERRUPTED = "[Request interrupted"
# The older adapter tells its user, as the agent's own words, that it does not know a model.
ARGUMENTS = {"codex-zed": ("-c", 'model="gpt-5.3-codex"')}


class Judged(NamedTuple):
    """A command, and how it is judged."""

    argv: tuple[str, ...]
    options: Options


def sdk_program(name: str, edition: EditionName, home: Path) -> Judged:
    """A plain program; `home` is the interpreter, or the folder of modules, of its SDK. A client is given our agent."""
    argv = ("node", str(PLAIN / f"{name}.mjs")) if name.startswith("ts_") else (str(home), str(PLAIN / f"{name}.py"))
    env = {"ACCORD_TS_PEER": str(home), "PYTHONWARNINGS": "ignore"}
    options = Options(edition=edition, env=env, timeout_seconds=limit(10), turn_seconds=limit(20))
    return Judged((*argv, "{agent}") if name.endswith("_client") else argv, options)


@contextlib.asynccontextmanager
async def npm_agent(name: str, edition: EditionName, root: Path) -> AsyncIterator[Judged]:
    """An agent in a place of its own, with its model."""
    home, project = root / "home", root / "project"
    home.mkdir()
    project.mkdir()
    agent = AGENTS[name]
    agent = dataclasses.replace(agent, arguments=(*agent.arguments, *ARGUMENTS.get(name, ())))
    async with serve(Script([Say("hello")])) as model:
        place = _Numbered(home, project, model.url)
        model.script = Obedient(use=place.tools_of(agent))
        yield Judged(
            agent.argv,
            Options(
                edition=edition,
                env=agent.environment(place),
                cwd=str(project),
                auth_method=agent.login or "",
                tool_prompt=TOOL_PROMPT,
                timeout_seconds=limit(20),
                turn_seconds=limit(40),
                start_seconds=limit(90),
            ),
        )


@dataclass(frozen=True)
class Obedient(Script):
    """A model that goes by the last thing its user said: uses a tool, talks without end, or says a word."""

    steps: tuple[Step, ...] = (Say("hello"),)
    use: Callable[[], Use] = field(kw_only=True)

    def step(self, voice: Voice, body: Any) -> Step:
        """What to answer."""
        key = next(key for key in ("messages", "contents", "input") if key in body)
        items = body[key]
        prompts = [place for place, item in enumerate(items) if _is_prompt(voice, key, item)]
        if not voice.is_conversation(body) or not prompts:
            return Say(self.aside)
        words = json.dumps(items[prompts[-1]], ensure_ascii=False).rpartition(INTERRUPTED)[-1]
        if CANCEL_PROMPT in words:
            return Hang("1 2 3 4 5 6")
        if TOOL_PROMPT in words and not voice.results({key: items[prompts[-1] :]}):
            return self.use()
        return self.steps[0]


def _is_prompt(voice: Voice, key: str, item: Any) -> bool:
    return bool(item.get("role") == "user" and not voice.results({key: [item]}))


@dataclass(frozen=True)
class _Numbered(Place):
    """A place in which every greeting has a file of its own: agents do not overwrite what they have not read."""

    number: int = 0

    @property
    def file(self) -> Path:
        return self.project / f"greeting-{self.number}.txt"

    def tools_of(self, agent: NpmAgent) -> Callable[[], Use]:
        """The agent's tool calls that write greetings."""
        numbers = itertools.count(1)
        return lambda: agent.tool(dataclasses.replace(self, number=next(numbers)))
