"""Who is asked before what: rules, the session's own setting, and what was allowed for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import accord
from accord.coder import make_agent
from accord.coder.model import AUTO_APPROVE_READS, Delta
from tests.coder.rig import IN_EVERY_EDITION, agent_with, call, project, say, talk
from tests.tables import rows

WRITE = call("write", path="src/a", text="b")


@IN_EVERY_EDITION
async def test_a_rule_that_allows_saves_the_question(tmp_path: Path, edition: str) -> None:
    agent, _ = agent_with(WRITE, say("Done."), rules=["allow edit:src/**"])
    async with talk(agent, tmp_path, edition) as talked:
        await talked.ask("go")

        assert talked.asked == []
    assert (tmp_path / "src/a").read_text() == "b"


@pytest.mark.parametrize(
    ("rules", "answer"),
    [
        (["deny edit:src/**", "allow all"], call("write", path="src/a", text="b")),
        (["deny edit:src/**"], call("write", path="lib/../src/a", text="b")),
        (["deny execute:rm *"], call("run", command="rm -r src")),
        (["deny read:secret"], call("read", path="secret")),
    ],
)
async def test_what_a_rule_denies_is_neither_asked_nor_done(
    tmp_path: Path, rules: list[str], answer: list[Delta]
) -> None:
    project(tmp_path, secret="password", src__b="x")  # noqa: S106 - none
    agent, model = agent_with(answer, say("I may not."), rules=rules)
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")

        assert talked.asked == []
        assert talked.tool.status == "failed"
    (result,) = model.results()
    assert result.failed
    assert result.text == f"A rule forbids it: {rules[0]}"
    assert sorted(path.name for path in (tmp_path / "src").iterdir()) == ["b"]


async def test_what_must_not_be_read_is_not_found_either(tmp_path: Path) -> None:
    project(tmp_path, secret="needle", open="needle")  # noqa: S106 - none
    agent, model = agent_with(call("search", pattern="needle"), say("One."), rules=["deny read:secret"])
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")

    assert model.results()[0].text == "open:1: needle"


@pytest.mark.parametrize(
    ("rule", "listed"),
    [
        ("deny read:secret", "open\nsrc/\n  keys/\n    a.key\n    b\n  main"),
        ("deny read:src/keys/**", "open\nsecret\nsrc/\n  main"),
        ("deny read:**/*.key", "open\nsecret\nsrc/\n  keys/\n    b\n  main"),
        ("deny read:src/**", "open\nsecret"),
    ],
)
async def test_what_must_not_be_read_is_not_listed_either(tmp_path: Path, rule: str, listed: str) -> None:
    project(tmp_path, **dict.fromkeys(("secret", "open", "src/main", "src/keys/a.key", "src/keys/b"), "x"))
    agent, model = agent_with(call("list", depth=3), say("Done."), rules=[rule])
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")

    assert model.results()[0].text == listed


@IN_EVERY_EDITION
async def test_always_holds_for_the_session_and_over_a_restart(tmp_path: Path, edition: str) -> None:
    store = accord.MemoryStore()
    twice = [call("write", path="c", text=text) for text in ("d", "e")]
    agent, _ = agent_with(*twice, call("write", path="x", text="d"), say("Done."), store=store)
    async with talk(agent, tmp_path, edition, answer="allow-always") as talked:
        await talked.ask("go")
        # Once for each file: an answer about one is none about another.
        assert len(talked.asked) == 2
        session_id = talked.session.id
    again, _ = agent_with(call("write", path="c", text="f"), say("Done."), store=store)
    async with talk(again, tmp_path, edition, resume=session_id) as talked:
        await talked.ask("go")
        assert talked.asked == []
    other, _ = agent_with(call("write", path="c", text="h"), say("Done."), store=store)
    async with talk(other, tmp_path, edition) as talked:
        await talked.ask("go")
        assert len(talked.asked) == 1


async def test_always_means_this_very_command(tmp_path: Path) -> None:
    answers = [call("run", command=command) for command in ("echo *", "echo *", "echo x")]
    agent, _ = agent_with(*answers, say("Done."))
    async with talk(agent, tmp_path, answer="allow-always") as talked:
        await talked.ask("go")

        assert len(talked.asked) == 2


async def test_reads_are_asked_for_where_the_session_says_so(tmp_path: Path) -> None:
    project(tmp_path, a="x")
    agent, model = agent_with(call("read", path="a"), call("search", pattern="x"), say("No."))
    async with talk(agent, tmp_path, "2", answer=False) as talked:
        await talked.session.set_option(AUTO_APPROVE_READS, value=False)
        await talked.ask("go")

        assert [question.title for question in talked.asked] == ["Read a", "Search 'x'"]
    assert model.results()[0].text == "The user did not allow it"


async def test_a_question_about_a_command_names_it(tmp_path: Path) -> None:
    agent, _ = agent_with(call("run", command="echo 'a b'"), say("Done."))
    async with talk(agent, tmp_path, "2") as talked:
        await talked.ask("go")

        (question,) = talked.asked
        assert question.command is not None
        assert question.command.command == "echo 'a b'"


@rows("wrong", [{"rules": ["maybe edit"]}, {"model": "nonsense"}, {"model": "openai:"}])
def test_what_cannot_be_meant_is_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(accord.LocalProtocolError):
        make_agent(store=None, **wrong)
