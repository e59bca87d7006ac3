"""`accord check`: three exit codes, what is wrong by its cause, reports for programs, and progress on a terminal."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.cli.command import Accord

pytest.importorskip("termios")

FAULTS = Path(__file__).parents[1] / "check/faults"
QUICK = ("--cancel-prompt", "__hang__", "--timeout", "5", "--turn-timeout", "5", "--close-grace", "2")


def fault(edition: str, name: str) -> list[str]:
    """The words that name a faulty agent at the end of a line."""
    # Its process is a fork of this one, and so has that already.
    importlib.import_module("tests.check.faults.program")
    return ["--", sys.executable, str(FAULTS), edition, name]


def test_an_agent_that_conforms_is_said_to_and_the_status_is_0(accord: Accord) -> None:
    result = accord("check", *QUICK, "--edition", "1", *fault("v1", "FullV1"))
    assert result.status == 0, result.stdout
    assert result.stdout.splitlines()[-3] == "CONFORMANT"
    assert "--tool-prompt" in result.stdout.splitlines()[-2]
    assert result.stderr == ""


def test_an_agent_that_does_not_conform_is_told_what_is_wrong_and_how_to_see_it_again(accord: Accord) -> None:
    result = accord("check", *QUICK, "--edition", "1", *fault("v1", "EchoesAnyVersion"))
    assert result.status == 1
    assert "NOT CONFORMANT: 1 thing is wrong" in result.stdout
    assert "ACP-INIT-003" in result.stdout
    proof = [line.strip() for line in result.stdout.splitlines() if line.strip().startswith(("→", "←"))]
    assert any('"protocolVersion":65535' in line for line in proof)
    again = next(line for line in result.stdout.splitlines() if line.strip().startswith("again: "))
    assert again.split("again: ")[1].startswith("accord check")
    assert again.split().index("--only") < again.split().index("--")


def test_one_rule_alone_is_judged_quickly_and_said_to_be_alone(accord: Accord) -> None:
    result = accord("check", *QUICK, "--edition", "1", "--only", "ACP-INIT-002", *fault("v1", "EchoesAnyVersion"))
    assert result.status == 0
    assert "1 of 1 rules judged" in result.stdout
    assert "CONFORMANT in the rules that were asked for" in result.stdout


def test_where_none_of_the_rules_that_were_asked_for_could_be_judged_nothing_is_said_to_conform(
    accord: Accord, tmp_path: Path
) -> None:
    report = tmp_path / "report.md"
    rule = ("--edition", "1", "--only", "ACCORD-DIFF-001", "--md", str(report))
    result = accord("check", *QUICK, *rule, *fault("v1", "EchoesAnyVersion"))
    assert result.status == 2
    assert "0 of 1 rules judged" in result.stdout
    assert "CONFORMANT" not in result.stdout
    assert "conformant" not in report.read_text(encoding="utf-8").lower()


def test_each_edition_that_an_agent_speaks_is_judged(accord: Accord) -> None:
    result = accord("check", *QUICK, "--only", "ACP-INIT-001", "demo")
    assert result.status == 0
    heads = [line.split(" · ")[1] for line in result.stdout.splitlines() if " rules judged" in line]
    assert heads == ["v1", "v2 of June", "v2"]


def test_reports_are_written_for_programs_and_pages(accord: Accord) -> None:
    files = {kind: str(accord.cwd / f"report.{kind}") for kind in ("json", "junit", "md")}
    words = [word for kind, path in files.items() for word in (f"--{kind}", path)]
    result = accord("check", *QUICK, "--only", "ACP-INIT", "--edition", "1", *words, *fault("v1", "EchoesAnyVersion"))
    assert result.status == 1
    document = json.loads(Path(files["json"]).read_text(encoding="utf-8"))
    assert document["verdict"]["conformant"] is False
    assert {"ACP-INIT-003"} == {
        each["id"] for each in document["requirements"] if each["status"] == "FAIL" and each["tier"] == "MANDATORY"
    }
    suite = ET.parse(files["junit"]).getroot()[0]  # noqa: S314 - it is ours
    assert suite.get("failures") == "1"
    assert "### ACP-INIT-003" in Path(files["md"]).read_text(encoding="utf-8")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "words",
    [
        ("nobody",),
        ("--", "/no/such/program"),
        (),
        ("--only", "ACP-NOTHING", "demo"),
        ("--edition", "3", "demo"),
        ("--client",),
        ("--client", "demo"),
        ("demo", "demo"),
        ("--json", "/no/such/folder/file", "--only", "ACP-INIT-001", "--edition", "1", "demo"),
    ],
)
def test_what_cannot_be_judged_is_one_line_and_status_2(accord: Accord, words: tuple[str, ...]) -> None:
    result = accord("check", *words)
    assert result.status == 2
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("accord: ")


def test_an_agent_that_ends_at_once_does_not_conform_for_one_reason(accord: Accord) -> None:
    result = accord("check", *QUICK, "--edition", "1", "--", sys.executable, "-c", "print('a banner')")
    assert result.status == 1
    assert "ACP-INIT-001" in result.stdout


def test_the_rules_can_be_read(accord: Accord) -> None:
    result = accord("check", "--rules", "--edition", "2-june", "--only", "ACP-BATCH")
    assert result.status == 0
    assert "ACP-BATCH-202" in result.stdout
    assert "ACP-INIT" not in result.stdout


def test_progress_is_shown_on_a_terminal(accord: Accord) -> None:
    with accord.terminal("check", *QUICK, "--only", "ACP-INIT", "--edition", "1", *fault("v1", "PlainV1")) as screen:
        screen.expect("v1 0/")
        assert "CONFORMANT" in screen.rest()
