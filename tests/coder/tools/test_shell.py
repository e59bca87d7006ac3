"""The tool `shell`: a line is judged by all that it runs and writes, and asked as the line that it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.client import Offer
from tests.coder.rig import IN_EVERY_EDITION, agent_with, call, project, say, talk, use_tool
from tests.tables import rows

LINE = "printf 'b\\na\\n' | sort > sorted && cat sorted"


@IN_EVERY_EDITION
@pytest.mark.parametrize("terminals", [True, False])
async def test_a_line_is_asked_as_a_line_and_run(tmp_path: Path, edition: str, terminals: bool) -> None:  # noqa: FBT001
    agent, model = agent_with(call("shell", command=LINE), say("Done."))
    async with talk(agent, tmp_path, edition, offer=Offer(terminals=terminals)) as talked:
        await talked.ask("go")

        (question,) = talked.asked
        # v1 and June have questions about tool calls alone: there it is the title.
        assert [each.command for each in (question.command,) if each is not None] == [LINE] * (edition == "2")
        assert question.title == LINE
        assert (talked.tool.kind, talked.tool.status) == ("execute", "completed")
    assert model.results()[0].text == "It ended with exit code 0.\na\nb\n"


@pytest.mark.parametrize(
    ("rules", "line", "asked"),
    [
        (["allow execute:echo *"], "echo a && echo b", 0),
        (["allow execute:echo *"], "echo a && touch b", 1),
        (["allow execute:echo *"], "echo a > b", 1),
        (["allow execute:echo *", "allow edit:b"], "echo a > b", 0),
        (["allow execute:echo *"], "echo $(touch b)", 1),
        (["allow execute:echo *"], "echo a; eval $X", 1),
        (["allow execute:echo *"], "X=1 echo a", 1),
    ],
)
async def test_a_rule_allows_a_line_only_with_all_that_it_does(
    tmp_path: Path, rules: list[str], line: str, asked: int
) -> None:
    agent, _ = agent_with(call("shell", command=line), say("Done."), rules=rules)
    async with talk(agent, tmp_path, answer=False) as talked:
        await talked.ask("go")

        assert len(talked.asked) == asked


@pytest.mark.parametrize("line", ["echo a; rm -r src", "echo a | xargs rm", "sh -c 'rm x'", "echo $(rm x)", "$X y"])
async def test_what_a_rule_denies_is_denied_wherever_it_stands_in_a_line(tmp_path: Path, line: str) -> None:
    project(tmp_path, src__b="x")
    agent, model = agent_with(call("shell", command=line), say("I may not."), rules=["deny execute:rm *", "allow all"])
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")

        assert talked.asked == []
    assert model.results()[0].text == "A rule forbids it: deny execute:rm *"
    assert (tmp_path / "src/b").exists()


async def test_always_means_this_very_line(tmp_path: Path) -> None:
    lines = ("echo a | cat", "echo a | cat", "echo b | cat")
    agent, _ = agent_with(*(call("shell", command=line) for line in lines), say("Done."))
    async with talk(agent, tmp_path, answer="allow-always") as talked:
        await talked.ask("go")

        assert len(talked.asked) == 2


async def test_a_line_that_fails_or_takes_too_long_says_so(tmp_path: Path) -> None:
    failed, _ = await use_tool(tmp_path, "shell", command="echo out; exit 3")
    slow, shown = await use_tool(tmp_path, "shell", command="sleep 100 | cat", timeout_seconds=0.05)

    assert (failed.failed, failed.text) == (True, "It ended with exit code 3.\nout\n")
    assert slow.text.startswith("It did not end within 0.05 seconds")
    assert shown.status == "failed"


@rows("mode", ["ask", "plan"])
async def test_it_is_not_offered_where_nothing_may_be_changed(tmp_path: Path, mode: str) -> None:
    agent, model = agent_with(say("No."))
    async with talk(agent, tmp_path, mode=mode) as talked:
        await talked.ask("go")

    assert not {"shell", "run", "output", "stop"} & set(model.offered())


@pytest.mark.parametrize("command", ["  ", "a\0b"])
async def test_what_is_no_line_is_refused_before_anybody_is_asked(tmp_path: Path, command: str) -> None:
    agent, model = agent_with(call("shell", command=command), say("Sorry."))
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")

        assert talked.asked == []
    assert model.results()[0].failed
