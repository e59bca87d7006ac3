"""Draws small faults over `src` from a seed and asks whether the default run finds them.

A fault is a negated condition, a dropped statement or a changed bound. For each, the tests that import its module are
run on a copy of the sources, the nearest by import first, up to the first failure.

    python -m tests.mutants.drawn --seed 1 --count 40      draw and try
    python -m tests.mutants.drawn … --list                 draw alone
    python -m tests.mutants.drawn … --only 3,17            these of them
    python -m tests.mutants.drawn … --reached FILE         only tests that run the line, by coverage with contexts

It says how much the tests see, and compares two states of them: the same seed draws the same faults of the same
sources.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from coverage.numbits import numbits_to_nums

from scripts.affected import affected, importers, module_of
from tests.limits import limit

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
TIMEOUT_SECONDS = limit(3_600.0)
OPPOSITE: dict[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}


@dataclass(frozen=True)
class Fault:
    """A small change of one module: the characters from `start` to `end` of a line's text become others."""

    file: str
    line: int
    kind: str
    start: int
    end: int
    after: str
    before: str

    def applied(self, text: str) -> str:
        data = text.encode()
        return (data[: self.start] + self.after.encode() + data[self.end :]).decode()

    def __str__(self) -> str:
        before, after = (text.partition("\n")[0] for text in (self.before, self.after))
        return f"{self.file}:{self.line}: {self.kind}: {before}  ->  {after}"


def faults_of(file: str) -> list[Fault]:
    """All faults that a module can have."""
    text = (SOURCES / file).read_text(encoding="utf-8")
    tree = ast.parse(text)
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def fault(node: ast.expr | ast.stmt, kind: str, after: str) -> Fault:
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        return Fault(file, node.lineno, kind, start, end, after, text.encode()[start:end].decode())

    return [fault(node, kind, after) for node, kind, after in _changes(tree)]


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                if "TYPE_CHECKING" not in ast.unparse(test) and "__name__" not in ast.unparse(test):
                    yield test, "negated", f"(not ({ast.unparse(test)}))"
            case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise() | ast.Delete():
                yield node, "dropped", "pass"
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield node, "dropped", "pass"
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in OPPOSITE:
                changed = f"{ast.unparse(left)} {OPPOSITE[type(operator)]} {ast.unparse(right)}"
                yield node, "bound", f"({changed})"
            case ast.Slice(lower=ast.Constant(value=int(bound)) as place) if bound is not True:
                yield place, "bound", str(bound + 1)
            case _:
                pass


def draw(seed: int, count: int) -> list[Fault]:
    """So many faults, each of a module that is drawn by the number of its possible faults."""
    files = sorted(path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py"))
    all_of_them = [fault for file in files for fault in faults_of(file)]
    return random.Random(seed).sample(all_of_them, count)


def nearest(file: str) -> list[str]:
    """The test files that the module can reach, those first that import it over the fewest others."""
    name = module_of(f"src/{file}") or ""
    distance, left = {name: 0}, [name]
    for module in left:
        for importer in sorted(importers()[module]):
            if importer not in distance:
                distance[importer] = distance[module] + 1
                left.append(importer)
    far = len(distance)
    own = f"tests/{Path(file).relative_to('accord').parts[0].removesuffix('.py')}"
    tests = affected([f"src/{file}"])
    return sorted(tests, key=lambda test: (not test.startswith(own), distance.get(module_of(test) or "", far), test))


def reached(file: str, line: int, data: Path) -> set[str]:
    """The test functions that ran a line, by a coverage file whose contexts are their names."""
    with sqlite3.connect(data) as database:
        (path_id,) = database.execute("select id from file where path like ?", (f"%/src/{file}",)).fetchone() or (-1,)
        arcs = database.execute(
            "select distinct context from arc join context on context.id = context_id "
            "where file_id = ? and (abs(fromno) = ? or abs(tono) = ?)",
            (path_id, line, line),
        ).fetchall()
        bits = database.execute(
            "select context, numbits from line_bits join context on context.id = context_id where file_id = ?",
            (path_id,),
        ).fetchall()
    found = {context for (context,) in arcs} | {context for context, lines in bits if line in numbits_to_nums(lines)}
    # A started program has the name of its test from PYTEST_CURRENT_TEST.
    return {re.sub(r"( \((setup|call|teardown)\)|\|(setup|run|teardown))$", "", context) for context in found} - {""}


def tests_for(fault: Fault, data: Path | None) -> list[str]:
    """What is run for a fault; nothing where it is known that no test runs its line."""
    files = nearest(fault.file)
    if data is None:
        return files
    names = reached(fault.file, fault.line, data)
    place = {file: number for number, file in enumerate(files)}
    there = [name for name in names if (ROOT / name.partition("::")[0]).exists()]
    return sorted(there, key=lambda name: (place.get(name.partition("::")[0], len(files)), name))


def is_found(fault: Fault, tests: list[str]) -> bool:
    """Whether a test fails on a copy of the sources with the fault."""
    if not tests:
        return False
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(SOURCES, source, ignore=shutil.ignore_patterns("__pycache__"))
        path = source / fault.file
        path.write_text(fault.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "2", "--dist", "load"]
        try:
            done = subprocess.run(
                [*command, *tests], cwd=ROOT, env=environment, capture_output=True, timeout=TIMEOUT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return True
    return done.returncode not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--reached", type=Path)
    options = parser.parse_args()
    chosen = {int(each) for each in options.only.split(",") if each}
    found = tried = 0
    for number, fault in enumerate(draw(options.seed, options.count), 1):
        if chosen and number not in chosen:
            continue
        if options.list:
            print(f"{number:3} {fault}")
            continue
        tests, began = tests_for(fault, options.reached), time.monotonic()
        result = is_found(fault, tests)
        found, tried = found + result, tried + 1
        verdict = "found" if result else "NOT FOUND" if tests else "NOT REACHED"
        print(f"{number:3} {verdict:11} {time.monotonic() - began:5.0f} s  {len(tests):4}  {fault}", flush=True)
    print(f"{found} of {tried} faults were found")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
