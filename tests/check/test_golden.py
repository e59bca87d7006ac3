"""Reports of `accord check` for known programs stay what they are, in every edition and every form.

A golden file has the exit status and what the screen, the JSON, the JUnit and the Markdown report say; times, process
ids, paths and generated ids are masked. `ACCORD_WRITE_GOLDEN=1` writes the files anew: read the difference before it is
committed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from accord.check import RULES
from tests.cli.command import Accord

pytest.importorskip("termios")
pytestmark = pytest.mark.usefixtures("forked_interpreters")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REFERENCE = (sys.executable, str(HERE / "faults"))
QUICK = ("--timeout", "10", "--turn-timeout", "10", "--close-grace", "2", "--jobs", "1")
HANG = ("--cancel-prompt", "__hang__")
EDITIONS = {"v1": "1", "v2_june": "2-june", "v2": "2"}


class Program(NamedTuple):
    """A program that is judged, and how."""

    name: str
    command: tuple[str, ...]
    options: tuple[str, ...] = ()
    is_client: bool = False


# `accord run` ends with its turn: whether it still hears what comes then is a race.
CLIENT_RULES = sorted({rule.id for rule in RULES if rule.side == "client"} - {"ACCORD-CLIENT-UPDATE-005"})
OUR_CLIENT = Program(
    "accord run",
    (sys.executable, "-m", "accord", "run", "hello", "--allow", "all", "--", "{agent}"),
    tuple(word for id_ in CLIENT_RULES for word in ("--only", id_)),
    is_client=True,
)


def reference(edition: str, name: str, *options: str) -> Program:
    return Program(name, (*REFERENCE, edition, name), (*HANG, *options))


EVERY_DAY = [
    ("v1", reference("v1", "EchoesAnyVersion")),
    ("v1", OUR_CLIENT),
]
OTHERS = [
    ("v2", reference("v2", "NeverRests", "--turn-timeout", "2")),
    ("v1", reference("v1", "FullV1")),
    ("v2_june", reference("v2_june", "FullJune")),
    ("v2", reference("v2", "FullV2")),
    ("v2_june", reference("v2_june", "OneBadEntrySpoilsAll")),
    *((edition, OUR_CLIENT) for edition in ("v2_june", "v2")),
]


# --- masks

MASKS: tuple[tuple[str, str], ...] = (
    (re.escape(sys.executable), "PYTHON"),
    (re.escape(str(ROOT)), "ROOT"),
    (r"(?:/private)?/(?:tmp|var)/[^\s\"'\\,;)<&`|]+", "PATH"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UUID"),
    (r"\b[0-9a-f]{32}\b", "HEX"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:\+\d\d:\d\d|Z)?", "MOMENT"),
    (r"\b\d+(?:\.\d+)? s\b", "N s"),
    (r'(?<= time=")[\d.]+', "N"),
    (r"\b(?:nothing|\d+ bytes, by \d+ of \d+ processes)\b", "STDERR"),
    (r"\bstatus -?\d+", "status N"),
    # How much was seen, and who was quicker, depends on the machine.
    (r"\b\d+ (update|session|turn|question|page)", r"N \1"),
    (r"it was (?:given up|answered: selected)", "it was given up or answered"),
    (r"(?<=accord )\d+\.\d+\.\d+\S*", "VERSION"),
    (r"(?<=\"version\": \")\d+\.\d+\.\d+[^\"]*", "VERSION"),
)


def masked(text: str) -> list[str]:
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return text.splitlines()


def masked_document(document: dict[str, Any]) -> list[str]:
    """A line for each key, and one for each rule."""
    for key in ("started_at", "finished_at", "duration_s", "agent_command"):
        document[key] = type(document[key]).__name__
    for requirement in document["requirements"]:
        for test in requirement["tests"]:
            test["duration_s"] = 0
            # Of the whole record only its presence: what other steps said around the proof depends on the machine.
            test["transcript"], test["stderr"] = test["transcript"] is not None, test["stderr"] is not None
            for line in test["evidence"]:
                line["t"] = 0
    rules = document.pop("requirements")
    lines = [json.dumps({key: value}, ensure_ascii=False) for key, value in document.items()]
    return masked("\n".join([*lines, *(json.dumps(rule, ensure_ascii=False) for rule in rules)]))


def report_of(program: Program, edition: str, accord: Accord) -> str:
    forms = {kind: accord.cwd.parent / f"report.{kind}" for kind in ("json", "junit", "md")}
    words = [word for kind, path in forms.items() for word in (f"--{kind}", str(path))]
    side = ("--client",) if program.is_client else ()
    command = program.command
    if program.is_client and "run" in command:
        place = command.index("run") + 1
        command = (*command[:place], "--edition", EDITIONS[edition], *command[place:])
    result = accord(
        "check",
        "-v",
        *side,
        *QUICK,
        *program.options,
        "--edition",
        EDITIONS[edition],
        *words,
        "--",
        *command,
        seconds=100,
    )
    parts: dict[str, list[str]] = {
        "exit status": [str(result.status)],
        "screen": masked(result.stdout),
        "json": masked_document(json.loads(forms["json"].read_text(encoding="utf-8"))),
        "junit": masked(forms["junit"].read_text(encoding="utf-8")),
        "markdown": masked(forms["md"].read_text(encoding="utf-8")),
    }
    return "".join(f"===== {title}\n" + "".join(f"{line}\n" for line in lines) for title, lines in parts.items())


@pytest.fixture
def accord(tmp_path: Path) -> Accord:
    return Accord(tmp_path)


def compare(program: Program, edition: str, accord: Accord) -> None:
    found = report_of(program, edition, accord)
    path = HERE / "golden" / f"{program.name.replace(' ', '-')}-{edition}.txt"
    if os.environ.get("ACCORD_WRITE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found.splitlines() == path.read_text(encoding="utf-8").splitlines()


def name_of(case: object) -> str:
    return case.name.replace(" ", "-") if isinstance(case, Program) else str(case)


@pytest.mark.parametrize(("edition", "program"), EVERY_DAY, ids=name_of)
def test_a_report_is_what_it_was(edition: str, program: Program, accord: Accord) -> None:
    compare(program, edition, accord)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("edition", "program"), OTHERS, ids=name_of)
def test_a_report_of_another_program_is_what_it_was(edition: str, program: Program, accord: Accord) -> None:
    compare(program, edition, accord)
