"""Our own agents before the judge: nothing that must hold is broken, nothing that should hold either."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from accord.check import Options, Report, check_agent, editions_of
from accord.check.rule import EDITIONS, EditionName
from tests.coder.llm import FakeModel, Line, Say, ToolInvocation, serve
from tests.limits import limit

ROOT = Path(__file__).parents[2]
PYTHON = sys.executable
AGENTS: dict[str, tuple[list[str], dict[str, str], str]] = {
    "plain": ([PYTHON, str(ROOT / "tests/check/agents/plain_agent.py")], {}, "__hang__"),
    "full": (
        [PYTHON, str(ROOT / "tests/check/agents/full_agent.py")],
        {"FULL_AGENT_LOGGED_IN": "1"},
        "__hang__",
    ),
    "accord agent": ([PYTHON, "-m", "accord", "agent", "--model", "offline"], {}, "run sleep 30"),
}
EXAMPLES = [
    *sorted(path for path in (ROOT / "examples/agents").glob("*.py") if path.name != "mcp_server.py"),
    ROOT / "examples/engine_agent.py",
]
# An example says the same in each edition: `--long` has one of them.
IN_EACH = [
    pytest.param(
        path, edition, id=f"{path.stem}-{edition}", marks=[] if (number + place) % 3 == 0 else [pytest.mark.every]
    )
    for number, path in enumerate(EXAMPLES)
    for place, edition in enumerate(EDITIONS)
]
# Only for prompts that hang: a short turn could be slow to end.
QUIET_SECONDS = 0.05
METHODS = {"login.py": "guest"}


async def judged(
    argv: list[str],
    edition: EditionName,
    state: Path,
    env: dict[str, str],
    cancel: str,
    method: str = "",
    **may: Any,
) -> Report:
    options = Options(
        edition=edition,
        env={"XDG_STATE_HOME": str(state), **env},
        cancel_prompt=cancel,
        auth_method=method,
        **{"turn_seconds": 20.0, **may},
    )
    return await check_agent(argv, options)


def wrong(report: Report) -> list[str]:
    return [
        f"{outcome.rule.id}: {outcome.deciding.message if outcome.deciding else ''}"
        for outcome in report.outcomes
        if outcome.status == "FAIL"
    ]


# The plain one is in `test_our_agents_show_every_rule`, beside a whole check of the full one.
SLOW = [*(("plain", edition) for edition in EDITIONS), ("accord agent", "v2_june"), ("accord agent", "v2")]
OURS = [
    pytest.param(name, edition, marks=[pytest.mark.long] if (name, edition) in SLOW else [])
    for name in ("plain", "accord agent")
    for edition in EDITIONS
]


@pytest.mark.parametrize(("name", "edition"), OURS)
@pytest.mark.usefixtures("forked_interpreters")
async def test_an_agent_of_ours_conforms(name: str, edition: EditionName, tmp_path: Path) -> None:
    argv, env, cancel = AGENTS[name]
    report = await judged(argv, edition, tmp_path, env, cancel, quiet_seconds=QUIET_SECONDS)
    assert wrong(report) == []
    assert report.conformant


class Obliging:
    """A model that runs a command where it is asked to wait, and has an answer to everything else."""

    async def answer(self, line: Line, model: FakeModel) -> None:
        last = model.asked[-1]["messages"][-1]
        is_wait = last["role"] == "user" and "wait for me" in str(last["content"])
        step = ToolInvocation([("run", {"command": "sleep 30"})]) if is_wait else Say("Here I am.")
        await step.answer(line, model)


@pytest.mark.long
@pytest.mark.parametrize(
    "edition", ["v2", *(pytest.param(each, marks=pytest.mark.every) for each in ("v1", "v2_june"))]
)
@pytest.mark.usefixtures("forked_interpreters")
async def test_the_coding_agent_conforms_with_a_model_on_loopback(edition: EditionName, tmp_path: Path) -> None:
    async with serve(*[Obliging()] * 1000) as model:
        argv = [PYTHON, "-m", "accord", "agent", "--model", "fake", "--base-url", model.url]
        report = await judged(argv, edition, tmp_path, {}, "wait for me", turn_seconds=60.0)
        assert model.asked
    assert wrong(report) == []
    assert report.conformant


# Who has ways to log in cannot show what one without does, which the plain one shows; the full one names no lines.
UNSEEN: dict[EditionName, set[str]] = {
    "v1": {"ACP-AUTH-005", "ACCORD-PATH-002"},
    "v2_june": {"ACP-AUTH-005"},
    "v2": {"ACP-AUTH-205"},
}


@pytest.mark.parametrize("edition", ["v2", *(pytest.param(each, marks=pytest.mark.long) for each in ("v1", "v2_june"))])
@pytest.mark.usefixtures("forked_interpreters")
async def test_our_agents_show_every_rule(edition: EditionName, tmp_path: Path) -> None:
    argv, env, cancel = AGENTS["full"]
    # It has no settings that anybody else uses.
    may: dict[str, Any] = {"allow_logout": True, "touch_model": True, "touch_permission": True}
    full = await judged(argv, edition, tmp_path, env, cancel, "token", quiet_seconds=QUIET_SECONDS, **may)
    assert wrong(full) == []
    skipped = {outcome.rule.id for outcome in full.outcomes if outcome.status in {"SKIPPED", "NOT_TESTED"}}
    if edition == "v2":
        # Many of our own rules for v2 need features that this agent lacks; `test_accord_rules_v2.py` has them.
        skipped = {id_ for id_ in skipped if id_.startswith("ACP-")}
    assert skipped == UNSEEN[edition]
    assert full.info["name"] == "full"
    argv, env, cancel = AGENTS["plain"]
    plain = await judged(argv, edition, tmp_path, env, cancel, only=("ACP-AUTH-005", "ACP-AUTH-205"))
    assert {outcome.status for outcome in plain.outcomes} == {"PASS"}


@pytest.mark.long
@pytest.mark.parametrize(("path", "edition"), IN_EACH)
@pytest.mark.usefixtures("forked_interpreters")
async def test_an_example_conforms(path: Path, edition: EditionName, tmp_path: Path) -> None:
    argv = [PYTHON, str(path)]
    report = await judged(argv, edition, tmp_path, {}, Options.cancel_prompt, METHODS.get(path.name, ""))
    assert wrong(report) == []
    assert report.conformant


async def test_an_agent_without_use_for_mcp_servers_is_accused_of_nothing_in_v1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # It never greets the server.
    monkeypatch.setattr("accord.check.agent.mcp._GREETED_SECONDS", 0.1)
    options = Options(edition="v1", only=("ACCORD-MCP-002",), timeout_seconds=limit(10.0), turn_seconds=limit(10.0))
    report = await check_agent([PYTHON, str(ROOT / "examples/agents/echo.py")], options)
    (outcome,) = [each for each in report.outcomes if each.rule.id == "ACCORD-MCP-002"]
    assert (outcome.status, wrong(report)) == ("PASS", [])


async def test_our_agents_are_seen_to_speak_every_edition(tmp_path: Path) -> None:
    argv, _, _ = AGENTS["plain"]
    assert await editions_of(argv, Options(env={"XDG_STATE_HOME": str(tmp_path)})) == list(EDITIONS)
