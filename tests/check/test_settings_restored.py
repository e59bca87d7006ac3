"""`accord check` of an agent that keeps its options in a file leaves the file byte for byte as it was."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.limits import limit

pytest.importorskip("fcntl")
pytestmark = pytest.mark.usefixtures("forked_interpreters")

AGENT = [sys.executable, str(Path(__file__).with_name("option_file_agent.py"))]
KEPT = {"effort": "middle", "mode": "default", "model": "small", "tone": "hot", "verbose": True}
# What sets something, and nothing else: the rest of a check takes its time and changes nothing.
ONLY = ("ACP-CONFIG-002", "ACP-MODES-002", "ACP-CONFIG-202")
LIMIT_SECONDS = limit(90.0)


class Bench:
    """A folder with the file of options, and checks of its agent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "options.json"
        self.log = folder / "log"
        self.once = folder / "once"
        self.file.write_text(json.dumps(KEPT, indent=2, sort_keys=True) + "\n")
        self.before = self.file.read_bytes()

    def start(self, edition: str, *words: str, only: tuple[str, ...] = ONLY, **env: str) -> subprocess.Popen[str]:
        wanted = [word for id_ in only for word in ("--only", id_)]
        bounds = ["--timeout", "5", "--turn-timeout", "5", "--close-grace", "1"]
        command = [
            sys.executable,
            "-m",
            "accord",
            "check",
            "--edition",
            edition,
            *wanted,
            *bounds,
            *words,
            "--",
            *AGENT,
        ]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        ours = {"OPTION_FILE": str(self.file), "OPTION_LOG": str(self.log), "OPTION_ONCE": str(self.once)}
        return {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "COLUMNS": "300", **ours, **env}

    def check(self, edition: str, *words: str, only: tuple[str, ...] = ONLY, **env: str) -> tuple[int, str]:
        process = self.start(edition, *words, only=only, **env)
        out, err = process.communicate(timeout=LIMIT_SECONDS)
        return process.returncode, out + err

    @property
    def sent(self) -> list[str]:
        """Every request that set something, as the agent noted it."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    @property
    def journals(self) -> list[Path]:
        return list((self.folder / "state").rglob("*.json"))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize("edition", ["1", pytest.param("2", marks=pytest.mark.long)])
def test_what_a_check_changed_is_set_back_and_the_model_and_modes_are_left_alone(bench: Bench, edition: str) -> None:
    status, said = bench.check(edition, "-v")
    assert (status, bench.file.read_bytes()) == (0, bench.before), said
    assert {"effort=low", "tone=soft", "verbose=False"} <= set(bench.sent)
    assert [each for each in bench.sent if each.startswith(("model=", "mode="))] == []
    assert "--touch-model" in said
    assert bench.journals == []


@pytest.mark.parametrize("edition", ["2", pytest.param("1", marks=pytest.mark.long)])
def test_with_both_flags_the_model_and_the_mode_are_changed_and_set_back(bench: Bench, edition: str) -> None:
    status, said = bench.check(edition, "--touch-model", "--touch-permission")
    assert (status, bench.file.read_bytes()) == (0, bench.before), said
    assert {"model=large-and-paid", "mode=acceptEdits"} <= set(bench.sent)


@pytest.mark.long
@pytest.mark.parametrize("edition", ["1", "2"])
def test_a_whole_check_leaves_the_file_as_it_was(bench: Bench, edition: str) -> None:
    _, said = bench.check(edition, "--touch-model", "--touch-permission", only=())
    assert bench.file.read_bytes() == bench.before, said
    assert "not set back" not in said


MOMENTS = [
    ("1", "set:1:before", signal.SIGTERM),
    ("1", "set:1:after", signal.SIGINT),
    ("2", "set:2:answered", signal.SIGTERM),
    ("1", "set:4:before", signal.SIGTERM),  # by then it is setting back
    ("2", "set:5:after", signal.SIGINT),
]
MORE_MOMENTS = [
    (edition, f"set:{number}:{when}", number_of_signal)
    for edition in ("1", "2")
    for number in range(1, 8)
    for when in ("before", "after", "answered")
    for number_of_signal in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
]


def interrupted(bench: Bench, edition: str, moment: str, number: signal.Signals) -> None:
    status, said = bench.check(edition, OPTION_TRICK=moment, OPTION_SIGNAL=number.name)
    if not bench.once.exists():
        return  # There was no such moment: the check ran to its end.
    assert (status, bench.file.read_bytes()) == (128 + number, bench.before), said
    assert bench.journals == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("edition", "moment", "number"), MOMENTS)
def test_after_a_signal_everything_is_set_back(bench: Bench, edition: str, moment: str, number: signal.Signals) -> None:
    interrupted(bench, edition, moment, number)
    assert bench.once.exists()


@pytest.mark.sampled(len(MORE_MOMENTS), long=6)
@pytest.mark.parametrize(("edition", "moment", "number"), MORE_MOMENTS)
def test_after_a_signal_at_any_moment(bench: Bench, edition: str, moment: str, number: signal.Signals) -> None:
    interrupted(bench, edition, moment, number)


@pytest.mark.long
@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(each, marks=pytest.mark.every) for each in range(5, 20))])
def test_after_a_signal_at_a_random_moment(bench: Bench, seed: int) -> None:
    dice = random.Random(seed)
    process = bench.start(dice.choice(["1", "2"]), only=())
    time.sleep(dice.uniform(0.3, 6.0))  # not a proof of anything: where it is by then is the dice's business
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=LIMIT_SECONDS)
    # Before it has begun, or when it is done already, the signal ends it as it ends any program.
    assert process.returncode in {0, 1, 128 + signal.SIGTERM, -signal.SIGTERM}, out + err
    assert bench.file.read_bytes() == bench.before, out + err


@pytest.mark.parametrize("moment", ["set:2:after", "set:4:before"])
def test_when_the_agent_dies_its_options_are_set_back_by_the_next_process(bench: Bench, moment: str) -> None:
    status, said = bench.check("1", OPTION_TRICK=moment, OPTION_SIGNAL="die")
    assert bench.once.exists()
    assert status in {0, 1}
    assert bench.file.read_bytes() == bench.before, said
    assert bench.journals == []


def killed(bench: Bench) -> None:
    status, _ = bench.check("1", OPTION_TRICK="set:1:after", OPTION_SIGNAL="SIGKILL")
    assert status == -signal.SIGKILL
    assert json.loads(bench.file.read_bytes())["effort"] == "low"
    assert len(bench.journals) == 1


def test_after_sigkill_the_next_check_names_what_was_left_and_sets_it_back(bench: Bench) -> None:
    killed(bench)
    status, said = bench.check("2")
    assert status == 0, said
    assert "left by an earlier check: the option 'effort' was left at 'low' and is set back to 'middle'" in said
    assert bench.file.read_bytes() == bench.before
    assert bench.journals == []


def test_what_somebody_has_set_since_the_kill_is_named_and_left_alone(bench: Bench) -> None:
    killed(bench)
    chosen = bench.file.read_bytes().replace(b'"low"', b'"high"')
    bench.file.write_bytes(chosen)
    status, said = bench.check("1")
    assert status == 0, said
    assert "the option 'effort' is 'high', set by another program; before the check it was 'middle'" in said
    assert bench.file.read_bytes() == chosen


def test_with_another_environment_it_is_named_and_nothing_is_changed(bench: Bench) -> None:
    killed(bench)
    left = bench.file.read_bytes()
    bench.log.unlink()
    status, said = bench.check("1", "--env", "OTHER=1", "-v")
    assert status == 2, said
    assert "left by an earlier check: the option 'effort' could not be seen; before the check it was 'middle'" in said
    assert (bench.file.read_bytes(), bench.sent, len(bench.journals)) == (left, [], 1)


def test_a_second_signal_leaves_at_once_and_the_journal_stays(bench: Bench) -> None:
    process = bench.start("1", OPTION_TRICK="set:1:after", OPTION_SIGNAL="SIGTERM", OPTION_STALL="1")
    deadline = time.monotonic() + LIMIT_SECONDS
    while not bench.once.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    # The first one has been taken when it stays away for a moment: the agents stall, so that it has to wait for them.
    for _ in range(400):
        process.send_signal(signal.SIGINT)
        try:
            process.wait(0.05)
            break
        except subprocess.TimeoutExpired:
            continue
    process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode in {128 + signal.SIGINT, 128 + signal.SIGTERM}
    assert len(bench.journals) == 1
    bench.check("1")
    assert bench.file.read_bytes() == bench.before


def test_without_a_journal_nothing_is_changed(bench: Bench) -> None:
    blocked = bench.folder / "blocked"
    blocked.touch()
    status, said = bench.check("1", "-v", XDG_STATE_HOME=str(blocked))
    assert status == 2, said
    assert "the journal of changes cannot be written" in said
    assert (bench.sent, bench.file.read_bytes()) == ([], bench.before)


def test_a_rule_that_needs_no_change_is_judged_where_nothing_may_be_changed(bench: Bench) -> None:
    blocked = bench.folder / "blocked"
    blocked.touch()
    report = bench.folder / "report.json"
    status, said = bench.check(
        "1", "--json", str(report), only=("ACP-CONFIG-001", "ACP-CONFIG-002"), XDG_STATE_HOME=str(blocked)
    )
    assert status == 0, said
    judged = {each["id"]: each["status"] for each in json.loads(report.read_text())["requirements"]}
    assert judged == {"ACP-CONFIG-001": "PASS", "ACP-CONFIG-002": "SKIPPED"}


def test_a_value_that_is_refused_is_followed_by_the_next(bench: Bench) -> None:
    status, said = bench.check("1", OPTION_REFUSES="effort=low tone=soft")
    assert status == 0, said
    assert {"effort=low", "effort=high", "tone=soft", "tone=hot"} <= set(bench.sent)
    assert bench.file.read_bytes() == bench.before


def test_an_agent_that_refuses_every_value_does_not_conform(bench: Bench) -> None:
    status, said = bench.check("1", OPTION_REFUSES="tone=soft tone=hot")
    assert status == 1
    assert "ACP-CONFIG-002" in said
