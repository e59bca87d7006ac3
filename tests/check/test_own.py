"""Our own agents before the judge: nothing that must hold is broken, nothing that should hold either."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from accord.check import Options, Report, check_agent, editions_of
from accord.check.rule import EDITIONS, EditionName

ROOT = Path(__file__).parents[2]
PYTHON = sys.executable
AGENTS: dict[str, tuple[list[str], dict[str, str], str]] = {
    "plain": ([PYTHON, str(ROOT / "tests/requirements/plain_agent.py")], {}, "__hang__"),
    "full": (
        [PYTHON, str(ROOT / "tests/requirements/full_agent.py")],
        {"FULL_AGENT_LOGGED_IN": "1"},
        "__hang__",
    ),
    "accord agent": ([PYTHON, "-m", "accord", "agent", "--model", "offline"], {}, "run sleep 30"),
}
EXAMPLES = [
    *sorted(path for path in (ROOT / "examples/agents").glob("*.py") if path.name != "mcp_server.py"),
    ROOT / "examples/engine_agent.py",
]
METHODS = {"login.py": "guest"}
# The bare engine has no MCP client, and v1 wants one of everybody: advisory, and what the example says of itself.
OWED: dict[tuple[str, EditionName], list[str]] = {("engine_agent.py", "v1"): ["ACCORD-MCP-002"]}


async def judged(
    argv: list[str], edition: EditionName, state: Path, env: dict[str, str], cancel: str, method: str = ""
) -> Report:
    options = Options(
        edition=edition,
        env={"XDG_STATE_HOME": str(state), **env},
        cancel_prompt=cancel,
        auth_method=method,
        turn_seconds=20.0,
    )
    return await check_agent(argv, options)


def wrong(report: Report) -> list[str]:
    return [
        f"{outcome.rule.id}: {outcome.deciding.message if outcome.deciding else ''}"
        for outcome in report.outcomes
        if outcome.status == "FAIL"
    ]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", AGENTS)
async def test_an_agent_of_ours_conforms(name: str, edition: EditionName, tmp_path: Path) -> None:
    argv, env, cancel = AGENTS[name]
    report = await judged(argv, edition, tmp_path, env, cancel)
    assert wrong(report) == []
    assert report.conformant
    assert report.seconds < 40


@pytest.mark.long
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
async def test_an_example_conforms(path: Path, edition: EditionName, tmp_path: Path) -> None:
    argv = [PYTHON, str(path)]
    report = await judged(argv, edition, tmp_path, {}, Options.cancel_prompt, METHODS.get(path.name, ""))
    owed = OWED.get((path.name, edition), [])
    assert [finding for finding in wrong(report) if finding.split(":")[0] not in owed] == []
    assert report.conformant


async def test_our_agents_are_seen_to_speak_every_edition(tmp_path: Path) -> None:
    argv, _, _ = AGENTS["plain"]
    assert await editions_of(argv, Options(env={"XDG_STATE_HOME": str(tmp_path)})) == list(EDITIONS)
