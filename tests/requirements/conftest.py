"""The agents under test, and the gate: what one does not advertise is skipped; the full one advertises everything."""

from __future__ import annotations

from typing import Any

import pytest

from tests.requirements import scenes
from tests.requirements.rules import rules_of
from tests.requirements.stage import AGENTS, Stage, Subject


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """All scenes of a run; what was played once is looked at by many."""
    return Stage(tmp_path_factory.mktemp("requirements"))


@pytest.fixture(params=AGENTS)
def subject(request: pytest.FixtureRequest, stage: Stage) -> Subject:
    """An agent, in the edition of the test's module; skips what it does not advertise."""
    edition: str = request.module.EDITION
    agent = Subject(stage, edition, request.param)
    for rule in rules_of(edition, request.function):
        if rule.gate and not advertises(agent, rule.gate):
            assert not agent.is_full, f"{rule.id}: the full agent does not advertise {rule.gate}"
            pytest.skip(f"not advertised: {rule.gate}")
    return agent


def advertises(agent: Subject, gate: str) -> bool:
    """Whether an agent says that it has something; an empty object is a yes, an empty list is none."""
    take = agent.take(scenes.sessions)
    said: Any = {"initialize": take.result(take["initialize"]), "new": take.result(take["new"][0])}
    for key in gate.split("."):
        said = said.get(key) if isinstance(said, dict) else None
    return said is not None and said is not False and said != []
