"""A terminal whose command has ended leaves no zombie, released or not; an environment must have names."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.client.requesting_agent import requesting_agent
from tests.tables import rows
from tests.transport.processes import exists, runs, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc shows zombies: run it on Linux")

TERMINALS = 12


def zombies() -> list[int]:
    """The children of this process that have ended and were not reaped."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208 - names are wanted
        try:
            state, parent = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(parent) == os.getpid():
            found.append(int(name))
    return found


def there_are(count: int, before: list[int]) -> Callable[[], bool]:
    return lambda: len(set(zombies()) - set(before)) == count


async def test_the_ended_commands_of_terminals_that_nobody_releases_are_reaped(tmp_path: Path) -> None:
    before = zombies()
    async with requesting_agent(tmp_path) as requester:
        terminals = [await requester.start("true") for _ in range(TERMINALS)]
        for terminal in terminals:
            assert (await requester.finished(terminal))["exitStatus"]["exitCode"] == 0
        assert await until(there_are(0, before))
        # Their output and their end can still be asked for, and they can be killed and released.
        assert (await requester.ask("terminal/wait_for_exit", terminalId=terminals[0]))["exitCode"] == 0
        await requester.ask("terminal/kill", terminalId=terminals[0])
        await requester.ask("terminal/release", terminalId=terminals[0])


async def test_released_terminals_leave_no_zombies(tmp_path: Path) -> None:
    before = zombies()
    async with requesting_agent(tmp_path) as requester:
        for _ in range(TERMINALS):
            terminal = await requester.start("true")
            await requester.finished(terminal)
            await requester.ask("terminal/release", terminalId=terminal)
        assert there_are(0, before)()


async def test_a_command_is_reaped_when_what_it_left_in_its_group_has_ended(tmp_path: Path) -> None:
    before = zombies()
    async with requesting_agent(tmp_path) as requester:
        os.mkfifo(tmp_path / "gate")
        # A builtin: the descendant waits at the gate without a further process.
        terminal = await requester.start("sh", "-c", "{ read line < gate; } > /dev/null 2>&1 &")
        await requester.finished(terminal)
        # While somebody lives in its group, its number is held: a signal to the group must not hit another.
        assert there_are(1, before)()
        (tmp_path / "gate").write_text("go\n")
        assert await until(there_are(0, before))


async def test_a_descendant_without_our_marker_dies_with_the_group_of_an_ended_command(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        script = "env -i sleep 60 > /dev/null 2>&1 & echo $!"
        terminal = await requester.start("sh", "-c", script)
        hidden = int((await requester.finished(terminal))["output"])
        quick = await requester.start("sh", "-c", "echo $$")
        number = int((await requester.finished(quick))["output"])
        # The look that finds this one alone sees that the other is not.
        assert await until(lambda: not exists(number))
        assert runs(hidden)
        await requester.ask("terminal/release", terminalId=terminal)
        assert await until(lambda: not runs(hidden))


@rows("name", ["", "A=B", "=", "A\0B"])
async def test_a_variable_that_has_no_name_is_refused(tmp_path: Path, name: str) -> None:
    async with requesting_agent(tmp_path) as requester:
        params = {"sessionId": "s", "command": "env", "env": [{"name": name, "value": "x"}]}
        answer = await requester.hand.answer_to(await requester.hand.ask("terminal/create", params))
    assert answer["error"]["code"] == -32602
    assert "no name of an environment variable" in answer["error"]["message"]


@rows("words", [["env", "a\0b"], ["en\0v"], [""]])
async def test_a_command_that_no_system_can_start_is_refused(tmp_path: Path, words: list[str]) -> None:
    async with requesting_agent(tmp_path) as requester:
        params = {"sessionId": "s", "command": words[0], "args": words[1:]}
        answer = await requester.hand.answer_to(await requester.hand.ask("terminal/create", params))
    assert answer["error"]["code"] == -32602


async def test_a_value_with_a_null_character_is_refused(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        params = {"sessionId": "s", "command": "env", "env": [{"name": "A", "value": "x\0y"}]}
        answer = await requester.hand.answer_to(await requester.hand.ask("terminal/create", params))
    assert answer["error"]["code"] == -32602
    assert "null character" in answer["error"]["message"]
