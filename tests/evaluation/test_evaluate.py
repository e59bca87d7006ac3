"""Tasks for agents in copies of a folder: results, limits, permission, and going on after a kill."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import accord
from accord.evaluation import EvaluationResult, ProgressBar, ResultsFileError, Task, TaskLimits, read_results
from tests.limits import limit


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the copies are; nobody's home is touched."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "note.txt").write_text("old\n", encoding="utf-8")
    return folder


def writer(name: str = "writer") -> accord.Agent:
    agent = accord.Agent(name, store=accord.MemoryStore())

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        if turn.text == "crash":
            raise accord.RateLimited(1.0)
        if turn.text == "hang":
            await asyncio.Event().wait()
        calls = int(turn.text.removeprefix("calls ")) if turn.text.startswith("calls ") else 1
        for number in range(calls):
            path = Path(turn.session.cwd) / "note.txt"
            async with turn.tool(f"Edit {number}", kind="edit", locations=[str(path)], status="pending") as tool:
                if await turn.request_permission(tool):
                    path.write_text(f"{name}: {turn.text}\n", encoding="utf-8")
                    await tool.complete("done")
        turn.add_token_usage(input_tokens=3, output_tokens=4)
        await turn.say(f"{name} did it")

    return agent


async def test_every_task_goes_to_every_agent_in_a_copy_of_its_own(project: Path, tmp_path: Path, cache: Path) -> None:
    results = await accord.evaluate(
        ["one", Task("second", "two")],
        {"a": writer("a"), "b": writer("b")},
        folder=project,
        results=tmp_path / "results.jsonl",
        repetitions=2,
    )
    assert {result.key for result in results} == {
        (task, agent, number) for task in ("one", "second") for agent in "ab" for number in (0, 1)
    }
    result = next(result for result in results if result.key == ("second", "b", 0))
    assert (result.prompt, result.answer, result.stop_reason, result.error) == ("two", "b did it", "end_turn", None)
    assert result.changes == [{"path": "note.txt", "operation": "modify"}]
    assert "-old\n+b: two\n" in result.patch
    assert result.tool_calls == [{"title": "Edit 0", "kind": "edit", "status": "completed"}]
    assert result.token_usage is not None
    assert result.token_usage["total_tokens"] == 7
    assert (project / "note.txt").read_text(encoding="utf-8") == "old\n"
    assert [entry.name for entry in (cache / "accord" / "evaluate").iterdir() if entry.is_dir()] in ([], ["owners"])


async def test_results_are_lines_with_a_version_and_what_is_there_is_not_done_again(
    project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    first = await accord.evaluate(["one"], {"a": writer()}, folder=project, results=path)
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[0]) == {"type": "evaluation", "version": 1}
    path.write_bytes(path.read_bytes() + b'{"type":"result","task":"cut in tw')
    asked: list[int] = []
    again = await accord.evaluate(
        ["one", "two"],
        {"a": writer()},
        folder=project,
        results=path,
        progress=lambda *numbers: asked.append(numbers[0]),
    )
    assert [result.task for result in again] == ["one", "two"]
    assert again[0] == first[0] == read_results(path)[0]
    assert asked == [1, 2]


@pytest.mark.parametrize(
    "text",
    ["hello\n", '{"type":"evaluation","version":2}\n', '{"type":"result","task":"t","agent":"a"}\n', "PK\x03"],
)
async def test_a_file_that_is_something_else_is_refused_and_left_alone(
    text: str, project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultsFileError):
        await accord.evaluate(["one"], {"a": writer()}, folder=project, results=path)
    assert path.read_text(encoding="utf-8") == text


async def test_a_failure_is_a_result_and_the_others_go_on(project: Path, tmp_path: Path) -> None:
    program = tmp_path / "dies.py"
    program.write_text("import sys; sys.stdin.readline(); sys.exit(7)", encoding="utf-8")
    results = await accord.evaluate(
        ["crash", "one"],
        {"a": writer(), "dies": [sys.executable, program]},
        folder=project,
        results=tmp_path / "results.jsonl",
    )
    by_key = {result.key: result for result in results}
    assert by_key["crash", "a", 0].error == "RateLimited"
    assert (by_key["one", "dies", 0].error, by_key["one", "dies", 0].exit) == ("ConnectionLost", 7)
    assert by_key["one", "a", 0].stop_reason == "end_turn"


async def test_limits_end_a_task(project: Path, tmp_path: Path) -> None:
    limits = TaskLimits(seconds=0.5, tool_calls=2)
    results = await accord.evaluate(
        ["hang", "calls 5", "calls 2"], {"a": writer()}, folder=project, results=tmp_path / "r.jsonl", limits=limits
    )
    ends = {result.task: (result.error, result.stop_reason) for result in results}
    assert ends["hang"] == ("limit", None)
    assert ends["calls 5"] == ("limit", "cancelled")
    assert ends["calls 2"][0] is None


async def test_an_agent_may_not_ask_for_a_path_outside_of_its_copy(project: Path, tmp_path: Path) -> None:
    asked: list[bool] = []
    agent = accord.Agent("leaver", store=accord.MemoryStore())

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        for place in (Path(turn.session.cwd) / "in.txt", project / "out.txt"):
            async with turn.tool("Write", kind="edit", locations=[str(place)], status="pending") as tool:
                asked.append(bool(await turn.request_permission(tool)))

    await accord.evaluate(["go"], {"a": agent}, folder=project, results=tmp_path / "r.jsonl")
    assert asked == [True, False]


@pytest.mark.parametrize("wrong", [{"repetitions": 0}, {"parallel": 0}, {"tasks": ["same", Task("same", "x")]}])
async def test_what_makes_no_sense_is_refused_before_anything_runs(wrong: dict[str, int], tmp_path: Path) -> None:
    options = {"tasks": ["one"], "agents": {}, "results": tmp_path / "r.jsonl", **wrong}
    with pytest.raises(ValueError, match=r"."):
        await accord.evaluate(**options)  # type: ignore[arg-type]
    assert not (tmp_path / "r.jsonl").exists()


def test_the_bar_counts_and_ends_its_line() -> None:
    stream = io.StringIO()
    bar = ProgressBar(stream)
    for done in range(3):
        bar(done, 2, 1)
    shown = stream.getvalue()
    assert shown.count("\r") == 3
    assert shown.endswith("\n")
    assert "2/2, 1 failed" in shown


KILLED = """
import asyncio, os, sys, accord
agent = accord.Agent("a", store=accord.MemoryStore())
@agent.prompt
async def reply(turn):
    if turn.text == os.environ.get("HANG"):
        await turn.say("hanging")
        print("hanging", flush=True)
        await asyncio.Event().wait()
    await turn.say(turn.text)
asyncio.run(accord.evaluate(["1", "2", "3"], {"a": agent}, folder=sys.argv[1], results=sys.argv[2], parallel=1))
"""


def test_after_a_kill_the_next_run_does_the_rest_and_clears_up(project: Path, tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "results.jsonl"
    command = [sys.executable, "-c", KILLED, str(project), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "HANG": "2"}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hanging\n"
        assert [result.task for result in read_results(path)] == ["1"]
        process.send_signal(signal.SIGKILL)
        process.wait(limit(10))
    left = [entry for entry in (cache / "accord" / "evaluate").iterdir() if (entry / "before").is_dir()]
    assert len(left) == 1
    subprocess.run(command, check=True, timeout=limit(60))
    results: list[EvaluationResult] = read_results(path)
    assert [(result.task, result.text) for result in results] == [("1", "1"), ("2", "2"), ("3", "3")]
    assert not left[0].exists()
