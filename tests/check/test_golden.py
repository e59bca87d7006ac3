"""Reports of `accord check` for known programs stay what they are, in every edition and every form.

A golden file has a line for each rule, from the JSON report, and what the screen, the JSON, the JUnit and the Markdown
report say beside that; times, process ids, paths and generated ids are masked. It is compared, not kept, that the other
forms say the same of each rule as the JSON. `ACCORD_WRITE_GOLDEN=1` writes the files anew: read the difference before
it is committed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from accord.check import RULES, Options
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
    (r'(?<="time": ")[\d.]+', "N"),
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


def line_of(rule: dict[str, Any]) -> str:
    """What identifies the judgement of a rule: each judge's verdict with its reason, and the messages that prove it."""
    verdicts = []
    for test in rule["tests"]:
        proof = [f"{'>' if line['dir'] == 'sent' else '<'} {kind_of(line['raw'])}" for line in test["evidence"]]
        because = f"because of {test['because']}" if test["because"] else ""
        kept = "" if test["transcript"] is None else "with its transcript"
        said = [test["nodeid"], test["status"], test["message"], because, *proof, kept]
        verdicts.append(" ".join(filter(None, said)))
    words = [rule["id"], rule["tier"], rule["side"], rule["status"], rule["capability"] or "", rule["superseded"] or ""]
    return " ".join(filter(None, words)) + "".join(f" | {each}" for each in verdicts)


def kind_of(line: str) -> str:
    """The method of a message, or what else it is."""
    try:
        message = json.loads(line)
    except ValueError:
        return "no JSON"
    if not isinstance(message, dict):
        return type(message).__name__
    return str(message.get("method") or next((kind for kind in ("result", "error") if kind in message), "nothing"))


def head_of(document: dict[str, Any]) -> list[str]:
    """A line for each key but the rules."""
    for key in ("started_at", "finished_at", "duration_s", "agent_command"):
        document[key] = type(document[key]).__name__
    head = [json.dumps({key: value}, ensure_ascii=False) for key, value in document.items() if key != "requirements"]
    return masked("\n".join(head))


# --- the forms

MARKS = {"PASS": "ok", "SKIPPED": "-", "FAIL": "FAIL", "SUPERSEDED": "superseded"}
ROW_ON_SCREEN = re.compile(r"^(ok|-|FAIL|superseded) +((?:ACP|ACCORD)-[A-Z0-9-]+) +(.*)$")


def rest_of_screen(text: str, rules: list[dict[str, Any]]) -> list[str]:
    """The lines that are no rows of rules; the rows say what the JSON says."""
    lines = text.splitlines()
    rows = [row.groups() for row in map(ROW_ON_SCREEN.match, lines) if row is not None]
    assert [(mark, id_) for mark, id_, _ in rows] == [(MARKS[rule["status"]], rule["id"]) for rule in rules]
    for (_, _, said), rule in zip(rows, rules, strict=True):
        words = said.removeprefix("[").removesuffix("…").removesuffix("]")
        sources = reasons_of(rule) if said.startswith("[") else [rule["text"]]
        assert any(each.startswith(words) for each in sources), (said, rule["id"])
    return [line for line in lines if not ROW_ON_SCREEN.match(line)]


def rest_of_junit(text: str, rules: list[dict[str, Any]]) -> list[str]:
    """The suite's own line, and each failure; the cases say what the JSON says."""
    (suite,) = ElementTree.fromstring(text)  # noqa: S314 - a report of ours
    assert [case.get("name") for case in suite] == [f"{rule['id']} {rule['text']}" for rule in rules]
    rest = [json.dumps(dict(suite.attrib))]
    for case, rule in zip(suite, rules, strict=True):
        assert str(case.get("classname")).endswith(f".{rule['tier'].lower()}")
        for part in case:
            if rule["status"] == "FAIL":
                lines = [part.get("message") or "", *str(part.text or "").splitlines()]
                rest += [f"{rule['id']} {part.tag}: {line}" for line in lines if line]
            else:
                assert part.tag == ("system-out" if rule["status"] == "PASS" else "skipped"), rule["id"]
                said = re.sub("^(SKIPPED|SUPERSEDED): ", "", part.get("message") or part.text or "")
                assert said in reasons_of(rule), rule["id"]
        assert len(case) or rule["status"] == "PASS", rule["id"]
    return rest


def rest_of_markdown(text: str, rules: list[dict[str, Any]]) -> list[str]:
    """The lines that are no rows of rules; the rows say what the JSON says."""
    lines = text.splitlines()
    rows = [line.strip("| ").split(" | ", 3) for line in lines if re.match(r"\| (ACP|ACCORD)-", line)]
    assert [tuple(row[:3]) for row in rows] == [(rule["id"], rule["tier"].lower(), rule["status"]) for rule in rules]
    for row, rule in zip(rows, rules, strict=True):
        assert row[3].replace("\\|", "|").startswith(f"{rule['text']}."), rule["id"]
    return [line for line in lines if not re.match(r"\| (ACP|ACCORD)-", line)]


def reasons_of(rule: dict[str, Any]) -> list[str]:
    return [test["message"] for test in rule["tests"] if test["message"]] + [rule["superseded"] or ""]


def report_of(program: Program, edition: str, accord: Accord) -> str:
    forms = {kind: accord.cwd.parent / f"report.{kind}" for kind in ("json", "junit", "md")}
    words = [word for kind, path in forms.items() for word in (f"--{kind}", str(path))]
    side = ("--client",) if program.is_client else ()
    command = program.command
    if program.is_client and "run" in command:
        place = command.index("run") + 1
        command = (*command[:place], "--edition", EDITIONS[edition], *command[place:])
    chosen = (*side, *QUICK, *program.options, "--edition", EDITIONS[edition])
    result = accord("check", "-v", *chosen, *words, "--", *command)
    document, junit, markdown = (path.read_text(encoding="utf-8") for path in forms.values())
    told = json.loads(document)
    rules = told["requirements"]
    parts: dict[str, list[str]] = {
        "exit status": [str(result.status)],
        "rules": masked("\n".join(map(line_of, rules))),
        "json": head_of(told),
        "screen": masked("\n".join(rest_of_screen(result.stdout, rules))),
        "junit": masked("\n".join(rest_of_junit(junit, rules))),
        "markdown": masked("\n".join(rest_of_markdown(markdown, rules))),
    }
    return "".join(f"===== {title}\n" + "".join(f"{line}\n" for line in lines) for title, lines in parts.items())


@pytest.fixture
def accord(tmp_path: Path) -> Accord:
    return Accord(tmp_path)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the programs ends the turns that are to hang, nor does `accord run` cancel one."""
    monkeypatch.setattr("accord.check.client.questions.CANCEL_SECONDS", 0.1)
    monkeypatch.setitem(vars(Options)["__init__"].__kwdefaults__, "quiet_seconds", 0.05)


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
